//! The N-th mutating call of a run fails, for every N: no law is broken, and the next run converges.

use crate::fixture::{Prepared, broken_laws, leftovers, not_converged, open_or_closed, prepare, told};
use crate::support::restore_tree;

/// More calls than the small runs here make; a sweep that gets there is not ending.
pub const CALLS_MAX: u32 = 3000;

/// What a sweep starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// The destination holds the fixture's first state.
    Kept,
    /// The destination is not there.
    Absent,
}

/// One sweep: a fault over every N of a run.
#[derive(Clone, Copy, Debug)]
struct Sweep {
    mode: &'static str,
    options: &'static str,
    /// As in `TWINLANE_FAULT`, with `N` for the number.
    fault: &'static str,
    start: Start,
}

/// Every how many calls a fault is tried in a short run; which ones rotates with the seed.
const STRIDE: u32 = 7;

/// The first N and the step to the next: all of them under `TWINLANE_TEST_FULL=1`.
pub fn steps(stride: u32) -> (u32, u32) {
    if std::env::var("TWINLANE_TEST_FULL").is_ok_and(|value| value == "1") {
        return (1, 1);
    }
    let seed = std::process::id();
    println!("every {stride}th call from {} (seed {seed})", seed % stride + 1);
    (seed % stride + 1, stride)
}

impl Sweep {
    const fn of(mode: &'static str, fault: &'static str) -> Self {
        Self { mode, options: OPEN, fault, start: Start::Kept }
    }

    const fn with(self, options: &'static str) -> Self {
        Self { options, ..self }
    }

    const fn first_run(self) -> Self {
        Self { start: Start::Absent, ..self }
    }

    /// Takes every N, or some, and fails with every law that was broken.
    fn run(self) {
        let (first, stride) = steps(STRIDE);
        let fired = self.sweep(first, stride);
        assert!(fired * stride > 40, "{self:?}: only {fired} faults fired");
    }

    fn prepared(self) -> Prepared {
        let mut prepared = prepare(self.mode, self.options);
        if self.start == Start::Absent {
            std::fs::remove_dir_all(&prepared.sandbox.destination).unwrap();
            std::fs::remove_dir_all(&prepared.sandbox.state).unwrap();
            prepared.old.clear();
            prepared.look_alike = None;
        }
        prepared
    }

    fn sweep(self, first: u32, stride: u32) -> u32 {
        let mut prepared = self.prepared();
        let base = prepared.sandbox.base().to_owned();
        let (kept, kept_state, log) = (base.join("T.kept"), base.join("state.kept"), base.join("fault.log"));
        restore_tree(&prepared.sandbox.destination, &kept);
        restore_tree(&prepared.sandbox.state, &kept_state);
        let mut wrong: Vec<String> = Vec::new();
        let mut fired = 0;
        for number in (first..CALLS_MAX).step_by(stride as usize) {
            prepared.relinked = false;
            let sandbox = &prepared.sandbox;
            restore_tree(&kept, &sandbox.destination);
            restore_tree(&kept_state, &sandbox.state);
            let _ = std::fs::remove_file(&log);
            let setting = self.fault.replace('N', &number.to_string());
            let ran = sandbox
                .run_with(&[("TWINLANE_FAULT", &setting), ("TWINLANE_FAULT_LOG", &log.to_string_lossy())]);
            if !log.exists() {
                assert_eq!(ran.code, 0, "without a fault: {}", ran.err);
                break;
            }
            fired += 1;
            let hit = std::fs::read_to_string(&log).unwrap_or_default();
            let at = format!("{setting} ({})", hit.lines().next().unwrap_or_default());
            if ran.err.contains("panicked") || !matches!(ran.code, i32::MIN..0 | 0 | 1 | 3 | 5) {
                wrong.push(format!("{at}: exit {:?}\n{}", ran.code, ran.err));
            }
            wrong.extend(broken_laws(&prepared).into_iter().map(|law| format!("{at}: {law}")));
            let mut told = told(&prepared, self.mode, &ran);
            // Where everything fails from one call on, modes are mended by the next run alone.
            if !self.fault.ends_with('+') {
                told.extend(open_or_closed(&prepared, &ran));
            }
            wrong.extend(told.into_iter().map(|law| format!("{at}: {law}")));
            // A refused link becomes a copy, and that is said: the next run displaces the copy.
            let refused = ["exdev@", "emlink@", "eacces@"].iter().any(|fault| self.fault.starts_with(fault));
            prepared.relinked = refused || ran.code != 0;
            wrong.extend(
                next_run(&prepared, self.mode).into_iter().map(|law| format!("{at}, next run: {law}")),
            );
            assert!(wrong.len() < 60, "{self:?}, {fired} fired:\n{}", wrong.join("\n"));
        }
        assert!(wrong.is_empty(), "{self:?}, {fired} fired:\n{}", wrong.join("\n"));
        println!("{self:?}: {fired} faults, no law broken");
        fired
    }
}

fn next_run(prepared: &Prepared, mode: &str) -> Vec<String> {
    let ran = prepared.sandbox.run_with(&[]);
    let mut wrong = not_converged(prepared, mode);
    if ran.code != 0 {
        wrong.push(format!("exit {:?}: {}{}", ran.code, ran.out, ran.err));
    }
    wrong.extend(broken_laws(prepared));
    wrong.extend(leftovers(prepared));
    wrong
}

