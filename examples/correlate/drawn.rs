//! The list as a picture and as part of a page.

use super::list::List;
use perfkit::core::{CallPathId, CancelToken, MetricId};
use perfkit::topology::Grid;
use perfkit::view::topology::{Picture, View};
use perfkit::view::{Scene, Section, Theme, Unit};
use perfkit_examples::cli::Failure;
use perfkit_examples::drawn::{self, failed};
use perfkit_examples::progress::Bar;

/// Views that go with the reference, for each choice of axes.
const TOP: usize = 12;

impl List<'_> {
    /// Both grids with the list between them, for every choice of axes.
    pub(super) fn section(&self, heading: &str) -> Result<Section, Failure> {
        let (bar, cancel) = (Bar::new(), CancelToken::new());
        let own = self.rows.iter().position(|row| *row == self.reference);
        let grid = |at: usize| self.grid(self.rows.get(at).copied().unwrap_or(self.reference));
        let view = View::correlated(&self.spectra, own.unwrap_or(0), grid, TOP, &bar, &cancel);
        let view = view.map_err(failed)?.named(heading, "topology");
        view.cells(self.cells())
            .chosen(&self.axes)
            .section(&bar, &cancel)
            .map_err(failed)
    }

    /// The reference, and beside it what correlates most.
    pub(super) fn scene(&self, title: &str, theme: Theme) -> Result<Scene, Failure> {
        let best = self
            .matches
            .first()
            .map(|found| (self.row(found), Some(found.r())));
        let mut scenes = Vec::new();
        for (row, r) in [(self.reference, None)].into_iter().chain(best) {
            let (name, mut grid, unit) = self.grid(row).map_err(failed)?;
            // A picture has three axes: the mean along others stands for them.
            while grid.shape().lens().iter().filter(|len| **len > 1).count() > 3 {
                let axes = grid.shape().lens();
                let last = axes.iter().rposition(|len| *len > 1).unwrap_or(0);
                let mean = perfkit::topology::Aggregate::Mean;
                grid = grid
                    .aggregate(last, mean)
                    .map_err(|error| failed(error.into()))?;
            }
            let name = match r {
                Some(r) => format!("r = {r:+.3}: {name}"),
                None => name,
            };
            let picture = Picture::new(&grid).map_err(failed)?;
            scenes.push(picture.titled(name).unit(unit).theme(theme).scene());
        }
        let head = drawn::headed(
            title,
            scenes.first().map_or(400, |one| one.width * 2),
            theme,
        );
        Ok(drawn::together(title, &head, &scenes, theme))
    }

    fn grid(
        &self,
        (metric, path): (MetricId, CallPathId),
    ) -> perfkit::view::Result<(String, Grid, Unit)> {
        let unreadable = |error: perfkit::core::Error| std::io::Error::other(error.to_string());
        let shape = self.topology.shape();
        let mut values = vec![0.0; shape.cells()];
        self.topology
            .view_of_into(self.profile, metric, path, &mut values)
            .map_err(unreadable)?;
        let unit = self.profile.metrics().get(metric.index());
        let (unit, factor) = drawn::unit(unit.map_or("", |found| &found.metric.unit));
        values.iter_mut().for_each(|value| *value *= factor);
        let grid = Grid::new(shape.clone(), values, self.topology.mask())?;
        let (metric, path) = self.label((metric, path));
        Ok((format!("{path}, {metric}"), grid, unit))
    }

    /// What each cell holds.
    fn cells(&self) -> Vec<String> {
        let system = self.profile.system();
        let mut names = vec![String::new(); self.topology.shape().cells()];
        for (cell, id) in self.topology.occupants() {
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
}
