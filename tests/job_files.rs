//! Job files, good and bad, as golden tests, and the laws of the loader.
//!
//! `tests/job_files/NAME.yaml` is read, and what a person sees is compared with `NAME.txt`: the rendered errors, or for
//! a job without any, the rows of `show`. `TWINLANE_REGENERATE=1 cargo test --test job_files` writes the expectations
//! and `schemas/job.schema.json`, docs/cli.md and the reference table of README.md anew; the diff is then read by a person.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use twinlane::job::{self, Surroundings, Unread};
use twinlane::value::{Stamp, Zone};

/// A system that exists only in tests.
struct Fake {
    variables: BTreeMap<&'static str, &'static str>,
    home: Option<&'static str>,
    root: bool,
}

impl Fake {
    fn ordinary() -> Self {
        let variables = BTreeMap::from([
            ("HOME", "/home/anna"),
            ("BACKUP_ROOT", "/mnt/backup"),
            ("EMPTY", ""),
            ("BLANK", "  \t"),
            ("NEWLINE", "/mnt/backup\n"),
            ("SPLIT", "/mnt\n/backup"),
            ("KEEP", "12"),
        ]);
        Self { variables, home: Some("/home/anna"), root: false }
    }
}

impl Surroundings for Fake {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).map(|&value| value.to_owned())
    }

    fn home(&self, user: Option<&str>) -> Option<PathBuf> {
        match user {
            None => self.home.map(PathBuf::from),
            Some("anna") => Some("/home/anna".into()),
            Some(_) => None,
        }
    }

    fn hostname(&self) -> Option<String> {
        Some("attic".to_owned())
    }

    fn read_file(&self, path: &Path) -> Result<String, String> {
        match path.file_name().and_then(|name| name.to_str()) {
            Some("place.txt") => Ok("/mnt/secret\n".to_owned()),
            Some("empty.txt") => Ok("\n".to_owned()),
            Some("lines.txt") => Ok("/mnt/secret\n\n".to_owned()),
            _ => Err("no such file".to_owned()),
        }
    }

    /// `/jobs/x/y.yaml` is `tests/job_files/extended/x/y.yaml`.
    fn read_job(&self, file: &Path) -> Result<String, Unread> {
        let real = match file.strip_prefix("/jobs") {
            Ok(below) => folder().join("extended").join(below),
            Err(_) => file.to_path_buf(),
        };
        std::fs::read_to_string(real).map_err(|_| Unread {
            why: "it is not there".to_owned(),
            help: Some("did you mean `common.yaml`, which is in the same folder?".to_owned()),
        })
    }

    fn is_root(&self) -> bool {
        self.root
    }

    /// At 00:30 UTC; local is an hour ahead.
    fn local_time(&self, zone: Zone) -> chrono::NaiveDateTime {
        match zone {
            Zone::Local => "2026-11-24T01:30:00".parse().unwrap(),
            Zone::Named(_) => zone.local(Stamp::from_seconds(1_795_480_200)),
        }
    }

    fn local_to_utc(&self, zone: Zone, local: chrono::NaiveDateTime) -> Option<Stamp> {
        match zone {
            Zone::Local => Some(Stamp::from_seconds(local.and_utc().timestamp() - 3600)),
            Zone::Named(_) => Some(zone.moment(local)),
        }
    }
}

/// What a person sees of a job file.
fn seen(name: &str, text: &str, surroundings: &Fake) -> String {
    let file = PathBuf::from(format!("/jobs/{name}.yaml"));
    match job::load(&file, text, surroundings) {
        Err(errors) => job::render(&errors, false),
        Ok(loaded) => {
            let mut rows = String::from("accepted\n");
            for row in &loaded.origins {
                let site = row.site.as_ref().map_or("default".to_owned(), |site| match &site.file {
                    own if *own == file => format!("line {}", site.line),
                    other => format!("{} line {}", other.display(), site.line),
                });
                writeln!(rows, "{} = {} ({site})", row.key, row.value).unwrap();
            }
            rows
        }
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/job_files")
}

fn regenerates() -> bool {
    std::env::var_os("TWINLANE_REGENERATE").is_some()
}

fn compare(expected: &Path, found: &str, stale: &mut Vec<String>) {
    if regenerates() {
        std::fs::write(expected, found).unwrap();
    } else if std::fs::read_to_string(expected).unwrap_or_default() != found {
        stale.push(format!("--- {} says otherwise than\n{found}", expected.display()));
    }
}

#[test]
fn job_files_are_told_as_expected() {
    let mut stale = Vec::new();
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let mut refused = 0;
    for yaml in names.iter().filter(|path| path.extension().is_some_and(|extension| extension == "yaml")) {
        let text = std::fs::read_to_string(yaml).unwrap();
        let name = yaml.file_stem().unwrap().to_str().unwrap();
        let mut surroundings = Fake::ordinary();
        surroundings.root = name.starts_with("root_");
        if name.starts_with("homeless_") {
            surroundings.home = None;
        }
        let found = seen(name, &text, &surroundings);
        refused += usize::from(!found.starts_with("accepted"));
        compare(&yaml.with_extension("txt"), &found, &mut stale);
    }
    assert!(stale.is_empty(), "{}", stale.join("\n"));
    assert!(refused >= 30, "only {refused} broken job files");
}

#[test]
fn the_schema_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/job.schema.json");
    let schema = format!("{}\n", serde_json::to_string_pretty(&job::schema()).unwrap());
    let mut stale = Vec::new();
    compare(&path, &schema, &mut stale);
    assert!(stale.is_empty(), "run TWINLANE_REGENERATE=1 cargo test --test job_files");
}

