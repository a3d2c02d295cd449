//! What stops a verb before its work: one line, its causes, one line of help.

use std::error::Error;

use crate::job::masked;
use crate::report::{Output, Paint, Stream};
use crate::run::{Exit, causes};

/// An error for the person at the command line.
#[derive(Debug)]
pub(super) struct CliError {
    message: String,
    causes: Vec<String>,
    help: Option<String>,
    /// Text that explains itself, such as rendered diagnostics; shown instead of the message.
    rendered: Option<String>,
    exit: Exit,
}

impl CliError {
    /// Something on the command line or in a job file is wrong; nothing was touched.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), causes: Vec::new(), help: None, rendered: None, exit: Exit::Usage }
    }

    /// Job files whose diagnostics are rendered already.
    pub(super) fn rendered(text: String) -> Self {
        Self { rendered: Some(text), ..Self::usage("the job file is wrong") }
    }

    /// A requirement does not hold; nothing was touched.
    pub(super) fn refused(message: impl Into<String>) -> Self {
        Self { exit: Exit::Refused, ..Self::usage(message) }
    }

    /// Something of the system failed before anything was begun.
    pub(super) fn stopped(message: impl Into<String>) -> Self {
        Self { exit: Exit::Stopped, ..Self::usage(message) }
    }

    /// The way out.
    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// An error with all its causes.
    pub(super) fn because(self, error: &dyn Error) -> Self {
        Self { causes: causes(error), ..self }
    }

    /// What it makes of the process.
    pub(super) fn exit(&self) -> Exit {
        self.exit
    }

    /// Writes it to stderr, without the passwords of addresses.
    pub(super) fn show(&self, output: &mut Output) {
        if let Some(text) = &self.rendered {
            output.message(text.trim_end());
            return;
        }
        let word = output.paint(Stream::Message, Paint::Bad, "error:");
        output.message(&format!("{word} {}", masked(self.message.clone())));
        for cause in &self.causes {
            output.message(&format!("  caused by: {}", masked(cause.clone())));
        }
        if let Some(help) = &self.help {
            output.message(&format!("help: {}", masked(help.clone())));
        }
    }
}
