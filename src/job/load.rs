//! A job file from its text to the [`Job`]: variables first, then each rule over the defaults.

use std::path::{Path, PathBuf};

use super::check::{self, Seen};
use super::decode::{Reader, Standing};
use super::diagnose::{Extent, Sink};
use super::expand::{Dates, Scope, Variables};
use super::extend::{self, Gathered};
use super::keys::{JOB, Key, RULE, Takes};
use super::model::{Job, Mode, Rule};
use super::node::{Content, Entry, Node};
use super::sources::Sources;
use super::values::{Fields, Sited, Value};
use super::{Diagnostic, Loaded, Surroundings, origins, rule};
use crate::value::Zone;

/// More rules than any job needs; each is compared with each.
const RULES_MAX: usize = 1000;
/// Rule names become part of paths, ids and commands.
const NAME_LETTERS_MAX: usize = 64;

/// Reads a job; see [`super::load`].
pub(super) fn load(
    file: &Path,
    text: &str,
    surroundings: &dyn Surroundings,
) -> Result<Loaded, Vec<Diagnostic>> {
    let Gathered { sources, root, findings, extent } = extend::gather(file, text, surroundings);
    let mut sink = Sink::new(sources.whole());
    sink.take_all(findings);
    if extent == Extent::Part {
        sink.limit_to_part();
    }
    let loaded = root.as_ref().and_then(|root| whole(root, file, surroundings, &sources, &mut sink));
    if root.is_none() {
        sink.absent_unless_reported(
            "the file holds no job",
            "nothing here",
            "`twinlane init` writes a first job file",
        );
    }
    match loaded {
        Some(loaded) if sink.is_empty() => Ok(loaded),
        _ => Err(sources.diagnostics(sink.finish())),
    }
}

/// See [`super::is_shared`].
pub(super) fn is_shared(file: &Path, text: &str, surroundings: &dyn Surroundings) -> bool {
    let Gathered { root, findings, .. } = extend::gather(file, text, surroundings);
    let Some(Node { content: Content::Map(entries), .. }) = root else { return false };
    let shares =
        |entry: &Entry| matches!(entry.key.as_str(), "variables" | "defaults" | "on_missing" | "timezone");
    findings.is_empty()
        && entries.iter().all(|entry| entry.key != "rules" && JOB.iter().any(|key| key.name == entry.key))
        && entries.iter().any(shares)
}

fn whole(
    root: &Node,
    file: &Path,
    surroundings: &dyn Surroundings,
    sources: &Sources,
    sink: &mut Sink<'_>,
) -> Option<Loaded> {
    let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let no_variables = Variables::default();
    let scope = Scope {
        surroundings,
        variables: &no_variables,
        folder: file.parent().unwrap_or(Path::new("")),
        job: &name,
        rule: None,
        dates: Dates::Refused,
        zone: Zone::default(),
        defining: None,
    };
    let head = head(root, scope, sink)?;
    let zone = if let Value::Zone(zone) = head.timezone.value { zone } else { Zone::Local };
    let variables = Variables::read(root.get("variables"), scope, sink);
    let scope = Scope { variables: &variables, zone, ..scope };

    let entries = rule_entries(root, head.rules_misspelt, sources.end_of_job(), sink);
    let defaults = root.get("defaults");
    if let Some(defaults) = defaults {
        // Once for itself: an option that fits no rule's mode is still checked.
        let mut reader = Reader { sink, scope: Scope { rule: Some("rule"), ..scope }, mode: None };
        reader.map(defaults, RULE, "", "`defaults`", Standing::Defaults);
    }
    let names: Vec<String> = entries.iter().map(|entry| entry.key.clone()).collect();
    let mut loaded = Loaded {
        job: Job {
            name: name.clone(),
            file: PathBuf::from(file),
            description: head.description,
            timezone: zone,
            rules: Vec::with_capacity(entries.len()),
        },
        origins: vec![origins::row("timezone", &head.timezone, sources)],
        patterns: Vec::new(),
    };
    let mut earlier: Vec<Seen> = Vec::new();
    for entry in entries {
        let scope = Scope { rule: Some(&entry.key), ..scope };
        let Some((rule, fields)) =
            one_rule(entry, defaults, head.on_missing.as_ref(), &names, &mut earlier, scope, sink)
        else {
            continue;
        };
        loaded.origins.extend(origins::rows(&entry.key, &fields, sources));
        loaded.patterns.extend(origins::patterns(&entry.key, &fields, sources));
        loaded.job.rules.push(rule);
    }
    if loaded.job.rules.len() < names.len() {
        // Whatever keeps a rule out has said why; were it ever silent, a rule must not just vanish.
        sink.absent_unless_reported(
            "a rule could not be read",
            "somewhere below",
            "please report this file as a bug",
        );
    }
    Some(loaded)
}

