//! Output of `cluster` as picture and page: the bursts as points, with one colour for each cluster.

use super::Found;
use crate::failure::Outcome;
use crate::pictures::{self, Files};
use crate::progress::Bar;
use crate::table;
use perfkit::track::ClusterId;
use perfkit::view::track::{Clusters, Picture, View};

impl Found {
    /// Draws the points in the space of the clustering, with one colour for each cluster.
    pub(super) fn draw(&self, files: &Files) -> Outcome {
        let experiment = &self.scaled.experiments[0];
        let of = |row: &u32| self.labels.as_slice().get(*row as usize).copied();
        let labels: Vec<ClusterId> = experiment.rows().iter().filter_map(of).collect();
        let name = &self.from.name;
        let found =
            Clusters::of_experiment(name, &self.scaled, &labels).map_err(pictures::failed)?;
        let mut found = found.balanced(self.balance);
        pictures::metrics(&mut found, self.bursts(), experiment)?;
        let drawn = found.timeline(0, self.bursts(), experiment.rows(), &Bar::job());
        let found = drawn.map_err(pictures::failed)?.lead(vec![self.lead()]);
        let placed = self.positions().into_iter();
        let found = placed.fold(found, |found, (number, text)| found.position(number, text));
        let count = self.labels.clusters();
        let title = format!("{name}: {} of bursts", table::counted(count, "cluster"));
        let scene = || Ok(Picture::new(&found).titled(&title).scene());
        files.write(&title, scene, || {
            let view = View::new(&found).named(&title, "clusters");
            let section = view.section(&Bar::job());
            Ok(vec![section.map_err(pictures::failed)?])
        })
    }
}