#[test]
fn the_reference_of_the_command_line_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    let mut stale = Vec::new();
    compare(&path, &twinlane::cli::reference(), &mut stale);
    assert!(stale.is_empty(), "run TWINLANE_REGENERATE=1 cargo test --test job_files");
}

#[test]
fn the_reference_of_the_readme_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- reference: begin -->\n", "<!-- reference: end -->\n");
    let (before, rest) = text.split_once(begin).expect("the marker of its beginning");
    let (_, after) = rest.split_once(end).expect("the marker of its end");
    let current = format!("{before}{begin}{}{end}{after}", job::reference());
    let mut stale = Vec::new();
    compare(&path, &current, &mut stale);
    assert!(stale.is_empty(), "run TWINLANE_REGENERATE=1 cargo test --test job_files");
}

#[test]
fn the_jobs_of_this_repository_resolve() {
    let jobs = Path::new(env!("CARGO_MANIFEST_DIR")).join("jobs");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&jobs).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# yaml-language-server: $schema=../schemas/job.schema.json\n"), "{path:?}");
        if path.ends_with("common.yaml") {
            assert!(job::is_shared(&path, &text, &Fake::ordinary()));
            continue;
        }
        let loaded = job::load(&path, &text, &Fake::ordinary())
            .unwrap_or_else(|errors| panic!("{}", job::render(&errors, false)));
        assert!(loaded.job.description.is_some(), "{path:?}");
        names.push(loaded.job.name);
    }
    names.sort();
    assert_eq!(names, ["demo", "nas-pull", "photographer", "server", "workstation"]);
}

fn load(text: &str) -> job::Job {
    let file = Path::new("/home/anna/jobs/nightly.yaml");
    match job::load(file, text, &Fake::ordinary()) {
        Ok(loaded) => loaded.job,
        Err(errors) => panic!("{}", job::render(&errors, false)),
    }
}

fn messages(text: &str) -> Vec<String> {
    let errors = job::load(Path::new("/jobs/x.yaml"), text, &Fake::ordinary()).expect_err("a broken job");
    errors.into_iter().map(|error| error.message).collect()
}

fn rule(options: &str) -> job::Rule {
    let text = format!("rules:\n  a:\n    mode: mirror\n    source: /a\n    destination: /b\n{options}");
    load(&text).rules.remove(0)
}

#[test]
fn a_rule_without_options_has_the_defaults_of_the_design() {
    use job::{Choice, EngineOptions, Limit, Limits, MinFree, Preserve, Require, Retention, Versions};
    use twinlane::value::{ByteCount, Percent};
    let day = std::time::Duration::from_secs(86_400);
    let keep = |days| Versions::Keep(Retention { keep_for: Some(day * days), ..Retention::default() });
    let expected = job::Rule {
        name: "a".to_owned(),
        mode: job::Mode::Mirror,
        source: job::Location::Path("/a".into()),
        destination: job::Location::Path("/b".into()),
        enabled: true,
        needs: Vec::new(),
        exclude: Vec::new(),
        include: Vec::new(),
        ignore_case: Choice::Auto,
        select: twinlane::filter::Select::default(),
        compare: job::Comparison::Mtime,
        time_tolerance: Choice::Auto,
        overwrite: job::Overwrite::Changed,
        remove: job::Remove::After,
        versions: keep(14),
        limits: Limits {
            remove: Limit::Share(Percent::whole(25)),
            replace: Limit::Share(Percent::whole(50)),
            min_free: MinFree::Share(Percent::whole(1)),
        },
        require: Require { source_nonempty: true, source_mounted: false, destination_mounted: false },
        on_missing: job::OnMissing::Fail,
        preserve: Preserve {
            permissions: true,
            times: true,
            xattrs: true,
            acls: true,
            hard_links: true,
            sparse: true,
            owner: Choice::Auto,
            symlinks: job::Symlinks::Copy,
            special: Choice::Auto,
        },
        verify: job::Verify::None,
        bandwidth: twinlane::value::Bandwidth::default(),
        durability: job::Durability::Run,
        unsettled: job::Unsettled::Retry,
        retries: 3,
        engine: EngineOptions {
            method: job::Method::Auto,
            queues: Choice::Auto,
            depth: Choice::Auto,
            block: Choice::Auto,
            unbuffered_from: Choice::Auto,
            memory: ByteCount(256 << 20),
        },
    };
    assert_eq!(rule(""), expected);
    let (source, destination) = (expected.source.clone(), expected.destination.clone());
    assert_eq!(job::Rule::new("a", job::Mode::Mirror, source, destination), expected);
    let backup = load("rules: {a: {mode: backup, source: /a, destination: /b}}\n");
    assert_eq!(backup.rules[0].versions, keep(90));
}

