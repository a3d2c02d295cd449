//! `apply`: a plan file is carried out.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::job::Loaded;
use crate::plan::{PlanFile, PlanFileHeader, differences, resolved};
use crate::platform::{Clock, path_from_bytes, watch_signals};
use crate::report::{Call, JsonSink, TextSink, Verbosity, apply_json, plan_age};
use crate::run::{Accept, Exit, Given, LimitOverride, Session, Sink, apply_job, check_volumes, process_exit};
use crate::value::Cancel;

use super::arguments::Allowed;
use super::error::CliError;
use super::find::find_named;
use super::load::{Seen, absolute, check_trusted, load_file};
use super::plan_file;
use super::run::state_of;
use super::terminal::{Form, Terminal};

/// `apply`.
#[derive(Debug, Args)]
#[command(mut_arg("remove_excluded", |flag| flag.hide(true)))]
pub(super) struct Apply {
    /// A file that `plan --out` wrote
    #[arg(value_name = "FILE")]
    file: String,
    /// What is allowed beyond what the plan was made with.
    #[command(flatten)]
    allowed: Allowed,
}

pub(super) fn run(terminal: &mut Terminal, arguments: &Apply) -> Result<Exit, CliError> {
    let name = arguments.file.as_str();
    if arguments.allowed.remove_excluded {
        return Err(CliError::usage("`apply` removes what the plan lists, and nothing else")
            .help("make a plan that lists it: `twinlane plan JOB --remove-excluded --out FILE`"));
    }
    check_trusted(terminal, "plan file", &absolute(terminal, Path::new(name))?)?;
    let file = plan_file::read(terminal, name)?;
    let jobs = jobs_of(terminal, &file)?;
    let mut work: Vec<(&Loaded, Vec<Given<'_>>)> = Vec::new();
    for (job_file, loaded) in &jobs {
        work.push((loaded, given_of(loaded, job_file, &file)?));
    }
    check_volumes(work.iter().flat_map(|(_, plans)| plans.iter().map(|given| given.rule)))
        .map_err(|error| CliError::usage(error.to_string()).help("name the one that is meant by its UUID"))?;
    let (limits, accepted) = allowed(&file.header, &arguments.allowed).ok_or_else(|| {
        CliError::usage(format!(
            "cannot use the plan file `{name}`: line 1: it allows something that there is not"
        ))
    })?;
    let cancel = Cancel::new();
    let signals = watch_signals(cancel.clone())
        .map_err(|error| CliError::stopped("cannot listen for signals").because(&error))?;
    let state = state_of(terminal)?;
    let session = Session {
        signals: Some(&signals),
        accepted: &accepted,
        limits: &limits,
        ..Session::new(terminal.environment, Clock::system(), &state, &cancel)
    };
    say(terminal, name, &file.header);
    let mut exits = Vec::new();
    for (loaded, plans) in &work {
        let (verbosity, progress) = (terminal.verbosity, terminal.progress);
        let call = call(terminal, loaded, plans, arguments);
        let output = &mut terminal.output;
        let mut sink: Box<dyn Sink + '_> = match terminal.form {
            Form::Text => Box::new(TextSink::new(output, verbosity, progress, call)),
            Form::Json => Box::new(JsonSink::new(output, verbosity, progress)),
        };
        let exit = apply_job(&session, &loaded.job, plans, &mut *sink)
            .map_err(|error| CliError::stopped("cannot use the state").because(&error))?;
        exits.push(exit);
        if cancel.is_raised() {
            break;
        }
    }
    Ok(process_exit(exits))
}

/// The jobs that the file has plans of, each once, as they are now.
fn jobs_of(terminal: &Terminal, file: &PlanFile) -> Result<Vec<(PathBuf, Loaded)>, CliError> {
    let mut jobs: Vec<(PathBuf, Loaded)> = Vec::new();
    for rule in &file.rules {
        let path = path_from_bytes(&rule.file);
        if jobs.iter().all(|(known, _)| *known != path) {
            check_trusted(terminal, "job file", &path)?;
            match load_file(terminal, &path)? {
                Seen::Job(loaded) => jobs.push((path, *loaded)),
                Seen::Shared => return Err(no_rules(&path)),
            }
        }
    }
    Ok(jobs)
}

fn no_rules(path: &Path) -> CliError {
    CliError::refused(format!("the plan does not fit any more: `{}` has no rules now", path.display()))
        .help("make a new plan, and look at it")
}

/// The plans of one job, each with its rule.
fn given_of<'a>(loaded: &'a Loaded, path: &Path, file: &'a PlanFile) -> Result<Vec<Given<'a>>, CliError> {
    let of_job = file.rules.iter().filter(|rule| path_from_bytes(&rule.file) == path);
    let given = of_job.map(|filed| {
        let rule = loaded.job.rules.iter().find(|rule| rule.name == filed.rule).ok_or_else(|| {
            let (job, rule) = (&loaded.job.name, &filed.rule);
            CliError::refused(format!("the plan does not fit any more: job `{job}` has no rule `{rule}` now"))
                .help("make a new plan, and look at it")
        })?;
        let differences = differences(&filed.resolved, &resolved(&loaded.origins, &filed.rule));
        Ok(Given { rule, filed, differences })
    });
    given.collect()
}

/// The limits and acceptances of then, and on top of them those of now; `None` where the file's are none.
fn allowed(header: &PlanFileHeader, now: &Allowed) -> Option<(Vec<LimitOverride>, Vec<Accept>)> {
    let accept = |word: &String| match word.as_str() {
        "destination" => Some(Accept::Destination),
        "source" => Some(Accept::Source),
        _ => None,
    };
    let mut limits: Vec<LimitOverride> =
        header.limits.iter().map(|text| text.parse().ok()).collect::<Option<_>>()?;
    let mut accepted: Vec<Accept> = header.accepted.iter().map(accept).collect::<Option<_>>()?;
    limits.extend(now.limits());
    accepted.extend(now.accepted());
    Some((limits, accepted))
}

/// How old the plan is, and whose.
fn say(terminal: &mut Terminal, name: &str, header: &PlanFileHeader) {
    let now = Clock::system().now();
    match terminal.form {
        Form::Json => terminal.output.line(&apply_json(name, header, now).to_string()),
        Form::Text if terminal.verbosity > Verbosity::Quiet => {
            terminal.output.line(&plan_age(name, header, now));
        }
        Form::Text => {}
    }
}

/// How the job is asked for in the commands that follow: by its file, since the plan may be applied elsewhere, or by the name that
/// leads to this file here.
fn call(terminal: &Terminal, loaded: &Loaded, plans: &[Given<'_>], arguments: &Apply) -> Call {
    let only = match plans {
        [one] if loaded.job.rules.len() > 1 => Some(one.rule.name.as_str()),
        _ => None,
    };
    let name = find_named(terminal.environment, &loaded.job.name);
    let job = match name {
        Ok(file) if file == loaded.job.file => loaded.job.name.clone(),
        _ => loaded.job.file.to_string_lossy().into_owned(),
    };
    Call::new(&job, only, arguments.allowed.flags()).applying(&arguments.file)
}
