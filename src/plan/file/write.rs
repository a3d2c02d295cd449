//! From plans to the lines of a plan file.

use serde_json::{Map, Value};

use crate::compare::{Conflict, MetaDifference, Notice, Problem};
use crate::plan::{Action, LimitCheck, Plan, PlannedConflict, PlannedDirectory, Reason};
use crate::value::{RelPath, to_fields};

use super::lines::{
    ActionLine, ConflictLine, DirectoryLine, EndLine, HeaderLine, LimitLine, Line, MetaLine, NoticeLine,
    PathLine, ProblemLine, RuleLine, SightLine, SumsLine, path_fields, plain,
};
use super::words::{
    COUNTS, EXTENTS, KINDS, METADATA, MODES, PARTS, POWER_CUTS, REASONS, SIDES, UNHELD, word_of,
};
use super::{FORMAT, PlanFile, PlanFileHeader, PlanFileRule, Sight};

/// Writes a plan file rule by rule: each line goes to a function as it comes, so that no two plans are held at once.
#[derive(Debug, Default)]
pub struct PlanWriter {
    hasher: blake3::Hasher,
    lines: u64,
    rules: u64,
}

/// Takes a line, its end included.
type Sink<'a, E> = dyn FnMut(&[u8]) -> Result<(), E> + 'a;

impl PlanWriter {
    /// Begins a file with its first line.
    ///
    /// # Errors
    /// Those of `sink`, here and below.
    pub fn begin<E>(header: &PlanFileHeader, sink: &mut Sink<'_, E>) -> Result<Self, E> {
        let mut writer = Self::default();
        let line = HeaderLine {
            twinlane_plan: FORMAT,
            twinlane: header.twinlane.clone(),
            made: header.made.to_string(),
            host: plain(&header.host),
            limits: header.limits.clone(),
            accepted: header.accepted.clone(),
        };
        writer.put(&line, sink)?;
        Ok(writer)
    }

    /// Writes a rule with all of its plan.
    ///
    /// # Errors
    /// Those of `sink`.
    pub fn rule<E>(&mut self, rule: &PlanFileRule, sink: &mut Sink<'_, E>) -> Result<(), E> {
        self.rules += 1;
        self.put(&Line::Rule(Box::new(rule_line(rule))), sink)?;
        let Some(plan) = &rule.plan else { return Ok(()) };
        for path in &plan.source_mounts {
            self.put(&Line::SourceMount(path_line(path)), sink)?;
        }
        for path in &plan.stale_stages {
            self.put(&Line::StaleStage(path_line(path)), sink)?;
        }
        for notice in &plan.notices {
            self.put(&Line::Notice(notice_line(notice)), sink)?;
        }
        for problem in &plan.problems {
            self.put(&Line::Problem(problem_line(problem)), sink)?;
        }
        for conflict in &plan.conflicts {
            self.put(&Line::Conflict(conflict_line(conflict)), sink)?;
        }
        for directory in &plan.directories {
            self.put(&Line::Directory(directory_line(directory)), sink)?;
        }
        for action in &plan.actions {
            self.put(&Line::Action(Box::new(action_line(plan, action))), sink)?;
        }
        Ok(())
    }

    /// Ends the file with its last line.
    ///
    /// # Errors
    /// Those of `sink`.
    pub fn end<E>(mut self, sink: &mut Sink<'_, E>) -> Result<(), E> {
        let blake3 = self.hasher.finalize().to_hex().to_string();
        let line = Line::End(EndLine { rules: self.rules, lines: self.lines, blake3 });
        self.put(&line, sink)
    }

    fn put<E>(&mut self, line: &impl serde::Serialize, sink: &mut Sink<'_, E>) -> Result<(), E> {
        // Structs of texts and numbers, and maps with text keys: nothing of it can fail.
        let mut bytes = serde_json::to_vec(line).unwrap_or_default();
        bytes.push(b'\n');
        self.hasher.update(&bytes);
        self.lines += 1;
        sink(&bytes)
    }
}

impl PlanFile {
    /// The whole file's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut sink = |line: &[u8]| -> Result<(), std::convert::Infallible> {
            bytes.extend_from_slice(line);
            Ok(())
        };
        let written = PlanWriter::begin(&self.header, &mut sink).and_then(|mut writer| {
            self.rules.iter().try_for_each(|rule| writer.rule(rule, &mut sink))?;
            writer.end(&mut sink)
        });
        match written {
            Ok(()) => bytes,
        }
    }
}

