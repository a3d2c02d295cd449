//! The catalog.

use super::*;
use crate::compare::Digests as _;
use crate::store::{Next, ViewSource};
use crate::value::{Digest, Meta};

fn present(ground: &Ground, path: &str, digest: Option<Digest>) -> Change {
    let path = rel(path);
    let directory = ground.root.open_below(&path.parent().unwrap()).unwrap();
    let meta = directory.stat(path.name()).unwrap();
    Change::Present { path, meta, digest }
}

fn displaced(ground: &Ground, path: &str) -> Change {
    let Change::Present { path, meta, .. } = present(ground, path, None) else { unreachable!() };
    Change::Displaced { path, meta, kept: true }
}

/// Opened by another program, with SQLite's usual locks, once the run has let go.
fn ask<T: rusqlite::types::FromSql>(ground: &Ground, query: &str) -> T {
    let connection = rusqlite::Connection::open(ground.home("catalog.db")).unwrap();
    connection.query_row(query, [], |row| row.get(0)).unwrap()
}

#[test]
fn it_tells_what_is_there_since_when_and_what_was_displaced() {
    let ground = Ground::new();
    let store = ground.store();
    ground.write("d/f", "one");
    ground.write("d/g", "two");
    ground.write("d-", "three");
    let (mut catalog, message) = store.catalog(run()).unwrap();
    assert_eq!(message, None);
    assert_eq!(fs::metadata(ground.home("catalog.db")).unwrap().mode() & 0o777, 0o600);
    let digest = Digest([7; 32]);
    let first =
        [present(&ground, "d/f", Some(digest)), present(&ground, "d/g", None), present(&ground, "d-", None)];
    catalog.apply(run(), &first).unwrap();
    catalog.complete(run()).unwrap();
    drop(catalog);
    let (mut catalog, _) = store.catalog(later(1)).unwrap();
    let record = catalog.record(&rel("d/f")).unwrap().unwrap();
    assert_eq!((record.size, record.digest, record.since), (3, Some(digest), run().to_string()));
    let meta = ground.root.open_dir(b"d").unwrap().stat(b"f").unwrap();
    assert_eq!((record.modified, record.changed, record.inode), (meta.modified, meta.changed, meta.inode));
    assert_eq!(catalog.record(&rel("nothing")).unwrap(), None);
    let second = [displaced(&ground, "d/f"), present(&ground, "d/f", None)];
    catalog.apply(later(1), &second).unwrap();
    assert_eq!(catalog.record(&rel("d/f")).unwrap().unwrap().since, later(1).to_string());
    // A directory that was emptied takes nothing along.
    let Change::Displaced { path, meta, .. } = displaced(&ground, "d") else { unreachable!() };
    catalog.apply(later(1), &[Change::Displaced { path, meta, kept: false }]).unwrap();
    assert!(catalog.record(&rel("d/g")).unwrap().is_some());
    // One that goes whole takes what is below it along, and nothing beside it.
    catalog.apply(later(1), &[displaced(&ground, "d")]).unwrap();
    assert_eq!(catalog.record(&rel("d/g")).unwrap(), None);
    assert!(catalog.record(&rel("d-")).unwrap().is_some());
    catalog.complete(later(1)).unwrap();
    drop(catalog);
    assert_eq!(ask::<i64>(&ground, "SELECT count(*) FROM runs WHERE complete"), 2);
    let query =
        "SELECT since FROM displaced WHERE path = CAST('d/f' AS BLOB) AND kept AND digest IS NOT NULL";
    assert_eq!(ask::<String>(&ground, query), run().to_string());
    let query = "SELECT since FROM displaced WHERE path = CAST('d/g' AS BLOB) AND kept AND kind = 'file'";
    assert_eq!(ask::<String>(&ground, query), run().to_string());
    let listing = ground.listing();
    assert_eq!(listing, ["catalog.db"], "nothing of SQLite's stays beside it");
}

#[test]
fn a_damaged_one_is_set_aside_said_and_begun_anew() {
    for (bytes, word) in [(vec![b'x'; 5000], "not a database"), (b"half".to_vec(), "not a database")] {
        let ground = Ground::new();
        let store = ground.store();
        ground.write("f", "one");
        fs::write(ground.home("catalog.db"), &bytes).unwrap();
        fs::write(ground.home("catalog.db-wal"), "of the damaged one").unwrap();
        let (mut catalog, message) = store.catalog(run()).unwrap();
        assert!(message.unwrap().contains(word));
        let aside = ground.home(&format!("catalog.db.damaged-{}", run()));
        assert_eq!(fs::read(aside).unwrap(), bytes);
        catalog.apply(run(), &[present(&ground, "f", None)]).unwrap();
        catalog.complete(run()).unwrap();
    }
}