#[test]
fn every_option_reaches_the_rule() {
    use job::{Choice, Limit, Location, MinFree, Retention, Versions, WhenFull};
    use std::time::Duration;
    use twinlane::filter::{Age, Select};
    use twinlane::value::{ByteCount, Percent};
    let text = std::fs::read_to_string(folder().join("ok_everything.yaml")).unwrap();
    let job = load(&text);
    assert_eq!(job.description.as_deref(), Some("Every key once."));
    let (a, b) = (&job.rules[0], &job.rules[1]);
    let volume = Location::Volume { name: "Backup A".to_owned(), path: "attic/nightly-a".into() };
    assert_eq!((&a.source, &a.destination), (&Location::Path("/home/anna/Pictures/x".into()), &volume));
    assert_eq!((a.enabled, a.ignore_case, a.compare), (false, Choice::Set(true), job::Comparison::Hash));
    let select = Select {
        min_size: Some(ByteCount(1)),
        max_size: Some(ByteCount(1_610_612_736)),
        newer_than: Some(Age::Span(Duration::from_secs(30 * 86_400))),
        older_than: Some(Age::Date(Stamp::from_seconds(1_795_474_800))),
        max_depth: Some(3),
        exclude_if_present: vec![".nobackup".to_owned(), "~".to_owned()],
        exclude_caches: true,
        ignore_files: vec![".gitignore".to_owned()],
        one_file_system: true,
    };
    assert_eq!(a.select, select);
    assert_eq!(
        (a.remove, &a.versions, a.overwrite),
        (job::Remove::Before, &Versions::None, job::Overwrite::Changed)
    );
    assert_eq!(a.time_tolerance, Choice::Set(Duration::from_secs(2)));
    assert_eq!((a.limits.remove, a.limits.replace), (Limit::Share(Percent::whole(10)), Limit::Count(100)));
    assert_eq!(a.limits.min_free, MinFree::Bytes(ByteCount(2_000_000_000)));
    assert_eq!((a.on_missing, b.on_missing), (job::OnMissing::Skip, job::OnMissing::Fail));
    assert!(!a.require.source_nonempty && a.require.source_mounted && a.require.destination_mounted);
    let kept = a.preserve;
    assert!(
        ![kept.permissions, kept.times, kept.xattrs, kept.acls, kept.hard_links, kept.sparse].contains(&true)
    );
    assert_eq!((kept.owner, kept.special), (Choice::Set(true), Choice::Set(false)));
    assert_eq!(kept.symlinks, job::Symlinks::Skip);
    assert_eq!((a.durability, a.unsettled, a.retries), (job::Durability::File, job::Unsettled::Publish, 0));
    let engine = a.engine;
    assert_eq!(
        (engine.method, engine.queues, engine.depth),
        (job::Method::Buffered, Choice::Set(4), Choice::Set(8))
    );
    assert_eq!((engine.block, engine.memory), (Choice::Set(ByteCount(262_144)), ByteCount(64 << 20)));
    assert_eq!(engine.unbuffered_from, Choice::Set(ByteCount(16 << 20)));

    assert_eq!((&b.overwrite, b.remove), (&job::Overwrite::Newer, job::Remove::After));
    assert_eq!((&b.needs, &b.exclude), (&vec!["a".to_owned()], &Vec::new()));
    assert_eq!(b.include, ["*.rs", "docs/$x/"]);
    assert_eq!(b.destination, Location::Path("/mnt/backup/2026/11".into()));
    let retention = Retention {
        keep_for: Some(Duration::from_secs(14 * 86_400)),
        keep_last: Some(12),
        max_size: Some(ByteCount(1_000_000_000_000)),
        when_full: WhenFull::Release,
    };
    assert_eq!(b.versions, Versions::Keep(retention));
    assert_eq!((b.limits.remove, b.limits.min_free), (Limit::None, MinFree::Bytes(ByteCount(2_000_000_000))));
}

