//! One test's own world: a source, jobs, a state, the program, and how its starts ended.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

use super::mounts::{FileSystem, Mounts};
use super::tree::{Tree, destination_tree, tree, witness};

/// The user and group that tests become where a case is "as user".
const NOBODY: u32 = 65534;

/// A folder with `S`, `jobs/`, `home` and a state of its own.
pub struct World {
    // Dropped first: the folder cannot go while something is mounted in it.
    mounts: Mounts,
    folder: TempDir,
    base: PathBuf,
    pub source: PathBuf,
    pub destination: PathBuf,
    pub state: PathBuf,
}

/// How a start of the program ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code, or the signal's number below zero.
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ended {
    /// Fails with all that was said where the code is another one.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\n--- out\n{}\n--- err\n{}", self.out, self.err);
        for text in [&self.out, &self.err] {
            assert!(!text.contains("error: internal error") && !text.contains("panicked"), "{text}");
        }
        self
    }

    /// Fails where a text is on neither stream.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.mentions(text), "`{text}` is not in\n--- out\n{}\n--- err\n{}", self.out, self.err);
        self
    }

    /// Fails where a text is on one of the streams.
    #[track_caller]
    pub fn keeps_quiet_of(self, text: &str) -> Self {
        assert!(!self.mentions(text), "`{text}` is in\n--- out\n{}\n--- err\n{}", self.out, self.err);
        self
    }

    fn mentions(&self, text: &str) -> bool {
        self.out.contains(text) || self.err.contains(text)
    }

    /// The result's lines as JSON.
    pub fn json(&self) -> Vec<serde_json::Value> {
        self.out.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }
}

