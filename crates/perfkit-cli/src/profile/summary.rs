//! [`Summary`]: totals of a computed profile and of its operands, and its top call paths, as text
//! and JSON.

use super::options::Output;
use crate::failure::{Failure, Outcome, input};
use crate::inspect::profile::selected;
use crate::pictures;
use crate::scope::{scope_name, scoped_name};
use crate::table::{self, counted, grouped};
use perfkit::core::algebra::{Combined, Overlap};
use perfkit::core::{CallPathId, Combine, MetricId, Profile, Scope, Table};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// Largest number of operands that have a column of their own.
const MAX_COLUMNS: usize = 6;

/// Profile from which another one was computed.
pub(super) struct Operand<'a> {
    /// Name of the file.
    name: String,
    /// The profile.
    profile: &'a Profile,
    /// Call path in the result of each own call path; empty if they do not correspond.
    moved: &'a [CallPathId],
}

impl<'a> Operand<'a> {
    pub(super) fn new(file: &Path, profile: &'a Profile, moved: &'a [CallPathId]) -> Self {
        Operand {
            name: pictures::name(file),
            profile,
            moved,
        }
    }
}

/// Metric with its totals over all call paths and locations.
#[derive(Serialize)]
struct MetricTotals {
    /// Name with the scope of the stored values.
    name: String,
    /// Unit.
    unit: String,
    /// Total of each operand; `None` if it does not have the metric.
    operands: Vec<Option<f64>>,
    /// Total of the result; `None` for values that cannot be combined.
    result: Option<f64>,
}

/// Call path with its values over all locations.
#[derive(Serialize)]
struct PathTotals {
    /// Names of the regions.
    path: String,
    /// Value of each operand with columns; `None` if it does not have the call path.
    operands: Vec<Option<f64>>,
    /// Value of the result.
    result: f64,
}

/// Summary of a computed profile.
pub(super) struct Summary<'a> {
    /// Name of the operation.
    operation: &'static str,
    /// Names of the operands, made different.
    names: Vec<String>,
    /// Number of locations of each operand in its file; empty for an operation on one profile.
    pub(super) locations: Vec<usize>,
    /// The result.
    profile: &'a Profile,
    /// Matched elements and dropped metrics of an operation on several profiles.
    combined: Option<&'a Combined>,
    /// `true` if the profile is a difference whose values are all 0.
    is_unchanged: bool,
    /// Descriptions of the dropped metrics.
    dropped: Vec<String>,
    /// Totals of all metrics.
    metrics: Vec<MetricTotals>,
    /// Metric and scope that order the call paths; `None` without an additive metric.
    by: Option<(MetricId, Scope)>,
    /// Call paths in order.
    paths: Vec<PathTotals>,
}

/// Result of `--json`.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    /// Name of the operation.
    operation: &'static str,
    /// Names of the operands.
    operands: &'a [String],
    /// Numbers of metrics, in any and in all operands.
    metrics_matched: Option<Overlap>,
    /// Numbers of call paths, in any and in all operands.
    call_paths_matched: Option<Overlap>,
    /// Numbers of locations, in any and in all operands.
    locations_matched: Option<Overlap>,
    /// Metrics that the operation is not defined for.
    dropped: &'a [String],
    /// Totals of the metrics of the result.
    metrics: &'a [MetricTotals],
    /// Metric that orders the call paths.
    by: Option<String>,
    /// Scope of the values of the call paths.
    scope: Option<&'static str>,
    /// First call paths.
    paths: &'a [PathTotals],
}

