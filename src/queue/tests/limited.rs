//! An engine below a ceiling: what it writes takes its time by either way, what it reads does not.

use super::*;
use crate::platform::Clock;
use crate::value::{Bandwidth, ByteCount, Zone};

fn limited(bytes_per_second: u64, clock: Clock, cancel: &Cancel) -> Engine {
    let bandwidth = Bandwidth { default: Some(ByteCount(bytes_per_second)), windows: Vec::new() };
    Engine::start_below(Ceiling { bandwidth, zone: Zone::Local, clock }, &settings(Route::Auto), cancel)
        .unwrap()
}

#[test]
fn small_copies_and_queues_share_the_ceiling() {
    let ground = Ground::new();
    let content = bytes(MIB);
    let source = ground.write("source", &content);
    let clock = Clock::system();
    let engine = limited(8 * MIB as u64, clock, &Cancel::new());
    let (small, target) = ground.target();
    engine.copy_small(&transfer(&source, &target, MIB as u64)).unwrap();
    // No more than the time since the clock's start has brought.
    assert!(clock.elapsed() >= Duration::from_millis(125), "{:?}", clock.elapsed());
    let (large, target) = ground.target();
    copy(&engine, transfer(&source, &target, MIB as u64)).unwrap();
    assert!(clock.elapsed() >= Duration::from_millis(250), "{:?}", clock.elapsed());
    assert!(std::fs::read(small).unwrap() == content && std::fs::read(large).unwrap() == content);
}

#[test]
fn reading_is_not_limited_and_a_wish_to_stop_lifts_the_ceiling() {
    let ground = Ground::new();
    let content = bytes(3 * MIB);
    let source = ground.write("source", &content);
    let cancel = Cancel::new();
    let engine = limited(1, Clock::system(), &cancel);
    assert_eq!(engine.digest(&source, 3 * MIB as u64).unwrap(), digest_of(&content));
    assert_eq!(engine.digest_uncached(&source, 3 * MIB as u64).unwrap().digest, digest_of(&content));
    let (path, target) = ground.target();
    let answer = submit(&engine, transfer(&source, &target, 3 * MIB as u64));
    assert!(answer.recv_timeout(Duration::from_millis(50)).is_err());
    cancel.raise();
    answer.recv_timeout(Duration::from_secs(60)).unwrap().unwrap();
    assert!(std::fs::read(path).unwrap() == content);
}
