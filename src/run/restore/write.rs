//! The writing of a restore: directories down, entries each under a stage name first, directories' metadata up, one last sync.

use std::collections::HashMap;

use crate::execute::{Bringer, Failure, FailureKind, Hitch, Landing, Meters, Roots, Staged, Terms};
use crate::job::{Durability, Preserve, Rule};
use crate::plan::Plan;
use crate::platform::{Attributes as _, Dir, place_at};
use crate::queue::Engine;
use crate::store::Store;
use crate::value::{Kind, Meta, RelPath};

use super::super::roots::{Root, root_at};
use super::super::survey::{interrupted, start_engine};
use super::in_place::{Keeper, Present};
use super::tree::{Origin, Shelf, Want};
use super::{Damaged, Restoration, RestoreReport, RuleOutcome, Session, Target};

/// Writes all that is wanted; what became of it goes into the report.
pub(super) fn write(restoration: &mut Restoration, session: &Session<'_>) -> Result<(), RuleOutcome> {
    let in_place = matches!(restoration.target, Target::Source(_));
    // All that a version has is given back, whatever the rule keeps of its source.
    let durability = if in_place { Durability::File } else { Durability::Run };
    let rule = Rule { preserve: Preserve::default(), durability, ..restoration.rule.clone() };
    let (engine, _) = start_engine(session, &rule)?;
    let target = opened(&restoration.target)?;
    let (store, run) = (&restoration.reached.store, restoration.run);
    let plan = Plan::default();
    let terms = Terms {
        plan: &plan,
        rule: &rule,
        run,
        source: &restoration.reached.root.directory,
        destination: &target.directory,
        source_place: &restoration.reached.place,
        place: &target.place,
        store: Some(store),
        roots: Roots::Alike,
        clock: session.clock,
        cancel: session.cancel,
        engine: &engine,
        workers: 1,
        as_root: session.environment.is_root(),
    };
    let meters = Meters::default();
    let keeper = if in_place { Some(Keeper::begin(store, run, &target.directory)?) } else { None };
    let mut writer = Writer {
        bringer: Bringer::new(&terms, &meters),
        engine: &engine,
        from: &restoration.reached.root.directory,
        store,
        to: &target.directory,
        keeper,
        damaged: restoration.damaged,
        made: Vec::new(),
        leaders: HashMap::new(),
        report: &mut restoration.report,
    };
    for want in &restoration.wants {
        if session.cancel.is_raised() {
            writer.report.outcome = interrupted(session);
            break;
        }
        if let Err(hitch) = writer.one(want) {
            writer.fail(want.path.clone(), hitch);
        }
    }
    writer.finish()
}

/// The folder that is written, made where it is absent.
fn opened(target: &Target) -> Result<Root, RuleOutcome> {
    let (parent, name) = match target {
        Target::Empty(root) | Target::Source(root) => {
            return root_at("folder", &root.real).map_err(RuleOutcome::refused).and_then(|again| {
                if again.meta.same_inode(&root.meta) {
                    Ok(again)
                } else {
                    Err(RuleOutcome::Stopped { reasons: vec!["the folder is another one by now".to_owned()] })
                }
            });
        }
        Target::ToMake(parent, name) => (parent, name),
    };
    let made = || -> std::io::Result<Root> {
        parent.directory.make_dir(name, 0o700)?;
        parent.directory.sync()?;
        let directory = parent.directory.open_dir(name)?;
        let below = crate::platform::path_from_bytes(name);
        let real = parent.real.join(&below);
        let (meta, place) = (directory.meta()?, place_at(&directory, &real)?);
        Ok(Root { directory, meta, written: parent.written.join(below), real, place })
    };
    made().map_err(|error| RuleOutcome::Stopped {
        reasons: vec![format!("cannot make `{}`", target.shown().display()), error.to_string()],
    })
}

/// A directory that was made, and what it is to look like.
struct Made {
    path: RelPath,
    like: Option<(Shelf, RelPath)>,
}

