//! Operation `model` of `profile`: fits a scaling model to each call path of several profiles, with
//! scales from options or file names, and prints the models.

use crate::failure::{Failure, Outcome, input};
use crate::findings;
use crate::inspect::profile::selected;
use crate::options::General;
use crate::output;
use crate::pictures;
use crate::progress::Bar;
use crate::recording;
use crate::scope::{ScopeBy, scope_name};
use crate::suggest::hint;
use crate::table::{self, counted, short};
use crate::track::{TOO_WIDE, range, scale_text};
use clap::Args;
use perfkit::core::algebra;
use perfkit::core::{
    CallPathId, Combine, GroupKind, LocationGroup, MetricId, Profile, Scope, Table, parallel,
};
use perfkit::track::scaling::{Measurements, Prediction, ScalingModel};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Confidence level of the intervals.
const LEVEL: f64 = 0.95;

/// Operands of scaling models.
#[derive(Args, Clone, Debug)]
pub(super) struct Model {
    /// Profiles, or recordings with events, whose calls make profiles, at two or more scales
    #[arg(required = true, num_args = 2.., value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Parameter with its value for each file, such as size=25,30,35; may be repeated [default: from names such as
    /// app.p27.size30.r1.cubex, otherwise the number of processes]
    #[arg(long, value_name = "NAME=V,...")]
    parameter: Vec<String>,
    /// Scale to predict, such as p=1000,size=45 [default: twice the largest value of the first parameter]
    #[arg(long, value_name = "NAME=V,...")]
    at: Option<String>,
    /// Model the sum over all locations instead of the mean of a location
    #[arg(long)]
    total: bool,
    /// Metric, such as "exclusive time" [default: the first that is a time]
    #[arg(long, value_name = "M")]
    metric: Option<String>,
    #[command(flatten)]
    scope: ScopeBy,
    /// Call paths to list
    #[arg(long, value_name = "N", default_value = "10")]
    top: usize,
    /// Write the models as a table
    #[arg(long, value_name = "OUT", help_heading = "Output files")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    general: General,
}

/// Call path with its model.
struct Row {
    /// Names of the regions.
    path: String,
    /// Value at the largest scale.
    last: f64,
    /// Model.
    model: ScalingModel,
    /// Prediction.
    next: Prediction,
}

/// Result of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    /// Name of the metric.
    metric: &'a str,
    /// Unit of the metric.
    unit: &'a str,
    /// Scope of the values.
    scope: &'static str,
    /// `true` for the sum over all locations, `false` for the mean of a location.
    is_total: bool,
    /// Names of the parameters.
    parameters: &'a [String],
    /// Value of each parameter in each file.
    scales: &'a [Vec<f64>],
    /// Scale of the predictions.
    predicted_scale: &'a [f64],
    /// Number of call paths without a model.
    without_model: usize,
    /// Models, in descending order of the prediction.
    models: Table,
}

