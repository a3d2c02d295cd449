//! Signals at random moments of a run in full swing.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::fixture::{Prepared, broken_laws, not_converged, prepare};
use crate::support::{restore_tree, tree};

const OPEN: &str = "limits: {remove: none, replace: none, min_free: none}";

/// The fixture, and enough files on top to be hit in the middle.
fn crowded() -> Prepared {
    let mut prepared = prepare("mirror", OPEN);
    let source = &prepared.sandbox.source;
    for folder in 0..20 {
        let folder = source.join(format!("many-{folder}"));
        std::fs::create_dir(&folder).unwrap();
        for file in 0..50 {
            std::fs::write(folder.join(format!("file-{file}")), format!("{file}").repeat(2000)).unwrap();
        }
    }
    std::fs::write(source.join("huge"), vec![7u8; 40 << 20]).unwrap();
    prepared.source = tree(source);
    prepared
}

/// Goes on until `wanted` signals came in mid-run; those that came too late count as nothing.
fn kill_at_random_moments(signal: i32, wanted: u32) {
    let prepared = crowded();
    let sandbox = &prepared.sandbox;
    let (kept, kept_state) = (sandbox.base().join("T.kept"), sandbox.base().join("state.kept"));
    restore_tree(&sandbox.destination, &kept);
    restore_tree(&sandbox.state, &kept_state);
    let started = Instant::now();
    sandbox.run().expect(0);
    let whole = started.elapsed();
    let seed = u64::from(std::process::id()) | 1;
    let mut hit = 0;
    let mut round = 0;
    while hit < wanted {
        round += 1;
        assert!(round <= u64::from(wanted) * 5, "only {hit} of {round} signals came in mid-run");
        restore_tree(&kept, &sandbox.destination);
        restore_tree(&kept_state, &sandbox.state);
        // A multiplicative sequence spreads the moments over the run; the seed makes them others each time.
        let moment = seed.wrapping_mul(round).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let wait = whole * u32::try_from(moment % 950).unwrap() / 1000;
        let child =
            sandbox.command(&["run", "j"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(wait.max(Duration::from_millis(2)));
        let _ = Command::new("kill")
            .arg(format!("-{signal}"))
            .arg(child.id().to_string())
            .stderr(Stdio::null())
            .status();
        let output = child.wait_with_output().unwrap();
        let at = format!("signal {signal} after {wait:?} (seed {seed}, round {round})");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let expected = match signal {
            9 => output.status.signal() == Some(9) || output.status.code() == Some(0),
            _ => matches!(output.status.code(), Some(0 | 130)) || output.status.signal() == Some(signal),
        };
        assert!(expected, "{at}: {:?}\n{stderr}", output.status);
        hit += u32::from(output.status.code() != Some(0));
        assert_eq!(broken_laws(&prepared), Vec::<String>::new(), "{at}");
        if signal == 2 && output.status.code() == Some(130) {
            assert_eq!(stages(&prepared), Vec::<String>::new(), "{at}: stage files after SIGINT");
        }
        let ran = sandbox.run();
        assert_eq!(not_converged(&prepared, "mirror"), Vec::<String>::new(), "{at}, next run: {}", ran.err);
        ran.expect(0);
    }
    println!(
        "signal {signal}: {hit} of {round} hit the run, no law broken (seed {seed}, whole run {whole:?})"
    );
}

fn stages(prepared: &Prepared) -> Vec<String> {
    walkdir::WalkDir::new(&prepared.sandbox.destination)
        .into_iter()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(".twinlane-") && name != crate::fixture::LOOK_ALIKE)
        .collect()
}

#[test]
fn bc_47_sigint_at_random_moments() {
    kill_at_random_moments(2, 20);
}

#[test]
fn bc_43_sigkill_at_random_moments() {
    kill_at_random_moments(9, 20);
}