#[test]
fn zone_and_timetable_reach_the_job() {
    use twinlane::filter::Age;
    use twinlane::value::{Bandwidth, BandwidthWindow, ByteCount};
    let text = std::fs::read_to_string(folder().join("ok_timetable.yaml")).unwrap();
    let job = load(&text);
    assert_eq!(job.timezone, Zone::named("America/New_York").unwrap());
    let a = &job.rules[0];
    assert_eq!((a.compare, a.verify), (job::Comparison::MtimeThenHash, job::Verify::Readback));
    // Half past two in New York is half past seven UTC.
    assert_eq!(a.select.newer_than, Some(Age::Date(Stamp::from_seconds(1_795_505_400))));
    assert_eq!(job.rules[1].destination, job::Location::Path("/b2/23-19".into()));
    let window = |from: u32, until: u32, ceiling: Option<u64>| BandwidthWindow {
        from: from * 60,
        until: until * 60,
        ceiling: ceiling.map(ByteCount),
    };
    let windows =
        vec![window(22, 6, None), window(6, 12, Some(500_000)), window(12, 13, Some(2_000_000_000))];
    assert_eq!(a.bandwidth, Bandwidth { default: Some(ByteCount(1_572_864)), windows });
    assert_eq!(job.rules[1].bandwidth.default, Some(ByteCount(20_000_000)), "from `defaults`");
    assert_eq!(job.rules[2].bandwidth.windows, [window(0, 24, Some(1000))]);
    assert!(job.rules[3].bandwidth.is_unlimited(), "`none` overrides `defaults`");
}

#[test]
fn the_remaining_words_reach_the_rule() {
    let of = |options: &str| rule(options);
    assert_eq!(of("    compare: size\n").compare, job::Comparison::Size);
    assert_eq!(of("    durability: none\n").durability, job::Durability::None);
    assert_eq!(of("    engine: {method: unbuffered}\n").engine.method, job::Method::Unbuffered);
    let never = load("rules: {a: {mode: backup, source: /a, destination: /b, overwrite: never}}\n");
    assert_eq!(never.rules[0].overwrite, job::Overwrite::Never);
}

/// Rule, list, index and line of each pattern.
fn places(text: &str) -> Vec<(String, job::PatternList, usize, usize)> {
    let file = Path::new("/jobs/x.yaml");
    let loaded = job::load(file, text, &Fake::ordinary()).unwrap();
    assert!(loaded.patterns.iter().all(|pattern| pattern.file == file));
    let place = |pattern: job::PatternOrigin| (pattern.rule, pattern.list, pattern.index, pattern.line);
    loaded.patterns.into_iter().map(place).collect()
}

#[test]
fn each_pattern_knows_its_line() {
    use job::PatternList::{Exclude, Include};
    let text = "defaults:\n  exclude:\n    - a\n    - b\nrules:\n  x:\n    mode: mirror\n    source: /a\n    destination: /b\n    include: |\n      # not this\n      c\n\n      d\n  y:\n    mode: mirror\n    source: /a\n    destination: /c\n    exclude: [e, f]\n";
    let place = |rule: &str, list, index, line| (rule.to_owned(), list, index, line);
    assert_eq!(
        places(text),
        [
            place("x", Exclude, 0, 3),
            place("x", Exclude, 1, 4),
            place("x", Include, 0, 12),
            place("x", Include, 1, 14),
            place("y", Exclude, 0, 19),
            place("y", Exclude, 1, 19),
        ]
    );
}

#[test]
fn patterns_of_extended_files_know_their_file_and_line() {
    use job::PatternList::{Exclude, Include};
    let text = std::fs::read_to_string(folder().join("ok_exclude_plus.yaml")).unwrap();
    let loaded = job::load(Path::new("/jobs/own.yaml"), &text, &Fake::ordinary()).unwrap();
    let rule = &loaded.job.rules[1];
    assert_eq!((rule.exclude.concat(), rule.include.concat()), ("abegh".to_owned(), "*.o".to_owned()));
    let places: Vec<_> = loaded
        .patterns
        .iter()
        .filter(|pattern| pattern.rule == "added")
        .map(|pattern| (pattern.list, pattern.index, pattern.file.to_str().unwrap(), pattern.line))
        .collect();
    assert_eq!(
        places,
        [
            (Exclude, 0, "/jobs/lists.yaml", 2),
            (Exclude, 1, "/jobs/lists.yaml", 3),
            (Exclude, 2, "/jobs/lists.yaml", 10),
            (Exclude, 3, "/jobs/own.yaml", 11),
            (Exclude, 4, "/jobs/own.yaml", 11),
            (Include, 0, "/jobs/own.yaml", 12),
        ]
    );
    let (replaced, anew) = (&loaded.job.rules[0], &loaded.job.rules[2]);
    assert_eq!(
        (replaced.exclude.concat(), replaced.include.concat()),
        ("cdf".to_owned(), "*.c*.h".to_owned())
    );
    assert_eq!((anew.exclude.concat(), anew.include.concat()), ("ij".to_owned(), "*.c*.h*.s".to_owned()));
}