#[test]
fn a_newer_one_is_left_for_the_newer_twinlane() {
    let ground = Ground::new();
    let store = ground.store();
    drop(store.catalog(run()).unwrap());
    ask::<Option<i64>>(&ground, "SELECT max(complete) FROM runs");
    let connection = rusqlite::Connection::open(ground.home("catalog.db")).unwrap();
    connection.execute_batch("PRAGMA user_version = 3").unwrap();
    drop(connection);
    let (_, message) = store.catalog(run()).unwrap();
    assert!(message.unwrap().contains("newer Twinlane"));
}

#[test]
fn damage_met_in_the_middle_of_a_run_is_healed() {
    let ground = Ground::new();
    let store = ground.store();
    let many: Vec<Change> = (0..2000)
        .map(|number| {
            let name = format!("{number:0200}");
            let meta = ground.root.stat(b".twinlane").unwrap();
            Change::Present { path: rel(&name), meta, digest: None }
        })
        .collect();
    let (mut catalog, _) = store.catalog(run()).unwrap();
    catalog.apply(run(), &many).unwrap();
    catalog.complete(run()).unwrap();
    drop(catalog);
    let file = ground.home("catalog.db");
    let mut bytes = fs::read(&file).unwrap();
    for page in bytes.chunks_mut(4096).skip(1) {
        page.fill(0xa5);
    }
    fs::write(&file, bytes).unwrap();
    let (mut catalog, message) = store.catalog(later(1)).unwrap();
    catalog.apply(later(1), &many).unwrap();
    catalog.complete(later(1)).unwrap();
    let said = message.or_else(|| catalog.take_message()).unwrap();
    assert!(said.contains("set aside"), "{said}");
    assert_eq!(catalog.record(&rel(&format!("{:0200}", 5))).unwrap().unwrap().since, later(1).to_string());
}

#[test]
fn a_killed_run_leaves_a_catalog_that_opens() {
    let ground = Ground::new();
    let store = ground.store();
    ground.write("f", "one");
    let (mut catalog, _) = store.catalog(run()).unwrap();
    catalog.apply(run(), &[present(&ground, "f", None)]).unwrap();
    // What is on the disk now, without the close that a kill leaves out.
    let other = Ground::new();
    let others = other.store();
    for name in ["catalog.db", "catalog.db-wal"] {
        fs::copy(ground.home(name), other.home(name)).unwrap();
    }
    let (catalog, message) = others.catalog(later(1)).unwrap();
    assert_eq!(message, None);
    assert_eq!(catalog.record(&rel("f")).unwrap().unwrap().since, run().to_string());
}

#[test]
fn a_path_too_long_for_sqlite_costs_the_catalog_not_the_run() {
    let ground = Ground::new();
    let mut at = ground.path.clone();
    for _ in 0..4 {
        at.push("n".repeat(150));
    }
    fs::create_dir_all(&at).unwrap();
    let (root, _) = open_root(&at).unwrap();
    let store = Store::create(&root).unwrap();
    let (mut catalog, message) = store.catalog(run()).unwrap();
    assert!(message.unwrap().contains("too long"));
    catalog.apply(run(), &[]).unwrap();
    catalog.complete(run()).unwrap();
    assert_eq!(catalog.record(&rel("f")).unwrap(), None);
}

#[test]
fn a_folder_that_moved_is_still_the_one_written_to() {
    let ground = Ground::new();
    fs::create_dir(ground.path.join("t")).unwrap();
    let (root, _) = open_root(&ground.path.join("t")).unwrap();
    let store = Store::create(&root).unwrap();
    fs::rename(ground.path.join("t"), ground.path.join("moved")).unwrap();
    fs::create_dir_all(ground.path.join("t/.twinlane")).unwrap();
    let (mut catalog, _) = store.catalog(run()).unwrap();
    catalog.complete(run()).unwrap();
    drop(catalog);
    assert_eq!(fs::read_dir(ground.path.join("t/.twinlane")).unwrap().count(), 0);
    assert!(ground.path.join("moved/.twinlane/catalog.db").exists());
}

