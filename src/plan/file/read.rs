//! From the lines of a plan file back to plans. Nothing of it is believed unseen.

use std::collections::HashMap;

use crate::compare::{Counts, MetaDifference, Notice, Problem};
use crate::plan::{
    Action, ActionKind, DirectoryId, LimitCheck, NONE, Plan, PlannedConflict, PlannedDirectory, Reason,
    Totals,
};
use crate::value::{Kind, Meta, RelPath, StageName, Stamp, from_fields};

use super::lines::{
    ActionLine, ConflictLine, DirectoryLine, EndLine, HeaderLine, LimitLine, Line, MetaLine, NoticeLine,
    PathLine, ProblemLine, RuleLine, SightLine, SumsLine, is_plain, path_of,
};
use super::words::{
    ACTIONS, CONFLICTS, COUNTS, EXTENTS, KINDS, LIMITS, METADATA, MODES, PARTS, POWER_CUTS, REASONS, SIDES,
    Sides, UNHELD, value_of,
};
use super::{BEGINNING, FORMAT, LINE_BYTES_MAX, PlanFile, PlanFileHeader, PlanFileRule, Sight};

/// The destination's own folder: no plan speaks of it.
const HOME_NAME: &[u8] = b".twinlane";

/// Why some lines are not a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanFileError {
    /// There is no line.
    #[error("it is empty")]
    Empty,
    /// The first line is another one.
    #[error("it is not a plan file")]
    Other,
    /// A later Twinlane made it.
    #[error("it has format {format}, and this Twinlane reads format {FORMAT}")]
    Newer {
        /// Its format.
        format: u64,
    },
    /// A line says something that no plan says.
    #[error("line {line}: {what}")]
    Line {
        /// Counted from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The last line is missing.
    #[error("it ends after line {lines}, before its last line: it was cut off")]
    CutOff {
        /// So many lines are there.
        lines: u64,
    },
    /// The last line's sum is not that of the lines.
    #[error("its content does not fit its BLAKE3: it was changed after it was written")]
    Changed,
}

/// Said of what no index reaches.
const FULL: &str = "it is one more than a plan can hold";

/// What is wrong with a line, without its number.
type Wrong = String;

/// Reads a plan file line by line.
#[derive(Debug, Default)]
pub struct PlanReader {
    hasher: blake3::Hasher,
    lines: u64,
    header: Option<PlanFileHeader>,
    rules: Vec<PlanFileRule>,
    open: Option<Open>,
    ended: bool,
}

/// A plan whose lines are being read.
#[derive(Debug)]
struct Open {
    plan: Plan,
    lines: u64,
    /// Where the path of a link stands in the plan's table.
    links: HashMap<RelPath, u32>,
}

impl PlanReader {
    /// Takes the next line, with or without its end.
    ///
    /// # Errors
    /// [`PlanFileError`], with the line's number where one is to blame.
    pub fn take(&mut self, line: &[u8]) -> Result<(), PlanFileError> {
        let number = self.lines + 1;
        let wrong = |what: Wrong| PlanFileError::Line { line: number, what };
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        if self.header.is_none() {
            self.header = Some(header(text, wrong)?);
        } else if self.ended {
            return Err(wrong("there is something after the last line".to_owned()));
        } else {
            if text.len() > LINE_BYTES_MAX {
                return Err(wrong("it is too long".to_owned()));
            }
            let line: Line = serde_json::from_slice(text).map_err(|error| wrong(in_words(&error)))?;
            if let Line::End(end) = &line {
                return self.end(end).map_err(wrong)?;
            }
            self.line(line).map_err(wrong)?;
        }
        self.hasher.update(text);
        self.hasher.update(b"\n");
        self.lines = number;
        Ok(())
    }

    /// The file, once all its lines were taken.
    ///
    /// # Errors
    /// [`PlanFileError::Empty`], [`PlanFileError::CutOff`].
    pub fn finish(self) -> Result<PlanFile, PlanFileError> {
        match self.header {
            None => Err(PlanFileError::Empty),
            Some(header) if self.ended => Ok(PlanFile { header, rules: self.rules }),
            Some(_) => Err(PlanFileError::CutOff { lines: self.lines }),
        }
    }