/// Files that exist only in a test.
struct Files(BTreeMap<String, String>);

impl Files {
    fn load(&self, name: &str) -> Result<job::Loaded, Vec<job::Diagnostic>> {
        job::load(Path::new(name), &self.0[name], self)
    }
}

impl Surroundings for Files {
    fn variable(&self, _name: &str) -> Option<String> {
        None
    }

    fn home(&self, _user: Option<&str>) -> Option<PathBuf> {
        None
    }

    fn hostname(&self) -> Option<String> {
        None
    }

    fn read_file(&self, _path: &Path) -> Result<String, String> {
        Err("no such file".to_owned())
    }

    fn read_job(&self, file: &Path) -> Result<String, Unread> {
        let text = self.0.get(file.to_str().unwrap()).cloned();
        text.ok_or_else(|| Unread { why: "it is not there".to_owned(), help: None })
    }

    fn is_root(&self) -> bool {
        false
    }

    fn local_time(&self, _zone: Zone) -> chrono::NaiveDateTime {
        chrono::NaiveDateTime::default()
    }

    fn local_to_utc(&self, _zone: Zone, _local: chrono::NaiveDateTime) -> Option<Stamp> {
        None
    }
}

#[test]
fn extends_is_bounded_in_depth_and_number() {
    let rules = "rules: {a: {mode: mirror, source: /a, destination: /b}}\n";
    let chain = |length: usize| {
        let mut files: BTreeMap<String, String> =
            (0..length).map(|at| (format!("/{at}"), format!("extends: \"{}\"\n", at + 1))).collect();
        files.insert(format!("/{length}"), rules.to_owned());
        Files(files).load("/0")
    };
    assert!(chain(16).is_ok());
    let errors = chain(17).expect_err("too deep");
    assert_eq!(errors[0].message, "more than 16 files extend one another");

    // Each names the next one twice: two to the fifteenth, were each read anew.
    let mut files: BTreeMap<String, String> =
        (0..15).map(|at| (format!("/{at}"), format!("extends: [\"{0}\", \"{0}\"]\n", at + 1))).collect();
    files.insert("/15".to_owned(), rules.to_owned());
    assert!(Files(files).load("/0").is_ok());

    let names: Vec<String> = (0..101).map(|at| format!("\"f{at}\"")).collect();
    let mut files: BTreeMap<String, String> =
        (0..101).map(|at| (format!("/f{at}"), "defaults: {retries: 1}\n".to_owned())).collect();
    files.insert("/j".to_owned(), format!("extends: [{}]\n{rules}", names.join(", ")));
    let errors = Files(files).load("/j").expect_err("too many");
    assert_eq!((errors.len(), errors[0].message.as_str()), (1, "more than 100 files are extended"));
}

#[test]
fn what_an_extended_file_lacks_is_no_error_where_it_is_replaced() {
    let common = "variables: {disk: \"${env:DISK}\"}\nrules: {a: {mode: mirror, source: \"~/x\", destination: \"${disk}/b\"}}\n";
    let job = |own: &str| {
        let files = [("/c".to_owned(), common.to_owned()), ("/j".to_owned(), format!("extends: c\n{own}"))];
        Files(files.into()).load("/j")
    };
    let errors = job("").expect_err("neither DISK nor HOME is set");
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors.iter().all(|error| error.source.file == Path::new("/c")));
    assert!(job("variables: {disk: /d}\nrules: {a: {source: /x}}\n").is_ok());
}

#[test]
fn nothing_of_an_extended_file_is_lost_in_silence() {
    let job = |common: &str, own: &str| {
        let rules = "rules: {a: {mode: mirror, source: /a, destination: /b}}\n";
        let files =
            [("/c".to_owned(), common.to_owned()), ("/j".to_owned(), format!("extends: c\n{rules}{own}"))];
        Files(files.into())
            .load("/j")
            .map_err(|errors| errors.into_iter().map(|error| error.message).collect())
    };
    for (common, own, message) in [
        ("rules: {a+: {}}\n", "", "`a+` cannot name a rule"),
        ("variables: {v+: x}\n", "variables: {v: x}\n", "`v+` cannot name a variable"),
        ("variables: {exclude+: x}\n", "variables: {exclude: x}\n", "`exclude+` cannot name a variable"),
        ("rules: {a: {mode+: x}}\n", "", "unknown key `mode+` in the rule `a`"),
        ("defaults: {exclude+: 3, exclude: {}}\n", "defaults: {exclude: []}\n", "`exclude` is a map"),
        ("defaults: {exclude+: {}}\n", "defaults: {exclude: []}\n", "`exclude+` is a map"),
        (
            "defaults: {versions: {keep: 3}}\n",
            "defaults: {versions: none}\n",
            "unknown key `keep` in `versions`",
        ),
        (
            "defaults: {versions: nine}\n",
            "defaults: {versions: {keep_last: 3}}\n",
            "`nine` is no value of `versions`",
        ),
        ("timezone: Mars\n", "timezone: UTC\n", "`Mars` is no value of `timezone`"),
    ] {
        let told: Vec<String> = job(common, own).map(|_| ()).expect_err(common);
        assert_eq!(told, [message], "{common}{own}");
    }
}

