//! Severity views of the rows of a profile for a [`SpectraBuilder`], with the treatment of
//! [`Missing`] cells and of [`Unfit`] rows, which may be [`Skipped`]; [`same_paths`]: call paths
//! that two profiles share.

use crate::real::Real;
use crate::spectra::builder::SpectraBuilder;
use crate::{Error, Result};
use perf_core::{CallPathId, Job, MetricId, Profile};
use perf_topology::Topology;
use std::collections::HashMap;

/// Number of rows that are read before they are transformed.
const BATCH: usize = 16;

/// Treatment of cells of the topology that hold no location.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Missing {
    /// They are set to the mean of the view, and counted in
    /// [`View::missing`](crate::View::missing).
    #[default]
    Fill,
    /// They are an error.
    Refuse,
}

/// Treatment of rows of a profile that contain an infinite or NaN value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unfit {
    /// They become skipped views: they keep their numbers, appear in no list, and are reported by
    /// [`SpectraBuilder::skipped`].
    #[default]
    Skip,
    /// The first of them is an error.
    Refuse,
}

/// Skipped row of a profile, see [`Unfit`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Skipped {
    /// Number of the view.
    pub view: usize,
    /// Name of the metric.
    pub metric: String,
    /// Name of the call path.
    pub path: String,
    /// Group and name of the first location with a non-finite value, or the cell if finite values
    /// of several locations combine to a non-finite one.
    pub place: String,
    /// The value.
    pub value: f64,
}

impl std::fmt::Display for Skipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Skipped {
            metric,
            path,
            place,
            value,
            ..
        } = self;
        write!(f, "{metric} of {path} is {value} at {place}")
    }
}

impl<T: Real> SpectraBuilder<T> {
    /// Adds the severity views of rows (metric, call path) of a profile, in order, on a topology of
    /// its locations. Locations that share a cell are combined according to the metric, see
    /// [`Topology::view_of`]; values that cannot be combined become NaN. A row that is not stored is
    /// 0 everywhere. Only a few rows are in memory at a time. For rows with non-finite values see
    /// [`unfit`](Self::unfit).
    ///
    /// Rows are taken in the scope in which their metrics are stored. [`Profile::in_scope`] returns a
    /// profile with the other scope.
    ///
    /// Progress is reported in views, in the phase `spectra`.
    ///
    /// # Errors
    /// Returns [`Error::Missing`] and [`Error::Unfit`] if requested, [`Error::Length`] if the
    /// shapes of the topology and the transform differ, [`Error::Topology`] if the topology has
    /// another number of locations, [`Error::Profile`] if a row cannot be read, and the errors of
    /// [`extend`](Self::extend).
    pub fn add_rows(
        &mut self,
        profile: &Profile,
        topology: &Topology,
        rows: &[(MetricId, CallPathId)],
        missing: Missing,
        job: &Job,
    ) -> Result<()> {
        T::add_rows(self, profile, topology, (rows, missing), job)
    }

    pub(crate) fn add_each(
        &mut self,
        profile: &Profile,
        topology: &Topology,
        (rows, missing): (&[(MetricId, CallPathId)], Missing),
        job: &Job,
    ) -> Result<()> {
        let lens = topology.shape().lens();
        if lens != self.dims() {
            return Err(Error::Shape { dims: lens });
        }
        let (expected, got) = (topology.locations(), profile.system().locations().len());
        if expected != got {
            let what = "locations of the profile";
            return Err(perf_topology::Error::Length {
                what,
                expected,
                got,
            }
            .into());
        }
        let cells = topology.check().missing;
        if cells > 0 && missing == Missing::Refuse {
            return Err(Error::Missing { cells });
        }
        let mask = if cells > 0 {
            topology.mask()
        } else {
            Vec::new()
        };
        let mut views = vec![vec![0.0; topology.shape().cells()]; BATCH.min(rows.len())];
        for batch in rows.chunks(BATCH) {
            job.check()?;
            let (mut fit, mut unfit) = ([true; BATCH], Vec::new());
            for (at, ((row, view), fit)) in batch.iter().zip(&mut views).zip(&mut fit).enumerate() {
                if !topology.view_of_into(profile, row.0, row.1, view)? {
                    continue;
                }
                if let Some(cell) = view.iter().position(|value| !value.is_finite()) {
                    let found = (cell, view[cell]);
                    let number = self.len() + at;
                    let one = skipped(profile, *row, found, number)?;
                    if self.unfit == Unfit::Refuse {
                        return Err(Error::Unfit(Box::new(one)));
                    }
                    unfit.push(one);
                    *fit = false;
                }
            }
            let views = views.iter().zip(fit).take(batch.len());
            let views: Vec<_> = views
                .map(|(view, fit)| fit.then_some(view.as_slice()))
                .collect();
            self.add_batch(&views, &mask, job)?;
            self.skipped.append(&mut unfit);
            job.advance("spectra", batch.len() as u64, rows.len() as u64);
        }
        Ok(())
    }
}