/// The job's own keys.
struct Head {
    description: Option<String>,
    on_missing: Option<(&'static Key, Sited)>,
    timezone: Sited,
    /// A misspelt `rules`, or what may bring them, was reported.
    rules_misspelt: bool,
}

fn head(root: &Node, scope: Scope<'_>, sink: &mut Sink<'_>) -> Option<Head> {
    let Content::Map(entries) = &root.content else {
        if root.content != Content::Broken {
            sink.error(
                &root.span,
                format!("the file holds {}, not a job", root.describe()),
                "a map of keys was expected",
                "begin with `rules:`; `twinlane init` writes a first job file",
            );
        }
        return None;
    };
    let local = Sited { value: Value::Zone(Zone::Local), span: None, shown: Zone::Local.to_string() };
    let mut head = Head { description: None, on_missing: None, timezone: local, rules_misspelt: false };
    let mut reader = Reader { sink, scope, mode: None };
    for entry in entries {
        let Some(key) = JOB.iter().find(|key| key.name == entry.key) else {
            for entry in entry.beneath.iter().chain([entry]) {
                let meant = reader.unknown_key(&entry.key, &entry.key_span, JOB, "the job");
                head.rules_misspelt |= meant.is_some_and(|key| matches!(key.name, "rules" | "extends"));
            }
            continue;
        };
        if !matches!(key.takes, Takes::Scalar(_) | Takes::Prose) {
            continue;
        }
        reader.replaced(entry, JOB, "");
        let sited = reader.value(key, key.name, &entry.value);
        match (key.name, sited) {
            ("description", Sited { value: Value::Text(text), .. }) => head.description = Some(text),
            ("timezone", sited) => head.timezone = sited,
            ("on_missing", sited) => {
                head.on_missing =
                    RULE.iter().find(|rule_key| rule_key.name == key.name).map(|key| (key, sited));
            }
            _ => {}
        }
    }
    Some(head)
}

/// The entries of `rules` that can be rules. `end`: where the job's text ends, and they could stand.
fn rule_entries<'n>(root: &'n Node, misspelt: bool, end: usize, sink: &mut Sink<'_>) -> Vec<&'n Entry> {
    let Some(rules) = root.get("rules") else {
        if misspelt {
            return Vec::new();
        }
        sink.absent(
            &(end..end),
            "the job has no rules",
            "`rules` is missing",
            "add `rules:` and below it a name with `mode`, `source` and `destination`",
        );
        return Vec::new();
    };
    let entries = match &rules.content {
        Content::Map(entries) if !entries.is_empty() => entries,
        Content::Broken => return Vec::new(),
        _ => {
            let help = "write a name for each rule, and its options one level below";
            let what = if matches!(rules.content, Content::Map(_)) { "empty" } else { rules.describe() };
            sink.absent(&rules.span, format!("`rules` is {what}"), "a map of named rules was expected", help);
            return Vec::new();
        }
    };
    if let Some(entry) = entries.get(RULES_MAX) {
        let help = "split the job into several files";
        sink.error(&entry.key_span, format!("more than {RULES_MAX} rules"), "one too many", help);
        return Vec::new();
    }
    entries.iter().filter(|entry| check_name(entry, sink)).collect()
}

/// A rule's name is fit for paths and commands, and its value is a map; a common slip gets its own words.
fn check_name(entry: &Entry, sink: &mut Sink<'_>) -> bool {
    let is_option = RULE.iter().any(|key| key.name == entry.key);
    if is_option && !matches!(entry.value.content, Content::Map(_)) {
        sink.error(
            &entry.key_span,
            format!("`{}` is an option, not a rule", entry.key),
            "stands where a rule's name belongs",
            "options belong one level deeper, below the name of their rule",
        );
        return false;
    }
    let fits = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let starts = entry.key.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    if !starts || !entry.key.chars().all(fits) || entry.key.chars().count() > NAME_LETTERS_MAX {
        sink.error(
            &entry.key_span,
            format!("`{}` cannot name a rule", entry.key),
            "letters, digits, `-`, `_` and `.` only, at most 64",
            "choose a name that is also fit for a path",
        );
        return false;
    }
    true
}

/// One rule over the defaults, checked by itself and against those before it.
fn one_rule(
    entry: &Entry,
    defaults: Option<&Node>,
    on_missing: Option<&(&'static Key, Sited)>,
    names: &[String],
    earlier: &mut Vec<Seen>,
    scope: Scope<'_>,
    sink: &mut Sink<'_>,
) -> Option<(Rule, Fields)> {
    let mode = mode_of(&entry.value).or_else(|| defaults.and_then(mode_of));
    let mut reader = Reader { sink, scope, mode };
    let home = format!("the rule `{}`", entry.key);
    let mut fields = reader.map(&entry.value, RULE, "", &home, Standing::Rule)?;
    let shared = defaults.and_then(|node| reader.map(node, RULE, "", "`defaults`", Standing::Defaults));
    fields.adopt(&shared.unwrap_or_default());
    if let Some((key, sited)) = on_missing {
        fields.adopt(&Fields(vec![(key, sited.clone())]));
    }
    for name in ["mode", "source", "destination"] {
        if fields.get(name).is_none() {
            reader.sink.absent(
                &entry.key_span,
                format!("the rule `{}` has no `{name}`", entry.key),
                format!("`{name}` is missing"),
                if name == "mode" {
                    "add `mode: mirror` or `mode: backup`"
                } else {
                    "add the path of a folder"
                },
            );
        }
    }
    // Without a mode, a mirror's defaults stand in so that the checks below still have something to look at.
    let fields = reader.filled(fields, RULE, mode.unwrap_or(Mode::Mirror));
    check::options(&fields, &entry.key_span, reader.sink);
    check::needs(&entry.key, &fields, names, reader.sink);
    check::against_earlier(&entry.key, &entry.key_span, &fields, earlier, reader.sink);
    let rule = rule::build(&entry.key, mode?, &fields)?;
    Some((rule, fields))
}

/// The mode, read ahead: what fits and which defaults hold depends on it.
fn mode_of(options: &Node) -> Option<Mode> {
    match &options.get("mode")?.content {
        Content::Scalar(scalar) if scalar.text == "mirror" => Some(Mode::Mirror),
        Content::Scalar(scalar) if scalar.text == "backup" => Some(Mode::Backup),
        _ => None,
    }
}