    fn end(&mut self, end: &EndLine) -> Result<Result<(), PlanFileError>, Wrong> {
        if *end.blake3 != *self.hasher.finalize().to_hex() {
            return Ok(Err(PlanFileError::Changed));
        }
        self.close()?;
        if (end.rules, end.lines) != (self.rules.len() as u64, self.lines) {
            return Err("the numbers of rules and lines are not those of the file".to_owned());
        }
        self.ended = true;
        self.lines += 1;
        Ok(Ok(()))
    }

    fn line(&mut self, line: Line) -> Result<(), Wrong> {
        if let Line::Rule(line) = line {
            self.close()?;
            let (rule, open) = rule(*line)?;
            self.rules.push(rule);
            self.open = open;
            return Ok(());
        }
        let open = self.open.as_mut().ok_or("it belongs to no plan")?;
        open.lines = open.lines.checked_sub(1).ok_or("it is one more than the rule's line says")?;
        let plan = &mut open.plan;
        match line {
            Line::Rule(_) | Line::End(_) => {}
            Line::SourceMount(line) => plan.source_mounts.push(path(&line)?),
            Line::StaleStage(line) => plan.stale_stages.push(stale_stage(&line)?),
            Line::Notice(line) => plan.notices.push(notice(&line).ok_or("it is no notice")?),
            Line::Problem(line) => plan.problems.push(problem(line)?),
            Line::Conflict(line) => plan.conflicts.push(conflict(&line)?),
            Line::Directory(line) => plan.directories.push(directory(&line, plan.directories.last())?),
            Line::Action(line) => open.action(&line)?,
        }
        Ok(())
    }

    /// The open plan is whole: it goes to its rule.
    fn close(&mut self) -> Result<(), Wrong> {
        let Some(open) = self.open.take() else { return Ok(()) };
        if open.lines > 0 {
            return Err(format!("{} lines of the plan before it are missing", open.lines));
        }
        let plan = open.plan;
        let mut counted = Totals { bytes: 0, ..Totals::default() };
        plan.actions.iter().for_each(|action| counted.count(action.kind));
        let planned =
            Totals { bytes: 0, allocated: 0, removed_entries: 0, replaced_entries: 0, ..plan.totals };
        if counted != planned {
            return Err("the totals of the plan before it are not those of its actions".to_owned());
        }
        if let Some(rule) = self.rules.last_mut() {
            rule.plan = Some(plan);
        }
        Ok(())
    }
}

/// What a line is not, without the place within it: the line is the place.
fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let cause = text.split(" at line ").next().unwrap_or_default();
    format!("it is no line of a plan: {cause}")
}

/// Texts are shown as they stand.
fn check_plain<'a>(texts: impl IntoIterator<Item = &'a String>) -> Result<(), Wrong> {
    if texts.into_iter().all(|text| is_plain(text)) {
        Ok(())
    } else {
        Err("a text in it holds control characters".to_owned())
    }
}

fn header(text: &[u8], wrong: impl Fn(Wrong) -> PlanFileError) -> Result<PlanFileHeader, PlanFileError> {
    let Some(rest) = text.strip_prefix(BEGINNING) else { return Err(PlanFileError::Other) };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let format = rest.get(..digits).and_then(|digits| std::str::from_utf8(digits).ok());
    match format.and_then(|digits| digits.parse::<u64>().ok()) {
        Some(format) if format > u64::from(FORMAT) => return Err(PlanFileError::Newer { format }),
        Some(1..) => {}
        Some(0) | None => return Err(PlanFileError::Other),
    }
    if text.len() > LINE_BYTES_MAX {
        return Err(wrong("it is too long".to_owned()));
    }
    let line: HeaderLine = serde_json::from_slice(text).map_err(|error| wrong(in_words(&error)))?;
    let made = chrono::DateTime::parse_from_rfc3339(&line.made)
        .ok()
        .ok_or_else(|| wrong(format!("`{}` is no time", line.made)))?;
    let texts = [&line.twinlane, &line.host].into_iter().chain(&line.limits).chain(&line.accepted);
    check_plain(texts).map_err(&wrong)?;
    Ok(PlanFileHeader {
        twinlane: line.twinlane,
        made: Stamp { seconds: made.timestamp(), nanos: made.timestamp_subsec_nanos().min(999_999_999) },
        host: line.host,
        limits: line.limits,
        accepted: line.accepted,
    })
}

