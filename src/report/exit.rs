//! The exit codes, in words; the numbers themselves are [`Exit::code`](crate::run::Exit::code)'s.

/// Every exit code with its meaning, as `--help` and the README show it (DESIGN §4).
pub const EXIT_CODES: [(&str, &str); 8] = [
    ("0", "done, nothing to do, or skipped by `on_missing: skip`"),
    ("1", "finished, but entries failed, were unsettled, in conflict or moved since; each is listed"),
    ("2", "usage or job-file error; nothing was touched"),
    ("3", "a rule was refused by a limit or requirement; nothing of it was written"),
    ("4", "another run holds the destination"),
    ("5", "stopped early (destination lost, disk full, internal error); what was done is whole"),
    ("6", "`plan --exit-code` found changes"),
    ("130, 143", "interrupted (SIGINT, SIGTERM), the entries in hand finished or rolled back"),
];

/// The table as lines of text.
#[must_use]
pub fn exit_table() -> String {
    let lines = EXIT_CODES.iter().map(|(code, meaning)| format!("  {code:<9} {meaning}"));
    let mut text =
        String::from("Exit codes (of several rules, the first of 130/143, 5, 3, 4, 1, 0 that occurred):\n");
    text.push_str(&lines.collect::<Vec<_>>().join("\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Exit;

    #[test]
    fn the_table_fits_a_help_page() {
        // clap wraps at `max_term_width`, without regard to columns.
        assert!(exit_table().lines().all(|line| line.len() <= 100), "{}", exit_table());
    }

    #[test]
    fn every_code_is_documented() {
        let exits = [
            Exit::Done,
            Exit::Partial,
            Exit::Usage,
            Exit::Refused,
            Exit::Busy,
            Exit::Stopped,
            Exit::Changes,
            Exit::Interrupted(2),
            Exit::Interrupted(15),
        ];
        for exit in exits {
            let code = exit.code().to_string();
            assert!(
                EXIT_CODES.iter().any(|(codes, _)| codes.split(", ").any(|known| known == code)),
                "{exit:?}"
            );
        }
    }
}
