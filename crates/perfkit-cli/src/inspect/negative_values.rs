//! [`negative_values`]: exclusive values of a profile that are below zero, which no time or count
//! can be; [`is_change`] for profiles whose values are differences.

use crate::failure::{Failure, input};
use crate::pictures;
use crate::table::{counted, grouped, shortened};
use perfkit::core::{CallPathId, Column, Combine, LocationId, MetricId, Profile, Scope, algebra};
use perfkit::view::Unit;
use serde::Serialize;
use std::io::{self, Write};

/// Differences below this share of the inclusive value are due to rounding.
const ROUNDING: f64 = 1e-9;

/// Largest number of characters of a call path in a text.
const MAX_NAME: usize = 80;

/// Exclusive values of a metric that are below zero.
#[derive(Debug, Serialize)]
pub(super) struct NegativeValues {
    /// Name of the metric.
    metric: String,
    /// Number of negative values, of pairs of a call path and a location.
    count: u64,
    /// Number of values that are not zero.
    of: u64,
    /// `true` if the recording states the values or is a difference of profiles, `false` if they are differences of
    /// inclusive ones.
    stated: bool,
    /// Lowest value, in the unit of the metric.
    lowest: f64,
    /// Call path of the lowest value.
    call_path: String,
    /// Location of the lowest value.
    location: String,
}

/// Returns the additive metrics with negative exclusive values. Metrics that cannot be evaluated are
/// skipped.
pub(super) fn negative_values(profile: &Profile) -> Vec<NegativeValues> {
    let ids = (0..profile.metrics().len()).filter_map(MetricId::from_index);
    ids.filter_map(|id| of_metric(profile, id)).collect()
}

/// Returns the negative exclusive values of a metric; `None` without such values, and for a metric
/// whose exclusive values do not add up or are those of another metric.
fn of_metric(profile: &Profile, id: MetricId) -> Option<NegativeValues> {
    let about = profile.metrics().get(id.index())?;
    let stated = about.scope == Scope::Exclusive;
    let is_other = about.counterpart.is_some() && !stated;
    let stated = stated || algebra::is_difference(profile);
    if about.combine != Combine::Sum || is_other {
        return None;
    }
    let (mut count, mut of) = (0, 0);
    let mut lowest: Option<(f64, CallPathId, usize)> = None;
    for path in (0..profile.calls().paths().len()).filter_map(CallPathId::from_index) {
        let Some(row) = profile.scoped(id, path, Scope::Exclusive).ok()? else {
            continue;
        };
        let values = row.to_f64();
        of += values.iter().filter(|value| **value != 0.0).count() as u64;
        if values.iter().all(|value| *value >= 0.0) {
            continue;
        }
        // Sums and differences of floating-point numbers are not exact.
        let inclusive = profile.scoped(id, path, Scope::Inclusive).ok()?;
        let inclusive = inclusive.map_or_else(Vec::new, |row| row.to_f64());
        for (at, value) in values.into_iter().enumerate() {
            let whole = inclusive.get(at).map_or(0.0, |whole| whole.abs());
            if value < -ROUNDING * whole {
                count += 1;
                if lowest.is_none_or(|(least, ..)| value < least) {
                    lowest = Some((value, path, at));
                }
            }
        }
    }
    let (lowest, path, at) = lowest?;
    Some(NegativeValues {
        metric: about.metric.name.clone(),
        count,
        of,
        stated,
        lowest,
        call_path: profile.call_path_labels().label(path),
        location: profile.system().label(LocationId::from_index(at)?),
    })
}

/// Writes a line for each metric, and the reason for such values. Writes nothing without metrics.
///
/// # Errors
/// Returns the write errors of `out`.
pub(super) fn write(found: &[NegativeValues], out: &mut dyn Write) -> io::Result<()> {
    let count = found.iter().map(|it| it.count).sum::<u64>();
    if count == 0 {
        return Ok(());
    }
    let values = counted(
        usize::try_from(count).unwrap_or(usize::MAX),
        "exclusive value",
    );
    writeln!(out, "  negative    {values} below zero")?;
    for it in found {
        writeln!(
            out,
            "              {}: {} of {}, the lowest {} on {} in {}",
            it.metric,
            grouped(it.count),
            grouped(it.of),
            Column::floats("lowest", "", [it.lowest]).text_of(0),
            it.location,
            shortened(&it.call_path, MAX_NAME)
        )?;
    }
    if found.iter().any(|it| !it.stated) {
        writeln!(
            out,
            "              the inclusive value is less than the sum of those of the callees, for example because a \
             counter is\n              multiplexed or not read at the same moment for caller and callee; nothing is \
             clipped"
        )?;
    }
    if found.iter().any(|it| it.stated) {
        writeln!(
            out,
            "              the recording states such values, as a difference of two profiles does"
        )?;
    }
    Ok(())
}

/// Smallest share of negative values of a time, by size, that a difference of profiles has. Corrections of
/// the overhead of a measurement leave few.
const OF_CHANGE: f64 = 0.01;

/// Returns `true` if the values of a metric are differences of two profiles: the profile says so, or a
/// considerable part of the stored values of a time is negative.
///
/// # Errors
/// Returns [`Failure::Input`] if a row cannot be read.
pub(super) fn is_change(profile: &Profile, metric: MetricId) -> Result<bool, Failure> {
    if algebra::is_difference(profile) {
        return Ok(true);
    }
    let about = &profile.metrics()[metric.index()].metric;
    if pictures::unit(&about.unit).0 != Unit::Nanos {
        return Ok(false);
    }
    let (mut negative, mut size) = (0.0, 0.0);
    for path in profile.paths(metric) {
        let row = profile.row(metric, path).map_err(input)?;
        for value in row.map_or_else(Vec::new, |row| row.to_f64()) {
            negative += (-value).max(0.0);
            size += value.abs();
        }
    }
    Ok(negative > OF_CHANGE * size)
}