struct Writer<'w, 's> {
    bringer: Bringer<'s>,
    engine: &'w Engine,
    from: &'w Dir,
    store: &'w Store,
    to: &'w Dir,
    keeper: Option<Keeper<'w>>,
    damaged: Damaged,
    made: Vec<Made>,
    /// Of inodes with several names: the first that was written, and what it is there.
    leaders: HashMap<(u64, u64), (RelPath, Meta)>,
    report: &'w mut RestoreReport,
}

fn hitch(operation: &str, error: &std::io::Error) -> Hitch {
    Hitch { what: FailureKind::Failed, cause: format!("cannot {operation}: {error}") }
}

impl Writer<'_, '_> {
    fn fail(&mut self, path: RelPath, Hitch { what, cause }: Hitch) {
        self.report.failures.push(Failure { path, what, cause });
    }

    fn one(&mut self, want: &Want) -> Result<(), Hitch> {
        let Some(origin) = want.origin.as_ref().filter(|_| !want.is_directory()) else {
            let like = want.origin.as_ref().map(|origin| (origin.shelf, origin.path.clone()));
            return self.directory(&want.path, like);
        };
        let to = self.parent(&want.path)?;
        let from = self.holder(origin)?;
        let landing = match &self.keeper {
            None => Landing::New,
            Some(_) => {
                match Present::look(&to, want.path.name(), &from, origin, want.expected.digest, self.engine)?
                {
                    Present::Free => Landing::New,
                    Present::Same => {
                        self.report.unchanged += 1;
                        return Ok(());
                    }
                    Present::Other => Landing::Over,
                }
            }
        };
        let Some(staged) = self.staged(want, origin, &from, &to)? else { return Ok(()) };
        self.land(want, &staged, &to, landing)
    }

    /// The entry under a stage name; `None` where its content is not what it was, and it is to be left out then.
    fn staged(
        &mut self,
        want: &Want,
        origin: &Origin,
        from: &Dir,
        to: &Dir,
    ) -> Result<Option<Staged>, Hitch> {
        if let Some((leader, meta)) = self.leaders.get(&(origin.meta.device, origin.meta.inode)) {
            let above = leader.parent().unwrap_or_default();
            let holder = self.to.open_below(&above).map_err(|error| hitch("open its directory", &error))?;
            if let Some(staged) = self.bringer.stage_link(&holder, leader.name(), meta, to)? {
                return Ok(Some(staged));
            }
        }
        let staged = self.bringer.stage(from, origin.path.name(), &origin.meta, to)?;
        let is_damaged = match (want.expected.digest, staged.digest) {
            (Some(expected), Some(found)) => expected != found,
            _ => want.expected.shape.is_some_and(|shape| shape != (origin.meta.size, origin.meta.modified)),
        };
        if is_damaged {
            self.report.damaged.push(want.path.clone());
            if self.damaged == Damaged::LeaveOut {
                Bringer::discard(&staged, to);
                return Ok(None);
            }
        }
        Ok(Some(staged))
    }

    fn land(&mut self, want: &Want, staged: &Staged, to: &Dir, landing: Landing) -> Result<(), Hitch> {
        let (meta, content) = (staged.meta, staged.digest.is_some());
        let name = want.path.name();
        if let (Landing::Over, Some(keeper)) = (landing, &mut self.keeper)
            && let Err(hitch) = keeper.keep(to, &want.path)
        {
            Bringer::discard(staged, to);
            return Err(hitch);
        }
        let landed = self.bringer.land(staged, to, name, landing);
        if let (Landing::Over, Some(keeper)) = (landing, &mut self.keeper) {
            keeper.settle(to, &want.path, landed.is_ok());
            if landed.is_ok() {
                self.report.replaced.push(want.path.clone());
            }
        }
        landed?;
        self.report.restored += 1;
        if content {
            self.report.written.0 += meta.size;
        }
        if let Some(origin) = want.origin.as_ref().filter(|origin| origin.meta.links > 1) {
            let inode = (origin.meta.device, origin.meta.inode);
            self.leaders.entry(inode).or_insert_with(|| (want.path.clone(), meta));
        }
        Ok(())
    }

