//! Output of the list of correlated views as a picture and as a section of a page.

use super::list::{List, weights};
use crate::failure::Failure;
use crate::pictures::{self, failed};
use crate::progress::Bar;
use crate::table::shortened;
use perfkit::core::{CallPathId, MetricId, Profile};
use perfkit::spectral::AxisFilter;
use perfkit::topology::{Aggregate, Grid, Topology};
use perfkit::view::topology::{Picture, View};
use perfkit::view::{Scene, Section, Theme, Unit};

/// Number of views listed for each choice of axes.
pub(super) const TOP: usize = 12;

/// Largest number of characters of a title above a grid.
const TITLE: usize = 60;

impl List {
    /// Returns the title of pictures and pages, with the name of the recording and of the call path.
    pub(super) fn title(&self, name: &str) -> String {
        let (metric, path) = self.label(self.reference);
        let path = if path.chars().count() <= TITLE {
            path
        } else {
            // The function says more than the beginning of its callers.
            let function = path.rsplit(" > ").next().unwrap_or(&path);
            let ahead = "... > ";
            format!(
                "{ahead}{}",
                perfkit::view::shortened(function, TITLE - ahead.len())
            )
        };
        format!("{name}: correlated with {metric} of {path}")
    }

    /// Returns a section with both grids and the list of views, for the selected weights of the
    /// axes and for others.
    pub(super) fn section(&self, heading: &str) -> Result<Section, Failure> {
        let job = Bar::job();
        let grid = |at: usize| {
            self.grid(self.rows[at])
                .map(|(name, grid, (unit, _))| (name, grid, unit))
        };
        let rank = |f: &[f64]| Ok(self.under(f, TOP)?);
        let view = View::correlated_by(&self.spectra, self.own, &self.axes, rank, grid, &job);
        let kin = |one: usize, other: usize| self.are_kin(one, other);
        let view = view.map_err(failed)?.named(heading, "topology");
        // The page orders by magnitude, `--paper` does not.
        let view = if self.is_paper() {
            view
        } else {
            let profile = (&self.profile, &self.topology);
            view.explored(&self.spectra, grid, kin, self.tolerance(), &job)
                .and_then(|view| {
                    view.browsed(profile, &self.rows, &self.spectra, pictures::unit, &job)
                })
                .map_err(failed)?
        };
        let lasting = self.lasting_notes();
        let first = self.notes(TOP).into_iter();
        let first = first.filter(|note| !lasting.contains(note));
        let view = first.fold(view, View::first_note);
        let view = lasting.into_iter().fold(view, View::note);
        view.cells(cell_names(&self.profile, &self.topology))
            .section(&job)
            .map_err(failed)
    }

    /// Draws the reference and the view that correlates best. With a filter both are drawn
    /// filtered.
    pub(super) fn scene(&self, title: &str, theme: Theme) -> Result<Scene, Failure> {
        let filter = AxisFilter::new(&self.axes).map_err(|error| failed(error.into()))?;
        let is_filtered = self.axes.iter().any(|weight| *weight != 1.0);
        let best = self.best();
        let best = best.map(|found| (found.view, self.row(&found), Some(found)));
        let mut drawn = Vec::new();
        for (view, row, found) in [(self.own, self.reference, None)].into_iter().chain(best) {
            let (name, mut grid, (unit, factor)) = self.grid(row).map_err(failed)?;
            if is_filtered {
                let values = self.spectra.filtered(view, &filter);
                let mut values = values.map_err(|error| failed(error.into()))?;
                values.iter_mut().for_each(|value| *value *= factor);
                grid = Grid::new(grid.shape().clone(), values, grid.mask().to_vec())
                    .map_err(|error| failed(error.into()))?;
            }
            let found = found.map_or_else(String::new, |found| {
                format!("r = {:+.3}, shift {}: ", found.r(), self.shift(&found))
            });
            let name = shortened(&name, TITLE.saturating_sub(found.len()).max(20));
            drawn.push((format!("{found}{name}"), grid, unit));
        }
        let mut shown = String::new();
        if is_filtered {
            let filter = weights(&self.axes);
            shown = format!("filter {filter}: deviation from the mean");
        }
        if let Some(names) = flatten(&mut drawn).map_err(|error| failed(error.into()))? {
            let between = if shown.is_empty() { "" } else { ", " };
            shown.push_str(&format!("{between}averaged over {names}"));
        }
        let mut scenes = Vec::new();
        for (name, grid, unit) in &drawn {
            let picture = Picture::new(grid).map_err(failed)?;
            let picture = picture.titled(name.as_str()).unit(unit.clone());
            scenes.push(picture.theme(theme).scene());
        }
        let width = scenes.first().map_or(400, |one| one.width * 2);
        let head = pictures::headed(title, width, theme);
        if shown.is_empty() {
            return Ok(pictures::together(title, &head, &scenes, theme));
        }
        let second = pictures::headed(&shown, width, theme);
        let mut head = pictures::together(title, &head, &[second], theme);
        head.title.clear();
        let title = format!("{title}, {shown}");
        Ok(pictures::together(&title, &head, &scenes, theme))
    }