#[test]
fn shared_files_are_told_from_broken_jobs() {
    for (text, shared) in [
        ("defaults: {retries: 1}\n", true),
        ("variables: {}\n", true),
        ("description: x\ntimezone: UTC\n", true),
        ("extends: lists.yaml\n", false),
        ("extends: common.yaml\n", false),
        ("description: x\n", false),
        ("defalts: {retries: 1}\n", false),
        ("defaults: {retries: 1}\nrule: {}\n", false),
        ("defaults: {retries: 1}\nrules: {}\n", false),
        ("- defaults\n", false),
        ("defaults: {\n", false),
        ("", false),
    ] {
        assert_eq!(job::is_shared(Path::new("/jobs/x.yaml"), text, &Fake::ordinary()), shared, "{text}");
    }
}

#[test]
fn a_file_content_is_not_shown() {
    let text = "rules:\n  a: {mode: backup, source: \"${file:place.txt}/x\", destination: /b}\n";
    let loaded = job::load(Path::new("/jobs/x.yaml"), text, &Fake::ordinary()).unwrap();
    assert_eq!(loaded.job.rules[0].source, job::Location::Path("/mnt/secret/x".into()));
    assert!(loaded.origins.iter().all(|row| !row.value.contains("secret")));
}

#[test]
fn bc_56_unset_empty_and_blank_are_errors_with_their_key_and_line() {
    for (reference, message) in [
        ("${env:NOT_SET}", "the environment variable `NOT_SET` is not set"),
        ("${env:EMPTY}", "the environment variable `EMPTY` is empty"),
        ("${env:BLANK}", "the environment variable `BLANK` is empty"),
        ("${env:NEWLINE}", "the path holds a line break"),
        ("${NOT_SET}", "there is no variable `NOT_SET`"),
        ("${file:empty.txt}", "`/jobs/empty.txt` is empty"),
        ("${file:lines.txt}", "the path holds a line break"),
    ] {
        let text =
            format!("rules:\n  a:\n    mode: mirror\n    source: /a\n    destination: {reference}/data\n");
        let errors = job::load(Path::new("/jobs/x.yaml"), &text, &Fake::ordinary()).expect_err(reference);
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert_eq!(errors[0].message, message);
        assert!(text[..errors[0].span.start].ends_with("destination: "), "{errors:?}");
    }
}

#[test]
fn bc_77_relative_paths_start_at_the_job_files_folder_and_home_is_needed() {
    let job = load("rules: {a: {mode: backup, source: ./world, destination: ../copies/}}\n");
    assert_eq!(job.rules[0].source, job::Location::Path("/home/anna/jobs/world".into()));
    assert_eq!(job.rules[0].destination, job::Location::Path("/home/anna/jobs/../copies".into()));

    let text = "rules: {a: {mode: backup, source: ~/x, destination: /b}}\n";
    for home in [None, Some(""), Some("relative")] {
        let surroundings = Fake { home, ..Fake::ordinary() };
        let errors = job::load(Path::new("/jobs/x.yaml"), text, &surroundings).expect_err("no home");
        assert_eq!(errors[0].message, "`~` has no meaning: HOME is not set", "{home:?}");
    }
}