/// Fits scaling models to the call paths of profiles and prints them.
pub(super) fn run(options: &Model, out: &mut dyn Write) -> Outcome {
    options.general.apply()?;
    let mut profiles = Vec::new();
    for file in &options.files {
        let opened = recording::profile(file)?;
        findings::print(&opened.diagnostics, &opened.counts);
        profiles.push(opened.profile);
    }
    let profiles = algebra::in_common_units(&profiles).map_err(input)?;
    let (parameters, scales) = scales(options, &profiles)?;
    let next = next(options.at.as_deref(), &parameters, &scales)?;
    let first = &profiles[0];
    let (id, scope) = selected(first, (options.metric.as_deref(), options.scope.scope))?;
    let Some(id) = id else {
        return Err(Failure::Input(format!(
            "{}: no additive metric",
            pictures::name(&options.files[0])
        )));
    };
    let about = &first.metrics()[id.index()];
    let mut values: BTreeMap<String, Vec<(usize, f64)>> = BTreeMap::new();
    for (at, profile) in profiles.iter().enumerate() {
        let Some(id) = profile.metric(&about.metric.name) else {
            continue;
        };
        let labels = profile.call_path_labels();
        let count = profile.calls().paths().len();
        for path in (0..count).filter_map(CallPathId::from_index) {
            let value = value(profile, (id, path, scope), options.total)?;
            values
                .entry(labels.label(path))
                .or_default()
                .push((at, value));
        }
    }
    let values: Vec<(String, Vec<(usize, f64)>)> = values.into_iter().collect();
    let job = Bar::job();
    let rows = parallel::try_map(values.len(), |number| {
        job.advance("models", 1, values.len() as u64);
        let (path, points) = &values[number];
        let mut data = Measurements::new(parameters.iter().cloned());
        for (at, value) in points {
            data.push(&scales[*at], *value)?;
        }
        let Some(model) = ScalingModel::fit(&data, LEVEL, &job)? else {
            return Ok(None);
        };
        let largest = points.iter().max_by(|one, other| {
            let size = |at: usize| scales[at].iter().product::<f64>();
            size(one.0).total_cmp(&size(other.0))
        });
        Ok::<_, perfkit::track::Error>(Some(Row {
            path: path.clone(),
            last: largest.map_or(0.0, |point| point.1),
            next: model.predict(&next)?,
            model,
        }))
    });
    let mut rows: Vec<Row> = rows.map_err(input)?.into_iter().flatten().collect();
    let without_model = values.len() - rows.len();
    rows.sort_by(|a, b| {
        b.next
            .value
            .total_cmp(&a.next.value)
            .then(a.path.cmp(&b.path))
    });
    output::csv(options.csv.as_ref(), || Ok(models(&rows, &parameters)))?;
    let (metric, unit) = (about.quantity(), about.metric.unit.as_str());
    if options.general.json {
        return output::json(
            out,
            &Document {
                metric,
                unit,
                scope: scope_name(scope),
                is_total: options.total,
                parameters: &parameters,
                scales: &scales,
                predicted_scale: &next,
                without_model,
                models: models(&rows, &parameters),
            },
        );
    }
    let what = if options.total {
        "sum over all locations"
    } else {
        "mean of a location"
    };
    let unit = if unit.is_empty() {
        String::new()
    } else {
        format!(" ({unit})")
    };
    writeln!(
        out,
        "models of {} {metric}{unit}, {what}, over {}, from {}",
        scope_name(scope),
        parameters.join(" and "),
        counted(profiles.len(), "profile"),
    )?;
    let place = scale_text(&parameters, &next);
    let shown = &rows[..rows.len().min(options.top)];
    let intervals = shown
        .iter()
        .map(|row| range(&row.model, (&next, row.next), short));
    let intervals: Vec<String> = intervals.collect::<Result<_, _>>()?;
    let names = table::different(shown.iter().map(|row| row.path.as_str()), 50).into_iter();
    let listed = Table::new("models", "Scaling models of call paths.")
        .text("  call path", names.map(|name| format!("  {name}")))
        .text(
            "at the largest scale",
            shown.iter().map(|row| short(row.last)),
        )
        .text("model", shown.iter().map(|row| row.model.to_string()))
        .floats(
            "error",
            "%",
            shown.iter().map(|row| Some(100.0 * row.model.error?)),
        )
        .text(
            format!("at {place}"),
            shown.iter().map(|row| short(row.next.value)),
        )
        .text("95 % interval", intervals.iter().map(String::as_str));
    table::print(out, &listed, 110)?;
    writeln!(
        out,
        "  error: of predictions for each scale from the others alone"
    )?;
    if shown.iter().any(|row| row.next.interval.is_none()) {
        writeln!(
            out,
            "  none: the model has as many numbers as there are scales, or values of a parameter that was not measured at the predicted value"
        )?;
    }
    if intervals.iter().any(|text| text.starts_with("too wide")) {
        writeln!(out, "  {TOO_WIDE}")?;
    }
    if rows.len() > shown.len() {
        writeln!(
            out,
            "  {} more with models: --top",
            counted(rows.len() - shown.len(), "call path")
        )?;
    }
    if without_model > 0 {
        writeln!(
            out,
            "  {} without a model: a value is 0 or negative, or there is one scale only",
            counted(without_model, "call path")
        )?;
    }
    Ok(())
}