    /// Makes a directory where there is none; in place, one that is there is left as it is.
    fn directory(&mut self, path: &RelPath, like: Option<(Shelf, RelPath)>) -> Result<(), Hitch> {
        if path.is_root() {
            if self.keeper.is_none() {
                self.made.push(Made { path: path.clone(), like });
            }
            return Ok(());
        }
        let to = self.parent(path)?;
        match to.find(path.name()).map_err(|error| hitch("look at the folder", &error))? {
            Some(meta) if meta.kind == Kind::Directory => {
                if self.keeper.is_some() {
                    self.report.unchanged += 1;
                }
                Ok(())
            }
            Some(_) => Err(Hitch {
                what: FailureKind::Failed,
                cause: "a directory was there then, and something else is there now; move it away first"
                    .to_owned(),
            }),
            None => {
                to.make_dir(path.name(), 0o700).map_err(|error| hitch("make the directory", &error))?;
                self.made.push(Made { path: path.clone(), like });
                self.report.restored += 1;
                Ok(())
            }
        }
    }

    /// The directory that is to hold a name, made with those above it where they are not there.
    fn parent(&mut self, path: &RelPath) -> Result<Dir, Hitch> {
        let above = path.parent().unwrap_or_default();
        match self.to.open_below(&above) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            opened => return opened.map_err(|error| hitch("open its directory", &error)),
        }
        let mut at = self.to.try_clone().map_err(|error| hitch("open its directory", &error))?;
        let mut here = RelPath::root();
        for name in above.components() {
            here = here.join(name);
            match at.make_dir(name, 0o700) {
                Ok(()) => {
                    // It looks like the one that is live, where one is.
                    let like = self.from.open_below(&here).is_ok().then(|| (Shelf::Live, here.clone()));
                    self.made.push(Made { path: here.clone(), like });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(hitch("make its directory", &error)),
            }
            at = at.open_dir(name).map_err(|error| hitch("open its directory", &error))?;
        }
        Ok(at)
    }

    /// The directory that holds the content of an entry.
    fn holder(&self, origin: &Origin) -> Result<Dir, Hitch> {
        let failed = |cause: String| Hitch { what: FailureKind::Failed, cause };
        match origin.shelf {
            Shelf::Live => {
                let above = origin.path.parent().unwrap_or_default();
                self.from.open_below(&above).map_err(|error| hitch("open its directory", &error))
            }
            Shelf::Version(run) => self
                .store
                .version_holder(run, &origin.path)
                .map_err(|error| failed(super::super::causes(&error).join(": "))),
        }
    }

    /// Directories get their metadata, children before parents; then everything is made durable.
    fn finish(mut self) -> Result<(), RuleOutcome> {
        self.made.sort_by(|a, b| b.path.cmp(&a.path));
        for made in std::mem::take(&mut self.made) {
            if let Err(hitch) = self.dress(&made) {
                self.fail(made.path, hitch);
            }
        }
        if let Err(hitch) = self.bringer.conclude(self.to) {
            self.report.outcome = RuleOutcome::Stopped { reasons: vec![hitch.cause] };
        }
        self.report.warnings = self.bringer.warnings();
        match self.keeper {
            Some(keeper) => keeper.finish(),
            None => Ok(()),
        }
    }

    fn dress(&self, made: &Made) -> Result<(), Hitch> {
        let to = self.to.open_below(&made.path).map_err(|error| hitch("open the directory", &error))?;
        let Some((origin, path)) = &made.like else { return self.bringer.sync_directory(&to) };
        let from = match origin {
            Shelf::Live => self.from.open_below(path).map_err(|error| hitch("look at the directory", &error)),
            Shelf::Version(run) => self
                .store
                .version_holder(*run, path)
                .map_err(|error| Hitch {
                    what: FailureKind::Failed,
                    cause: super::super::causes(&error).join(": "),
                })
                .and_then(|holder| {
                    holder.open_dir(path.name()).map_err(|error| hitch("look at the directory", &error))
                }),
        };
        self.bringer.dress(&from?, &to)
    }
}