fn rule(line: RuleLine) -> Result<(PlanFileRule, Option<Open>), Wrong> {
    let file = from_fields(line.file.as_deref(), line.file_b64.as_deref());
    let file =
        file.filter(|path| path.first() == Some(&b'/')).ok_or("it has no absolute path of a job file")?;
    let mode = value_of(&MODES, &line.mode).ok_or_else(|| format!("there is no mode `{}`", line.mode))?;
    let roots = match (line.source, line.destination) {
        (Some(source), Some(destination)) => Some((sight(source)?, sight(destination)?)),
        (None, None) => None,
        _ => return Err("it has one root without the other".to_owned()),
    };
    if roots.is_none() && line.plan.is_some() {
        return Err("it has a plan without roots".to_owned());
    }
    let values = line.resolved.iter().flat_map(|(key, value)| [key, value]);
    check_plain([&line.job, &line.rule].into_iter().chain(values).chain(&line.objection))?;
    let open = line.plan.map(open).transpose()?;
    let rule = PlanFileRule {
        job: line.job,
        file: file.into(),
        rule: line.rule,
        mode,
        resolved: line.resolved,
        roots,
        destination_id: line.destination_id,
        objection: line.objection,
        plan: None,
    };
    Ok((rule, open))
}

fn sight(line: SightLine) -> Result<Sight, Wrong> {
    let path = from_fields(line.path.as_deref(), line.path_b64.as_deref());
    let path = path.filter(|path| path.first() == Some(&b'/')).ok_or("a root has no absolute path")?;
    Ok(Sight { path: path.into(), uuid: line.uuid })
}

fn open(line: SumsLine) -> Result<Open, Wrong> {
    let totals = Totals::from_json(&line.totals);
    let known = totals.to_json();
    let given = line.totals.as_object().ok_or("it has no totals")?;
    if let Some((key, _)) = given.iter().find(|(key, value)| known.get(key.as_str()) != Some(*value)) {
        return Err(format!("its totals have no number `{key}`"));
    }
    let mut counts = Counts::default();
    for (key, value) in &line.counts {
        let known = COUNTS.iter().find(|(name, _)| name == key);
        let (Some((_, count)), Some(value)) = (known, value.as_u64()) else {
            return Err(format!("its counts have no number `{key}`"));
        };
        *count(&mut counts) = value;
    }
    let limits: Vec<LimitCheck> = line.limits.into_iter().map(limit).collect::<Result<_, _>>()?;
    if !limits.iter().map(|check| check.name).eq(LIMITS) {
        return Err(format!("its limits are not {}", LIMITS.join(", ")));
    }
    let plan = Plan {
        actions: Vec::new(),
        directories: Vec::new(),
        names: Vec::new(),
        metas: Vec::new(),
        links: Vec::new(),
        totals,
        counts,
        limits,
        conflicts: Vec::new(),
        problems: Vec::new(),
        notices: Vec::new(),
        stale_stages: Vec::new(),
        source_mounts: Vec::new(),
    };
    Ok(Open { plan, lines: line.lines, links: HashMap::new() })
}

fn limit(line: LimitLine) -> Result<LimitCheck, Wrong> {
    check_plain([&line.written])?;
    let name = LIMITS.into_iter().find(|name| *name == line.limit);
    Ok(LimitCheck {
        name: name.ok_or_else(|| format!("there is no limit `{}`", line.limit))?,
        planned: line.planned,
        allowed: line.allowed,
        base: line.base,
        written: line.written,
        holds: line.holds,
    })
}

