//! Where a verb writes, and how: resolved once from flags, environment and the streams themselves.

use crate::platform::Environment;
use crate::report::{Colour, Output, ProgressForm, Stream, Verbosity};

use super::arguments::{Common, ProgressChoice, When};

/// What every verb gets.
#[derive(Debug)]
pub(super) struct Terminal {
    pub(super) environment: Environment,
    pub(super) output: Output,
    pub(super) form: Form,
    pub(super) verbosity: Verbosity,
    pub(super) progress: ProgressForm,
}

/// For whom the result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Terminal {
    pub(super) fn new(common: &Common, environment: Environment) -> Self {
        let plain = environment.variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = environment.variable("TERM").is_some_and(|term| term == "dumb");
        let colour = |stream: Stream| match common.color {
            When::Always => Colour::On,
            When::Auto if Output::is_terminal(stream) && !plain && !dumb => Colour::On,
            When::Auto | When::Never => Colour::Off,
        };
        let form = if common.json { Form::Json } else { Form::Text };
        let verbosity = match (common.quiet, common.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        };
        let watched = Output::is_terminal(Stream::Message) && !dumb;
        let quiet = verbosity == Verbosity::Quiet || form == Form::Json && !watched;
        let progress = match common.progress {
            ProgressChoice::Bar => ProgressForm::Bar,
            ProgressChoice::Lines => ProgressForm::Lines,
            ProgressChoice::None => ProgressForm::None,
            ProgressChoice::Auto if quiet => ProgressForm::None,
            ProgressChoice::Auto => {
                if watched {
                    ProgressForm::Bar
                } else {
                    ProgressForm::Lines
                }
            }
        };
        let output = Output::standard(colour(Stream::Result), colour(Stream::Message));
        Self { environment, output, form, verbosity, progress }
    }
}
