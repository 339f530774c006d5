//! [`Views`]: normalised severity views of the processes of a profile, without constant ones and
//! repetitions.

use crate::Result;
use crate::profile::stored_rows;
use perf_core::{CallPathId, GroupKind, Job, MetricId, Profile, SystemTree};
use perf_topology::{AxisOrder, Shape, Topology};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Variance relative to the mean square of the values below which a view is constant.
const CONSTANT: f64 = 1e-12;

/// Resolution at which normalised views are identical.
const RESOLUTION: f64 = 1e6;

/// Distinct views of the processes, mean-free and of norm 1.
#[derive(Clone, Debug)]
pub(super) struct Views {
    /// Values, view by view.
    values: Vec<f64>,
    /// Number of processes.
    processes: usize,
    /// Number of distinct views, including those beyond the limit.
    pub(super) distinct: usize,
}

/// Returns the number of processes. Without processes each location counts as one.
pub(super) fn count(system: &SystemTree) -> usize {
    let groups = system.groups().iter();
    let processes = groups.filter(|group| group.kind != GroupKind::Accelerator);
    match processes.count() {
        0 => system.locations().len(),
        processes => processes,
    }
}

/// Maps processes in order to the cells of a shape. Without processes each location counts as one.
pub(super) fn in_order(shape: Shape, system: &SystemTree) -> Topology {
    let mut groups = system.groups().iter();
    if groups.all(|group| group.kind == GroupKind::Accelerator) {
        Topology::by_order(shape, AxisOrder::LastFastest, system.locations().len())
    } else {
        Topology::by_process(shape, AxisOrder::LastFastest, system)
    }
}

/// Row of a profile that varies.
struct Row {
    /// Metric and call path.
    row: (MetricId, CallPathId),
    /// Standard deviation times the square root of the number of processes.
    norm: f64,
}

impl Views {
    /// Reads the distinct views that vary. Of more than `most`, those with the largest variation
    /// relative to the largest of their metric are kept.
    pub(super) fn of(profile: &Profile, processes: usize, most: usize, job: &Job) -> Result<Self> {
        let places = in_order(Shape::of(&[processes])?, profile.system());
        let metrics = (0..profile.metrics().len()).filter_map(MetricId::from_index);
        let metrics: Vec<_> = metrics.collect();
        let mut view = vec![0.0; processes];
        let (mut known, mut rows) = (HashSet::new(), Vec::new());
        let mut largest = vec![0.0f64; metrics.len()];
        // The first pass keeps no values, so that memory is bounded by `most` views.
        for row in stored_rows(profile, &metrics) {
            job.check()?;
            if !places.view_of_into(profile, row.0, row.1, &mut view)? {
                continue;
            }
            let Some(norm) = normalise(&mut view) else {
                continue;
            };
            if !known.insert(fingerprint(&view)) {
                continue;
            }
            if let Some(largest) = largest.get_mut(row.0.index()) {
                *largest = largest.max(norm);
            }
            rows.push(Row { row, norm });
        }
        let distinct = rows.len();
        let weight = |row: &Row| {
            let largest = largest.get(row.row.0.index());
            largest.map_or(0.0, |largest| row.norm / largest)
        };
        rows.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        rows.truncate(most);
        let mut values = Vec::with_capacity(rows.len() * processes);
        for Row { row, .. } in rows {
            job.check()?;
            places.view_of_into(profile, row.0, row.1, &mut view)?;
            normalise(&mut view);
            values.extend_from_slice(&view);
        }
        Ok(Views {
            values,
            processes,
            distinct,
        })
    }

    /// Returns the number of views.
    pub(super) fn len(&self) -> usize {
        self.values.len() / self.processes.max(1)
    }

    /// Returns the views.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.processes.max(1))
    }
}

/// Removes the mean and divides by the norm, which it returns; `None` for a view that is constant or
/// not finite.
fn normalise(view: &mut [f64]) -> Option<f64> {
    let squares: f64 = view.iter().map(|value| value * value).sum();
    let mean = view.iter().sum::<f64>() / view.len().max(1) as f64;
    for value in view.iter_mut() {
        *value -= mean;
    }
    let rest: f64 = view.iter().map(|value| value * value).sum();
    if !rest.is_finite() || !squares.is_finite() || rest <= CONSTANT * squares {
        return None;
    }
    let norm = rest.sqrt();
    for value in view.iter_mut() {
        *value /= norm;
    }
    Some(norm)
}

/// Returns a number that identical views share, and views that differ by sign.
fn fingerprint(view: &[f64]) -> u64 {
    let first = view.iter().find(|value| value.abs() * RESOLUTION >= 1.0);
    let sign = first.map_or(1.0, |first| first.signum());
    let mut hasher = DefaultHasher::new();
    for value in view {
        // Values are at most 1, so the number fits.
        ((sign * value * RESOLUTION).round() as i64).hash(&mut hasher);
    }
    hasher.finish()
}