fn below(text: Option<&str>, base64: Option<&str>) -> Result<RelPath, Wrong> {
    path_of(text, base64).ok_or_else(|| "it has no path below a root".to_owned())
}

/// A path in the destination that a plan may speak of.
fn outside_home(path: RelPath) -> Result<RelPath, Wrong> {
    if path.components().next() == Some(HOME_NAME) {
        return Err("it speaks of the destination's own `.twinlane`".to_owned());
    }
    Ok(path)
}

fn path(line: &PathLine) -> Result<RelPath, Wrong> {
    below(line.path.as_deref(), line.path_b64.as_deref())
}

fn stale_stage(line: &PathLine) -> Result<RelPath, Wrong> {
    let path = outside_home(path(line)?)?;
    match StageName::parse(path.name()) {
        Some(_) => Ok(path),
        None => Err("it is not the name of a stage file".to_owned()),
    }
}

fn notice(line: &NoticeLine) -> Option<Notice> {
    let path = || path_of(line.path.as_deref(), line.path_b64.as_deref());
    let what = line.what.as_deref().unwrap_or_default();
    Some(match line.notice.as_str() {
        "mount_point" => Notice::MountPoint { path: path()?, entered: line.entered? },
        "foreign_destination" => Notice::ForeignDestination { path: path()? },
        "left_out" => Notice::LeftOut { kind: value_of(&KINDS, what)?, count: line.count? },
        "stage_names" => Notice::StageNames { count: line.count? },
        "unheld" => Notice::Unheld { what: value_of(&UNHELD, what)?, count: line.count? },
        "power_cut" => Notice::PowerCut { cause: value_of(&POWER_CUTS, what)? },
        _ => return None,
    })
}

fn problem(line: ProblemLine) -> Result<Problem, Wrong> {
    check_plain([&line.message])?;
    Ok(Problem {
        path: below(line.path.as_deref(), line.path_b64.as_deref())?,
        side: value_of(&SIDES, &line.side).ok_or_else(|| format!("there is no side `{}`", line.side))?,
        message: line.message,
        extent: value_of(&EXTENTS, &line.extent)
            .ok_or_else(|| format!("there is no extent `{}`", line.extent))?,
    })
}

fn conflict(line: &ConflictLine) -> Result<PlannedConflict, Wrong> {
    let known = CONFLICTS.into_iter().find(|conflict| conflict.word() == line.conflict);
    Ok(PlannedConflict {
        path: below(line.path.as_deref(), line.path_b64.as_deref())?,
        conflict: known.ok_or_else(|| format!("there is no conflict `{}`", line.conflict))?,
    })
}

fn meta(line: Option<&MetaLine>) -> Result<Option<Meta>, Wrong> {
    let known = |line: &MetaLine| line.meta().ok_or("its metadata has a value out of range");
    Ok(line.map(known).transpose()?)
}

fn directory(line: &DirectoryLine, before: Option<&PlannedDirectory>) -> Result<PlannedDirectory, Wrong> {
    let path = outside_home(below(line.path.as_deref(), line.path_b64.as_deref())?)?;
    if before.is_some_and(|before| before.path >= path) {
        return Err("directories are not in their order".to_owned());
    }
    if before.is_none() && !path.is_root() {
        return Err("the first directory is not the root".to_owned());
    }
    let (source, destination) = (meta(line.source.as_ref())?, meta(line.destination.as_ref())?);
    if [source, destination].iter().flatten().any(|meta| meta.kind != Kind::Directory) {
        return Err("it is no directory".to_owned());
    }
    Ok(PlannedDirectory { path, source, destination })
}

