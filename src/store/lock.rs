//! `.twinlane/lock`: one writer at a time, and who it is.
//!
//! The kernel's lock decides, and it frees it when its holder dies; the record in the file is for people, and for other hosts where the
//! kernel's lock may not reach them. A process id in it proves nothing and is never looked up.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::home::{locked, read_record};
use super::identity::{Time, stamp_of, time_of};
use super::{LOCK_RENEWAL, Store, StoreError, failed, optional};
use crate::platform::{Access, Attributes as _, Clock, Dir, File, Lock, LockMode};
use crate::value::{Kind, RunId, Stamp};

const LOCK: &[u8] = b"lock";
const FORMAT: u32 = 1;
/// A record is one line; what is longer is damaged.
const RECORD_BYTES_MAX: usize = 64 * 1024;
/// A record of another host counts as held while it is younger than this (DESIGN §7): ten renewals may be lost.
const FOREIGN_AGE_MAX: Duration = Duration::from_secs(300);

/// Who holds a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Host name.
    pub host: String,
    /// Boot id of that host.
    pub boot_id: String,
    /// Process id, for people only.
    pub process_id: u32,
    /// The run.
    pub run: String,
    /// When it started.
    pub since: Stamp,
}

/// What taking the lock gave.
#[derive(Debug)]
pub enum Locking {
    /// It is ours until dropped.
    Held(HeldLock),
    /// Somebody else has it; the record, where it can be read.
    Busy(Option<Holder>),
    /// There is no place to lock (no `.twinlane`, or read-only) and the lock is only to be shared.
    Without,
}

/// A held lock; its record is rewritten every 30 s by its own thread, and it is freed when dropped.
#[derive(Debug)]
pub struct HeldLock {
    lock: Arc<Lock>,
    /// Of an exclusive lock.
    keeper: Option<Keeper>,
    message: Option<String>,
}

impl HeldLock {
    /// Something to tell the user: that a damaged record was set aside.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }
}

/// The thread that renews the record, and what it writes.
#[derive(Debug)]
struct Keeper {
    record: LockRecord,
    clock: Clock,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        let Some(keeper) = &mut self.keeper else { return };
        keeper.stop = None;
        if let Some(thread) = keeper.thread.take() {
            let _ = thread.join();
        }
        // Other hosts need not wait for the record to grow old. Where this fails, they wait.
        let ended = LockRecord { ended: true, ..keeper.record.clone() };
        let _ = write_line(self.lock.file(), &ended, keeper.clock);
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LockRecord {
    format: u32,
    host: String,
    boot_id: String,
    process_id: u32,
    run: String,
    since: Time,
    renewed: Time,
    /// The holder let go.
    ended: bool,
}

impl LockRecord {
    fn holder(&self) -> Holder {
        Holder {
            host: self.host.clone(),
            boot_id: self.boot_id.clone(),
            process_id: self.process_id,
            run: self.run.clone(),
            since: stamp_of(self.since),
        }
    }
}

/// What the lock's file says.
enum Said {
    Nothing,
    Record(LockRecord),
    Damaged(Vec<u8>),
}

/// One write of one line, the end cut off afterwards: a reader goes by the first line, so a kill between the two leaves no damage.
fn write_line(file: &File, record: &LockRecord, clock: Clock) -> io::Result<()> {
    let record = LockRecord { renewed: time_of(clock.now()), ..record.clone() };
    let mut line = serde_json::to_vec(&record).map_err(io::Error::other)?;
    line.push(b'\n');
    file.write_at(&line, 0)?;
    file.set_length(line.len() as u64)
}

fn read_lines(file: &File) -> io::Result<Said> {
    let mut bytes = vec![0; RECORD_BYTES_MAX];
    let got = file.read_at(&mut bytes, 0)?;
    bytes.truncate(got);
    Ok(parse(bytes))
}

fn parse(bytes: Vec<u8>) -> Said {
    if bytes.is_empty() {
        return Said::Nothing;
    }
    let line = bytes.iter().position(|&byte| byte == b'\n').and_then(|end| bytes.get(..end));
    match line.and_then(|line| serde_json::from_slice::<LockRecord>(line).ok()) {
        Some(record) if record.format <= FORMAT => Said::Record(record),
        _ => Said::Damaged(bytes),
    }
}

/// The lock's file as a plain file with one name: through a further name its record would overwrite somebody's content.
fn checked(file: File) -> Result<File, StoreError> {
    let meta = file.meta().map_err(failed("look at", LOCK))?;
    if meta.kind == Kind::File && meta.links == 1 {
        Ok(file)
    } else {
        Err(StoreError::Planted { path: "lock".to_owned() })
    }
}

/// Whether a record of another host says that it is still at work: by its own time, or by the file's, which a server sets.
fn holds_elsewhere(record: &LockRecord, own_host: &str, modified: Stamp, now: Stamp) -> bool {
    let young = |time: Stamp| time.distance_ns(now) < FOREIGN_AGE_MAX.as_nanos();
    !record.ended && record.host != own_host && (young(stamp_of(record.renewed)) || young(modified))
}

/// Whether this error of the system means that the place has no locks, or none for us.
fn has_no_lock(error: &io::Error) -> bool {
    use io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem, Unsupported};
    /// `ENOLCK`, `errno-base.h`: NFS without its lock service.
    const NO_LOCKS: i32 = 37;
    matches!(error.kind(), NotFound | PermissionDenied | ReadOnlyFilesystem | Unsupported)
        || error.raw_os_error() == Some(NO_LOCKS)
}

