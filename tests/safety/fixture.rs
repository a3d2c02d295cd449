//! A small pair of trees that holds every kind of entry, of action and of kind change, and the laws that hold in it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Ended, Thing, Tree, World, destination_tree, difference, touch, tree};

fn write(path: &Path, text: &str, when: &str) {
    fs::write(path, text).unwrap();
    touch(path, when);
}

/// Content that takes the path of large files: 1.5 MiB and a bit, never twice the same for two seeds.
pub fn large(seed: u8) -> Vec<u8> {
    (0u32..1_573_001).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8 ^ seed).collect()
}

/// Content that is just worth a move.
fn middling(seed: u8) -> Vec<u8> {
    large(seed).split_off(1_573_001 - 66_000)
}

/// Files that get other names in [`second`]: one alone, one of a folder that goes, a chain whose first name gets other content, two that
/// change places, one that takes the place of another.
fn movable(source: &Path) {
    let at = |name: &str| source.join(name);
    fs::create_dir(at("moved-from")).unwrap();
    for (seed, name) in
        (10..).zip(["moved-a", "moved-from/b", "log", "log.1", "swap-a", "swap-b", "moved-c", "moved-over"])
    {
        fs::write(at(name), middling(seed)).unwrap();
        // Equal sizes: names that change their content show it by their time alone.
        touch(&at(name), &format!("2001-01-01 00:00:{seed}"));
    }
}

