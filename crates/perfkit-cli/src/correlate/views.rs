//! [`Views`]: spectra of the severity views of a profile with the grid of its locations, for lists and relations;
//! refuses what exceeds the memory budget.

use super::Options;
use super::grid::Grid;
use crate::failure::{Failure, input};
use crate::inspect::profile::selected;
use crate::progress::Bar;
use crate::scope::find_metric;
use perfkit::core::{CallPathId, MetricId, Profile};
use perfkit::spectral::{Missing, Spectra, stored_rows};
use perfkit::topology::Topology;
use perfkit::view::Unit;
use std::collections::BTreeMap;

/// Views of a profile with their spectra.
#[derive(Debug)]
pub(super) struct Views {
    /// Profile of the views, in their scope.
    pub(super) profile: Profile,
    /// Grid of the locations.
    pub(super) topology: Topology,
    /// Notes about the grid.
    pub(super) notes: Vec<String>,
    /// Weight of each axis.
    pub(super) axes: Vec<f64>,
    /// Metric and call path of each view.
    pub(super) rows: Vec<(MetricId, CallPathId)>,
    /// Spectra of the views, in the order of `rows`.
    pub(super) spectra: Spectra<f64>,
    /// Selected metric.
    pub(super) metric: MetricId,
    /// Labels of the call paths of the views.
    pub(super) labels: BTreeMap<CallPathId, String>,
}

impl Views {
    /// Prepares the views of the options. `reference` is a call path whose view of the selected
    /// metric is among them even if it has no row.
    pub(super) fn of(
        profile: &Profile,
        options: &Options,
        reference: Option<CallPathId>,
    ) -> Result<Self, Failure> {
        let (profile, metric) = chosen(profile, options)?;
        let Grid {
            topology,
            source,
            notes,
        } = Grid::of(&profile, options)?;
        let lens = topology.shape().lens();
        let axes = match &options.views.axes {
            Some(axes) => axes.weights(topology.shape())?,
            None => vec![1.0; lens.len()],
        };
        // Relations are restricted by --metric; the metric of a reference is not a restriction.
        let is_restricted = match reference {
            Some(_) => options.same_metric,
            None => options.metric.is_some(),
        };
        let metrics: Vec<MetricId> = if is_restricted {
            vec![metric]
        } else {
            (0..profile.metrics().len())
                .filter_map(MetricId::from_index)
                .collect()
        };
        let mut rows = stored_rows(&profile, &metrics);
        if let Some(reference) = reference.map(|path| (metric, path))
            && !rows.contains(&reference)
        {
            rows.push(reference);
        }
        check_memory(&topology, rows.len(), options, &source)?;
        let usage = |error: perfkit::spectral::Error| Failure::Usage(error.to_string());
        let mut builder = Spectra::<f64>::builder(&lens).map_err(usage)?;
        builder
            .add_rows(&profile, &topology, &rows, Missing::Fill, &Bar::job())
            .map_err(input)?;
        let all_labels = profile.call_path_labels();
        let labels = rows
            .iter()
            .map(|(_, path)| (*path, all_labels.label(*path)));
        Ok(Views {
            labels: labels.collect(),
            spectra: builder.finish(),
            profile,
            topology,
            notes,
            axes,
            rows,
            metric,
        })
    }
}

/// Returns the profile in the scope of the options, and the metric of the reference in it.
pub(super) fn chosen(profile: &Profile, options: &Options) -> Result<(Profile, MetricId), Failure> {
    let (metric, scope) = match options.metric.as_deref() {
        Some(name) => find_metric(profile, name, options.views.scope.scope)?,
        None if profile.metrics().is_empty() => {
            return Err(Failure::Input("the profile has no metric".into()));
        }
        None => {
            let (first, _) = selected(profile, (None, None))?;
            (first.unwrap_or_default(), options.views.scope.scope)
        }
    };
    Ok(match scope {
        Some(scope) => {
            let (scoped, ids) = profile.in_scope(scope);
            (scoped, ids[metric.index()])
        }
        None => (profile.clone(), metric),
    })
}

/// Refuses spectra and scores of surrogates that would exceed the memory budget, before they are
/// allocated.
fn check_memory(
    topology: &Topology,
    views: usize,
    options: &Options,
    source: &str,
) -> Result<(), Failure> {
    /// Number of bytes in a GiB.
    const GIB: f64 = (1u64 << 30) as f64;
    // Rows in addition to the spectra: views and spectra of a batch, and working space for each
    // thread.
    const BESIDE: usize = 64;
    let cells = topology.shape().cells();
    // Relations copy the spectra, and compute those of the views without their outliers.
    let copies = if options.path.is_none() { 3 } else { 1 };
    let spectra = views.saturating_add(BESIDE).saturating_mul(cells * copies);
    let scores = views.saturating_mul(options.surrogates.unwrap_or_default());
    let numbers = spectra.saturating_add(scores);
    let bytes = numbers.saturating_mul(size_of::<f64>()) as f64;
    let budget = options.views.memory * GIB;
    if bytes <= budget {
        return Ok(());
    }
    let [taken, budget] = [bytes, budget].map(|count| Unit::Bytes.write(count));
    let fewer = match options.path {
        Some(_) => "--same-metric",
        None => "--metric",
    };
    let surrogates = match options.surrogates {
        Some(count) => format!(" and their scores with --surrogates {count}"),
        None => String::new(),
    };
    Err(Failure::Input(format!(
        "{source}: {views} views of {cells} cells{surrogates} take {taken}, more than the memory budget of \
         {budget}; {fewer} compares fewer views, --memory raises the budget"
    )))
}
