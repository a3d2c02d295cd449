//! The fault point: makes the N-th call to the operating system fail, kill the process, or run a command first.
//!
//! Compiled in debug builds and with the feature `fault`; elsewhere [`pass`] and [`pass_read`] are empty. Set by
//! environment variables that only tests use:
//! `TWINLANE_FAULT=eio@37` (once), `eio@37+` (for ever), `kill@37` (SIGKILL to itself), `hook:CMD@37` (runs CMD with `sh -c`,
//! then goes on), `flip@37` (the write succeeds, and then one bit of what it wrote is turned over); `read-` in front counts reading calls instead of mutating ones. `TWINLANE_FAULT_LOG=FILE` gets a line when a fault
//! fires, and `TWINLANE_FAULT_TRACE=FILE` a line for every call, so that a sweep knows where it is.

use std::io;

/// The calls that pass the fault point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `mkdirat`.
    MakeDirectory,
    /// `openat(O_CREAT|O_EXCL)`.
    Create,
    /// `pwrite` or a write on a ring.
    Write,
    /// `fallocate`.
    Allocate,
    /// `ftruncate`.
    Truncate,
    /// `linkat`.
    Link,
    /// `symlinkat`.
    Symlink,
    /// `mknodat`.
    MakeNode,
    /// `renameat2`.
    Rename,
    /// `unlinkat`, of a file.
    Unlink,
    /// `unlinkat(AT_REMOVEDIR)`.
    RemoveDirectory,
    /// `fchown`.
    SetOwner,
    /// `fchmod`.
    SetMode,
    /// `utimensat`.
    SetTimes,
    /// `fsetxattr`, `fremovexattr`.
    SetXattr,
    /// `fsync`, `fdatasync`.
    Sync,
    /// `syncfs`.
    SyncFileSystem,
    /// `openat` for reading.
    Open,
    /// `pread` or a read on a ring.
    Read,
    /// `getdents64`.
    List,
    /// `statx`.
    Stat,
    /// `readlinkat`.
    ReadLink,
    /// `flistxattr`, `fgetxattr`.
    GetXattr,
}

/// Lets a mutating call through, or makes it fail.
///
/// # Errors
/// The error that the environment asked for.
#[inline]
pub fn pass(call: Call, name: &[u8]) -> io::Result<()> {
    imp::pass(imp::Side::Mutating, call, name)
}

/// Lets a reading call through, or makes it fail.
///
/// # Errors
/// The error that the environment asked for.
#[inline]
pub fn pass_read(call: Call, name: &[u8]) -> io::Result<()> {
    imp::pass(imp::Side::Reading, call, name)
}

/// Whether a write that was let through is to be spoilt in silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoil {
    /// It stays as it is.
    Nothing,
    /// One bit of it is to be turned over.
    Bit,
}

/// Lets a write through, or makes it fail, or says that it is to be spoilt.
///
/// # Errors
/// The error that the environment asked for.
#[inline]
pub fn pass_write(name: &[u8]) -> io::Result<Spoil> {
    imp::pass_write(name)
}

#[cfg(not(any(debug_assertions, feature = "fault")))]
mod imp {
    pub(super) enum Side {
        Mutating,
        Reading,
    }

    #[expect(clippy::unnecessary_wraps, reason = "same signature as where faults are compiled in")]
    #[inline]
    pub(super) fn pass(_: Side, _: super::Call, _: &[u8]) -> std::io::Result<()> {
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "same signature as where faults are compiled in")]
    #[inline]
    pub(super) fn pass_write(_: &[u8]) -> std::io::Result<super::Spoil> {
        Ok(super::Spoil::Nothing)
    }
}

#[cfg(any(debug_assertions, feature = "fault"))]
mod imp {
    use std::io::{self, Write as _};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use rustix::io::Errno;

    use super::{Call, Spoil};
    use crate::value::escape;

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(super) enum Side {
        Mutating,
        Reading,
    }

    #[derive(Clone, PartialEq, Eq, Debug)]
    pub(super) enum Blow {
        Fail(Errno),
        Kill,
        Flip,
        Hook(String),
    }

    #[derive(Clone, PartialEq, Eq, Debug)]
    pub(super) struct Wanted {
        pub(super) side: Side,
        pub(super) blow: Blow,
        pub(super) at: u64,
        pub(super) for_ever: bool,
    }

    struct Setting {
        wanted: Option<Wanted>,
        log: Option<String>,
        trace: Option<String>,
    }

    static SETTING: OnceLock<Setting> = OnceLock::new();
    static MUTATING: AtomicU64 = AtomicU64::new(0);
    static READING: AtomicU64 = AtomicU64::new(0);