    /// Returns the label of a view and the unit of its values in pages.
    pub(super) fn unit_label(&self, row: (MetricId, CallPathId)) -> (String, Unit) {
        let metric = self.profile.metrics().get(row.0.index());
        let (unit, _) = pictures::unit(metric.map_or("", |found| &found.metric.unit));
        let (metric, path) = self.label(row);
        (format!("{path}, {metric}"), unit)
    }

    /// Returns the label of a view, its values on the grid, and their unit with the factor by which
    /// they were multiplied.
    pub(super) fn grid(
        &self,
        (metric, path): (MetricId, CallPathId),
    ) -> perfkit::view::Result<(String, Grid, (Unit, f64))> {
        let unreadable = |error: perfkit::core::Error| std::io::Error::other(error.to_string());
        let shape = self.topology.shape();
        let mut values = vec![0.0; shape.cells()];
        self.topology
            .view_of_into(&self.profile, metric, path, &mut values)
            .map_err(unreadable)?;
        let unit = self.profile.metrics().get(metric.index());
        let (_, factor) = pictures::unit(unit.map_or("", |found| &found.metric.unit));
        values.iter_mut().for_each(|value| *value *= factor);
        let grid = Grid::new(shape.clone(), values, self.topology.mask())?;
        let (label, unit) = self.unit_label((metric, path));
        Ok((label, grid, (unit, factor)))
    }
}

/// Returns the names of the locations in each cell.
pub(super) fn cell_names(profile: &Profile, topology: &Topology) -> Vec<String> {
    let system = profile.system();
    let mut names = vec![String::new(); topology.shape().cells()];
    for (cell, id) in topology.occupants() {
        let found = system.location(id);
        let group = found.and_then(|location| system.group(location.group?));
        let node = group.and_then(|group| system.node(group.parent?));
        if let (Some(slot), Some(location)) = (names.get_mut(cell), found) {
            let parts = [node.map(|node| &node.name), group.map(|group| &group.name)];
            let parts = parts.into_iter().flatten().chain([&location.name]);
            let mut parts: Vec<&str> = parts.map(String::as_str).collect();
            parts.dedup();
            if slot.is_empty() {
                *slot = parts.join(", ");
            } else if !slot.ends_with(" and more") {
                slot.push_str(" and more");
            }
        }
    }
    names
}

/// Averages grids of one shape over all but three of the axes that are longer than 1. The three
/// axes along which the first grid varies most are kept. Returns the names of the others.
fn flatten(drawn: &mut [(String, Grid, Unit)]) -> Result<Option<String>, perfkit::topology::Error> {
    let variance = |grid: &Grid| {
        let cells = grid.values().iter().zip(grid.mask());
        let held: Vec<f64> = cells
            .filter_map(|(value, held)| held.then_some(*value))
            .collect();
        let mean = held.iter().sum::<f64>() / held.len().max(1) as f64;
        held.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / held.len().max(1) as f64
    };
    let mut left: Vec<String> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    if let Some((_, first, _)) = drawn.first() {
        let axes = first.shape().axes().iter().enumerate();
        names.extend(axes.map(|(at, axis)| match axis.name.as_str() {
            "" => format!("axis {at}"),
            name => name.to_string(),
        }));
    }
    while let Some((_, first, _)) = drawn.first() {
        let lens = first.shape().lens();
        let long: Vec<usize> = (0..lens.len()).filter(|axis| lens[*axis] > 1).collect();
        if long.len() <= 3 {
            break;
        }
        let mut best: Option<(f64, usize)> = None;
        for axis in long.into_iter().rev() {
            let kept = variance(&first.aggregate(axis, Aggregate::Mean)?);
            if best.is_none_or(|(most, _)| kept > most) {
                best = Some((kept, axis));
            }
        }
        let Some((_, axis)) = best else { break };
        for (_, grid, _) in drawn.iter_mut() {
            *grid = grid.aggregate(axis, Aggregate::Mean)?;
        }
        left.push(names.remove(axis));
    }
    left.sort();
    Ok((!left.is_empty()).then(|| left.join(", ")))
}