#[test]
fn a_view_tells_what_is_there_what_went_and_where_to() {
    let ground = Ground::new();
    let store = ground.store();
    assert!(matches!(store.view().unwrap(), ViewSource::Absent));
    ground.write("a", "one");
    ground.write("b", "two");
    let digest = Some(Digest([9; 32]));
    let (mut catalog, _) = store.catalog(run()).unwrap();
    catalog.apply(run(), &[present(&ground, "a", digest), present(&ground, "b", None)]).unwrap();
    catalog.complete(run()).unwrap();
    drop(catalog);
    let (mut catalog, _) = store.catalog(later(1)).unwrap();
    let meta = stat(&ground, "a");
    let moved = Change::Moved { from: rel("a"), to: rel("c"), before: meta, meta };
    catalog.apply(later(1), &[moved, displaced(&ground, "b")]).unwrap();
    let check = || {
        let ViewSource::Open(view) = store.view().unwrap() else { panic!("it can be read") };
        let mut entries = Vec::new();
        view.entries(&mut |row| {
            entries.push((row.path.to_string(), row.since, row.digest));
            Next::On
        })
        .unwrap();
        assert_eq!(entries, [("c".to_owned(), Some(later(1)), digest)]);
        assert_eq!(view.digest(&rel("c"), &ground.root.stat(b"a").unwrap()), digest);
        assert_eq!(view.digest(&rel("c"), &ground.root.stat(b"b").unwrap()), None);
        let mut gone = Vec::new();
        view.displacements(&mut |row| {
            gone.push((row.path.to_string(), row.run, row.since, row.kept, row.moved_to));
            Next::On
        })
        .unwrap();
        let expected = [
            ("a".to_owned(), later(1), Some(run()), false, Some(rel("c"))),
            ("b".to_owned(), later(1), Some(run()), true, None),
        ];
        assert_eq!(gone, expected);
        view.runs().unwrap()
    };
    // The log of a run that was killed here is read, and stays for the next run.
    std::mem::forget(catalog);
    assert_eq!(check(), [(run(), true)]);
    assert!(ground.listing().contains(&"catalog.db-wal".to_owned()), "{:?}", ground.listing());
    assert_eq!(check(), [(run(), true)]);
    let (mut catalog, message) = store.catalog(later(2)).unwrap();
    assert_eq!(message, None);
    catalog.complete(later(1)).unwrap();
    drop(catalog);
    assert_eq!(check(), [(run(), true), (later(1), true)]);
}

#[test]
fn files_that_change_places_keep_what_is_known_of_them() {
    let ground = Ground::new();
    let store = ground.store();
    for (name, text) in [("a", "one"), ("b", "two"), ("c", "and a third")] {
        ground.write(name, text);
    }
    let meta = |name: &str| ground.root.stat(name.as_bytes()).unwrap();
    let digest = |byte| Some(Digest([byte; 32]));
    let (mut catalog, _) = store.catalog(run()).unwrap();
    let known = [("a", 1), ("b", 2), ("c", 3)].map(|(name, byte)| present(&ground, name, digest(byte)));
    catalog.apply(run(), &known).unwrap();
    let moved = |from: &str, to: &str| {
        let meta = meta(from);
        Change::Moved { from: rel(from), to: rel(to), before: meta, meta }
    };
    // The ends of chains come first: `c` to a new name, then then two that change places.
    let changes = [moved("c", "d"), moved("a", "b"), moved("b", "a")];
    catalog.apply(later(1), &changes).unwrap();
    for (name, byte) in [("a", 2), ("b", 1), ("d", 3)] {
        assert_eq!(catalog.record(&rel(name)).unwrap().unwrap().digest, digest(byte), "{name}");
    }
    assert_eq!(catalog.record(&rel("c")).unwrap(), None);
    drop(catalog);
    let ViewSource::Open(view) = store.view().unwrap() else { panic!("it can be read") };
    let mut gone = Vec::new();
    view.displacements(&mut |row| {
        gone.push((row.path.to_string(), row.moved_to.unwrap().to_string(), row.digest, row.since));
        Next::On
    })
    .unwrap();
    let was = |from: &str, to: &str, byte| (from.to_owned(), to.to_owned(), digest(byte), Some(run()));
    assert_eq!(gone, [was("a", "b", 1), was("b", "a", 2), was("c", "d", 3)]);
}

