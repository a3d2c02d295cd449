//! What was held at a time, over catalogs made by hand.

use super::*;
use crate::platform::{RenameMode, open_root};
use crate::store::{Change, ViewSource};
use std::fs;

fn rel(path: &str) -> RelPath {
    RelPath::parse(path.as_bytes()).unwrap()
}

fn run(number: i64) -> RunId {
    RunId::at(Stamp::from_seconds(1_790_000_000 + number), None)
}

struct Bed {
    folder: tempfile::TempDir,
    root: Dir,
    store: Store,
}

impl Bed {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (root, _) = open_root(&folder.path().canonicalize().unwrap()).unwrap();
        let store = Store::create(&root).unwrap();
        Self { folder, root, store }
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.folder.path().join(name), content).unwrap();
    }

    fn tell(&self, number: i64, change: impl FnOnce(&dyn Fn(&str) -> Meta) -> Vec<Change>) {
        let (mut catalog, _) = self.store.catalog(run(number)).unwrap();
        let meta = |path: &str| self.root.stat(path.as_bytes()).unwrap();
        catalog.apply(run(number), &change(&meta)).unwrap();
    }

    fn present(&self, number: i64, name: &str, digest: u8) {
        self.tell(number, |meta| {
            let digest = Some(Digest([digest; 32]));
            vec![Change::Present { path: rel(name), meta: meta(name), digest }]
        });
    }

    fn moved(&self, number: i64, from: &str, to: &str) {
        let before = self.root.stat(from.as_bytes()).unwrap();
        self.root.rename(from.as_bytes(), &self.root, to.as_bytes(), RenameMode::NoReplace).unwrap();
        self.tell(number, |meta| {
            vec![Change::Moved { from: rel(from), to: rel(to), before, meta: meta(to) }]
        });
    }

    fn displaced(&self, number: i64, name: &str) {
        let meta = self.root.stat(name.as_bytes()).unwrap();
        let home = self.folder.path().join(format!(".twinlane/versions/{}", run(number)));
        fs::create_dir_all(&home).unwrap();
        fs::rename(self.folder.path().join(name), home.join(name)).unwrap();
        self.tell(number, |_| vec![Change::Displaced { path: rel(name), meta, kept: true }]);
    }

    /// What was held after a run: `name = where it is`, and what is missing.
    fn held(&self, number: i64, within: &str) -> Vec<String> {
        let ViewSource::Open(view) = self.store.view().unwrap() else { panic!("no catalog") };
        let ground = Ground { root: &self.root, store: &self.store, view: Some(&view) };
        let then = ground.held(&rel(within), When::Run(run(number))).unwrap();
        let wants = then.wants.iter().filter(|want| !want.path.is_root()).map(|want| {
            let origin = want.origin.as_ref().unwrap();
            let place = match origin.shelf {
                Shelf::Live => "live".to_owned(),
                Shelf::Version(run) => run.to_string(),
            };
            let digest = want.expected.digest.map_or(0, |digest| digest.0[0]);
            format!("{} = {place}/{} #{digest}", want.path, origin.path)
        });
        wants.chain(then.missing.iter().map(|missing| format!("{} lost", missing.path))).collect()
    }
}

#[test]
fn content_is_followed_through_the_names_it_got() {
    let bed = Bed::new();
    bed.write("a", "content");
    bed.present(0, "a", 7);
    bed.moved(1, "a", "b");
    assert_eq!(bed.held(0, ""), ["a = live/b #7"]);
    assert_eq!(bed.held(0, "a"), ["a = live/b #7"], "asked for alone");
    assert_eq!(bed.held(1, ""), ["b = live/b #7"]);
    bed.moved(2, "b", "c");
    bed.write("a", "another");
    bed.present(2, "a", 8);
    bed.displaced(3, "c");
    let version = format!("{}/c #7", run(3));
    assert_eq!(bed.held(0, ""), [format!("a = {version}")]);
    assert_eq!(bed.held(1, ""), [format!("b = {version}")]);
    assert_eq!(bed.held(2, ""), ["a = live/a #8".to_owned(), format!("c = {version}")]);
    assert_eq!(bed.held(3, ""), ["a = live/a #8"]);
    fs::remove_dir_all(bed.folder.path().join(format!(".twinlane/versions/{}", run(3)))).unwrap();
    assert_eq!(bed.held(0, ""), ["a lost"]);
}

#[test]
fn names_that_were_swapped_within_a_run_keep_their_contents() {
    let bed = Bed::new();
    bed.write("a", "first");
    bed.write("b", "second!");
    bed.present(0, "a", 1);
    bed.present(0, "b", 2);
    let befores = [b"a", b"b"].map(|name| bed.root.stat(name).unwrap());
    bed.root.rename(b"a", &bed.root, b"b", RenameMode::Exchange).unwrap();
    bed.tell(1, |meta| {
        let moved = |from: &str, to: &str, before| Change::Moved {
            from: rel(from),
            to: rel(to),
            before,
            meta: meta(to),
        };
        vec![moved("a", "b", befores[0]), moved("b", "a", befores[1])]
    });
    let origins: Vec<String> =
        bed.held(0, "").iter().map(|line| line.split(" #").next().unwrap().to_owned()).collect();
    assert_eq!(origins, ["a = live/b", "b = live/a"]);
}

#[test]
fn moves_in_a_circle_end() {
    let bed = Bed::new();
    bed.write("a", "x");
    let meta = bed.root.stat(b"a").unwrap();
    fs::remove_file(bed.folder.path().join("a")).unwrap();
    bed.tell(2, |_| vec![Change::Moved { from: rel("a"), to: rel("a"), before: meta, meta }]);
    assert_eq!(bed.held(1, "").len(), 1);
}

#[test]
fn without_a_catalog_versions_tell_what_they_can() {
    let bed = Bed::new();
    bed.write("a", "x");
    bed.displaced(3, "a");
    bed.write("a", "y");
    fs::remove_file(bed.folder.path().join(".twinlane/catalog.db")).unwrap();
    let ground = Ground { root: &bed.root, store: &bed.store, view: None };
    let shelf = |number: i64| {
        let then = ground.held(&rel("a"), When::Run(run(number))).unwrap();
        then.wants.first().map(|want| want.origin.as_ref().unwrap().shelf)
    };
    assert_eq!(shelf(2), Some(Shelf::Version(run(3))));
    assert_eq!(shelf(3), Some(Shelf::Live));
}
