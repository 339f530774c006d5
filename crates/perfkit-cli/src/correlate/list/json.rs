//! Output of the list of correlated views as JSON.

use super::List;
use crate::failure::Failure;
use crate::findings::Findings;
use perfkit::core::{CallPathId, MetricId};
use perfkit::spectral::{Correlation, Match};
use serde::Serialize;

/// Metric and call path of a view, for `--json`.
#[derive(Serialize)]
struct ViewName {
    /// Name of the metric.
    metric: String,
    /// Scope of the metric: `inclusive`, `exclusive` or empty.
    scope: String,
    /// Names of the regions of the call path, with its number if several have them.
    path: String,
    /// Number of the call path.
    call_path: u32,
}

/// Correlation of a view, for `--json`.
#[derive(Serialize)]
struct Listed {
    /// Metric and call path of the view.
    #[serde(flatten)]
    view: ViewName,
    /// Correlation that decides the position in the list, in `-1.0..=1.0`.
    r: f64,
    /// Shift of `r`, one offset in the shorter direction for each axis.
    shift: Vec<isize>,
    /// Largest correlation over all shifts.
    max: f64,
    /// Shift of the largest correlation.
    max_shift: Vec<isize>,
    /// Smallest correlation over all shifts.
    min: f64,
    /// Shift of the smallest correlation.
    min_shift: Vec<isize>,
    /// Correlation without a shift.
    zero: f64,
    /// Pearson's r without filter and shift, in `-1.0..=1.0`; `None` if it was not computed.
    pearson: Option<f64>,
    /// Number of cells without a value.
    missing: usize,
    /// `true` if the view contains the reference, is part of it or equals it.
    kin: bool,
    /// Upper bound of the probability of `r` by chance: at its shift alone if that is none, otherwise at any.
    p_bound: f64,
    /// Probability of the correlation by chance for one view, from surrogates.
    p: Option<f64>,
    /// Probability that the strongest of all views reaches the correlation by chance.
    p_of_all: Option<f64>,
}

/// Axis of the grid, for `--json`.
#[derive(Serialize)]
struct Axis {
    /// Name of the axis.
    name: String,
    /// Number of cells along the axis.
    len: usize,
    /// `true` if the axis is periodic.
    periodic: bool,
}

/// Result of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    /// Metric and call path of the reference.
    reference: ViewName,
    /// Weight of each axis.
    axes: &'a [f64],
    /// Number of cells along each axis.
    dims: Vec<usize>,
    /// Name, length and periodicity of each axis.
    axis_names: Vec<Axis>,
    /// Share of the variance of the reference along each axis.
    axis_power: &'a [f64],
    /// Weights that remove the dominant axis.
    suggested_axes: Vec<f64>,
    /// Number of cells without a location.
    cells_missing: usize,
    /// Number of cells with several locations.
    cells_shared: usize,
    /// Number of locations of the profile.
    locations: usize,
    /// Number of locations that have a cell.
    locations_placed: usize,
    /// Number of locations without coordinates.
    locations_unplaced: usize,
    /// Number of locations with coordinates outside the grid.
    locations_outside: usize,
    /// Number of further cells of locations that already have one; these cells are ignored.
    locations_repeated: usize,
    /// Number of coordinates of unknown locations.
    locations_unknown: usize,
    /// Relative difference within which magnitudes of r count as equal.
    tolerance: f64,
    /// Name of the score that orders the list.
    score: &'static str,
    /// Notes about the grid, the filter and the order.
    notes: Vec<String>,
    /// Number of surrogates; `None` without them.
    surrogates: Option<usize>,
    /// Magnitude of r below which correlations are in the null band.
    null_band: Option<f64>,
    /// Repairs and losses of the reader.
    #[serde(flatten)]
    findings: Findings,
    /// First views of the list.
    views: Vec<Listed>,
}

impl List {
    /// Returns the first `top` views for `--json`.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if the spectra cannot be read.
    pub(in crate::correlate) fn json(
        &self,
        top: usize,
        findings: Findings,
    ) -> Result<impl Serialize, Failure> {
        let plan = self.spectra.plan();
        let shown = self.shown(top);
        let matches: Vec<Match> = shown.iter().map(|(_, found)| *found).collect();
        let views = shown.iter().zip(self.chance_bounds(&matches)?);
        let views = views.map(|((at, found), p_bound)| {
            let Correlation { max, min, zero, .. } = found.correlation;
            Listed {
                view: self.view(self.row(found)),
                r: found.r(),
                shift: plan.steps(found.peak),
                max: max.r,
                max_shift: plan.steps(max),
                min: min.r,
                min_shift: plan.steps(min),
                zero,
                pearson: found.pearson,
                missing: found.missing,
                kin: self.is_kin(found),
                p_bound,
                p: self.chance(*at).map(|(p, _)| p),
                p_of_all: self.chance(*at).map(|(_, p)| p),
            }
        });
        let axes = self.topology.shape().axes().iter().map(|axis| Axis {
            name: axis.name.to_string(),
            len: axis.len,
            periodic: axis.periodic,
        });
        let check = self.topology.check();
        let chances = self.chances.as_ref();
        Ok(Document {
            reference: self.view(self.reference),
            axes: &self.axes,
            dims: self.topology.shape().lens(),
            axis_names: axes.collect(),
            axis_power: &self.power.share,
            suggested_axes: self.power.rest().f().to_vec(),
            cells_missing: check.missing,
            cells_shared: check.shared,
            locations: check.locations,
            locations_placed: check.placed,
            locations_unplaced: check.unplaced,
            locations_outside: check.outside,
            locations_repeated: check.repeated,
            locations_unknown: check.strangers,
            tolerance: self.params.tolerance(),
            score: if self.is_paper() { "max" } else { "magnitude" },
            notes: self.notes(top),
            surrogates: chances.map(|chances| chances.surrogates),
            null_band: chances.map(|chances| chances.confidence.band),
            findings,
            views: views.collect(),
        })
    }

    fn view(&self, row: (MetricId, CallPathId)) -> ViewName {
        let (metric, path) = self.name(row);
        ViewName {
            metric,
            scope: self.scope(row.0),
            path,
            call_path: row.1.0,
        }
    }
}