#[test]
fn a_catalog_of_the_first_schema_is_read_and_brought_up() {
    let ground = Ground::new();
    let store = ground.store();
    ground.write("f", "one");
    let (mut catalog, _) = store.catalog(run()).unwrap();
    catalog.apply(run(), &[displaced(&ground, "f")]).unwrap();
    catalog.complete(run()).unwrap();
    drop(catalog);
    let connection = rusqlite::Connection::open(ground.home("catalog.db")).unwrap();
    connection
        .execute_batch(
            "ALTER TABLE entries DROP COLUMN wrong;
            ALTER TABLE displaced DROP COLUMN moved_to;
            ALTER TABLE displaced DROP COLUMN read_back;
            ALTER TABLE displaced DROP COLUMN wrong;
            DROP TABLE rounds;
            PRAGMA user_version = 1;",
        )
        .unwrap();
    drop(connection);
    let rows = || {
        let ViewSource::Open(view) = store.view().unwrap() else { panic!("it can be read") };
        let mut rows = 0;
        view.displacements(&mut |row| {
            assert_eq!((row.kept, row.moved_to), (true, None));
            rows += 1;
            Next::On
        })
        .unwrap();
        rows
    };
    assert_eq!(rows(), 1);
    let (mut catalog, message) = store.catalog(later(1)).unwrap();
    assert_eq!(message, None);
    catalog.complete(later(1)).unwrap();
    drop(catalog);
    assert_eq!(ask::<i64>(&ground, "PRAGMA user_version"), 2);
    assert_eq!(rows(), 1);
}

fn stat(ground: &Ground, path: &str) -> Meta {
    let path = rel(path);
    ground.root.open_below(&path.parent().unwrap()).unwrap().stat(path.name()).unwrap()
}

/// The digest that the catalog has for a file as it is now.
fn known(store: &Store, ground: &Ground, path: &str) -> Option<Digest> {
    let ViewSource::Open(view) = store.view().unwrap() else { panic!("no catalog") };
    view.digest(&rel(path), &stat(ground, path))
}

#[test]
fn a_digest_follows_mended_metadata_and_never_other_content() {
    let ground = Ground::new();
    let store = ground.store();
    let digest = Digest([7; 32]);
    for name in ["mended", "edited"] {
        ground.write(name, "content");
    }
    fs::hard_link(ground.path.join("mended"), ground.path.join("twin")).unwrap();
    let (mut catalog, _) = store.catalog(run()).unwrap();
    let all = ["mended", "edited", "twin"].map(|name| present(&ground, name, Some(digest)));
    catalog.apply(run(), &all).unwrap();
    let read_back = ["mended", "edited"].map(|name| Change::ReadBack { path: rel(name) });
    catalog.apply(run(), &read_back).unwrap();
    catalog.complete(run()).unwrap();
    drop(catalog);
    assert_eq!(known(&store, &ground, "edited"), Some(digest));

    // Somebody writes other content of the same length; then both get other modes.
    fs::write(ground.path.join("edited"), "CONTENT").unwrap();
    let befores = ["mended", "edited"].map(|name| (name, stat(&ground, name)));
    let touched = befores.map(|(name, before)| {
        fs::set_permissions(ground.path.join(name), fs::Permissions::from_mode(0o600)).unwrap();
        Change::Touched { path: rel(name), before, meta: stat(&ground, name) }
    });
    assert_eq!(known(&store, &ground, "mended"), None, "its ctime is another one");
    let (mut catalog, _) = store.catalog(later(1)).unwrap();
    catalog.apply(later(1), &touched).unwrap();
    catalog.complete(later(1)).unwrap();
    drop(catalog);
    assert_eq!(known(&store, &ground, "mended"), Some(digest));
    assert_eq!(known(&store, &ground, "twin"), Some(digest), "its further name follows");
    assert_eq!(known(&store, &ground, "edited"), None);
    let ViewSource::Open(view) = store.view().unwrap() else { panic!("no catalog") };
    let mended = view.entry(&rel("mended")).unwrap().unwrap();
    assert_eq!((mended.since, mended.read_back), (Some(run()), Some(run().time())));
    let edited = view.entry(&rel("edited")).unwrap().unwrap();
    assert!(edited.is_still(&stat(&ground, "edited")));
    assert_eq!((edited.digest, edited.read_back), (None, None));
}

#[test]
fn a_moved_file_that_somebody_changed_before_has_no_digest() {
    let ground = Ground::new();
    let store = ground.store();
    for name in ["a", "b"] {
        ground.write(name, "content");
    }
    let (mut catalog, _) = store.catalog(run()).unwrap();
    let digest = Some(Digest([7; 32]));
    catalog.apply(run(), &["a", "b"].map(|name| present(&ground, name, digest))).unwrap();
    fs::write(ground.path.join("a"), "CONTENT").unwrap();
    let changes = [("a", "c"), ("b", "d")].map(|(from, to)| {
        let before = stat(&ground, from);
        fs::rename(ground.path.join(from), ground.path.join(to)).unwrap();
        Change::Moved { from: rel(from), to: rel(to), before, meta: stat(&ground, to) }
    });
    catalog.apply(later(1), &changes).unwrap();
    catalog.complete(later(1)).unwrap();
    drop(catalog);
    assert_eq!(known(&store, &ground, "c"), None);
    assert_eq!(known(&store, &ground, "d"), digest);
}
