//! The lock: the kernel decides on one host, the record between hosts.

use super::*;

pub(super) fn holder(host: &str) -> Holder {
    Holder {
        host: host.to_owned(),
        boot_id: "boot".to_owned(),
        process_id: 4711,
        run: run().to_string(),
        since: Stamp::from_seconds(1000),
    }
}

/// Takes the lock, a few times over: a child that another test is just starting has every open file until it runs its program, this lock's
/// too.
pub(super) fn held(lock: impl Fn() -> Result<Locking, StoreError>) -> HeldLock {
    let waiting = Clock::system();
    loop {
        match lock().unwrap() {
            Locking::Held(lock) => return lock,
            other => assert!(waiting.elapsed() < Duration::from_secs(5), "{other:?}"),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn record(host: &str, renewed: i64) -> String {
    format!(
        "{{\"format\":1,\"host\":\"{host}\",\"boot_id\":\"other\",\"process_id\":1,\"run\":\"{}\",\"since\":[5,0],\"renewed\":[{renewed},0],\"ended\":false}}\n",
        run()
    )
}

#[test]
fn one_writer_or_many_readers() {
    let ground = Ground::new();
    let (one, two) = (ground.store(), ground.store());
    assert!(
        matches!(one.lock_shared().unwrap(), Locking::Without),
        "nobody ever locked; a plan writes nothing"
    );
    assert_eq!(ground.listing(), [] as [&str; 0]);
    let lock = held(|| one.lock_exclusive(&holder("here"), false, Clock::system()));
    let Locking::Busy(Some(who)) = two.lock_exclusive(&holder("here"), false, Clock::system()).unwrap()
    else {
        panic!("a second writer")
    };
    assert_eq!(who, holder("here"));
    assert!(matches!(two.lock_shared().unwrap(), Locking::Busy(Some(_))));
    drop(lock);
    let (a, b) = (held(|| one.lock_shared()), held(|| two.lock_shared()));
    let writer = one.lock_exclusive(&holder("here"), false, Clock::system()).unwrap();
    assert!(matches!(writer, Locking::Busy(None)), "readers leave no record");
    drop((a, b));
    held(|| one.lock_exclusive(&holder("here"), false, Clock::system()));
}

/// BC-44: the kernel frees the lock of a killed holder, whatever its record says.
#[test]
fn bc_44_a_killed_holder_blocks_nobody() {
    let ground = Ground::new();
    let store = ground.store();
    let now = Clock::system().now().seconds;
    fs::write(ground.home("lock"), record("here", now)).unwrap();
    drop(held(|| store.lock_exclusive(&holder("here"), true, Clock::system())));
}

/// BC-45: the process id in the record belongs to a live process (init), which holds nothing.
#[test]
fn bc_45_a_process_id_in_the_record_is_no_proof() {
    let ground = Ground::new();
    let store = ground.store();
    fs::write(ground.home("lock"), record("here", 5)).unwrap();
    drop(held(|| store.lock_exclusive(&holder("here"), false, Clock::system())));
}

#[test]
fn another_hosts_record_counts_while_it_is_young_on_a_shared_place() {
    let ground = Ground::new();
    let store = ground.store();
    let long_ago = Stamp::from_seconds(1_000_000);
    let clock = |seconds| Clock::fixed(Stamp::from_seconds(seconds));
    let lock = |at: i64, shared: bool| store.lock_exclusive(&holder("here"), shared, clock(at));
    let write = || {
        fs::write(ground.home("lock"), record("there", long_ago.seconds)).unwrap();
    };
    write();
    assert!(
        matches!(lock(long_ago.seconds + 299, true).unwrap(), Locking::Busy(Some(holder)) if holder.host == "there")
    );
    drop(held(|| lock(long_ago.seconds + 301, true)));
    write();
    drop(held(|| lock(long_ago.seconds + 1, false)));
    // A holder whose clock is wrong keeps the file itself young.
    write();
    assert!(matches!(lock(Clock::system().now().seconds, true).unwrap(), Locking::Busy(Some(_))));
    // Let go in good order, it blocks nobody.
    write();
    fs::write(ground.home("lock"), record("there", long_ago.seconds).replace("false", "true")).unwrap();
    drop(held(|| lock(long_ago.seconds + 1, true)));
}

#[test]
fn the_record_is_renewed_and_ended() {
    let ground = Ground::new();
    let store = ground.store();
    let renewal = Duration::from_millis(5);
    let lock = held(|| store.lock_renewing(&holder("here"), false, Clock::system(), renewal));
    let said = || fs::read_to_string(ground.home("lock")).unwrap();
    let first = said();
    let waiting = Clock::system();
    while said() == first || said().is_empty() {
        assert!(waiting.elapsed() < Duration::from_secs(20), "never renewed");
        std::thread::sleep(renewal);
    }
    drop(lock);
    assert!(said().contains("\"ended\":true"), "{}", said());
    assert_eq!(store.newest_run().unwrap(), Some(run()), "the record tells the last run, versions or not");
}

#[test]
fn a_damaged_record_is_set_aside_and_said() {
    let ground = Ground::new();
    let store = ground.store();
    fs::write(ground.home("lock"), "what\n").unwrap();
    let lock = held(|| store.lock_exclusive(&holder("here"), true, Clock::system()));
    assert!(lock.message().unwrap().contains("lock.damaged-"));
    assert_eq!(fs::read_to_string(ground.home(&format!("lock.damaged-{}", run()))).unwrap(), "what\n");
    drop(lock);
    // Cut short by a kill between the write and the cut: the first line counts.
    fs::write(ground.home("lock"), record("here", 5) + "rest of a longer one").unwrap();
    let lock = held(|| store.lock_exclusive(&holder("here"), true, Clock::system()));
    assert_eq!(lock.message(), None);
}
