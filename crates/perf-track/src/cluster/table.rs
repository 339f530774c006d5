//! Tables of radius choices, refinements, DBSCAN scans, HDBSCAN hierarchies and comparisons of
//! labelings.

use super::{Agreement, EpsChoice, EpsStep, EpsWhy, Hierarchy, Refined, Scan};
use crate::ClusterId;
use perf_core::{Column, Table};
use std::collections::BTreeMap;

impl EpsWhy {
    /// Returns the name for tables: `stable run`, `single mode`, `knee`, `resolution` or
    /// `noise`.
    pub fn name(&self) -> &'static str {
        match self {
            EpsWhy::Stable { .. } => "stable run",
            EpsWhy::Single => "single mode",
            EpsWhy::Knee => "knee",
            EpsWhy::Resolution => "resolution",
            EpsWhy::Noise { .. } => "noise",
        }
    }
}

impl EpsChoice {
    /// Returns choices of a radius as a table with a row for each experiment. Radii have the unit of the space of
    /// the points.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `experiment` | text | name |
    /// | `eps` | float | radius |
    /// | `reason` | text | reason of the choice, see [`EpsWhy::name`] |
    /// | `least eps` | float | smallest sufficient radius, see [`EpsChoice::least`] |
    /// | `knee` | float | knee of the k-distance graph |
    /// | `clusters` | unsigned | number of clusters |
    /// | `noise share of points`, `noise share of weight` | float, % | share that is noise |
    /// | `sensitivity` | float | change of the clusters if eps changes, 0 for none |
    ///
    /// ```
    /// use perf_core::{Job, Cell};
    /// use perf_track::{Points, cluster::{EpsChoice, EpsSearch}};
    /// let values: Vec<f64> = (0..60).map(|i| f64::from(i / 20) + 0.01 * f64::from(i % 20)).collect();
    /// let search = EpsSearch::new(EpsSearch::params().min_points(4).check()?);
    /// let choice = search.choose(Points::new(&values, 1)?, &Job::default())?;
    /// let table = EpsChoice::table([("8 tasks", &choice)]);
    /// assert_eq!(table.cell(0, "clusters"), Some(Cell::Unsigned(3)));
    /// assert_eq!(table.cell(0, "reason"), Some(Cell::Text("stable run")));
    /// assert_eq!(choice.sweep_table().rows(), choice.sweep.len());
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    pub fn table<'a>(choices: impl IntoIterator<Item = (&'a str, &'a EpsChoice)>) -> Table {
        let choices: Vec<_> = choices.into_iter().collect();
        let all = || choices.iter().map(|(_, choice)| *choice);
        let floats = |name: &'static str, unit: &'static str, of: fn(&EpsChoice) -> f64| {
            Column::floats(name, unit, all().map(of))
        };
        Table::new("radii", "Radius of the clusters of each experiment.")
            .text("experiment", choices.iter().map(|(name, _)| *name))
            .with(floats("eps", "", |it| it.eps))
            .text("reason", all().map(|it| it.why.name()))
            .with(floats("least eps", "", |it| it.least))
            .with(floats("knee", "", |it| it.knee))
            .unsigned("clusters", "", all().map(|it| it.clusters))
            .with(floats("noise share of points", "%", |it| 100.0 * it.noise))
            .with(floats("noise share of weight", "%", |it| {
                100.0 * it.noise_weight
            }))
            .with(floats("sensitivity", "", |it| it.sensitivity))
    }

    /// Returns the sweep over radii as a table: `eps`, `clusters`, `noise share of points`, `noise share of weight`
    /// (both in %), and the agreement with the next step, `adjusted Rand index` and `Mirkin distance`.
    pub fn sweep_table(&self) -> Table {
        let floats = |name: &'static str, unit: &'static str, of: fn(&EpsStep) -> f64| {
            Column::floats(name, unit, self.sweep.iter().map(of))
        };
        let clusters = self.sweep.iter().map(|step| step.clusters);
        Table::new("sweep", "Clusters by radius.")
            .with(floats("eps", "", |it| it.eps))
            .unsigned("clusters", "", clusters)
            .with(floats("noise share of points", "%", |it| 100.0 * it.noise))
            .with(floats("noise share of weight", "%", |it| {
                100.0 * it.noise_weight
            }))
            .with(floats("adjusted Rand index", "", |it| it.rand))
            .with(floats("Mirkin distance", "", |it| it.mirkin))
    }
}