/// Returns the models as a table.
fn models(rows: &[Row], parameters: &[String]) -> Table {
    let level = |_| 100.0 * LEVEL;
    let table = Table::new("models", "Scaling models of call paths.")
        .text("call path", rows.iter().map(|row| row.path.as_str()))
        .floats("at the largest scale", "", rows.iter().map(|row| row.last))
        .text("model", rows.iter().map(|row| row.model.to_string()))
        .text("form", rows.iter().map(|row| row.model.form.name()))
        .unsigned("points", "", rows.iter().map(|row| row.model.points))
        .unsigned(
            "degrees of freedom",
            "",
            rows.iter().map(|row| row.model.free),
        )
        .floats(
            "error",
            "%",
            rows.iter().map(|row| Some(100.0 * row.model.error?)),
        )
        .floats("r squared", "", rows.iter().map(|row| row.model.r_squared))
        .floats("predicted", "", rows.iter().map(|row| row.next.value))
        .floats("confidence level", "%", rows.iter().map(level))
        .floats(
            "predicted low",
            "",
            rows.iter().map(|row| Some(row.next.interval?.0)),
        )
        .floats(
            "predicted high",
            "",
            rows.iter().map(|row| Some(row.next.interval?.1)),
        );
    parameters
        .iter()
        .enumerate()
        .fold(table, |table, (at, name)| {
            let name = format!("mean power of {name}");
            table.floats(name, "", rows.iter().map(|row| row.model.exponent(at)))
        })
}

/// Returns the value of a call path: the mean of a location, or the sum over all.
fn value(
    profile: &Profile,
    (id, path, scope): (MetricId, CallPathId, Scope),
    is_total: bool,
) -> Result<f64, Failure> {
    let row = profile.scoped(id, path, scope).map_err(input)?;
    let combine = profile.metrics()[id.index()].combine;
    let sum = row.map_or(0.0, |row| combine.total(&row).as_f64());
    let locations = profile.system().locations().len().max(1) as f64;
    let is_mean = !is_total && combine == Combine::Sum;
    Ok(if is_mean { sum / locations } else { sum })
}

/// Returns the names of the parameters and their values in each file.
fn scales(options: &Model, profiles: &[Profile]) -> Result<(Vec<String>, Vec<Vec<f64>>), Failure> {
    let count = profiles.len();
    if options.parameter.is_empty() {
        let named: Vec<_> = options.files.iter().map(|file| in_name(file)).collect();
        let names = |of: &[(String, f64)]| of.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
        let first = names(&named[0]);
        if !first.is_empty() && named.iter().all(|of| names(of) == first) {
            let values = named.iter().map(|of| of.iter().map(|it| it.1).collect());
            return Ok((first, values.collect()));
        }
        let scales = profiles.iter().map(|of| vec![processes(of)]).collect();
        return Ok((vec!["processes".to_owned()], scales));
    }
    let mut names = Vec::new();
    let mut scales = vec![Vec::new(); count];
    for text in &options.parameter {
        let fail = |what: String| Failure::Usage(format!("--parameter {text}: {what}"));
        let (name, list) = text
            .split_once('=')
            .ok_or_else(|| fail("expected NAME=VALUE,VALUE,..., such as size=25,30".into()))?;
        let values: Vec<&str> = list.split(',').collect();
        if values.len() != count {
            return Err(fail(format!(
                "{} for {}",
                counted(values.len(), "value"),
                counted(count, "file")
            )));
        }
        for (scale, value) in scales.iter_mut().zip(values) {
            scale.push(number(value).map_err(fail)?);
        }
        names.push(name.trim().to_owned());
    }
    Ok((names, scales))
}