fn move_all(source: &Path) {
    let names = [
        ("moved-a", "moved-to"),
        ("moved-from/b", "new/deep/moved-b"),
        ("log.1", "log.2"),
        ("log", "log.1"),
        ("swap-a", "swap"),
        ("swap-b", "swap-a"),
        ("swap", "swap-b"),
        ("moved-c", "moved-over"),
    ];
    for (from, to) in names {
        fs::rename(source.join(from), source.join(to)).unwrap();
    }
    fs::remove_dir(source.join("moved-from")).unwrap();
    fs::write(source.join("log"), "a new log").unwrap();
    touch(&source.join("log"), "2002-02-02");
    fs::set_permissions(source.join("log.2"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(source.join("swap-a"), fs::Permissions::from_mode(0o640)).unwrap();
}

/// The first state of the source.
pub fn first(source: &Path) {
    let at = |name: &str| source.join(name);
    write(&at("same"), "same", "2001-01-01");
    write(&at("changed"), "old", "2001-01-01");
    fs::write(at("large"), large(1)).unwrap();
    write(&at("mode"), "mode", "2001-01-01");
    write(&at("gone"), "gone", "2001-01-01");
    fs::create_dir_all(at("goes/deep")).unwrap();
    write(&at("goes/a"), "a", "2001-01-01");
    write(&at("goes/deep/b"), "b", "2001-01-01");
    write(&at("file-directory"), "was a file", "2001-01-01");
    fs::create_dir_all(at("directory-file/inner")).unwrap();
    write(&at("directory-file/inner/c"), "c", "2001-01-01");
    write(&at("file-link"), "was a file", "2001-01-01");
    symlink("same", at("link-file")).unwrap();
    fs::create_dir(at("directory-link")).unwrap();
    write(&at("directory-link/d"), "d", "2001-01-01");
    symlink("old", at("link-changed")).unwrap();
    write(&at("twin-a"), "twins", "2001-01-01");
    fs::hard_link(at("twin-a"), at("twin-b")).unwrap();
    fs::create_dir(at("kept")).unwrap();
    write(&at("kept/e"), "e", "2001-01-01");
    movable(source);
    touch(&at("kept"), "1968-10-07");
    touch(source, "2001-01-01");
}

/// The second state of the source.
pub fn second(source: &Path) {
    let at = |name: &str| source.join(name);
    write(&at("changed"), "new and longer", "2002-02-02");
    fs::write(at("large"), large(2)).unwrap();
    fs::set_permissions(at("mode"), fs::Permissions::from_mode(0o4711)).unwrap();
    fs::remove_file(at("gone")).unwrap();
    fs::remove_dir_all(at("goes")).unwrap();
    fs::remove_file(at("file-directory")).unwrap();
    fs::create_dir(at("file-directory")).unwrap();
    write(&at("file-directory/f"), "f", "2002-02-02");
    fs::remove_dir_all(at("directory-file")).unwrap();
    write(&at("directory-file"), "is a file", "2002-02-02");
    fs::remove_file(at("file-link")).unwrap();
    symlink("same", at("file-link")).unwrap();
    fs::remove_file(at("link-file")).unwrap();
    write(&at("link-file"), "is a file", "2002-02-02");
    fs::remove_dir_all(at("directory-link")).unwrap();
    symlink("kept", at("directory-link")).unwrap();
    fs::remove_file(at("link-changed")).unwrap();
    symlink("new", at("link-changed")).unwrap();
    write(&at("twin-a"), "twins, other", "2002-02-02");
    fs::create_dir_all(at("new/deep")).unwrap();
    write(&at("new/deep/g"), "g", "2002-02-02");
    move_all(source);
    fs::hard_link(at("new/deep/g"), at("new/h")).unwrap();
    symlink("/etc/hostname", at("new/absolute")).unwrap();
    assert!(Command::new("mkfifo").arg(at("new/fifo")).status().unwrap().success());
    let sparse = fs::File::create(at("new/sparse")).unwrap();
    sparse.set_len(3 << 20).unwrap();
    touch(&at("new/sparse"), "2002-02-02");
    touch(&at("new/deep"), "1969-12-31 23:59:59.5 UTC");
    fs::set_permissions(at("new/deep"), fs::Permissions::from_mode(0o555)).unwrap();
    touch(&at("kept"), "1970-10-07");
}

/// A sandbox whose destination holds the first state and whose source holds the second, with copies to go back to.
pub struct Prepared {
    pub sandbox: World,
    /// The source, as it must stay.
    pub source: Tree,
    /// The destination before the run.
    pub old: Tree,
    /// A file of the user's that looks like a stage file.
    pub look_alike: Option<PathBuf>,
    /// A folder beside both trees, which is nobody's business, as it must stay.
    pub outside: Tree,
    /// The job keeps no versions.
    pub unversioned: bool,
    /// A link was refused, or a run failed, perhaps at what was to be linked to: the next run displaces a copy with the new content.
    pub relinked: bool,
}

/// Name of a user's file that has exactly the form of a stage file, of a run that never was.
pub const LOOK_ALIKE: &str = ".twinlane-2001-01-01T000000.000Z-1";

/// Makes one; `options` as in [`World::with`].
pub fn prepare(mode: &str, options: &str) -> Prepared {
    let sandbox = World::with(mode, options);
    first(&sandbox.source);
    sandbox.run().expect(0);
    let look_alike = sandbox.destination.join(LOOK_ALIKE);
    fs::write(&look_alike, "mine").unwrap();
    second(&sandbox.source);
    let outside = sandbox.base().join("outside");
    fs::create_dir(&outside).unwrap();
    write(&outside.join("precious"), "precious", "2001-01-01");
    let outside = tree(&outside);
    let source = tree(&sandbox.source);
    let old = destination_tree(&sandbox.destination);
    Prepared {
        sandbox,
        source,
        old,
        look_alike: Some(look_alike),
        outside,
        unversioned: options.contains("versions: none"),
        relinked: false,
    }
}

/// Every version of a path that the destination holds, newest run last.
pub fn versions(destination: &Path) -> Vec<(PathBuf, PathBuf)> {
    let folder = destination.join(".twinlane/versions");
    let mut found = Vec::new();
    for entry in walkdir::WalkDir::new(&folder).min_depth(2).sort_by_file_name().into_iter().flatten() {
        let below: PathBuf = entry.path().strip_prefix(&folder).unwrap().components().skip(1).collect();
        found.push((below, entry.into_path()));
    }
    found
}

fn is_stage(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b".twinlane-"))
}

