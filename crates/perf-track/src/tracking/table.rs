//! Tables of tracked regions and of the evidence for them.

use super::{CodePosition, Evaluator, Event, Link, LinkKind, Pair, TrackedRegion, Tracking};
use crate::{ClusterId, TimeBalance};
use perf_core::Table;

/// Returns numbers of clusters as text, `1, 3`.
pub(crate) fn clusters(ids: &[ClusterId]) -> String {
    let ids = ids.iter().map(ToString::to_string);
    ids.collect::<Vec<_>>().join(", ")
}

impl LinkKind {
    /// Returns the name for tables: `continues`, `bridges`, `splits`, `merges` or `groups`.
    pub fn name(self) -> &'static str {
        match self {
            LinkKind::Continues => "continues",
            LinkKind::Bridges => "bridges",
            LinkKind::Splits => "splits",
            LinkKind::Merges => "merges",
            LinkKind::Groups => "groups",
        }
    }
}

impl Event {
    /// Returns the name for tables: `birth`, `death`, `split`, `merge`, `gap` or `unclustered`.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Birth { .. } => "birth",
            Event::Death { .. } => "death",
            Event::Split { .. } => "split",
            Event::Merge { .. } => "merge",
            Event::Gap { .. } => "gap",
            Event::Unclustered { .. } => "unclustered",
        }
    }

    /// Returns the index of the experiment in which the event occurs.
    pub fn experiment(&self) -> usize {
        match self {
            Event::Birth { experiment }
            | Event::Death { experiment }
            | Event::Split { experiment, .. }
            | Event::Merge { experiment, .. }
            | Event::Gap { experiment, .. }
            | Event::Unclustered { experiment, .. } => *experiment,
        }
    }

    /// Returns the clusters before and after the event as text; `None` if the event has none.
    fn ends(&self) -> (Option<String>, Option<String>) {
        match self {
            Event::Split { from, into, .. } => (Some(from.to_string()), Some(clusters(into))),
            Event::Merge { from, into, .. } => (Some(clusters(from)), Some(into.to_string())),
            Event::Gap { hidden_in, .. } => (None, hidden_in.map(|id| id.to_string())),
            Event::Birth { .. } | Event::Death { .. } | Event::Unclustered { .. } => (None, None),
        }
    }
}

impl Tracking {
    /// Returns the tracked regions, their clusters, events and links, and the experiments, as six tables in this
    /// order.
    ///
    /// | column of `tracked regions` | type | meaning |
    /// |---|---|---|
    /// | `tracked region` | unsigned | number, see [`TrackedRegion::id`] |
    /// | `experiments` | unsigned | number of experiments in which the region is seen |
    /// | `confidence` | float, % | see [`TrackedRegion::confidence`] |
    /// | `reliable` | flag | see [`TrackedRegion::is_reliable`] |
    /// | `filtered` | flag | see [`TrackedRegion::is_filtered`] |
    /// | `mixed call sites` | text | call sites that the region mixes, separated by `; `; missing if it mixes none |
    /// | `function` | text | innermost function with file and line, see [`CodePosition::function`] |
    /// | `call before`, `call after`, `within` | text | chains of [`CodePosition`] in the last experiment |
    ///
    /// | column of `clusters` | type | meaning |
    /// |---|---|---|
    /// | `tracked region` | unsigned | number |
    /// | `experiment` | text | name of the experiment |
    /// | `tasks` | unsigned | tasks times threads that computed |
    /// | `clusters` | text | numbers of the clusters, `1, 3` |
    /// | `share of time` | float, % | share in the CPU time of the experiment |
    ///
    /// | column of `events` | type | meaning |
    /// |---|---|---|
    /// | `tracked region`, `experiment` | | as above |
    /// | `event` | text | `birth`, `death`, `split`, `merge`, `gap` or `unclustered` |
    /// | `clusters before` | text | of splits and merges: clusters of the previous experiment |
    /// | `clusters after` | text | of splits and merges: resulting clusters; of gaps: cluster that hides the region |
    ///
    /// | column of `links` | type | meaning |
    /// |---|---|---|
    /// | `tracked region` | unsigned | number |
    /// | `experiment`, `cluster` | text | one end |
    /// | `later experiment`, `later cluster` | text | the other end |
    /// | `link` | text | `continues`, `bridges`, `splits`, `merges` or `groups` |
    /// | `evidence`, `confidence` | float, % | see [`Link`] |
    /// | one for each [`Evaluator`], such as `callers before` | float, % | vote of the evaluator, if any |
    ///
    /// | column of `experiments` | type | meaning |
    /// |---|---|---|
    /// | `experiment`, `tasks` | | as above |
    /// | `clusters` | unsigned | number of clusters |
    /// | `clustered time`, `noise time` | float | time in clusters and of noise, in the unit of the durations |
    /// | `coverage` | float, % | tracked share of the time of clusters and noise |
    /// | `SPMD score` | float, % | missing without an alignment |
    /// | `untracked clusters` | text | clusters of no region, in the published mode; otherwise missing |
    ///
    /// The sixth table is [`TimeBalance::table`] of the experiments that have a
    /// [balance](super::TrackedExperiment::balance).
    ///
    /// ```
    /// use perf_core::{Job, Cell};
    /// use perf_track::tracking::{Observation, Tracking};
    /// use perf_track::{ClusterId, Points};
    /// let id = [ClusterId(1); 2];
    /// let runs = [("4 tasks", 4_u32, 8e9_f64), ("8 tasks", 8, 4e9)];
    /// let points: Vec<[f64; 2]> = runs.iter().map(|run| [run.2 * f64::from(run.1); 2]).collect();
    /// let mut experiments = Vec::new();
    /// for (run, points) in runs.iter().zip(&points) {
    ///     experiments.push(Observation::new(run.0, run.1, Points::new(points, 1)?, &id, &[run.2 / 2e9; 2])?);
    /// }
    /// let tracking = Tracking::of(&experiments, &Default::default(), &Job::default())?;
    /// let [regions, clusters, events, links, experiments, _] = tracking.tables();
    /// assert_eq!(regions.cell(0, "experiments"), Some(Cell::Unsigned(2)));
    /// assert_eq!(clusters.cell(1, "experiment"), Some(Cell::Text("8 tasks")));
    /// assert_eq!(links.cell(0, "link"), Some(Cell::Text("continues")));
    /// assert_eq!((events.rows(), experiments.rows()), (0, 2));
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    pub fn tables(&self) -> [Table; 6] {
        let balances = self.experiments.iter().filter_map(|experiment| {
            let balance = experiment.balance.as_ref()?;
            Some((experiment.name.as_str(), balance))
        });
        [
            self.regions(),
            self.members(),
            self.events(),
            self.links(),
            self.experiments(),
            TimeBalance::table(balances),
        ]
    }