impl World {
    /// An empty source, no destination, no job.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let base = folder.path().canonicalize().expect("the temporary folder's path");
        let world = Self {
            mounts: Mounts::default(),
            source: base.join("S"),
            destination: base.join("T"),
            state: base.join("state"),
            base,
            folder,
        };
        for name in ["S", "jobs", "home"] {
            fs::create_dir(world.path(name)).expect("a new folder");
        }
        world
    }

    /// With a job `j` of one rule `r` from `S` to `T`.
    pub fn with(mode: &str, options: &str) -> Self {
        let world = Self::new();
        world.job(mode, options);
        world
    }

    /// The world's folder.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// A path below the world's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    /// Writes the job `j`: one rule `r` from `../S` to `../T`; `options` are further lines of the rule.
    pub fn job(&self, mode: &str, options: &str) {
        let rule = format!("rules:\n  r:\n    mode: {mode}\n    source: ../S\n    destination: ../T");
        let options = options.lines().map(|line| format!("    {line}"));
        let lines: Vec<String> = std::iter::once(rule).chain(options).collect();
        self.job_text("j", &(lines.join("\n") + "\n"));
    }

    /// Writes a job file.
    pub fn job_text(&self, name: &str, text: &str) {
        fs::write(self.path("jobs").join(format!("{name}.yaml")), text).expect("a job file");
    }

    /// Writes files `name → content` below the folder, with the directories above them.
    pub fn files<'a>(&self, files: impl IntoIterator<Item = (&'a str, &'a str)>) {
        for (name, content) in files {
            let path = self.path(name);
            fs::create_dir_all(path.parent().expect("a path below the folder")).expect("directories");
            fs::write(path, content).expect("a file");
        }
    }

    /// `count` files below `S`, a hundred in a directory.
    pub fn many(&self, count: usize) {
        for number in 0..count {
            let directory = self.source.join(format!("d{:02}", number / 100));
            fs::create_dir_all(&directory).expect("a directory");
            fs::write(directory.join(format!("f{number:04}")), number.to_string()).expect("a file");
        }
    }

    /// Runs a line of `sh` in the world's folder, as a case's repro does.
    #[track_caller]
    pub fn shell(&self, line: &str) {
        let output = Command::new("bash").args(["-ec", line]).current_dir(&self.base).output().expect("bash");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// The program with these arguments, in the world's surroundings.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.in_surroundings(env!("CARGO_BIN_EXE_twinlane"), arguments)
    }

    /// Another program in the surroundings that the program gets.
    pub fn in_surroundings(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&self.base)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("TWINLANE_STATE_DIR", &self.state)
            .env("TZ", "UTC")
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub fn start(&self, arguments: &[&str]) -> Ended {
        ended(&self.command(arguments).output().expect("the program starts"))
    }

    /// `twinlane run j`.
    pub fn run(&self) -> Ended {
        self.start(&["run", "j"])
    }

    /// `twinlane run j` with one worker and variables set.
    pub fn run_with(&self, variables: &[(&str, &str)]) -> Ended {
        let mut command = self.command(&["run", "j"]);
        command.env("TWINLANE_WORKERS", "1").envs(variables.iter().copied());
        ended(&command.output().expect("the program starts"))
    }

    /// Runs the job, and fails unless it ends well, both trees are equal, and neither a plan nor a second run finds anything to do.
    #[track_caller]
    pub fn settles(&self) -> Ended {
        let first = self.run().expect(0);
        assert_same_trees(self, "after the run");
        self.is_settled();
        assert_same_trees(self, "after the second run");
        first
    }

    /// Fails unless neither a plan nor a run finds anything to do, nor touches anything.
    #[track_caller]
    pub fn is_settled(&self) {
        assert_eq!(self.planned_actions(), Vec::<String>::new(), "planned again");
        let before = witness(&self.destination);
        self.run().expect(0).says("nothing to do");
        assert_eq!(before, witness(&self.destination), "the second run");
    }

    /// Restores the whole destination into a new folder, and fails unless that is equal to the source and the destination is found right.
    #[track_caller]
    pub fn comes_back(&self) {
        self.start(&["verify", "j"]).expect(0);
        self.start(&["restore", "j", "--to", "restored"]).expect(0);
        let restored = self.path("restored");
        super::tree::assert_same(&tree(&self.source), &tree(&restored), "after the restore");
        fs::remove_dir_all(restored).expect("the restored folder goes");
    }

    /// The actions that `plan --json` lists, as JSON texts.
    #[track_caller]
    pub fn planned_actions(&self) -> Vec<String> {
        let plan = self.start(&["plan", "j", "--json"]).expect(0).json();
        let actions = plan[0]["actions"].as_array().unwrap_or_else(|| panic!("no actions: {plan:?}"));
        actions.iter().map(ToString::to_string).collect()
    }

    /// Gives everything to somebody who is not root, and all starts of [`Self::start_as_user`] with it. `false`, said aloud, where this
    /// user may not.
    pub fn give_to_user(&self) -> bool {
        let given =
            Command::new("chown").args(["-hR", &format!("{NOBODY}:{NOBODY}")]).arg(&self.base).status();
        let given = given.is_ok_and(|status| status.success());
        if !given {
            eprintln!("skipped: this user may not give files away");
        }
        given
    }

    /// Runs the program as somebody who is not root.
    pub fn start_as_user(&self, arguments: &[&str]) -> Ended {
        let mut command = self.command(arguments);
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        ended(&command.output().expect("the program starts as another user"))
    }

    /// Starts the program without waiting for it.
    pub fn spawn(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Child {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    }

    /// Everything below a path that could be changed, but what a lock says of its holder.
    pub fn witness(&self, name: &str) -> BTreeMap<PathBuf, String> {
        witness(&self.path(name))
    }

    /// The tree as a copy should show it, without `.twinlane` at its root.
    pub fn tree(&self, name: &str) -> Tree {
        destination_tree(&self.path(name))
    }

    /// Starts the program, and fails unless everything but the state is left byte for byte as it was.
    #[track_caller]
    pub fn refused(&self, arguments: &[&str], code: i32) -> Ended {
        let look = || {
            let mut tree = self.witness(".");
            tree.retain(|path, _| !path.starts_with("state") && !path.as_os_str().is_empty());
            tree
        };
        let before = look();
        let ended = self.start(arguments).expect(code);
        assert_eq!(before, look());
        ended
    }

    /// Mounts a file system; `false`, said aloud, where that cannot be done here.
    pub fn mount(&mut self, name: &str, kind: FileSystem<'_>) -> bool {
        let at = self.path(name);
        fs::create_dir_all(&at).expect("a mount point");
        self.mounts.add(kind, at)
    }

    /// Unmounts it.
    pub fn unmount(&mut self, name: &str) {
        let at = self.path(name);
        self.mounts.remove(&at);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // A folder that may not be written cannot be cleared; root is not hindered.
        if !is_root() {
            let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(&self.base).status();
        }
    }
}

#[track_caller]
fn assert_same_trees(world: &World, when: &str) {
    super::tree::assert_same(&tree(&world.source), &destination_tree(&world.destination), when);
}

/// Reads how a process ended.
pub fn ended(output: &Output) -> Ended {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ended {
        code: output.status.code().unwrap_or_else(|| -output.status.signal().unwrap_or(0)),
        out: text(&output.stdout),
        err: text(&output.stderr),
    }
}

/// Whether the tests run as root.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").expect("/proc").uid() == 0
}

/// Sets the mode of an entry.
pub fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the new mode");
}