fn reason(line: &ActionLine) -> Option<Reason> {
    if line.reason != METADATA {
        return value_of(&REASONS, &line.reason).filter(|_| line.parts.is_empty());
    }
    let mut parts = line.parts.iter().map(|word| value_of(&PARTS, word));
    parts.try_fold(MetaDifference::default(), |all, part| Some(all.with(part?))).map(Reason::Metadata)
}

impl Open {
    fn action(&mut self, line: &ActionLine) -> Result<(), Wrong> {
        let known = ACTIONS.into_iter().find(|(kind, _)| kind.word() == line.action);
        let (kind, sides) = known.ok_or_else(|| format!("there is no action `{}`", line.action))?;
        let path = outside_home(below(line.path.as_deref(), line.path_b64.as_deref())?)?;
        let (source, destination) = (meta(line.source.as_ref())?, meta(line.destination.as_ref())?);
        let fits = match sides {
            Sides::Source => source.is_some() && destination.is_none(),
            Sides::Both => source.is_some() && destination.is_some(),
            Sides::SourceAtLeast => source.is_some(),
            Sides::Destination => source.is_none() && destination.is_some(),
        };
        let Some(of) = source.or(destination).filter(|_| fits) else {
            return Err(format!("{} has not the sides that it needs", line.action));
        };
        let is_root_deed =
            matches!(kind, ActionKind::Mkdir | ActionKind::Metadata) && of.kind == Kind::Directory;
        if path.is_root() && !is_root_deed {
            return Err(format!("{} cannot be done to the root", line.action));
        }
        let reason = reason(line).ok_or_else(|| format!("there is no reason `{}`", line.reason))?;
        let leader = self.link(kind, line)?;
        let origin = meta(line.origin.as_ref())?;
        if origin.is_some() != (kind == ActionKind::Move) {
            return Err(format!("a move has an `origin`, {} has not", line.action));
        }
        let directory = path.parent().unwrap_or_default();
        let found = self.plan.directories.binary_search_by(|planned| planned.path.cmp(&directory));
        let number = found.map_err(|_| "its directory is not in the plan")?;
        let name = path.name();
        let action = Action {
            kind,
            entry: of.kind,
            reason,
            directory: DirectoryId(u32::try_from(number).map_err(|_| FULL)?),
            name_start: u32::try_from(self.plan.names.len()).map_err(|_| FULL)?,
            name_bytes: u16::try_from(name.len()).map_err(|_| "its name is too long")?,
            source: self.meta(source).ok_or(FULL)?,
            destination: self.meta(destination).ok_or(FULL)?,
            link: leader,
            origin: self.meta(origin).ok_or(FULL)?,
        };
        self.plan.names.extend_from_slice(name);
        self.plan.actions.push(action);
        Ok(())
    }

    fn meta(&mut self, meta: Option<Meta>) -> Option<u32> {
        let Some(meta) = meta else { return Some(NONE) };
        let index = u32::try_from(self.plan.metas.len()).ok().filter(|&index| index != NONE)?;
        self.plan.metas.push(meta);
        Some(index)
    }

    fn link(&mut self, kind: ActionKind, line: &ActionLine) -> Result<u32, Wrong> {
        let given = line.to.is_some() || line.to_b64.is_some();
        match (kind, given) {
            (ActionKind::Link | ActionKind::Move | ActionKind::Replace, true) => {}
            (ActionKind::Link, false) => return Err("it is a link to nothing".to_owned()),
            (ActionKind::Move, false) => return Err("it is a move from nowhere".to_owned()),
            (_, true) => return Err(format!("{} has no `to`", line.action)),
            (_, false) => return Ok(NONE),
        }
        let path = outside_home(below(line.to.as_deref(), line.to_b64.as_deref())?)?;
        if path.is_root() {
            return Err("it is a link to the root".to_owned());
        }
        if let Some(index) = self.links.get(&path) {
            return Ok(*index);
        }
        let index = u32::try_from(self.plan.links.len()).ok().filter(|&index| index != NONE);
        let index = index.ok_or(FULL)?;
        self.plan.links.push(path.clone());
        self.links.insert(path, index);
        Ok(index)
    }
}