#[test]
fn bc_87_nothing_changes_its_type_in_silence() {
    let patterns = rule("    exclude: [no, on, 1e3, 12:30, 0x10, ~, 0644, 1_000, true]\n").exclude;
    assert_eq!(patterns, ["no", "on", "1e3", "12:30", "0x10", "~", "0644", "1_000", "true"]);
    for wrong in ["no", "\"no\"", "off", "0", "True", "\"true\"", "~", "[true]", "{true: 1}"] {
        let text = format!("rules: {{a: {{mode: backup, source: /a, destination: /b, enabled: {wrong}}}}}\n");
        assert_eq!(messages(&text).len(), 1, "{wrong}");
    }
    for wrong in [
        "20",
        "20MB",
        "on",
        "off",
        "0",
        "1e6/s",
        "12:30",
        "~",
        "true",
        "[20MB/s]",
        "{6: none}",
        "{12:30: none}",
    ] {
        let text =
            format!("rules: {{a: {{mode: backup, source: /a, destination: /b, bandwidth: {wrong}}}}}\n");
        assert_eq!(messages(&text).len(), 1, "{wrong}");
    }
    for wrong in ["yes", "true", "on", "1", "~", "[readback]"] {
        let text = format!("rules: {{a: {{mode: backup, source: /a, destination: /b, verify: {wrong}}}}}\n");
        assert_eq!(messages(&text).len(), 1, "{wrong}");
    }
    for wrong in ["+01:00", "3600", "~", "[UTC]", "CEST", "utc"] {
        let text =
            format!("timezone: {wrong}\nrules: {{a: {{mode: backup, source: /a, destination: /b}}}}\n");
        assert_eq!(messages(&text).len(), 1, "{wrong}");
    }
    let added = rule("    exclude: [no]\n    exclude+: [on, 1e3, 12:30, ~, 007]\n").exclude;
    assert_eq!(added, ["no", "on", "1e3", "12:30", "~", "007"]);
    for wrong in ["0644", "644", "~"] {
        let text = format!("rules: {{a: {{mode: {wrong}, source: /a, destination: /b}}}}\n");
        assert_eq!(messages(&text).len(), 1, "{wrong}");
    }
}

/// A misspelt key in every map of the job language is refused, with the right one offered.
#[test]
fn bc_88_a_misspelt_key_is_refused_in_every_map() {
    let within = |path: &[&str], key: &str| {
        let inner =
            path.iter().rev().fold(format!("{{{key}: 1}}"), |inner, map| format!("{{{map}: {inner}}}"));
        let inner = inner.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap().to_owned();
        format!("rules: {{a: {{mode: mirror, source: /a, destination: /b, {inner}}}}}\n")
    };
    let with = |key: &str| format!("rules: {{a: {{mode: mirror, source: /a, destination: /b}}}}\n{key}\n");
    let mut cases = vec![
        (with("timezon: UTC"), "timezon", "timezone"),
        (with("extend: []"), "extend", "extends"),
        (with("defaults: {bandwidht: none}"), "bandwidht", "bandwidth"),
        (with("defaults: {exclud+: []}"), "exclud+", "exclude+"),
        (with("defaults: {bandwidth: {Default: none}}"), "Default", "default"),
        (
            "rules: {a: {mode: mirror, source: /a, destination: /b}}\nvarables: {}\n".to_owned(),
            "varables",
            "variables",
        ),
        (
            "rules: {a: {mode: mirror, source: /a, destination: /b}}\ndefaults: {exlude: []}\n".to_owned(),
            "exlude",
            "exclude",
        ),
    ];
    for (path, wrong, right) in [
        (&[][..], "exlude", "exclude"),
        (&["select"], "minsize", "min_size"),
        (&["versions"], "keep-last", "keep_last"),
        (&["limits"], "Remove", "remove"),
        (&["require"], "sources", "source"),
        (&["require", "source"], "nonemtpy", "nonempty"),
        (&["require", "destination"], "mountd", "mounted"),
        (&["preserve"], "xattr", "xattrs"),
        (&["engine"], "queue", "queues"),
        (&[], "verfy", "verify"),
        (&[], "includes+", "include+"),
    ] {
        cases.push((within(path, wrong), wrong, right));
    }
    for (text, wrong, right) in cases {
        let errors = job::load(Path::new("/jobs/x.yaml"), &text, &Fake::ordinary()).expect_err(&text);
        assert_eq!(errors.len(), 1, "{text}{errors:?}");
        assert!(errors[0].message.starts_with(&format!("unknown key `{wrong}` in ")), "{errors:?}");
        assert_eq!(errors[0].help.as_deref(), Some(format!("did you mean `{right}`?").as_str()), "{text}");
        assert_eq!(&text[errors[0].span.clone()], wrong);
    }
}

#[test]
fn variables_cannot_grow_without_bound() {
    let mut text = String::from("variables:\n  v0: xxxxxxxxxxxxxxxx\n");
    for level in 1..30 {
        let below = level - 1;
        writeln!(text, "  v{level}: \"${{v{below}}}${{v{below}}}${{v{below}}}\"").unwrap();
    }
    text.push_str("rules: {a: {mode: mirror, source: /a, destination: \"/b/${v29}\"}}\n");
    assert!(messages(&text).iter().all(|message| message == "the value is too long"));
}