const OPEN: &str = "limits: {remove: none, replace: none, min_free: none}";
const UNVERSIONED: &str = "limits: {remove: none, replace: none, min_free: none}\nversions: none";
const REMOVE_BEFORE: &str =
    "limits: {remove: none, replace: none, min_free: none}\nversions: none\nremove: before";
const EACH: &str = "limits: {remove: none, replace: none, min_free: none}\ndurability: file";
const UNSYNCED: &str = "limits: {remove: none, replace: none, min_free: none}\ndurability: none";

/// Each sweep is a test of its own, so that they run beside each other and a failure names one.
macro_rules! sweeps {
    ($($name:ident: $sweep:expr;)*) => {
        $(#[test]
        fn $name() {
            $sweep.run();
        })*
    };
}

sweeps! {
    a_mirror_survives_every_failing_call: Sweep::of("mirror", "eio@N");
    a_mirror_survives_every_failing_reading_call: Sweep::of("mirror", "read-eio@N");
    a_mirror_survives_all_calls_failing_from_one_on: Sweep::of("mirror", "eio@N+");
    a_mirror_survives_all_reading_calls_failing_from_one_on: Sweep::of("mirror", "read-eio@N+");
    a_mirror_survives_being_killed_at_every_call: Sweep::of("mirror", "kill@N");
    a_mirror_survives_no_room_once: Sweep::of("mirror", "enospc@N");
    a_mirror_survives_no_room_from_one_call_on: Sweep::of("mirror", "enospc@N+");
    a_mirror_survives_refusals: Sweep::of("mirror", "eacces@N");
    a_mirror_survives_refused_readings: Sweep::of("mirror", "read-eacces@N");
    a_mirror_survives_other_devices: Sweep::of("mirror", "exdev@N");
    a_mirror_survives_links_that_are_refused: Sweep::of("mirror", "emlink@N");
    a_mirror_survives_stale_handles: Sweep::of("mirror", "estale@N");
    a_mirror_survives_stale_reading_handles: Sweep::of("mirror", "read-estale@N");
    a_mirror_survives_operations_that_are_unknown: Sweep::of("mirror", "einval@N");
    a_mirror_survives_becoming_read_only: Sweep::of("mirror", "erofs@N+");
    a_mirror_without_versions_survives_failing_calls: Sweep::of("mirror", "eio@N").with(UNVERSIONED);
    a_mirror_without_versions_survives_failing_readings: Sweep::of("mirror", "read-eio@N").with(UNVERSIONED);
    a_mirror_without_versions_survives_kills: Sweep::of("mirror", "kill@N").with(UNVERSIONED);
    a_mirror_that_removes_first_survives_failing_calls: Sweep::of("mirror", "eio@N").with(REMOVE_BEFORE);
    a_mirror_that_removes_first_survives_kills: Sweep::of("mirror", "kill@N").with(REMOVE_BEFORE);
    a_mirror_that_syncs_each_file_survives_failing_calls: Sweep::of("mirror", "eio@N").with(EACH);
    a_mirror_that_syncs_each_file_survives_kills: Sweep::of("mirror", "kill@N").with(EACH);
    a_mirror_that_does_not_sync_survives_failing_calls: Sweep::of("mirror", "eio@N").with(UNSYNCED);
    a_mirror_that_does_not_sync_survives_kills: Sweep::of("mirror", "kill@N").with(UNSYNCED);
    a_backup_survives_every_failing_call: Sweep::of("backup", "eio@N");
    a_backup_survives_every_failing_reading_call: Sweep::of("backup", "read-eio@N");
    a_backup_survives_being_killed_at_every_call: Sweep::of("backup", "kill@N");
    a_first_run_survives_every_failing_call: Sweep::of("mirror", "eio@N").first_run();
    a_first_run_survives_every_failing_reading_call: Sweep::of("mirror", "read-eio@N").first_run();
    a_first_run_survives_no_room: Sweep::of("backup", "enospc@N").first_run();
    a_first_run_survives_being_killed_at_every_call: Sweep::of("mirror", "kill@N").first_run();
}

/// A run is killed, then the one that recovers from it, then perhaps that one's: the next has it all.
#[test]
fn recoveries_survive_being_killed() {
    let rounds = if std::env::var("TWINLANE_TEST_FULL").is_ok_and(|value| value == "1") { 300 } else { 30 };
    let mut prepared = prepare("mirror", OPEN);
    let base = prepared.sandbox.base().to_owned();
    let (kept, kept_state) = (base.join("T.kept"), base.join("state.kept"));
    restore_tree(&prepared.sandbox.destination, &kept);
    restore_tree(&prepared.sandbox.state, &kept_state);
    let mut random = u64::from(std::process::id()) | 1;
    println!("seed {random}");
    for round in 0..rounds {
        restore_tree(&kept, &prepared.sandbox.destination);
        restore_tree(&kept_state, &prepared.sandbox.state);
        let mut settings = Vec::new();
        for _ in 0..2 + round % 2 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            settings.push(format!("kill@{}", (random >> 33) % 160 + 1));
            let setting = settings.last().map_or("", String::as_str);
            let ran = prepared.sandbox.run_with(&[("TWINLANE_FAULT", setting)]);
            assert!(matches!(ran.code, i32::MIN..=0), "{settings:?}: {:?} {}", ran.code, ran.err);
            prepared.relinked = true;
            assert_eq!(broken_laws(&prepared), Vec::<String>::new(), "{settings:?}");
        }
        assert_eq!(next_run(&prepared, "mirror"), Vec::<String>::new(), "{settings:?}, next run");
    }
}
