//! Chapter 4: names are bytes, of any length and depth.

use std::fs;

use crate::support::{FileSystem, World};

const OPEN: &str = "limits: {remove: none, replace: none}";

#[test]
fn bc_22_names_that_are_not_utf_8() {
    let world = World::with("mirror", OPEN);
    world.shell("printf x >$'S/a\\xffb'; printf y >$'S/a\\xfeb'; ln -s $'\\351' S/l; mkdir $'S/d\\xff'; printf z >$'S/d\\xff/\\xc3\\x28'");
    for verb in [&["plan", "j", "-v"][..], &["plan", "j", "--json"], &["validate", "j"], &["show", "j"]] {
        world.start(verb).expect(0);
    }
    world.settles();
    world.start(&["history", "j", "-v", "--json"]).expect(0);
    // Displaced, removed, recorded: the same bytes everywhere.
    world.shell("printf longer >$'S/a\\xffb'; rm $'S/a\\xfeb' $'S/d\\xff/\\xc3\\x28'");
    world.settles().says("1 replaced, 2 removed");
    world.start(&["history", "j", "-v"]).expect(0);
    world.shell(
        "cd T/.twinlane/versions; test -e */$'a\\xffb' -a -e */$'a\\xfeb' -a -e */$'d\\xff'/$'\\xc3\\x28'",
    );
    // A pattern that matches bytes, not characters.
    world.job("mirror", &format!("{OPEN}\nexclude: ['a?b']"));
    world.shell("printf new >$'S/a\\xfdb'");
    world.run().expect(0);
    world.shell("test ! -e $'T/a\\xfdb' -a -e $'T/a\\xffb'");
}

#[test]
fn bc_22_a_place_that_refuses_such_names() {
    let mut world = World::with("mirror", OPEN);
    if !world.mount("T", FileSystem::Exfat) {
        return;
    }
    world.shell("printf x >$'S/a\\xffb'; printf y >S/good");
    world.start(&["run", "j", "--accept", "destination"]).expect(1).says("a\\xffb").says("1 copied");
    assert_eq!(fs::read_to_string(world.path("T/good")).unwrap(), "y");
    world.run().expect(1).says("a\\xffb");
}

#[test]
fn bc_23_names_of_every_sign() {
    let world = World::with("mirror", OPEN);
    let names = [
        "a\nb",
        "-rf",
        "--delete",
        "*",
        "[x]",
        "{a}",
        "\\\\",
        "\\",
        "!x",
        "#x",
        " lead",
        "trail ",
        "\ttab",
        "%s",
        "~",
        "$HOME",
        "a;b",
        "'",
        "\"",
        "?",
        "\u{7f}",
        "-",
        "...",
        "..a",
        "new\r",
        "\u{202e}gnp.exe",
    ];
    for name in names {
        fs::write(world.path("S").join(name), name).unwrap();
        fs::create_dir_all(world.path("S/dirs").join(name)).unwrap();
        fs::write(world.path("S/dirs").join(name).join(name), name).unwrap();
    }
    let plan = world.start(&["plan", "j", "-v"]).expect(0);
    assert!(!plan.out.contains(['\r', '\u{202e}', '\u{7f}']), "{}", plan.out);
    world.settles();
    world.comes_back();
    for name in names {
        let path = format!("./{name}");
        let explained = world.start(&["explain", "j", "--json", "--", &path]).expect(0).json();
        assert_eq!(explained[0]["filter"]["says"], "selected", "{name:?}");
        world.start(&["restore", "j", "--to", "one", "--", &path]).expect(0);
        assert_eq!(fs::read_to_string(world.path("one").join(name)).unwrap(), name);
        fs::remove_dir_all(world.path("one")).unwrap();
    }
    // Each one changed, then each one gone.
    for name in names {
        fs::write(world.path("S").join(name), format!("{name} and more")).unwrap();
    }
    world.settles();
    world.shell("rm -r S/dirs");
    world.settles();
    world.comes_back();
    for verb in [&["history", "j", "-v"][..], &["versions", "j"], &["versions", "j", "dirs"]] {
        let told = world.start(verb).expect(0);
        assert!(!told.out.contains(['\r', '\u{202e}', '\u{7f}']), "{verb:?}: {}", told.out);
    }
    // As patterns they are taken literally where they are escaped.
    world.job(
        "mirror",
        &format!("{OPEN}\nexclude: ['\\*', '\\[x]', '\\#x', '\\!x', 'trail\\ ', '\\ lead', '\\\\\\\\']"),
    );
    world.shell("cd S; for f in '*' '[x]' '#x' '!x' 'trail ' ' lead' '\\\\'; do echo changed >\"$f\"; done");
    world.run().expect(0).says("nothing to do");
}

#[test]
fn bc_25_names_of_255_bytes() {
    let world = World::with("mirror", OPEN);
    let names =
        ["a".repeat(255), "b".repeat(254), "\u{20ac}".repeat(85), format!("{}.tar.gz", "c".repeat(248))];
    for name in &names {
        fs::write(world.source.join(name), name).unwrap();
    }
    fs::create_dir(world.source.join("d".repeat(255))).unwrap();
    fs::write(world.source.join("d".repeat(255)).join("e".repeat(255)), "e").unwrap();
    world.settles();
    for name in &names {
        fs::write(world.source.join(name), "changed and displaced").unwrap();
    }
    world.settles().says("4 replaced");
    // A directory of that name becomes a file.
    fs::remove_dir_all(world.source.join("d".repeat(255))).unwrap();
    fs::write(world.source.join("d".repeat(255)), "a file").unwrap();
    world.settles();
    for name in &names {
        fs::remove_file(world.source.join(name)).unwrap();
    }
    world.settles().says("4 removed");
}