impl<'a> Summary<'a> {
    pub(super) fn of(
        operation: &'static str,
        profile: &'a Profile,
        combined: Option<&'a Combined>,
        operands: Vec<Operand<'_>>,
        output: &Output,
    ) -> Result<Self, Failure> {
        let files: Vec<&str> = operands.iter().map(|it| it.name.as_str()).collect();
        let is_repeated = |name: &str| files.iter().filter(|own| **own == name).count() > 1;
        let names = files.iter().zip(1..).map(|(name, number)| {
            let name = table::shortened(name, 32);
            if is_repeated(&name) || operands.len() > MAX_COLUMNS {
                format!("{name} ({number})")
            } else {
                name
            }
        });
        let names: Vec<String> = names.collect();
        let mut dropped = Vec::new();
        if let Some(combined) = combined {
            let of = (operation, combined);
            dropped = dropped_metrics(of, &operands, &names, output.metric.as_deref())?;
        }
        let all = (0..profile.metrics().len()).filter_map(MetricId::from_index);
        let mut metrics = Vec::new();
        for id in all {
            let about = &profile.metrics()[id.index()];
            let of = |operand: &Operand<'_>| match operand.profile.metric(&about.metric.name) {
                Some(id) => total(operand.profile, id),
                None => Ok(None),
            };
            metrics.push(MetricTotals {
                name: scoped_name(about),
                unit: about.metric.unit.clone(),
                operands: operands.iter().map(of).collect::<Result<_, _>>()?,
                result: total(profile, id)?,
            });
        }
        let (by, scope) = selected(profile, (output.metric.as_deref(), output.scope.scope))?;
        let by = by.map(|by| (by, scope));
        let paths = match by {
            Some(by) => paths(profile, by, &operands, operation == "diff")?,
            None => Vec::new(),
        };
        Ok(Summary {
            operation,
            names,
            locations: Vec::new(),
            profile,
            combined,
            is_unchanged: operation == "diff" && is_zero(profile)?,
            dropped,
            metrics,
            by,
            paths,
        })
    }

    pub(super) fn json(&self, top: usize) -> Document<'_> {
        let combined = self.combined;
        let shown = self.paths.len().min(top);
        Document {
            operation: self.operation,
            operands: &self.names,
            metrics_matched: combined.map(|it| it.metrics),
            call_paths_matched: combined.map(|it| it.call_paths),
            locations_matched: combined.map(|it| it.locations),
            dropped: combined.map_or(&[], |it| it.dropped.as_slice()),
            metrics: &self.metrics,
            by: self
                .by
                .map(|(by, _)| self.profile.metrics()[by.index()].quantity().into()),
            scope: self.by.map(|(_, scope)| scope_name(scope)),
            paths: &self.paths[..shown],
        }
    }

    pub(super) fn text(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let names = self.names.join(if self.operation == "diff" {
            " minus "
        } else {
            ", "
        });
        writeln!(out, "{} of {names}", self.operation)?;
        match self.combined {
            Some(combined) => self.matches(combined, out)?,
            None => {
                let paths = self.profile.calls().paths().len();
                writeln!(out, "  call paths  {}", grouped(paths as u64))?;
            }
        }
        if self.is_unchanged {
            let metrics = counted(self.metrics.len(), "metric");
            writeln!(out, "  no difference: all values of {metrics} are equal")?;
            return Ok(());
        }
        writeln!(
            out,
            "  totals of the metrics, over all call paths and locations"
        )?;
        let is_shown = |it: &&MetricTotals| {
            it.result.is_some_and(|total| total != 0.0)
                || it.operands.iter().flatten().any(|total| *total != 0.0)
        };
        let shown: Vec<&MetricTotals> = self.metrics.iter().filter(is_shown).collect();
        let mut totals = Table::new("metrics", "Totals of the metrics.")
            .text("  metric", shown.iter().map(|it| format!("  {}", it.name)))
            .text("unit", shown.iter().map(|it| it.unit.clone()));
        for (at, name) in self.columns() {
            let cells = shown
                .iter()
                .map(|it| it.operands.get(at).copied().flatten());
            totals = totals.floats(name, "", cells);
        }
        totals = totals.floats(self.operation, "", shown.iter().map(|it| it.result));
        table::print(out, &totals, 60)?;
        let zeros = self.metrics.len() - shown.len();
        if zeros > 0 {
            writeln!(out, "  {} of zeros not listed", counted(zeros, "metric"))?;
        }
        let Some((by, scope)) = self.by else {
            return Ok(());
        };
        let about = &self.profile.metrics()[by.index()];
        let order = if self.operation == "diff" {
            "size of the change of "
        } else {
            ""
        };
        writeln!(
            out,
            "  top call paths by {order}{} {} ({}), over all locations",
            scope_name(scope),
            about.quantity(),
            about.metric.unit
        )?;
        let shown = &self.paths[..self.paths.len().min(top)];
        let names = table::different(shown.iter().map(|it| it.path.as_str()), 60).into_iter();
        let mut rows = Table::new("call paths", "Call paths of the result.")
            .text("  call path", names.map(|name| format!("  {name}")));
        if self.combined.is_some() {
            for (at, name) in self.columns() {
                let cells = shown
                    .iter()
                    .map(|it| it.operands.get(at).copied().flatten());
                rows = rows.floats(name, "", cells);
            }
        }
        let cells = shown.iter().map(|it| it.result);
        rows = rows.floats(self.operation, "", cells);
        if self.operation == "diff" {
            let change = |it: &PathTotals| match it.operands.as_slice() {
                [_, Some(before)] if *before != 0.0 => Some(100.0 * it.result / before.abs()),
                _ => None,
            };
            rows = rows.floats("change", "%", shown.iter().map(change));
        }
        table::print(out, &rows, 64)?;
        let rest = self.paths.len() - shown.len();
        if rest > 0 {
            let s = if rest == 1 { "" } else { "s" };
            writeln!(
                out,
                "  {} more call path{s} with values: --top",
                grouped(rest as u64)
            )?;
        }
        Ok(())
    }

    /// Returns the operands that have a column: none if there are too many.
    fn columns(&self) -> impl Iterator<Item = (usize, String)> {
        let is_few = self.names.len() <= MAX_COLUMNS;
        let names = self.names.iter().cloned().enumerate();
        names.filter(move |_| is_few)
    }

    /// Writes the numbers of matched elements, and their consequences.
    fn matches(&self, combined: &Combined, out: &mut dyn Write) -> Outcome {
        let line = |overlap: Overlap| match overlap.all - overlap.common {
            0 => format!("{}, in all profiles", grouped(overlap.all as u64)),
            _ => format!(
                "{}, of which {} in all profiles",
                grouped(overlap.all as u64),
                grouped(overlap.common as u64)
            ),
        };
        writeln!(out, "  metrics     {}", line(combined.metrics))?;
        writeln!(out, "  call paths  {}", line(combined.call_paths))?;
        writeln!(out, "  locations   {}", line(combined.locations))?;
        for metrics in &self.dropped {
            writeln!(out, "  dropped     {metrics}")?;
        }
        let Overlap { all, common } = combined.locations;
        if common < all && self.operation != "merge" {
            writeln!(
                out,
                "  note        {} locations are not in all profiles and count as 0 there; --collapse compares the totals",
                grouped((all - common) as u64)
            )?;
        }
        if let ("diff", [more, less]) = (self.operation, self.locations.as_slice())
            && more != less
            && *less > 0
        {
            let change = 100.0 * (*more as f64 / *less as f64 - 1.0);
            writeln!(
                out,
                "  note        values are sums over {} and {} locations: equal values on each location would be a change of {change:.1} %",
                grouped(*more as u64),
                grouped(*less as u64)
            )?;
        }
        if combined.call_paths.common == 0 {
            writeln!(
                out,
                "  note        no call path is in all profiles: are they of the same program?"
            )?;
        }
        Ok(())
    }
}

