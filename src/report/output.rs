//! The two streams. A reader that has gone away (`| head`) ends the writing, not the work.

use std::io::{self, IsTerminal as _, Write};

/// Whether a stream gets colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// It does.
    On,
    /// It does not.
    Off,
}

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Errors only.
    Quiet,
    /// The result.
    Normal,
    /// Every action too.
    Verbose,
}

/// A way to stress a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Names.
    Bold,
    /// All is well.
    Good,
    /// Needs a look.
    Warning,
    /// Went wrong.
    Bad,
    /// Less important.
    Dim,
}

impl Paint {
    /// Select Graphic Rendition, ECMA-48 8.3.117.
    fn code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Good => "32",
            Self::Warning => "33",
            Self::Bad => "1;31",
            Self::Dim => "2",
        }
    }
}

/// One of the two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The result.
    Result,
    /// Everything else.
    Message,
}

/// Where everything is written.
pub struct Output {
    result: Box<dyn Write + Send>,
    message: Box<dyn Write + Send>,
    colours: [Colour; 2],
    closed: [bool; 2],
}

impl std::fmt::Debug for Output {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Output").field("colours", &self.colours).finish_non_exhaustive()
    }
}

impl Output {
    /// The process's own stdout and stderr.
    #[must_use]
    pub fn standard(result: Colour, message: Colour) -> Self {
        Self::over(Box::new(io::stdout()), Box::new(io::stderr()), [result, message])
    }

    /// Any two streams.
    #[must_use]
    pub fn over(result: Box<dyn Write + Send>, message: Box<dyn Write + Send>, colours: [Colour; 2]) -> Self {
        Self { result, message, colours, closed: [false; 2] }
    }

    /// Whether a standard stream is a terminal.
    #[must_use]
    pub fn is_terminal(stream: Stream) -> bool {
        match stream {
            Stream::Result => io::stdout().is_terminal(),
            Stream::Message => io::stderr().is_terminal(),
        }
    }

    /// Writes one line of the result.
    pub fn line(&mut self, text: &str) {
        self.write(Stream::Result, text);
    }

    /// Writes one line of what is not the result.
    pub fn message(&mut self, text: &str) {
        self.write(Stream::Message, text);
    }

    fn write(&mut self, stream: Stream, text: &str) {
        let (index, writer) = match stream {
            Stream::Result => (0, &mut self.result),
            Stream::Message => (1, &mut self.message),
        };
        let Some(closed) = self.closed.get_mut(index) else { return };
        if *closed {
            return;
        }
        // Whatever the reason: what cannot be said is no reason to leave the work half done.
        *closed = writeln!(writer, "{text}").and_then(|()| writer.flush()).is_err();
    }

    /// Whether a stream gets colours.
    #[must_use]
    pub fn colour(&self, stream: Stream) -> Colour {
        match stream {
            Stream::Result => self.colours[0],
            Stream::Message => self.colours[1],
        }
    }

    /// A piece of text, stressed where the stream shows colours.
    #[must_use]
    pub fn paint(&self, stream: Stream, paint: Paint, text: &str) -> String {
        match self.colour(stream) {
            Colour::On => format!("\x1b[{}m{text}\x1b[0m", paint.code()),
            Colour::Off => text.to_owned(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Keeps what is written.
    #[derive(Clone, Default)]
    pub(in crate::report) struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Kept {
        pub(in crate::report) fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// An output that keeps what it gets: result and messages.
    pub(in crate::report) fn kept(colour: Colour) -> (Output, Kept, Kept) {
        let (result, message) = (Kept::default(), Kept::default());
        let output = Output::over(Box::new(result.clone()), Box::new(message.clone()), [colour; 2]);
        (output, result, message)
    }

    struct Gone(Arc<Mutex<u32>>);

    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            *self.0.lock().unwrap() += 1;
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn bc_90_a_reader_that_has_gone_is_written_to_once() {
        let tries = Arc::new(Mutex::new(0));
        let message = Kept::default();
        let mut output =
            Output::over(Box::new(Gone(Arc::clone(&tries))), Box::new(message.clone()), [Colour::Off; 2]);
        output.line("a");
        output.line("b");
        output.message("c");
        assert_eq!(*tries.lock().unwrap(), 1);
        assert_eq!(message.text(), "c\n");
    }

    #[test]
    fn colours_only_where_they_are_on() {
        let (plain, ..) = kept(Colour::Off);
        assert_eq!(plain.paint(Stream::Result, Paint::Bad, "x"), "x");
        let (bright, ..) = kept(Colour::On);
        assert_eq!(bright.paint(Stream::Result, Paint::Good, "x"), "\x1b[32mx\x1b[0m");
    }
}