/// The laws of DESIGN that hold after a run that was disturbed in any way. Returns what is broken.
pub fn broken_laws(prepared: &Prepared) -> Vec<String> {
    let Prepared { sandbox, source, old, look_alike, outside, .. } = prepared;
    let mut broken = Vec::new();
    let now = tree(&sandbox.source);
    if &now != source {
        broken.push(format!("the source changed: {:?}", difference(source, &now)));
    }
    let beside = tree(&sandbox.base().join("outside"));
    if &beside != outside {
        broken.push(format!("an outsider changed: {:?}", difference(outside, &beside)));
    }
    if look_alike.as_ref().is_some_and(|path| fs::read(path).ok().as_deref() != Some(b"mine")) {
        broken.push("a user's file that looks like a stage file was touched".to_owned());
    }
    if !sandbox.destination.exists() {
        return broken;
    }
    let now = destination_tree(&sandbox.destination);
    for (path, thing) in now.iter().filter(|(path, _)| !is_stage(path)) {
        broken.extend(half_done(path, thing, old.get(path), source.get(path)));
    }
    broken.extend(lost(prepared, &now));
    broken.extend(foreign_versions(prepared));
    broken
}

/// Each name has its old or its new content, and new content comes with all of its metadata.
fn half_done(path: &Path, now: &Thing, old: Option<&Thing>, new: Option<&Thing>) -> Option<String> {
    let is = |known: Option<&Thing>| known.is_some_and(|known| known.same_content(now));
    if !is(old) && !is(new) {
        return Some(format!("{} is neither old nor new: {now:?}", path.display()));
    }
    let published = !is(old) && now.kind != 'd';
    (published && new != Some(now))
        .then(|| format!("{} has its new content, but {now:?} for {new:?}", path.display()))
}

/// Nothing is lost: what left its name is in versions, whole, or under another name that is to have it; and no name that has an old and a new content is empty.
fn lost(prepared: &Prepared, now: &Tree) -> Vec<String> {
    let Prepared { sandbox, source, old, .. } = prepared;
    let kept = versions(&sandbox.destination);
    let new_kind = |path: &Path| source.get(path).map(|thing| thing.kind);
    let mut broken = Vec::new();
    for (path, thing) in old.iter().filter(|(_, thing)| thing.kind != 'd') {
        if now.get(path).is_some_and(|now| now.same_content(thing)) {
            continue;
        }
        let is_there = |wanted: &Thing, path: &PathBuf| {
            wanted.same_content(thing) && now.get(path).is_some_and(|now| now.same_content(thing))
        };
        if source.iter().any(|(path, wanted)| is_there(wanted, path)) {
            continue;
        }
        let version = kept
            .iter()
            .filter(|(below, _)| below == path)
            .any(|(_, file)| crate::support::thing(file).is_ok_and(|kept| kept.same_content(thing)));
        if !prepared.unversioned && !version && !staged_content(&sandbox.destination, thing) {
            broken.push(format!("{} lost its old content", path.display()));
        }
        let above_changed =
            path.ancestors().skip(1).any(|above| new_kind(above).is_some_and(|kind| kind != 'd'));
        if !now.contains_key(path) && source.contains_key(path) && !above_changed {
            broken.push(format!("{} is empty", path.display()));
        }
    }
    broken
}

/// Whatever is in versions is an old entry of its path, whole.
fn foreign_versions(prepared: &Prepared) -> Vec<String> {
    versions(&prepared.sandbox.destination)
        .into_iter()
        .filter(|(path, _)| !is_stage(path))
        .filter_map(|(path, file)| {
            let found = crate::support::thing(&file).ok()?;
            let is = |tree: &Tree| tree.get(&path).is_some_and(|known| known.same_content(&found));
            let is_old = is(&prepared.old) || prepared.relinked && is(&prepared.source);
            (!is_old && found.kind != 'd')
                .then(|| format!("versions hold a foreign {}: {found:?}", path.display()))
        })
        .collect()
}

