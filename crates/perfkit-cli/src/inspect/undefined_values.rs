//! [`undefined_values`]: values of an additive metric that are not finite numbers.

use crate::table::{grouped, shortened};
use perfkit::core::{CallPathId, Combine, LocationId, MetricId, Profile};
use serde::Serialize;
use std::io::{self, Write};

/// Largest number of characters of a call path in a text.
const MAX_NAME: usize = 80;

/// Values of a metric that are NaN or infinite.
#[derive(Clone, Debug, Serialize)]
pub(super) struct UndefinedValues {
    /// Name of the metric.
    metric: String,
    /// Number of such values, of pairs of a call path and a location.
    count: u64,
    /// Number of values that are not zero.
    of: u64,
    /// Call path of the first one.
    call_path: String,
    /// Location of the first one.
    location: String,
}

/// Returns the stored values of an additive metric that are not finite; `None` without such values, and if
/// a row cannot be read.
pub(super) fn undefined_values(profile: &Profile, id: MetricId) -> Option<UndefinedValues> {
    let about = profile.metrics().get(id.index())?;
    if about.combine != Combine::Sum {
        return None;
    }
    let (mut count, mut of) = (0, 0);
    let mut first: Option<(CallPathId, usize)> = None;
    for path in profile.paths(id) {
        let Some(row) = profile.row(id, path).ok()? else {
            continue;
        };
        for (at, value) in row.to_f64().into_iter().enumerate() {
            of += u64::from(value != 0.0);
            if !value.is_finite() {
                count += 1;
                first.get_or_insert((path, at));
            }
        }
    }
    let (path, at) = first?;
    Some(UndefinedValues {
        metric: about.metric.name.clone(),
        count,
        of,
        call_path: profile.call_path_labels().label(path),
        location: profile.system().label(LocationId::from_index(at)?),
    })
}

/// Writes a line for each metric. Writes nothing without metrics.
///
/// # Errors
/// Returns the write errors of `out`.
pub(super) fn write(found: &[UndefinedValues], out: &mut dyn Write) -> io::Result<()> {
    for (at, it) in found.iter().enumerate() {
        let label = if at == 0 { "undefined" } else { "" };
        let are = if it.count == 1 { "is" } else { "are" };
        writeln!(
            out,
            "  {label:<11} {} of {} values of {} {are} not finite, the first on {} in {}; \
             sums that contain it are missing, and ranks with it are not compared",
            grouped(it.count),
            grouped(it.of),
            it.metric,
            it.location,
            shortened(&it.call_path, MAX_NAME),
        )?;
    }
    Ok(())
}
