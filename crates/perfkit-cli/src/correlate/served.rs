//! [`ServedViews`]: views of a profile in a page that asks for its lists of correlated views and for the values of
//! cells, and the answers.

use super::Options;
use super::list::List;
use super::pictures::cell_names;
use super::views::chosen;
use crate::failure::{Failure, input};
use crate::pictures::{self, failed};
use crate::progress::Bar;
use perfkit::core::{CallPathId, Job, MetricId, Profile, Scope};
use perfkit::spectral::{AxisFilter, Match, Spectra};
use perfkit::topology::Grid;
use perfkit::view::Section;
use perfkit::view::topology::{Selected, Served, View};

/// Views of a profile with the data from which requests are answered.
#[derive(Debug)]
pub(crate) struct ServedViews {
    /// Views with their spectra.
    list: List,
    /// Views of the page.
    served: Served,
}

impl ServedViews {
    /// Returns the section of a profile, whose script asks at `address`, and the data of the answers. Without a
    /// reference in the options the page begins with the call path that varies most.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] if the options do not apply to the profile, and [`Failure::Input`] if it has no such
    /// call path or cannot be read.
    pub(crate) fn open(
        profile: &Profile,
        options: Options,
        (name, address): (&str, &str),
    ) -> Result<(Section, Self), Failure> {
        let options = match &options.path {
            Some(_) => options,
            None => {
                let (metric, path) = most_varying(profile, &options)?;
                Options {
                    path: Some(path.0.to_string()),
                    metric: Some(metric),
                    ..options
                }
            }
        };
        let list = List::of(profile, &options)?;
        let job = Bar::job();
        let heading = format!("{name}: views on the grid");
        let (label, grid, (unit, _)) = list.grid(list.reference).map_err(failed)?;
        let labels = |view: usize| list.unit_label(list.rows[view]);
        let described = (&list.profile, &list.topology);
        let view = View::new(label, grid, unit)
            .named(&heading, "topology")
            .asking(address, &list.axes, (&list.spectra, list.own), labels)
            .and_then(|view| {
                view.browsed(described, &list.rows, &list.spectra, pictures::unit, &job)
            })
            .map_err(failed)?
            .cells(cell_names(&list.profile, &list.topology));
        let view = list.lasting_notes().into_iter().fold(view, View::note);
        match view.served(&job).map_err(failed)? {
            (section, Some(served)) => Ok((section, ServedViews { list, served })),
            (_, None) => Err(Failure::Input("the page does not ask for its views".into())),
        }
    }

    /// Returns the first `top` views that correlate with a reference under the weights of the axes, as JSON.
    ///
    /// # Errors
    /// Returns an error for numbers that the page does not have, for wrong weights, and if the job is cancelled.
    pub(crate) fn list(
        &self,
        reference: Selected,
        f: &[f64],
        top: usize,
        job: &Job,
    ) -> perfkit::view::Result<String> {
        let parts = self.served.parts(reference)?;
        let filter = AxisFilter::new(f)?;
        let spectra = &self.list.spectra;
        let sum = match reference {
            Selected::View(_) => None,
            Selected::Sum { .. } => {
                let sum = self.served.values(reference, |view| self.grid(view), job)?;
                let mut builder = Spectra::<f64>::builder(spectra.plan().dims())?;
                builder.extend_masked(&[sum.values()], sum.mask(), job)?;
                Some(builder.finish())
            }
        };
        let view = parts.first().copied().unwrap_or_default();
        let own = sum.as_ref().map_or((spectra, view), |sum| (sum, 0));
        let matches = self.list.of_reference(own, &parts, &filter, job)?;
        let chances = |found: &[Match]| Ok(spectra.chance_bounds(own, found, &filter, job)?);
        self.served.list(spectra, &matches, top, chances)
    }

    /// Returns the values of the cells of selections, as JSON.
    ///
    /// # Errors
    /// Returns an error for numbers that the page does not have, for too many selections, and if the job is cancelled.
    pub(crate) fn fields(&self, selected: &[Selected], job: &Job) -> perfkit::view::Result<String> {
        self.served.fields(selected, |view| self.grid(view), job)
    }

    /// Returns the values of a view of the spectra.
    fn grid(&self, view: usize) -> perfkit::view::Result<Grid> {
        let (_, grid, _) = self.list.grid(self.list.rows[view])?;
        Ok(grid)
    }
}

/// Returns the name of a metric and the call path whose values of it vary most over the locations: of the metric of the
/// options, without the values of callees where the profile has them so, else of call paths without callees.
fn most_varying(profile: &Profile, options: &Options) -> Result<(String, CallPathId), Failure> {
    let (scoped, metric) = chosen(profile, options)?;
    let metrics = scoped.metrics();
    let is_exclusive = |id: MetricId| metrics[id.index()].scope == Scope::Exclusive;
    let counterpart = metrics[metric.index()].counterpart;
    let other = counterpart.filter(|id| {
        options.metric.is_none() && is_exclusive(*id) && !scoped.rows().paths(*id).is_empty()
    });
    let metric = other.unwrap_or(metric);
    let mut has_callees = vec![false; scoped.calls().paths().len()];
    for parent in scoped.calls().paths().iter().filter_map(|it| it.parent) {
        has_callees[parent.index()] = true;
    }
    let mut best: Option<(f64, CallPathId)> = None;
    for path in scoped.rows().paths(metric) {
        if !is_exclusive(metric) && has_callees[path.index()] {
            continue;
        }
        let row = scoped.row(metric, path).map_err(input)?;
        let variation = row.map_or(0.0, |row| variation(&row.to_f64()));
        if variation.is_finite() && best.is_none_or(|(most, _)| variation > most) {
            best = Some((variation, path));
        }
    }
    let name = &metrics[metric.index()].metric.name;
    match best {
        Some((_, path)) => Ok((name.clone(), path)),
        None => Err(Failure::Input(format!(
            "the metric {name} has no values; --metric selects another"
        ))),
    }
}

/// Returns the sum of the squared deviations from the mean.
fn variation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum()
}