    fn name(&self, experiment: usize) -> &str {
        self.experiments
            .get(experiment)
            .map_or("", |experiment| &experiment.name)
    }

    fn regions(&self) -> Table {
        let all = || self.regions.iter();
        let position = |of: fn(&CodePosition) -> Option<String>| {
            all().map(move |region| region.position().and_then(of))
        };
        let mixture =
            |region: &TrackedRegion| region.mixture.as_ref().map(|it| it.sites.join("; "));
        Table::new(
            "tracked regions",
            "Clusters followed through the experiments.",
        )
        .unsigned("tracked region", "", all().map(|it| it.id.0))
        .unsigned("experiments", "", all().map(TrackedRegion::experiments))
        .floats("confidence", "%", all().map(|it| 100.0 * it.confidence))
        .flags("reliable", all().map(|it| it.is_reliable))
        .flags("filtered", all().map(|it| it.is_filtered))
        .text("mixed call sites", all().map(mixture))
        .text("function", position(|it| it.function().map(str::to_owned)))
        .text("call before", position(|it| it.call_before.clone()))
        .text("call after", position(|it| it.call_after.clone()))
        .text("within", position(|it| it.within.clone()))
    }

    fn members(&self) -> Table {
        let rows = || {
            self.regions.iter().flat_map(|region| {
                let members = region.members.iter().enumerate();
                let seen = members.filter(|(_, members)| !members.is_empty());
                seen.map(move |(experiment, members)| (region, experiment, members))
            })
        };
        let tasks =
            rows().map(|(_, experiment, _)| self.experiments.get(experiment).map(|it| it.tasks));
        let share =
            rows().map(|(region, experiment, _)| region.share.get(experiment).map(|it| 100.0 * it));
        Table::new("clusters", "Clusters of the tracked regions.")
            .unsigned("tracked region", "", rows().map(|row| row.0.id.0))
            .text("experiment", rows().map(|row| self.name(row.1)))
            .unsigned("tasks", "", tasks)
            .text("clusters", rows().map(|row| clusters(row.2)))
            .floats("share of time", "%", share)
    }

    fn events(&self) -> Table {
        let rows = || {
            let regions = self.regions.iter();
            regions.flat_map(|region| region.events.iter().map(move |event| (region, event)))
        };
        Table::new(
            "events",
            "Births, deaths, splits, merges and gaps of the tracked regions.",
        )
        .unsigned("tracked region", "", rows().map(|row| row.0.id.0))
        .text(
            "experiment",
            rows().map(|row| self.name(row.1.experiment())),
        )
        .text("event", rows().map(|row| row.1.name()))
        .text("clusters before", rows().map(|row| row.1.ends().0))
        .text("clusters after", rows().map(|row| row.1.ends().1))
    }