/// Describes a row with a non-finite value in a cell of its view.
fn skipped(
    profile: &Profile,
    (metric, path): (MetricId, CallPathId),
    (cell, value): (usize, f64),
    view: usize,
) -> Result<Skipped> {
    let row = profile.row(metric, path)?;
    let values = row.map_or_else(Vec::new, |row| row.to_f64());
    let bad = values
        .iter()
        .enumerate()
        .find(|(_, value)| !value.is_finite());
    let (place, value) = match bad {
        Some((at, value)) => {
            let system = profile.system();
            let location = system.locations().get(at);
            let name = location.map_or_else(|| at.to_string(), |one| one.name.clone());
            let group = location.and_then(|one| system.groups().get(one.group?.index()));
            let group = group.map_or_else(String::new, |group| format!("{}, ", group.name));
            (format!("{group}{name}"), *value)
        }
        None => (format!("cell {cell}"), value),
    };
    let metric = profile.metrics().get(metric.index());
    Ok(Skipped {
        view,
        metric: metric.map_or_else(String::new, |metric| metric.metric.name.clone()),
        path: profile.call_path_labels().label(path),
        place,
        value,
    })
}

/// Returns all stored rows of some metrics of a profile in the form that
/// [`SpectraBuilder::add_rows`] takes: metric by metric, call paths ascending.
///
/// ```
/// use perf_core::{Job, Profile};
/// use perf_spectral::{same_paths, stored_rows};
/// let trace = perf_core::samples::cosmo::trace();
/// let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
/// let metric = profile.metric("exclusive time").expect("profiles of traces have it");
/// let rows = stored_rows(&profile, &[metric]);
/// assert_eq!(rows.len(), profile.paths(metric).len());
/// // A profile shares all call paths with itself.
/// assert!(same_paths(&profile, &profile).iter().all(|(one, other)| one == other));
/// # Ok::<(), perf_core::Error>(())
/// ```
pub fn stored_rows(profile: &Profile, metrics: &[MetricId]) -> Vec<(MetricId, CallPathId)> {
    let rows = metrics.iter().flat_map(|metric| {
        let paths = profile.paths(*metric).into_iter();
        paths.map(move |path| (*metric, path))
    });
    rows.collect()
}

/// Returns the call paths that two profiles share, matched by the names of their regions from the
/// root. If a profile has several call paths of the same names, the n-th is matched with the n-th.
pub fn same_paths(a: &Profile, b: &Profile) -> Vec<(CallPathId, CallPathId)> {
    let numbers = |profile: &'_ Profile| -> Vec<(Option<usize>, String)> {
        let calls = profile.calls().paths().iter();
        let named = calls.map(|path| {
            let region = profile.regions().get(path.region.index());
            let name = region.map_or_else(String::new, |region| region.name.clone());
            (path.parent.map(CallPathId::index), name)
        });
        named.collect()
    };
    let (of_a, of_b) = (numbers(a), numbers(b));
    // A call path is identified by the class of its parent, its own name, and its number among
    // siblings of that name.
    let mut known: HashMap<(Option<usize>, &str, usize), usize> = HashMap::new();
    let classes_a = classes(&of_a, &mut known);
    let mut paths: HashMap<usize, usize> = HashMap::new();
    for (at, class) in classes_a.iter().enumerate() {
        paths.entry(*class).or_insert(at);
    }
    let classes_b = classes(&of_b, &mut known);
    let pairs = classes_b.iter().enumerate().filter_map(|(at, class)| {
        let first = *paths.get(class)?;
        Some((CallPathId::from_index(first)?, CallPathId::from_index(at)?))
    });
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_unstable();
    pairs
}

/// Returns the class of each call path; classes are equal across profiles if names and order agree.
fn classes<'a>(
    paths: &'a [(Option<usize>, String)],
    known: &mut HashMap<(Option<usize>, &'a str, usize), usize>,
) -> Vec<usize> {
    let mut classes: Vec<usize> = Vec::with_capacity(paths.len());
    let mut times: HashMap<(Option<usize>, &str), usize> = HashMap::new();
    for (parent, name) in paths {
        // Parents have lower numbers.
        let parent = parent.and_then(|parent| classes.get(parent).copied());
        let time = times.entry((parent, name)).or_insert(0);
        let next = known.len();
        classes.push(*known.entry((parent, name, *time)).or_insert(next));
        *time += 1;
    }
    classes
}
