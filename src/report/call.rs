//! How a job was asked for, so that each command that is offered can be typed as it stands.

/// The words that stood on the command line: a job by name or path, perhaps one rule, and what was allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    job: String,
    rule: Option<String>,
    flags: Vec<String>,
    /// The plan file that is applied.
    plan: Option<String>,
}

impl Call {
    /// `job` is a name or a path as it was typed, `flags` are such as `--limit remove=30` or `--accept source`.
    #[must_use]
    pub fn new(job: &str, rule: Option<&str>, flags: Vec<String>) -> Self {
        Self { job: job.to_owned(), rule: rule.map(str::to_owned), flags, plan: None }
    }

    /// What is carried out is a plan file: as it was typed.
    #[must_use]
    pub fn applying(self, plan: &str) -> Self {
        Self { plan: Some(plan.to_owned()), ..self }
    }

    /// `twinlane apply disk.plan --accept source`, with the flags it had and more; `None` where no plan file is applied.
    pub(super) fn apply(&self, more: &[String]) -> Option<String> {
        self.plan.as_deref().map(|plan| spell("apply", plan, None, &self.flags_and(more)))
    }

    /// `twinlane show disk.plan -v`.
    pub(super) fn show_plan(&self) -> Option<String> {
        self.plan.as_deref().map(|plan| spell("show", plan, None, &["-v".to_owned()]))
    }

    /// `twinlane plan jobs/disk.yaml --out disk.plan`: the plan made anew.
    pub(super) fn plan_anew(&self) -> Option<String> {
        let out = |plan: &str| format!("{} --out {}", self.command("plan"), shell_word(plan));
        self.plan.as_deref().map(out)
    }

    /// A word of the command line as a shell takes it for one.
    #[must_use]
    pub fn word(text: &str) -> String {
        shell_word(text)
    }

    /// `twinlane history photos`.
    #[must_use]
    pub fn command(&self, verb: &str) -> String {
        spell(verb, &self.job, self.rule.as_deref(), &[])
    }

    /// `twinlane run photos --accept source`: what was asked for, with the flags it had.
    #[must_use]
    pub fn again(&self, verb: &str) -> String {
        spell(verb, &self.job, self.rule.as_deref(), &self.flags)
    }

    /// `photos/raw`: one rule, as it can be given.
    #[must_use]
    pub fn rule(&self, rule: &str) -> String {
        format!("{}/{rule}", self.job)
    }

    /// `twinlane history photos/raw`: one rule, without the flags.
    #[must_use]
    pub fn with_rule(&self, verb: &str, rule: &str) -> String {
        spell(verb, &self.job, Some(rule), &[])
    }

    /// `twinlane verify /mnt/disk --sample 5% --accept destination`: what was asked for, with the flags it had and more.
    #[must_use]
    pub fn with(&self, verb: &str, more: &[String]) -> String {
        let flags: Vec<String> = self.flags.iter().chain(more).cloned().collect();
        spell(verb, &self.job, self.rule.as_deref(), &flags)
    }

    /// `twinlane run photos/raw --limit remove=30`: one rule, with the flags it had and more; of two that set one limit, the
    /// new one stays.
    #[must_use]
    pub fn of_rule(&self, verb: &str, rule: &str, more: &[String]) -> String {
        spell(verb, &self.job, Some(rule), &self.flags_and(more))
    }

    fn flags_and(&self, more: &[String]) -> Vec<String> {
        let sets = |flag: &str| flag.split_once('=').map_or(flag, |(name, _)| name).to_owned();
        let given = self.flags.iter().filter(|flag| more.iter().all(|new| sets(new) != sets(flag)));
        given.chain(more).cloned().collect()
    }
}

fn spell(verb: &str, job: &str, rule: Option<&str>, flags: &[String]) -> String {
    let target = rule.map_or_else(|| job.to_owned(), |rule| format!("{job}/{rule}"));
    let words = ["twinlane".to_owned(), verb.to_owned(), shell_word(&target)];
    words.into_iter().chain(flags.iter().cloned()).collect::<Vec<_>>().join(" ")
}

/// The command that carries a plan file out.
#[must_use]
pub fn apply_command(plan: &str) -> String {
    spell("apply", plan, None, &[])
}

/// A word as a shell takes it for one: in single quotes where it holds anything else than letters, digits and what paths are
/// made of (POSIX.1-2024, Shell Command Language, 2.2.2).
#[must_use]
pub fn shell_word(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+:,@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_typed_as_they_stand() {
        let flags = || vec!["--limit remove=3".to_owned(), "--accept source".to_owned()];
        let call = Call::new("my jobs/it's.yaml", None, flags());
        assert_eq!(call.command("history"), r"twinlane history 'my jobs/it'\''s.yaml'");
        assert_eq!(
            Call::new("photos", Some("raw"), flags()).again("run"),
            "twinlane run photos/raw --limit remove=3 --accept source"
        );
    }

    #[test]
    fn a_plan_file_is_applied_shown_and_made_anew() {
        let call = Call::new("/j.yaml", Some("r"), vec!["--limit remove=3".to_owned()]).applying("my plan");
        let more = ["--accept source".to_owned()];
        assert_eq!(
            call.apply(&more).as_deref(),
            Some("twinlane apply 'my plan' --limit remove=3 --accept source")
        );
        assert_eq!(call.show_plan().as_deref(), Some("twinlane show 'my plan' -v"));
        assert_eq!(call.plan_anew().as_deref(), Some("twinlane plan /j.yaml/r --out 'my plan'"));
        assert_eq!(Call::new("j", None, Vec::new()).apply(&[]), None);
    }

    #[test]
    fn a_new_limit_stands_for_the_old_one() {
        let flags = vec!["--limit remove=3".to_owned(), "--accept source".to_owned()];
        let call = Call::new("j.yaml", None, flags);
        let more = ["--limit remove=30".to_owned(), "--accept source".to_owned()];
        assert_eq!(
            call.of_rule("run", "r", &more),
            "twinlane run j.yaml/r --limit remove=30 --accept source"
        );
    }
}