#[test]
fn bc_27_nfc_and_nfd() {
    let world = World::with("mirror", OPEN);
    fs::write(world.source.join("e\u{301}"), "decomposed").unwrap();
    fs::write(world.source.join("\u{e9}"), "composed").unwrap();
    world.settles();
    assert_eq!(fs::read_dir(&world.destination).unwrap().count(), 3);
    fs::remove_file(world.source.join("\u{e9}")).unwrap();
    world.settles();
    assert_eq!(fs::read_to_string(world.destination.join("e\u{301}")).unwrap(), "decomposed");
}

/// The content stays whatever the order of removals; that the name takes the new case comes with moves.
#[test]
fn bc_28_another_case_of_a_name() {
    for options in [
        OPEN.to_owned(),
        format!("{OPEN}\nremove: before\nversions: none"),
        format!("{OPEN}\nversions: none"),
    ] {
        let mut world = World::with("mirror", &options);
        if !world.mount("T", FileSystem::Exfat) {
            return;
        }
        world.files([("S/Foo/a", "a"), ("S/Foo/Inner/b", "b"), ("S/Bar", "bar"), ("S/other", "o")]);
        world.start(&["run", "j", "--accept", "destination"]).expect(0);
        world.shell("mv S/Foo S/foo; mv S/Bar S/bAR");
        let ran = world.run();
        assert!([0, 1].contains(&ran.code), "{options}: {ran:?}");
        assert_eq!(fs::read_to_string(world.path("T/foo/a")).unwrap(), "a", "{options}");
        assert_eq!(fs::read_to_string(world.path("T/foo/Inner/b")).unwrap(), "b", "{options}");
        assert_eq!(fs::read_to_string(world.path("T/bar")).unwrap(), "bar", "{options}");
        world.run().expect(0);
        world.is_settled();
    }
}

#[test]
fn bc_28_two_names_of_the_source_that_are_one_there() {
    let mut world = World::with("mirror", OPEN);
    if !world.mount("T", FileSystem::Exfat) {
        return;
    }
    world.files([("S/a", "small"), ("S/A", "large"), ("S/b", "b")]);
    world.start(&["run", "j", "--accept", "destination"]).expect(1).says("1 copied");
    assert!(!world.path("T/a").exists() && world.path("T/b").exists(), "neither of the two");
}

#[test]
fn bc_30_names_that_other_systems_cannot_address() {
    let world = World::with("mirror", OPEN);
    world.files([
        ("S/dir a/f", "1"),
        ("S/dir a./f", "2"),
        ("S/dir a /f", "3"),
        ("S/CON", "4"),
        ("S/aux.txt", "5"),
        ("S/a:b", "6"),
        ("S/a", "7"),
        ("S/a.", "8"),
        ("S/a ", "9"),
    ]);
    world.settles();
    world.shell("rm -r 'S/dir a.' 'S/a '");
    world.settles();
    assert_eq!(fs::read_to_string(world.path("T/dir a/f")).unwrap(), "1");
}

#[test]
fn bc_30_a_place_that_refuses_such_names() {
    let mut world = World::with("mirror", OPEN);
    if !world.mount("T", FileSystem::Exfat) {
        return;
    }
    world.files([("S/a:b", "1"), ("S/what?", "2"), ("S/good", "3"), ("S/d|d/inner", "4")]);
    let ran = world.start(&["run", "j", "--accept", "destination"]).expect(1).says("a:b").says("what?");
    assert!(world.path("T/good").exists(), "{ran:?}");
}

#[test]
fn bc_31_longer_than_path_max() {
    let world = World::with("mirror", OPEN);
    let make =
        "cd S; for i in $(seq 60); do d=$(printf 'd%.0s' $(seq 100)); mkdir $d; cd $d; done; echo leaf >leaf";
    world.shell(make);
    world.files([("S/other", "o")]);
    world.run().expect(0).says("copied");
    let leaf = "for i in $(seq 60); do cd $(printf 'd%.0s' $(seq 100)); done";
    world.shell(&format!("cd T; {leaf}; test \"$(cat leaf)\" = leaf"));
    world.start(&["run", "j"]).expect(0).says("nothing to do");
    world.start(&["verify", "j"]).expect(0);
    world.start(&["restore", "j", "--to", "R"]).expect(0);
    world.shell(&format!("cd R; {leaf}; test \"$(cat leaf)\" = leaf"));
    world.start(&["copy", "S", "C"]).expect(0);
    world.shell(&format!("cd C/S; {leaf}; test \"$(cat leaf)\" = leaf"));
    world.shell(&format!("cd S; {leaf}; echo longer >leaf; ln -s x link"));
    world.run().expect(0).says("1 replaced");
    world.shell(&format!("cd T; {leaf}; test \"$(cat leaf)\" = longer"));
    world.shell(&format!("rm -r S/{}", "d".repeat(100)));
    world.run().expect(0).says("removed");
    assert!(!world.destination.join("d".repeat(100)).exists());
    world.start(&["run", "j"]).expect(0).says("nothing to do");
    // What was displaced comes back, its path being longer than PATH_MAX too.
    let run = world.start(&["history", "j", "--json"]).expect(0).json();
    let ids: Vec<&str> = run.iter().filter_map(|run| run["run"].as_str().or(run["id"].as_str())).collect();
    let first = ids.iter().min().expect("a run's id");
    world.start(&["restore", "j", "--at", first, "--to", "then"]).expect(0);
    world.shell(&format!("cd then; {leaf}; test \"$(cat leaf)\" = leaf"));
}