#[test]
fn many_errors_are_counted_and_quick() {
    let mut text = String::from("rules:\n");
    for number in 0..40_000 {
        writeln!(text, "  - {number}\nk{number}: 1").unwrap();
    }
    text.truncate(900_000);
    let started = std::time::Instant::now();
    let file = Path::new("/jobs/x.yaml");
    let errors = job::load(file, &text, &Fake::ordinary()).expect_err("nonsense");
    let rendered = job::render(&errors, false);
    assert!(rendered.len() < 100_000, "{}", rendered.len());
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn the_reference_names_every_key_of_the_schema() {
    let reference = job::reference();
    let schema = job::schema();
    for keys in [&schema["properties"], &schema["definitions"]["options"]["properties"]] {
        for (name, property) in keys.as_object().unwrap() {
            assert!(reference.contains(&format!("| `{name}`")), "{name}");
            for inner in property["properties"].as_object().into_iter().flat_map(|inner| inner.keys()) {
                assert!(reference.contains(&format!("| `{name}.{inner}`")), "{name}.{inner}");
            }
        }
    }
    for row in reference.lines() {
        assert_eq!(row.matches('|').count(), 4, "{row}");
    }
}

/// Pieces that YAML and the job language give a meaning.
const PIECES: &[&str] = &[
    "rules:",
    "\n",
    "\n  ",
    "\n    ",
    "\n      ",
    "\r\n",
    "\t",
    " ",
    "a",
    "mode: ",
    "mirror",
    "backup",
    "source: ",
    "destination: ",
    "/a",
    "~",
    "~x/",
    "exclude: ",
    "|",
    "|-",
    ">",
    "- ",
    "!",
    "!keep/",
    "*",
    "*.x",
    "&",
    "@",
    "%",
    "`",
    "#",
    " #",
    "[",
    "]",
    "{",
    "}",
    ",",
    ": ",
    ":",
    "\"",
    "'",
    "\\",
    "\\x",
    "\\P",
    "${",
    "}",
    "${env:HOME}",
    "${v}",
    "variables:",
    "v: ",
    "defaults:",
    "versions: ",
    "none",
    "25%",
    "30d",
    "<<: ",
    "---",
    "...",
    "? ",
    "é",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "\u{9b}",
    "\u{202e}",
    "\u{1f600}",
    "\0",
    "null",
    "true",
    "limits: ",
    "volume:",
    "${date:%Y}",
    "${file:x}",
    "needs: ",
    "select: ",
    "1",
    "007",
    "%YAML 1.2\n---\n",
    "extends: common.yaml\n",
    "extends: ",
    "[wrong.yaml, lists.yaml]",
    "torn.yaml",
    "ring-a.yaml",
    "exclude+: ",
    "include+: ",
    "bandwidth: ",
    "22:00-06:00: ",
    "default: ",
    "20MB/s",
    "timezone: ",
    "Europe/Berlin",
];

/// Such pieces thrown together.
fn jobish() -> impl proptest::strategy::Strategy<Value = String> {
    proptest::strategy::Strategy::prop_map(
        proptest::collection::vec(proptest::sample::select(PIECES.to_vec()), 0..60),
        |pieces| pieces.concat(),
    )
}

/// Loads and renders; whatever the text is, there is an answer, and it is fit for a terminal.
fn answers(text: &str) {
    let file = Path::new("/jobs/x.yaml");
    if let Err(errors) = job::load(file, text, &Fake::ordinary()) {
        assert!(!errors.is_empty(), "refused without a word: {text:?}");
        for error in &errors {
            assert!(error.source.text.get(error.span.clone()).is_some(), "{error:?} lies outside {text:?}");
        }
        let rendered = job::render(&errors, false);
        let unfit = |letter: char| {
            letter.is_control() && letter != '\n' || ('\u{202a}'..='\u{202e}').contains(&letter)
        };
        assert!(!rendered.contains(unfit), "{rendered:?}");
        assert!(!job::render(&errors, true).is_empty());
    }
}

/// `PROPTEST_CASES`, or enough to find what is easy to find.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(500)
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: cases(), failure_persistence: None, ..Default::default() })]

    #[test]
    fn arbitrary_text_is_answered(text in "\\PC{0,40}(\n[ -~\t]{0,20}){0,8}") {
        answers(&text);
    }

    #[test]
    fn arbitrary_characters_are_answered(text in proptest::collection::vec(proptest::prelude::any::<char>(), 0..60)) {
        answers(&text.into_iter().collect::<String>());
    }

    #[test]
    fn job_like_text_is_answered(text in jobish()) {
        answers(&text);
    }

    /// A broken byte anywhere in a good job is answered too.
    #[test]
    fn a_cut_and_mended_job_is_answered(cut in 0usize..2000, piece in jobish(), keep in 0usize..2000) {
        let text = std::fs::read_to_string(folder().join("ok_everything.yaml")).unwrap();
        let letters: Vec<char> = text.chars().collect();
        let head: String = letters.iter().take(cut).collect();
        let tail: String = letters.iter().skip(cut + keep % 20).collect();
        answers(&format!("{head}{piece}{tail}"));
    }
}
