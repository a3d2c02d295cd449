//! Lists of digests as `b3sum` writes and checks them: a line a file, `<64 hex digits>  <name>`.
//!
//! A name with a backslash or a line break in it is escaped (`\\`, `\n`), and its line begins with a backslash, as `b3sum` and the
//! coreutils do (<https://github.com/BLAKE3-team/BLAKE3/tree/master/b3sum>). Other bytes stand as they are, also where they are no UTF-8.

use super::Digest;

/// One line of a list of digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SumLine {
    /// BLAKE3 of the file's content.
    pub digest: Digest,
    /// The file's name as it was listed, unescaped: bytes, perhaps with `./` before it, perhaps absolute; nothing is tidied.
    pub name: Box<[u8]>,
}

/// Why a line is none of a list of digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SumLineError {
    /// It does not begin with 64 hex digits.
    #[error("it does not begin with the 64 hex digits of a BLAKE3 digest")]
    Digest,
    /// No two spaces follow the digest.
    #[error("two spaces and a name should follow the digest")]
    Separator,
    /// Nothing follows the spaces.
    #[error("the name is empty")]
    Empty,
    /// It holds a NUL byte.
    #[error("the name holds a NUL byte")]
    Nul,
    /// A backslash is followed by neither `n` nor a backslash.
    #[error("the name holds an escape other than `\\n` and `\\\\`")]
    Escape,
}

impl SumLine {
    /// Reads one line, without its line break.
    ///
    /// # Errors
    /// See [`SumLineError`].
    pub fn parse(line: &[u8]) -> Result<Self, SumLineError> {
        const DIGITS: usize = 64;
        let (escaped, line) = match line.strip_prefix(b"\\") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let digits = line.get(..DIGITS).and_then(|digits| std::str::from_utf8(digits).ok());
        let digest = digits.and_then(Digest::from_hex).ok_or(SumLineError::Digest)?;
        let rest = line.get(DIGITS..).unwrap_or_default();
        let name = rest.strip_prefix(b"  ").ok_or(SumLineError::Separator)?;
        if name.is_empty() {
            return Err(SumLineError::Empty);
        }
        if name.contains(&0) {
            return Err(SumLineError::Nul);
        }
        let name = if escaped { unescape(name)? } else { name.to_vec() };
        Ok(Self { digest, name: name.into() })
    }

    /// The line as it is written, with its line break.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut line = Vec::with_capacity(self.name.len() + 68);
        let escaped = self.name.iter().any(|byte| matches!(byte, b'\\' | b'\n'));
        if escaped {
            line.push(b'\\');
        }
        line.extend_from_slice(self.digest.to_string().as_bytes());
        line.extend_from_slice(b"  ");
        for &byte in &self.name {
            match byte {
                b'\\' => line.extend_from_slice(b"\\\\"),
                b'\n' => line.extend_from_slice(b"\\n"),
                other => line.push(other),
            }
        }
        line.push(b'\n');
        line
    }
}

fn unescape(name: &[u8]) -> Result<Vec<u8>, SumLineError> {
    let mut plain = Vec::with_capacity(name.len());
    let mut bytes = name.iter();
    while let Some(&byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next() {
                Some(b'\\') => b'\\',
                Some(b'n') => b'\n',
                _ => return Err(SumLineError::Escape),
            },
            other => other,
        });
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(name: &[u8]) -> SumLine {
        SumLine { digest: Digest([0xab; 32]), name: name.into() }
    }

    #[test]
    fn written_as_b3sum_does() {
        let hex = "ab".repeat(32);
        for (name, expected) in [
            (&b"a b/c"[..], format!("{hex}  a b/c\n")),
            (b"back\\slash", format!("\\{hex}  back\\\\slash\n")),
            (b"line\nbreak", format!("\\{hex}  line\\nbreak\n")),
        ] {
            assert_eq!(line(name).to_bytes(), expected.as_bytes());
        }
        assert!(line(b"a\xffb").to_bytes().ends_with(b"  a\xffb\n"));
    }

    #[test]
    fn what_is_no_line_is_refused() {
        let hex = "ab".repeat(32);
        for (text, error) in [
            (String::new(), SumLineError::Digest),
            ("abc  name".to_owned(), SumLineError::Digest),
            (format!("{}  name", "zz".repeat(32)), SumLineError::Digest),
            (format!("{hex} name"), SumLineError::Separator),
            (format!("{hex} *name"), SumLineError::Separator),
            (format!("{hex}  "), SumLineError::Empty),
            (format!("{hex}  a\0b"), SumLineError::Nul),
            (format!("\\{hex}  a\\tb"), SumLineError::Escape),
            (format!("\\{hex}  a\\"), SumLineError::Escape),
        ] {
            assert_eq!(SumLine::parse(text.as_bytes()), Err(error), "{text:?}");
        }
        assert_eq!(
            SumLine::parse(format!("{hex}  a\\tb").as_bytes()),
            Ok(line(b"a\\tb")),
            "nothing is escaped"
        );
    }

    proptest! {
        #[test]
        fn any_name_goes_both_ways(name in proptest::collection::vec(1u8.., 1..20)) {
            let written = line(&name).to_bytes();
            prop_assert_eq!(written.iter().position(|byte| *byte == b'\n'), Some(written.len() - 1));
            prop_assert_eq!(SumLine::parse(written.strip_suffix(b"\n").unwrap()), Ok(line(&name)));
        }
    }
}