    fn links(&self) -> Table {
        let rows: Vec<(&TrackedRegion, &Link)> = {
            let regions = self.regions.iter();
            let links =
                regions.flat_map(|region| region.links.iter().map(move |link| (region, link)));
            links.collect()
        };
        let of = |of: fn(&Link) -> f64| rows.iter().map(move |row| 100.0 * of(row.1));
        let table = Table::new("links", "Links between clusters of two experiments.")
            .unsigned("tracked region", "", rows.iter().map(|row| row.0.id.0))
            .text("experiment", rows.iter().map(|row| self.name(row.1.from.0)))
            .text("cluster", rows.iter().map(|row| row.1.from.1.to_string()))
            .text(
                "later experiment",
                rows.iter().map(|row| self.name(row.1.to.0)),
            )
            .text(
                "later cluster",
                rows.iter().map(|row| row.1.to.1.to_string()),
            )
            .text("link", rows.iter().map(|row| row.1.kind.name()))
            .floats("evidence", "%", of(|link| link.evidence))
            .floats("confidence", "%", of(|link| link.confidence));
        let votes = |link: &Link, evaluator| {
            let vote = link.votes.iter().find(|vote| vote.0 == evaluator)?;
            Some(100.0 * vote.1)
        };
        let mut evaluators: Vec<Evaluator> = {
            let votes = rows.iter().flat_map(|row| &row.1.votes);
            votes.map(|vote| vote.0).collect()
        };
        evaluators.sort_unstable();
        evaluators.dedup();
        evaluators.into_iter().fold(table, |table, evaluator| {
            let votes = rows.iter().map(|row| votes(row.1, evaluator));
            table.floats(evaluator.name(), "%", votes)
        })
    }

    fn experiments(&self) -> Table {
        let all = || self.experiments.iter();
        let untracked = |ids: &[ClusterId]| (!ids.is_empty()).then(|| clusters(ids));
        Table::new("experiments", "Experiments that were compared.")
            .text("experiment", all().map(|it| it.name.as_str()))
            .unsigned("tasks", "", all().map(|it| it.tasks))
            .unsigned("clusters", "", all().map(|it| it.clusters))
            .floats("clustered time", "", all().map(|it| it.clustered_time))
            .floats("noise time", "", all().map(|it| it.noise_time))
            .floats("coverage", "%", all().map(|it| 100.0 * it.coverage))
            .floats(
                "SPMD score",
                "%",
                all().map(|it| it.score.map(|it| 100.0 * it)),
            )
            .text(
                "untracked clusters",
                all().map(|it| untracked(&it.untracked)),
            )
    }
}

impl Pair {
    /// Returns the evidence of two experiments as a table with a row for each pair of clusters.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `cluster`, `later cluster` | text | clusters of the earlier and the later experiment |
    /// | `evidence` | float, % | evidence that both are the same phase; missing in the published mode |
    /// | `nearest in later` | float, % | share of bursts of the earlier cluster whose nearest is in the later one |
    /// | `nearest in earlier` | float, % | share of bursts of the later cluster whose nearest is in the earlier one |
    /// | one for each evaluator, such as `callers before` | float, % | vote of the evaluator; missing if it has none |
    ///
    /// Pairs for which all of these values are zero or missing are skipped.
    ///
    /// ```
    /// use perf_core::{Job, Cell};
    /// use perf_track::tracking::{Observation, Tracking};
    /// use perf_track::{ClusterId, Points};
    /// let (id, points) = ([ClusterId(1); 2], [3.2e10; 2]);
    /// let run = |tasks: u32, time| Observation::new("", tasks, Points::new(&points, 1)?, &id, time);
    /// let experiments = [run(4, &[4.0; 2])?, run(8, &[2.0; 2])?];
    /// let tracking = Tracking::of(&experiments, &Default::default(), &Job::default())?;
    /// let table = tracking.pairs[0].table();
    /// assert_eq!((table.rows(), table.text_of(0, "nearest in later")), (1, "100 %".into()));
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    pub fn table(&self) -> Table {
        let [there, back] = &self.cross;
        let (rows, columns) = (there.rows(), there.columns());
        let values = |from: ClusterId, to: ClusterId| {
            let fixed = [
                self.evidence.get(from, to),
                there.get(from, to),
                back.get(to, from),
            ];
            let votes = self.votes.iter().map(move |vote| vote.matrix.get(from, to));
            fixed.into_iter().chain(votes)
        };
        let ids = |count: usize| (1..).map(ClusterId).take(count);
        let pairs = ids(rows).flat_map(|from| ids(columns).map(move |to| (from, to)));
        let is_any = |(from, to): &(ClusterId, ClusterId)| {
            let mut values = values(*from, *to);
            values.any(|value| value.is_some_and(|value| value != 0.0))
        };
        let pairs: Vec<_> = pairs.filter(is_any).collect();
        let names = ["evidence", "nearest in later", "nearest in earlier"].into_iter();
        let names = names.chain(self.votes.iter().map(|vote| vote.evaluator.name()));
        let table = Table::new(
            "evidence",
            "Evidence that clusters of two experiments are the same.",
        )
        .text("cluster", pairs.iter().map(|pair| pair.0.to_string()))
        .text("later cluster", pairs.iter().map(|pair| pair.1.to_string()));
        names.enumerate().fold(table, |table, (at, name)| {
            let value = |pair: &(ClusterId, ClusterId)| values(pair.0, pair.1).nth(at).flatten();
            let cells = pairs
                .iter()
                .map(|pair| value(pair).map(|value| 100.0 * value));
            table.floats(name, "%", cells)
        })
    }
}