/// Describes the metrics that an operation drops: those of one operand of a difference, and those
/// that it is not defined for.
///
/// # Errors
/// Returns [`Failure::Usage`] if one of them is the metric of an option.
fn dropped_metrics(
    (operation, combined): (&str, &Combined),
    operands: &[Operand<'_>],
    names: &[String],
    wanted: Option<&str>,
) -> Result<Vec<String>, Failure> {
    let has = |operand: &Operand<'_>, metric: &str| operand.profile.metric(metric).is_some();
    let is_everywhere = |metric: &str| operands.iter().all(|operand| has(operand, metric));
    let (undefined, lacking): (Vec<&str>, Vec<&str>) = combined
        .dropped
        .iter()
        .map(String::as_str)
        .partition(|metric| operation != "diff" || is_everywhere(metric));
    let mut parts: Vec<(Vec<&str>, String)> = Vec::new();
    for (operand, name) in operands.iter().zip(names) {
        let own = lacking
            .iter()
            .copied()
            .filter(|metric| has(operand, metric));
        parts.push((own.collect(), format!("that only {name} has")));
    }
    let why = match undefined.len() {
        1 => format!("that is not additive and has no {operation}"),
        _ => format!("that are not additive and have no {operation}"),
    };
    parts.push((undefined, why));
    if let Some(wanted) = wanted {
        let part = parts.iter().find(|(metrics, _)| metrics.contains(&wanted));
        if let Some((_, why)) = part {
            return Err(Failure::Usage(format!("--metric {wanted}: a metric {why}")));
        }
    }
    parts.retain(|(metrics, _)| !metrics.is_empty());
    let described = parts.into_iter().map(|(metrics, why)| {
        let (count, names) = (counted(metrics.len(), "metric"), metrics.join(", "));
        format!("{count} {why}: {names}")
    });
    Ok(described.collect())
}

/// Returns `true` if all values of a profile are 0.
fn is_zero(profile: &Profile) -> Result<bool, Failure> {
    for id in (0..profile.metrics().len()).filter_map(MetricId::from_index) {
        for path in profile.paths(id) {
            let row = profile.row(id, path).map_err(input)?;
            let mut values = row.map_or_else(Vec::new, |row| row.to_f64()).into_iter();
            if values.any(|value| value != 0.0) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Returns the total of a metric over all call paths and locations; `None` if its values cannot be
/// combined.
fn total(profile: &Profile, id: MetricId) -> Result<Option<f64>, Failure> {
    let about = &profile.metrics()[id.index()];
    let values = match about.combine {
        Combine::Never(_) => return Ok(None),
        _ => profile.over_paths(id).map_err(input)?,
    };
    let total = match about.combine {
        Combine::Minimum => values.into_iter().fold(f64::INFINITY, f64::min),
        Combine::Maximum => values.into_iter().fold(f64::NEG_INFINITY, f64::max),
        _ => values.into_iter().sum(),
    };
    Ok(total.is_finite().then_some(total))
}

/// Returns the call paths with a value, in descending order of the value, or of its size.
fn paths(
    profile: &Profile,
    (by, scope): (MetricId, Scope),
    operands: &[Operand<'_>],
    by_size: bool,
) -> Result<Vec<PathTotals>, Failure> {
    let name = &profile.metrics()[by.index()].metric.name;
    let value = |profile: &Profile, id: MetricId, path: CallPathId| -> Result<f64, Failure> {
        let row = profile.scoped(id, path, scope).map_err(input)?;
        let combine = profile.metrics()[id.index()].combine;
        Ok(row.map_or(0.0, |row| combine.total(&row).as_f64()))
    };
    let count = profile.calls().paths().len();
    let mut own: Vec<Vec<Option<CallPathId>>> = Vec::new();
    for operand in operands.iter().take(MAX_COLUMNS) {
        let mut paths = vec![None; count];
        for (at, to) in operand.moved.iter().enumerate() {
            paths[to.index()] = CallPathId::from_index(at);
        }
        own.push(paths);
    }
    let mut found = Vec::new();
    for path in (0..count).filter_map(CallPathId::from_index) {
        let result = value(profile, by, path)?;
        let mut of_operands = Vec::new();
        for (operand, own) in operands.iter().zip(&own) {
            let id = operand.profile.metric(name);
            of_operands.push(match (id, own[path.index()]) {
                (Some(id), Some(path)) => Some(value(operand.profile, id, path)?),
                _ => None,
            });
        }
        let is_zero = |value: &f64| *value == 0.0;
        if !is_zero(&result) || !of_operands.iter().flatten().all(is_zero) {
            found.push((path, of_operands, result));
        }
    }
    let key = |result: f64| if by_size { result.abs() } else { result };
    found.sort_by(|one, other| {
        key(other.2)
            .total_cmp(&key(one.2))
            .then(one.0.cmp(&other.0))
    });
    let labels = profile.call_path_labels();
    let named = found
        .into_iter()
        .map(|(path, operands, result)| PathTotals {
            path: labels.label(path),
            operands,
            result,
        });
    Ok(named.collect())
}