/// Whether the exit code and what was said are true: 0 only where the destination equals the source, and everything that is not equal is
/// named where the run says that it came to its end.
pub fn told(prepared: &Prepared, mode: &str, ran: &Ended) -> Vec<String> {
    let mut wrong = Vec::new();
    match ran.code {
        0 => {
            wrong.extend(not_converged(prepared, mode).into_iter().map(|what| format!("exit 0, but {what}")));
        }
        1 => {
            let said = format!("{}{}", ran.out, ran.err);
            let is_whole = !said.contains(" more\n");
            for path in unequal(prepared, mode).into_iter().filter(|path| is_whole && !is_stage(path)) {
                let mut names = path
                    .ancestors()
                    .filter(|name| !name.as_os_str().is_empty() || path.as_os_str().is_empty());
                if !names.any(|name| said.contains(&*name.to_string_lossy())) {
                    wrong.push(format!(
                        "exit 1, but nothing says why {} is not done:\n{said}",
                        path.display()
                    ));
                }
            }
        }
        _ => {}
    }
    wrong
}

/// No directory keeps a mode that was only meant for the time of the run, unless the run says so.
pub fn open_or_closed(prepared: &Prepared, ran: &Ended) -> Vec<String> {
    if ran.code < 0 || !prepared.sandbox.destination.exists() {
        return Vec::new();
    }
    let said = format!("{}{}", ran.out, ran.err);
    destination_tree(&prepared.sandbox.destination)
        .iter()
        .filter(|(path, now)| {
            let modes = [prepared.old.get(*path), prepared.source.get(*path)];
            now.kind == 'd'
                && !path.as_os_str().is_empty()
                && !is_stage(path)
                && !modes.into_iter().flatten().any(|known| known.mode == now.mode)
                && !said.contains(&*path.to_string_lossy())
        })
        .map(|(path, now)| format!("{} was left with the mode {:o}", path.display(), now.mode))
        .collect()
}

/// What a run that came to its end must not leave behind: markers, stage files, versions of what is still there.
pub fn leftovers(prepared: &Prepared) -> Vec<String> {
    let destination = &prepared.sandbox.destination;
    let home = destination.join(".twinlane");
    let mut left: Vec<String> = fs::read_dir(home.join("partial"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| format!("the marker {} is left", entry.file_name().display()))
        .collect();
    left.extend(versions(destination).into_iter().filter_map(|(path, file)| {
        let inode = |path: &Path| fs::symlink_metadata(path).ok().map(|meta| (meta.is_dir(), meta.ino()));
        let version = inode(&file).filter(|(directory, _)| !directory)?;
        (inode(&destination.join(&path)) == Some(version))
            .then(|| format!("versions hold the {} that is still there", path.display()))
    }));
    let damaged = fs::read_dir(&home).into_iter().flatten().flatten();
    left.extend(
        damaged
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| !matches!(name.as_str(), "id" | "lock" | "partial" | "versions" | "catalog.db"))
            .map(|name| format!(".twinlane/{name} is left")),
    );
    left
}

/// Between an exchange and the rename after it the old entry stands under a stage name, announced in `pending`.
fn staged_content(destination: &Path, wanted: &Thing) -> bool {
    walkdir::WalkDir::new(destination)
        .into_iter()
        .flatten()
        .filter(|entry| {
            entry.path().components().any(|part| part.as_os_str().to_string_lossy().starts_with(".twinlane-"))
        })
        .any(|entry| crate::support::thing(entry.path()).is_ok_and(|found| found.same_content(wanted)))
}

/// After a clean run: the destination equals the source (and keeps its extras, in a backup), no stage file is left.
pub fn not_converged(prepared: &Prepared, mode: &str) -> Vec<String> {
    let now = destination_tree(&prepared.sandbox.destination);
    unequal(prepared, mode)
        .into_iter()
        .map(|path| {
            format!("{}: {:?} against {:?}", path.display(), prepared.source.get(&path), now.get(&path))
        })
        .collect()
}

/// The paths that are not what the source says.
fn unequal(prepared: &Prepared, mode: &str) -> Vec<PathBuf> {
    let now = destination_tree(&prepared.sandbox.destination);
    let mut paths: Vec<PathBuf> = prepared
        .source
        .iter()
        .filter(|(path, thing)| now.get(*path) != Some(*thing))
        .map(|(path, _)| path.clone())
        .collect();
    paths.extend(now.into_keys().filter(|path| {
        let is_kept = mode == "backup" && prepared.old.contains_key(path) && !is_stage(path);
        !prepared.source.contains_key(path) && path != Path::new(LOOK_ALIKE) && !is_kept
    }));
    paths
}
