//! `man`, and the reference of the command line in Markdown: both from the definitions that parse it.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _};

use crate::job::nearest;
use crate::run::Exit;

use super::arguments::Arguments;
use super::error::CliError;
use super::terminal::Terminal;

/// `man`.
#[derive(Debug, clap::Args)]
pub(super) struct Man {
    /// A verb; without it, the page of the program
    #[arg(value_name = "VERB")]
    pub(super) verb: Option<String>,
}

pub(super) fn run(terminal: &mut Terminal, arguments: &Man) -> Result<Exit, CliError> {
    let page = page_of(arguments.verb.as_deref())?;
    terminal.output.line(page.trim_end());
    Ok(Exit::Done)
}

fn page_of(verb: Option<&str>) -> Result<String, CliError> {
    let mut command = Arguments::command();
    command.build();
    let command = match verb {
        None => command,
        Some(verb) => named(&command, verb)?,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| CliError::stopped("cannot write the manual page").because(&error))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// A verb's command under the name that its page has: `twinlane-run`.
fn named(command: &Command, verb: &str) -> Result<Command, CliError> {
    let found = command.find_subcommand(verb).filter(|found| found.get_name() == verb);
    let found = found.ok_or_else(|| {
        let names = command.get_subcommands().map(Command::get_name);
        let help = match nearest(verb, names) {
            Some(nearest) => format!("did you mean `twinlane man {nearest}`?"),
            None => "`twinlane --help` lists the verbs".to_owned(),
        };
        CliError::usage(format!("there is no verb `{verb}`")).help(help)
    })?;
    let name = format!("twinlane-{verb}");
    Ok(found.clone().name(name.clone()).display_name(name))
}

/// The reference of the command line, as `docs/cli.md` holds it.
#[must_use]
pub fn reference() -> String {
    let mut command = Arguments::command().term_width(100);
    command.build();
    let mut text = String::from(
        "# The command line\n\nGenerated from the definitions that parse it; a test fails when it is stale.\n",
    );
    // Writing to a String cannot fail.
    let _ = write!(text, "\n```\n{}\n```\n", command.render_long_help().to_string().trim_end());
    let _ = write!(text, "\n## Options of all verbs\n\n");
    options(&mut text, command.get_arguments().filter(|argument| argument.is_global_set()));
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        section(&mut text, verb);
    }
    text
}

fn section(text: &mut String, verb: &Command) {
    let about =
        verb.get_long_about().or_else(|| verb.get_about()).map(ToString::to_string).unwrap_or_default();
    let usage = verb.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let _ = write!(text, "\n## `{}`\n\n{about}\n\n```\n{usage}\n```\n", verb.get_name());
    let own: Vec<&Arg> = verb
        .get_arguments()
        .filter(|argument| {
            !argument.is_global_set() && !matches!(argument.get_id().as_str(), "help" | "version")
        })
        .collect();
    if !own.is_empty() {
        text.push('\n');
        options(text, own.into_iter());
    }
}

fn options<'a>(text: &mut String, arguments: impl Iterator<Item = &'a Arg>) {
    text.push_str("| argument | meaning |\n|---|---|\n");
    for argument in arguments.filter(|argument| !argument.is_hide_set()) {
        let help = argument
            .get_long_help()
            .or_else(|| argument.get_help())
            .map(ToString::to_string)
            .unwrap_or_default();
        let values: Vec<String> =
            argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
        let default = if values.is_empty() || !argument.get_action().takes_values() {
            String::new()
        } else {
            format!(" (default: `{}`)", values.join(" "))
        };
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
        let _ = writeln!(text, "| `{}` | {help}{default} |", spelling(argument).replace('|', "\\|"));
    }
}

fn spelling(argument: &Arg) -> String {
    let values = argument
        .get_value_names()
        .map(|names| names.iter().map(|name| format!("<{name}>")).collect::<Vec<_>>().join(" "));
    let values = values.filter(|_| argument.get_action().takes_values()).unwrap_or_default();
    let names: Vec<String> = argument
        .get_short()
        .map(|short| format!("-{short}"))
        .into_iter()
        .chain(argument.get_long().map(|long| format!("--{long}")))
        .collect();
    if names.is_empty() { values } else { format!("{} {values}", names.join(", ")).trim_end().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verb_has_a_page_that_names_it() {
        let command = Arguments::command();
        for verb in command.get_subcommands().map(Command::get_name) {
            let page = page_of(Some(verb)).expect("a page");
            assert!(page.contains(&format!(".TH twinlane-{verb}")), "{page}");
        }
        assert!(page_of(None).expect("a page").contains("twinlane"));
        assert!(page_of(Some("rum")).is_err());
    }

    #[test]
    fn the_reference_names_every_verb_and_flag() {
        let (text, command) = (reference(), Arguments::command());
        for verb in command.get_subcommands() {
            assert!(text.contains(&format!("## `{}`", verb.get_name())), "{}", verb.get_name());
            for flag in verb.get_arguments().filter_map(Arg::get_long) {
                assert!(text.contains(&format!("--{flag}")), "{flag}");
            }
        }
    }
}