impl Store {
    /// Takes the lock, exclusively, as `holder`. `shared_place`: on network and FUSE file systems a record of another host younger
    /// than 5 minutes counts as held too. A damaged record is set aside as `lock.damaged-<run>`, see [`HeldLock::message`].
    ///
    /// # Errors
    /// See [`StoreError`]; a place that has no locks is one.
    pub fn lock_exclusive(
        &self,
        holder: &Holder,
        shared_place: bool,
        clock: Clock,
    ) -> Result<Locking, StoreError> {
        self.lock_renewing(holder, shared_place, clock, LOCK_RENEWAL)
    }

    pub(super) fn lock_renewing(
        &self,
        holder: &Holder,
        shared_place: bool,
        clock: Clock,
        renewal: Duration,
    ) -> Result<Locking, StoreError> {
        let file = self.home.open_or_create_file(LOCK).map_err(failed("open", LOCK))?;
        let lock = match Lock::take(checked(file)?, LockMode::Exclusive).map_err(failed("lock", LOCK))? {
            Ok(lock) => lock,
            Err(file) => return Ok(Locking::Busy(holder_in(&file)?)),
        };
        let modified = lock.file().meta().map_err(failed("look at", LOCK))?.modified;
        let mut message = None;
        match read_lines(lock.file()).map_err(failed("read", LOCK))? {
            Said::Nothing => {}
            Said::Record(record) => {
                if shared_place && holds_elsewhere(&record, &holder.host, modified, clock.now()) {
                    return Ok(Locking::Busy(Some(record.holder())));
                }
                *locked(&self.previous) = record.run.parse().ok();
            }
            Said::Damaged(bytes) => message = Some(keep_damaged(&self.home, &bytes, &holder.run)?),
        }
        let record = LockRecord {
            format: FORMAT,
            host: holder.host.clone(),
            boot_id: holder.boot_id.clone(),
            process_id: holder.process_id,
            run: holder.run.clone(),
            since: time_of(holder.since),
            renewed: time_of(clock.now()),
            ended: false,
        };
        write_line(lock.file(), &record, clock).map_err(failed("write", LOCK))?;
        if shared_place {
            lock.file().sync().map_err(failed("sync", LOCK))?;
        }
        let lock = Arc::new(lock);
        let keeper = Keeper::start(&lock, record, clock, renewal).map_err(failed("renew", LOCK))?;
        Ok(Locking::Held(HeldLock { lock, keeper: Some(keeper), message }))
    }

    /// Shares the lock with other readers, or goes on without where it cannot. Writes nothing.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn lock_shared(&self) -> Result<Locking, StoreError> {
        let file = match self.home.open_file(LOCK, Access::Buffered) {
            Ok(file) => checked(file)?,
            Err(error) if has_no_lock(&error) => return Ok(Locking::Without),
            Err(error) => return Err(failed("open", LOCK)(error)),
        };
        match Lock::take(file, LockMode::Shared) {
            Ok(Ok(lock)) => Ok(Locking::Held(HeldLock { lock: Arc::new(lock), keeper: None, message: None })),
            Ok(Err(file)) => Ok(Locking::Busy(holder_in(&file)?)),
            Err(error) if has_no_lock(&error) => Ok(Locking::Without),
            Err(error) => Err(failed("lock", LOCK)(error)),
        }
    }

    /// The last run that took the lock before this process did.
    pub(super) fn recorded_run(&self) -> Option<RunId> {
        if let Some(run) = *locked(&self.previous) {
            return Some(run);
        }
        match parse(read_record(&self.home, LOCK).ok()??) {
            Said::Record(record) => record.run.parse().ok(),
            Said::Nothing | Said::Damaged(_) => None,
        }
    }
}

impl Keeper {
    fn start(lock: &Arc<Lock>, record: LockRecord, clock: Clock, renewal: Duration) -> io::Result<Self> {
        let (stop, stopped) = channel::<()>();
        let (lock, renewed) = (Arc::clone(lock), record.clone());
        let thread = std::thread::Builder::new().name("twinlane-lock".to_owned()).spawn(move || {
            while stopped.recv_timeout(renewal) == Err(RecvTimeoutError::Timeout) {
                // The kernel's lock is what counts; a renewal that fails is tried again at the next turn.
                let _ = write_line(lock.file(), &renewed, clock);
            }
        })?;
        Ok(Self { record, clock, stop: Some(stop), thread: Some(thread) })
    }
}

fn holder_in(file: &File) -> Result<Option<Holder>, StoreError> {
    Ok(match read_lines(file).map_err(failed("read", LOCK))? {
        Said::Record(record) if !record.ended => Some(record.holder()),
        _ => None,
    })
}

/// Copies a damaged record to `lock.damaged-<run>`; the lock's file itself must stay, since others may wait on it.
fn keep_damaged(home: &Dir, bytes: &[u8], run: &str) -> Result<String, StoreError> {
    // The run's text comes from the caller's run id and holds no slash.
    let name = format!("lock.damaged-{run}").replace('/', "_");
    optional(home.remove_file(name.as_bytes())).map_err(failed("remove", name.as_bytes()))?;
    let file = home.create_file(name.as_bytes()).map_err(failed("create", name.as_bytes()))?;
    file.write_at(bytes, 0).map_err(failed("write", name.as_bytes()))?;
    Ok(format!("the lock's record was damaged; it was set aside as `.twinlane/{name}`"))
}