    const ERRNOS: [(&str, Errno); 11] = [
        ("eio", Errno::IO),
        ("enospc", Errno::NOSPC),
        ("eacces", Errno::ACCESS),
        ("eperm", Errno::PERM),
        ("eintr", Errno::INTR),
        ("estale", Errno::STALE),
        ("exdev", Errno::XDEV),
        ("emlink", Errno::MLINK),
        ("edquot", Errno::DQUOT),
        ("erofs", Errno::ROFS),
        ("einval", Errno::INVAL),
    ];

    pub(super) fn parse(text: &str) -> Option<Wanted> {
        let (side, rest) = match text.strip_prefix("read-") {
            Some(rest) => (Side::Reading, rest),
            None => (Side::Mutating, text),
        };
        let (blow, at) = rest.rsplit_once('@')?;
        let (at, for_ever) = match at.strip_suffix('+') {
            Some(at) => (at, true),
            None => (at, false),
        };
        let blow = match blow.strip_prefix("hook:") {
            Some(command) => Blow::Hook(command.to_owned()),
            None if blow == "kill" => Blow::Kill,
            None if blow == "flip" => Blow::Flip,
            None => Blow::Fail(ERRNOS.iter().find(|(name, _)| *name == blow)?.1),
        };
        Some(Wanted { side, blow, at: at.parse().ok()?, for_ever })
    }

    fn setting() -> &'static Setting {
        SETTING.get_or_init(|| {
            let text = std::env::var("TWINLANE_FAULT").ok();
            let wanted = text.as_deref().map(|text| {
                let wanted = parse(text);
                assert!(wanted.is_some(), "TWINLANE_FAULT={text} is not understood");
                wanted
            });
            let file = |name: &str| std::env::var(name).ok();
            Setting {
                wanted: wanted.flatten(),
                log: file("TWINLANE_FAULT_LOG"),
                trace: file("TWINLANE_FAULT_TRACE"),
            }
        })
    }

    fn note(file: Option<&String>, line: &str) {
        let Some(file) = file else { return };
        if let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(file) {
            let _ = file.write_all(line.as_bytes());
        }
    }

    pub(super) fn pass(side: Side, call: Call, name: &[u8]) -> io::Result<()> {
        judge(side, call, name).map(drop)
    }

    pub(super) fn pass_write(name: &[u8]) -> io::Result<Spoil> {
        judge(Side::Mutating, Call::Write, name)
    }

    fn judge(side: Side, call: Call, name: &[u8]) -> io::Result<Spoil> {
        let setting = setting();
        if setting.wanted.is_none() && setting.trace.is_none() {
            return Ok(Spoil::Nothing);
        }
        let counter = if side == Side::Mutating { &MUTATING } else { &READING };
        let number = counter.fetch_add(1, Ordering::SeqCst) + 1;
        let line = format!("{side:?} {number} {call:?} {}\n", escape(name));
        note(setting.trace.as_ref(), &line);
        let Some(wanted) = &setting.wanted else { return Ok(Spoil::Nothing) };
        let hit = wanted.side == side && (number == wanted.at || wanted.for_ever && number >= wanted.at);
        if !hit {
            return Ok(Spoil::Nothing);
        }
        note(setting.log.as_ref(), &line);
        match &wanted.blow {
            Blow::Fail(errno) => Err((*errno).into()),
            Blow::Flip => Ok(Spoil::Bit),
            Blow::Kill => {
                let _ =
                    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
                loop {
                    std::thread::park();
                }
            }
            Blow::Hook(command) => {
                // The hook's own calls must not meet the fault point again.
                let status = std::process::Command::new("sh")
                    .args(["-c", command])
                    .env_remove("TWINLANE_FAULT")
                    .stdin(std::process::Stdio::null())
                    .status();
                note(setting.log.as_ref(), &format!("hook {status:?}\n"));
                Ok(Spoil::Nothing)
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn settings_are_read() {
            let wanted = |text| parse(text).unwrap();
            assert_eq!(wanted("eio@37").blow, Blow::Fail(Errno::IO));
            assert!(wanted("enospc@2+").for_ever);
            assert_eq!(wanted("kill@1").blow, Blow::Kill);
            assert_eq!(wanted("flip@7").blow, Blow::Flip);
            assert_eq!(wanted("hook:touch a@b@4").blow, Blow::Hook("touch a@b".to_owned()));
            assert_eq!(wanted("read-eio@4").side, Side::Reading);
            for text in ["", "eio", "eio@", "eio@x", "what@3"] {
                assert_eq!(parse(text), None, "{text}");
            }
        }
    }
}
