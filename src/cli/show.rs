//! `show`: a job's resolved values, each with the line that set it; or a plan file.

use std::path::Path;

use serde_json::json;

use crate::job::{Origin, Site};
use crate::report::{Paint, Stream};
use crate::run::Exit;

use super::arguments::Show;
use super::error::CliError;
use super::load::{Purpose, choose_one};
use super::plan_file;
use super::terminal::{Form, Terminal};

/// A value that is longer is shown on a line of its own anyway; its column is not made wider for it.
const VALUE_WIDTH_MAX: usize = 40;

pub(super) fn run(terminal: &mut Terminal, arguments: &Show) -> Result<Exit, CliError> {
    if let Some(exit) = plan_file::show(terminal, &arguments.job)? {
        return Ok(exit);
    }
    let chosen = choose_one(terminal, &arguments.job, Purpose::Look)?;
    let own = chosen.loaded.job.file.clone();
    let file = own.to_string_lossy().into_owned();
    let shown = |origin: &&Origin| match &chosen.rule {
        None => true,
        Some(rule) => origin
            .key
            .strip_prefix("rules.")
            .is_none_or(|rest| rest.strip_prefix(rule.as_str()).is_some_and(|rest| rest.starts_with('.'))),
    };
    let rows: Vec<&Origin> = chosen.loaded.origins.iter().filter(shown).collect();
    let width = |text: &dyn Fn(&Origin) -> usize| rows.iter().map(|row| text(row)).max().unwrap_or(0);
    let key_width = width(&|row| row.key.chars().count());
    let value_width = width(&|row| row.value.chars().count()).min(VALUE_WIDTH_MAX);
    if terminal.form == Form::Text {
        let title = terminal.output.paint(Stream::Result, Paint::Bold, &chosen.loaded.job.name);
        terminal.output.line(&format!("{title}  {file}"));
    }
    for row in rows {
        let line = match terminal.form {
            Form::Json => {
                let file = row.site.as_ref().map(|site| site.file.to_string_lossy());
                let line = row.site.as_ref().map(|site| site.line);
                json!({"key": row.key, "value": row.value, "file": file, "line": line}).to_string()
            }
            Form::Text => {
                let place = row.site.as_ref().map_or_else(|| "default".to_owned(), |site| place(&own, site));
                let place = terminal.output.paint(Stream::Result, Paint::Dim, &place);
                format!("  {:<key_width$}  {:<value_width$}  {place}", row.key, row.value)
            }
        };
        terminal.output.line(&line);
    }
    Ok(Exit::Done)
}

/// `line 7` of the job's own file, `common.yaml line 4` of another, from the job's folder where it lies below that.
fn place(own: &Path, site: &Site) -> String {
    if site.file == own {
        return format!("line {}", site.line);
    }
    let folder = own.parent().unwrap_or(Path::new("/"));
    let file = site.file.strip_prefix(folder).unwrap_or(&site.file);
    format!("{} line {}", file.display(), site.line)
}