/// Returns the scale to predict.
fn next(at: Option<&str>, parameters: &[String], scales: &[Vec<f64>]) -> Result<Vec<f64>, Failure> {
    let largest = |parameter: usize| {
        let values = scales.iter().map(|scale| scale[parameter]);
        values.fold(0.0, f64::max)
    };
    let mut next: Vec<f64> = (0..parameters.len()).map(largest).collect();
    let Some(at) = at else {
        let varies = |at: &usize| scales.iter().any(|scale| scale[*at] != next[*at]);
        let Some(first) = (0..next.len()).find(varies) else {
            return Err(Failure::Usage(format!(
                "all files have the same {}: name the scale of each with --parameter NAME=V,V,...",
                parameters.join(" and ")
            )));
        };
        next[first] *= 2.0;
        return Ok(next);
    };
    for part in at.split(',') {
        let fail = |what: String| Failure::Usage(format!("--at {at}: {what}"));
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| fail("expected NAME=VALUE,..., such as p=1000,size=45".into()))?;
        let known = parameters.iter().position(|own| own == name.trim());
        let known = known.ok_or_else(|| {
            let names = parameters.iter().map(String::as_str);
            fail(format!(
                "no parameter `{}`{}",
                name.trim(),
                hint(name.trim(), names)
            ))
        })?;
        next[known] = number(value).map_err(fail)?;
    }
    Ok(next)
}

/// Parses a value of a parameter.
fn number(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.trim().parse().ok();
    let is_fine = |value: &f64| value.is_finite() && *value > 0.0;
    value
        .filter(is_fine)
        .ok_or_else(|| format!("`{}` is not a number above 0", text.trim()))
}

/// Returns the parameters in the name of a file, or of its folder: `app.p27.size30.r1.cubex` has p = 27 and
/// size = 30. The letter r numbers repetitions.
fn in_name(file: &Path) -> Vec<(String, f64)> {
    let of = |name: Option<&std::ffi::OsStr>| {
        let name = name.map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let parts = name.split('.').filter_map(pairs);
        parts
            .flatten()
            .filter(|(name, _)| name != "r")
            .collect::<Vec<_>>()
    };
    let own = of(file.file_name());
    if own.is_empty() {
        of(file.parent().and_then(Path::file_name))
    } else {
        own
    }
}

/// Returns the pairs of letters and digits of which a part of a name consists: `x10y1` is x = 10 and y = 1.
fn pairs(part: &str) -> Option<Vec<(String, f64)>> {
    let mut found = Vec::new();
    let mut rest = part;
    while !rest.is_empty() {
        let letters = rest.find(|of: char| of.is_ascii_digit())?;
        let (name, tail) = rest.split_at(letters);
        let digits = tail
            .find(|of: char| !of.is_ascii_digit())
            .unwrap_or(tail.len());
        let (value, tail) = tail.split_at(digits);
        let is_word = !name.is_empty() && name.chars().all(|of| of.is_alphabetic() || of == '_');
        let value: f64 = value.parse().ok()?;
        if !is_word || value <= 0.0 {
            return None;
        }
        found.push((name.to_owned(), value));
        rest = tail;
    }
    Some(found)
}

/// Returns the number of processes. Streams of a device count for their process.
fn processes(profile: &Profile) -> f64 {
    let is_process = |group: &&LocationGroup| group.kind != GroupKind::Accelerator;
    let groups = profile.system().groups().iter();
    groups.filter(is_process).count().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_from_names() {
        let of = |name: &str| in_name(Path::new(name));
        let pair = |name: &str, value: f64| (name.to_owned(), value);
        assert_eq!(
            of("a/lulesh.p27.size30.r1.cubex"),
            [pair("p", 27.0), pair("size", 30.0)]
        );
        assert_eq!(
            of("mm.x10y1z3.r1.cubex"),
            [pair("x", 10.0), pair("y", 1.0), pair("z", 3.0)]
        );
        assert_eq!(of("lulesh.p27.r2/profile.cubex"), [pair("p", 27.0)]);
        assert!(of("jacobi-16").is_empty() && of("p0.cubex").is_empty());
    }
}