fn rule_line(rule: &PlanFileRule) -> RuleLine {
    let (file, file_b64) = to_fields(&rule.file);
    let sight = |of: fn(&(Sight, Sight)) -> &Sight| {
        rule.roots.as_ref().map(of).map(|sight| {
            let (path, path_b64) = to_fields(&sight.path);
            SightLine { path, path_b64, uuid: sight.uuid.clone() }
        })
    };
    RuleLine {
        job: rule.job.clone(),
        file,
        file_b64,
        rule: rule.rule.clone(),
        mode: word_of(&MODES, &rule.mode).to_owned(),
        resolved: rule.resolved.clone(),
        source: sight(|(source, _)| source),
        destination: sight(|(_, destination)| destination),
        destination_id: rule.destination_id.clone(),
        objection: rule.objection.as_deref().map(plain),
        plan: rule.plan.as_ref().map(sums_line),
    }
}

fn sums_line(plan: &Plan) -> SumsLine {
    let mut counts = plan.counts;
    let counts: Map<String, Value> =
        COUNTS.iter().map(|(name, count)| ((*name).to_owned(), (*count(&mut counts)).into())).collect();
    let lines = plan.source_mounts.len()
        + plan.stale_stages.len()
        + plan.notices.len()
        + plan.problems.len()
        + plan.conflicts.len()
        + plan.directories.len()
        + plan.actions.len();
    SumsLine {
        totals: plan.totals.to_json(),
        counts,
        limits: plan.limits.iter().map(limit_line).collect(),
        lines: lines as u64,
    }
}

fn limit_line(check: &LimitCheck) -> LimitLine {
    LimitLine {
        limit: check.name.to_owned(),
        written: check.written.clone(),
        planned: check.planned,
        allowed: check.allowed,
        base: check.base,
        holds: check.holds,
    }
}

fn path_line(path: &RelPath) -> PathLine {
    let (path, path_b64) = path_fields(path);
    PathLine { path, path_b64 }
}

fn notice_line(notice: &Notice) -> NoticeLine {
    let named = |word: &str| NoticeLine { notice: word.to_owned(), ..NoticeLine::default() };
    let at = |path: &RelPath, line: NoticeLine| {
        let (path, path_b64) = path_fields(path);
        NoticeLine { path, path_b64, ..line }
    };
    match notice {
        Notice::MountPoint { path, entered } => {
            at(path, NoticeLine { entered: Some(*entered), ..named("mount_point") })
        }
        Notice::ForeignDestination { path } => at(path, named("foreign_destination")),
        Notice::LeftOut { kind, count } => {
            let what = Some(word_of(&KINDS, kind).to_owned());
            NoticeLine { what, count: Some(*count), ..named("left_out") }
        }
        Notice::StageNames { count } => NoticeLine { count: Some(*count), ..named("stage_names") },
        Notice::Unheld { what, count } => {
            let what = Some(word_of(&UNHELD, what).to_owned());
            NoticeLine { what, count: Some(*count), ..named("unheld") }
        }
        Notice::PowerCut { cause } => {
            NoticeLine { what: Some(word_of(&POWER_CUTS, cause).to_owned()), ..named("power_cut") }
        }
    }
}

fn problem_line(problem: &Problem) -> ProblemLine {
    let (path, path_b64) = path_fields(&problem.path);
    ProblemLine {
        side: word_of(&SIDES, &problem.side).to_owned(),
        extent: word_of(&EXTENTS, &problem.extent).to_owned(),
        path,
        path_b64,
        message: plain(&problem.message),
    }
}

fn conflict_line(conflict: &PlannedConflict) -> ConflictLine {
    let (path, path_b64) = path_fields(&conflict.path);
    ConflictLine { conflict: Conflict::word(conflict.conflict).to_owned(), path, path_b64 }
}

fn directory_line(directory: &PlannedDirectory) -> DirectoryLine {
    let (path, path_b64) = path_fields(&directory.path);
    let meta = |meta: &Option<_>| meta.as_ref().map(MetaLine::from);
    DirectoryLine {
        path,
        path_b64,
        source: meta(&directory.source),
        destination: meta(&directory.destination),
    }
}

fn action_line(plan: &Plan, action: &Action) -> ActionLine {
    let (path, path_b64) = path_fields(&plan.path(action));
    let (to, to_b64) = plan.link(action).map(path_fields).unwrap_or_default();
    let (reason, parts) = match action.reason {
        Reason::Metadata(difference) => (METADATA, parts_of(difference)),
        reason => (word_of(&REASONS, &reason), Vec::new()),
    };
    ActionLine {
        action: action.kind.word().to_owned(),
        path,
        path_b64,
        reason: reason.to_owned(),
        parts,
        to,
        to_b64,
        source: plan.source(action).map(MetaLine::from),
        destination: plan.destination(action).map(MetaLine::from),
        origin: plan.origin(action).map(MetaLine::from),
    }
}

fn parts_of(difference: MetaDifference) -> Vec<String> {
    let has = |(part, _): &&(MetaDifference, &str)| difference.contains(*part);
    PARTS.iter().filter(has).map(|(_, word)| (*word).to_owned()).collect()
}