impl Refined {
    /// Returns the tree of refinement as a table with a row for each cluster of each step.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `node` | unsigned | number of the row, from 0 |
    /// | `step` | unsigned | step in which the cluster appeared, from 0 |
    /// | `eps` | float | radius of the step |
    /// | `cluster in step` | text | number among the clusters of the step, or `noise` |
    /// | `points` | unsigned | number of points |
    /// | `score` | float | score of the cluster, 0 for noise |
    /// | `parents` | text | nodes of the previous step with which the cluster shares points, `0, 2` |
    /// | `cluster` | text | number in [`labels`](Self::labels), missing if the cluster does not exist at the end |
    ///
    /// ```
    /// use perf_core::{Job, Cell};
    /// use perf_track::cluster::Refinement;
    /// use perf_track::{Labels, Points};
    /// let values: Vec<f64> = (0..60).map(|i| f64::from(i / 20) + 0.01 * f64::from(i % 20)).collect();
    /// let score = |labels: &Labels| Ok(vec![1.0; labels.sizes()?.len()]);
    /// let refinement = Refinement::new(Refinement::params().min_points(3).check()?);
    /// let refined = refinement.run(Points::new(&values, 1)?, &[1.0; 60], &score, &Job::default())?;
    /// let table = refined.table();
    /// assert_eq!(table.rows(), refined.tree.len());
    /// assert_eq!(table.cell(0, "eps"), Some(Cell::Float(refined.eps[0])));
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    pub fn table(&self) -> Table {
        let all = || self.tree.iter();
        let eps = all().map(|node| self.eps.get(node.step).copied());
        let parents = all().map(|node| {
            let parents = node.parents.iter().map(ToString::to_string);
            parents.collect::<Vec<_>>().join(", ")
        });
        let last = all().map(|node| node.last.map(|id| id.to_string()));
        Table::new("refinement", "Clusters of each step of the refinement.")
            .unsigned("node", "", 0..self.tree.len())
            .unsigned("step", "", all().map(|it| it.step))
            .floats("eps", "", eps)
            .text("cluster in step", all().map(|it| it.cluster.to_string()))
            .unsigned("points", "", all().map(|it| it.points))
            .floats("score", "", all().map(|it| it.score))
            .text("parents", parents)
            .text("cluster", last)
    }
}

impl Scan {
    /// Returns the clusters as a table.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `cluster` | text | number, or `noise` |
    /// | `points` | unsigned | number of points |
    /// | `core points` | unsigned | points with enough neighbours |
    ///
    /// ```
    /// use perf_core::{Job, Cell};
    /// use perf_track::{Points, cluster::Dbscan};
    /// let values = [0.0, 0.1, 0.2, 0.29, 5.0, 5.1, 5.2, 9.0];
    /// let dbscan = Dbscan::new(Dbscan::params().eps(0.15).min_points(3).check()?);
    /// let found = dbscan.scan(Points::new(&values, 1)?, &Job::default())?;
    /// let table = found.table();
    /// assert_eq!(table.cell(1, "points"), Some(Cell::Unsigned(4)));
    /// assert_eq!(table.cell(1, "core points"), Some(Cell::Unsigned(2)));
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    pub fn table(&self) -> Table {
        let mut cores: BTreeMap<ClusterId, usize> = BTreeMap::new();
        for (id, is_core) in self.labels().as_slice().iter().zip(self.core()) {
            *cores.entry(*id).or_default() += usize::from(*is_core);
        }
        self.labels()
            .table()
            .select(&["cluster", "points"])
            .unsigned("core points", "", cores.into_values())
    }
}

impl Hierarchy {
    /// Returns the clusters as a table: `cluster` (number, or `noise`), `points`, `share of points`
    /// in %, and `stability`, the excess of mass of the cluster, which is missing for noise.
    ///
    /// ```
    /// use perf_core::{Job, Cell};
    /// use perf_track::{Points, cluster::Hdbscan};
    /// let mut values: Vec<f64> = (0..20).map(|i| 0.01 * f64::from(i)).collect();
    /// values.extend((0..20).map(|i| 5.0 + 0.1 * f64::from(i)));
    /// let hdbscan = Hdbscan::new(Hdbscan::params().min_cluster_size(5).check()?);
    /// let found = hdbscan.scan(Points::new(&values, 1)?, &Job::default())?;
    /// let table = found.table();
    /// assert_eq!(table.cell(0, "points"), Some(Cell::Unsigned(20)));
    /// assert_eq!(table.cell(1, "stability"), Some(Cell::Float(found.stability()[1])));
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    pub fn table(&self) -> Table {
        let mut ids: Vec<ClusterId> = self.labels().as_slice().to_vec();
        ids.sort_unstable();
        ids.dedup();
        let stability = |id: &ClusterId| self.stability().get(id.index()?).copied();
        self.labels()
            .table()
            .floats("stability", "", ids.iter().map(stability))
    }
}

impl Agreement {
    /// Returns comparisons of labelings as a table: the name, `adjusted Rand index` and `Mirkin distance`.
    ///
    /// ```
    /// use perf_core::Cell;
    /// use perf_track::{ClusterId, Labels, cluster::Agreement};
    /// let labels = |ids: [u32; 4]| Labels::new(ids.map(ClusterId).to_vec());
    /// let same = Agreement::new(&labels([1, 1, 2, 0]), &labels([2, 2, 1, 0]))?;
    /// let table = Agreement::table([("8 tasks", &same)]);
    /// assert_eq!(table.cell(0, "adjusted Rand index"), Some(Cell::Float(1.0)));
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    pub fn table<'a>(named: impl IntoIterator<Item = (&'a str, &'a Agreement)>) -> Table {
        let named: Vec<_> = named.into_iter().collect();
        let floats = |name: &'static str, of: fn(&Agreement) -> f64| {
            Column::floats(name, "", named.iter().map(|(_, it)| of(it)))
        };
        Table::new(
            "agreement",
            "Agreement of two labelings of the same points.",
        )
        .text("name", named.iter().map(|(name, _)| *name))
        .with(floats("adjusted Rand index", Agreement::adjusted_rand))
        .with(floats("Mirkin distance", Agreement::mirkin))
    }
}
