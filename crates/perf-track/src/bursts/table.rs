//! Tables of bursts, clusters, dropped bursts, duration cuts and time balances.

use super::{Amount, ChainId, Dropped, DurationCut, Kind, Thread};
use crate::{Burst, Bursts, Experiment, Labels, Result, TimeBalance};
use perf_core::{Column, Job, Nanos, Table};
use std::collections::BTreeMap;

impl Kind {
    /// Returns the name for tables: `complete`, `without counters`, `duration filter`, `range filter` or `share
    /// filter`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Complete => "complete",
            Kind::Missing => "without counters",
            Kind::Duration => "duration filter",
            Kind::Range => "range filter",
            Kind::Share => "share filter",
        }
    }
}

impl Bursts {
    /// Returns the bursts as a table, in their order.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `thread` | text | name of the thread |
    /// | `process` | unsigned | number of the process, the rank if there is one |
    /// | `begin`, `end`, `duration` | time | |
    /// | `status` | text | `complete`, or the filter that dropped the burst, see [`Kind::name`] |
    /// | one for each metric | float | value in the unit of the metric, missing if the burst has none |
    /// | `callers before`, `callers after` | text | callers of the call before and after, the outermost first |
    ///
    /// ```
    /// use perf_core::{Cell, Job, Nanos};
    /// use perf_track::{Burst, Bursts, Thread};
    /// let mut bursts = Bursts::new(["instructions"]);
    /// let thread = bursts.add_thread(Thread { name: "rank 0".into(), ..Thread::default() })?;
    /// let chain = bursts.add_chain(&["MPI_Send", "solve"])?;
    /// let (begin, end) = (Nanos(0), Nanos(2_000_000));
    /// bursts.push(Burst { thread, begin, end, before: Some(chain), ..Burst::default() }, &[3.4e9])?;
    /// let table = bursts.table(&Job::default())?;
    /// assert_eq!(table.text_of(0, "duration"), "2.00 ms");
    /// assert_eq!(table.cell(0, "instructions"), Some(Cell::Float(3.4e9)));
    /// assert_eq!(table.cell(0, "callers before"), Some(Cell::Text("solve > MPI_Send")));
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn table(&self, job: &Job) -> Result<Table> {
        let rows = || self.rows().iter();
        let thread = |index: u32| self.threads().get(index as usize);
        let mut known: BTreeMap<ChainId, String> = BTreeMap::new();
        let mut callers = |id: ChainId| {
            let name = known.entry(id).or_insert_with(|| {
                let mut callers: Vec<&str> = self.chain(id).collect();
                callers.reverse();
                callers.join(" > ")
            });
            name.clone()
        };
        let columns = 8 + self.columns().len();
        let (phase, total) = ("cells of a table", (columns * self.len()) as u64);
        let before = rows().map(|burst| burst.before.map(&mut callers));
        let before = Column::text("callers before", job.watch(phase, total, before));
        let after = rows().map(|burst| burst.after.map(&mut callers));
        let after = Column::text("callers after", job.watch(phase, total, after));
        let time = |name: &'static str, of: fn(&Burst) -> Nanos| {
            Column::times(name, job.watch(phase, total, rows().map(of)))
        };
        let names = rows().map(|burst| thread(burst.thread).map(|it: &Thread| it.name.as_str()));
        let processes = rows().map(|burst| thread(burst.thread).map(|it| it.process));
        let kinds = self.kinds().iter().map(|kind| kind.name());
        let mut columns = vec![
            Column::text("thread", job.watch(phase, total, names)),
            Column::unsigned("process", "", job.watch(phase, total, processes)),
            time("begin", |burst| burst.begin),
            time("end", |burst| burst.end),
            time("duration", |burst| burst.end.saturating_sub(burst.begin)),
            Column::text("status", job.watch(phase, total, kinds)),
        ];
        columns.extend(self.columns().iter().map(|metric| {
            let values = job.watch(phase, total, metric.values.iter().copied());
            Column::floats(metric.name.clone(), metric.unit.clone(), values)
        }));
        columns.extend([before, after]);
        job.check()?;
        let table = Table::new("bursts", "CPU bursts.");
        Ok(columns.into_iter().fold(table, Table::with))
    }
}

impl Experiment {
    /// Returns the experiment as two tables: [`Bursts::table`] with the column `cluster` on the right, and its
    /// clusters.
    ///
    /// | column of `clusters` | type | meaning |
    /// |---|---|---|
    /// | `cluster` | text | number, or `noise` |
    /// | `bursts` | unsigned | number of bursts |
    /// | `time` | time | sum of the durations |
    /// | `share of time` | float, % | share of the time of all bursts, including dropped bursts |
    ///
    /// The cluster of a burst that a filter dropped is missing, and such bursts are not part of `noise`.
    ///
    /// ```
    /// use perf_core::{Cell, Job, Nanos};
    /// use perf_track::{Burst, Bursts, ClusterId, Experiment, Labels, Thread};
    /// let mut bursts = Bursts::new([]);
    /// let thread = bursts.add_thread(Thread::default())?;
    /// for (begin, end) in [(0, 90), (100, 110), (200, 300)] {
    ///     bursts.push(Burst { thread, begin: Nanos(begin), end: Nanos(end), ..Burst::default() }, &[])?;
    /// }
    /// let labels = Labels::new(vec![ClusterId(1), ClusterId::NOISE, ClusterId(1)]);
    /// let [bursts, clusters] = Experiment::new("one task", bursts, labels)?.tables(&Job::default())?;
    /// assert_eq!(bursts.cell(1, "cluster"), Some(Cell::Text("noise")));
    /// assert_eq!(clusters.cell(1, "cluster"), Some(Cell::Text("1")));
    /// assert_eq!(clusters.text_of(1, "share of time"), "95 %");
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn tables(&self, job: &Job) -> Result<[Table; 2]> {
        let (bursts, labels) = (self.bursts(), self.labels().as_slice());
        let is_complete = |kind: &Kind| *kind == Kind::Complete;
        let each = || labels.iter().zip(bursts.kinds()).zip(bursts.rows());
        let cluster = each().map(|((id, kind), _)| is_complete(kind).then(|| id.to_string()));
        let cluster = job.watch("clusters of a table", bursts.len() as u64, cluster);
        let cluster = Column::text("cluster", cluster);
        let mut all = Amount::default();
        let mut amounts: BTreeMap<_, Amount> = BTreeMap::new();
        for ((id, kind), burst) in each() {
            let duration = burst.end.saturating_sub(burst.begin);
            all.add(duration);
            if is_complete(kind) {
                amounts.entry(*id).or_default().add(duration);
            }
        }
        let clusters = Table::new("clusters", "Clusters of CPU bursts.")
            .text("cluster", amounts.keys().map(ToString::to_string));
        let amounts: Vec<Amount> = amounts.into_values().collect();
        Ok([
            bursts.table(job)?.with(cluster),
            amount_columns(clusters, &amounts, all),
        ])
    }
}

impl Labels {
    /// Returns the clusters as a table.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `cluster` | text | number, or `noise` |
    /// | `points` | unsigned | number of points |
    /// | `share of points` | float, % | share of all points |
    ///
    /// ```
    /// use perf_core::Cell;
    /// use perf_track::{ClusterId, Labels};
    /// let labels = Labels::new([2, 0, 2, 1].map(ClusterId).to_vec());
    /// let table = labels.table();
    /// assert_eq!(table.cell(0, "cluster"), Some(Cell::Text("noise")));
    /// assert_eq!(table.cell(2, "points"), Some(Cell::Unsigned(2)));
    /// assert_eq!(table.text_of(2, "share of points"), "50 %");
    /// ```
    pub fn table(&self) -> Table {
        let mut points: BTreeMap<_, usize> = BTreeMap::new();
        for id in self.as_slice() {
            *points.entry(*id).or_default() += 1;
        }
        let share = |count: &usize| 100.0 * *count as f64 / self.len() as f64;
        Table::new("clusters", "Clusters of points.")
            .text("cluster", points.keys().map(ToString::to_string))
            .unsigned("points", "", points.values().copied())
            .floats("share of points", "%", points.values().map(share))
    }
}

/// Adds the columns `bursts`, `time` and `share of time`.
fn amount_columns(table: Table, amounts: &[Amount], all: Amount) -> Table {
    let share = |amount: &Amount| 100.0 * amount.time.0 as f64 / all.time.0 as f64;
    table
        .unsigned("bursts", "", amounts.iter().map(|it| it.bursts))
        .times("time", amounts.iter().map(|it| it.time))
        .floats("share of time", "%", amounts.iter().map(share))
}

impl Dropped {
    /// Returns the bursts by kind, and the other counts of dropped items, as two tables.
    ///
    /// | column of `bursts by status` | type | meaning |
    /// |---|---|---|
    /// | `status` | text | `complete`, `duration filter`, `without counters`, `range filter`, `cut` or `interrupted` |
    /// | `metric` | text | counters that are missing, or metric out of its range |
    /// | `bursts` | unsigned | number of bursts |
    /// | `time` | time | sum of the durations |
    /// | `share of time` | float, % | share of the time of all bursts that were found, without `cut` and `interrupted` |
    ///
    /// | column of `counts` | type | meaning |
    /// |---|---|---|
    /// | `count of` | text | kind of event, thread or repair |
    /// | `count` | unsigned | number of events, threads or repairs |
    ///
    /// ```
    /// use perf_core::{Cell, Nanos};
    /// use perf_track::{Amount, Dropped};
    /// let amount = |bursts, time| Amount { bursts, time: Nanos(time) };
    /// let (found, complete, duration) = (amount(5, 100), amount(3, 90), amount(2, 10));
    /// let dropped = Dropped { found, complete, duration, empty: 7, ..Dropped::default() };
    /// let [bursts, counts] = dropped.tables();
    /// assert_eq!(bursts.cell(1, "status"), Some(Cell::Text("duration filter")));
    /// assert_eq!(bursts.text_of(1, "share of time"), "10 %");
    /// assert_eq!(counts.cell(0, "count"), Some(Cell::Unsigned(7)));
    /// ```
    pub fn tables(&self) -> [Table; 2] {
        let mut rows: Vec<(&str, Option<String>, Amount)> = vec![
            ("complete", None, self.complete),
            ("duration filter", None, self.duration),
        ];
        let missing = self.missing.iter();
        rows.extend(missing.map(|(names, it)| ("without counters", Some(names.join(", ")), *it)));
        let ranges = self.ranges.iter();
        rows.extend(ranges.map(|(name, it)| ("range filter", Some(name.clone()), *it)));
        rows.extend([
            ("cut", None, self.cut),
            ("interrupted", None, self.interrupted),
        ]);
        let amounts: Vec<Amount> = rows.iter().map(|row| row.2).collect();
        let bursts = Table::new(
            "bursts by status",
            "CPU bursts that were found, kept and dropped.",
        )
        .text("status", rows.iter().map(|row| row.0))
        .text("metric", rows.iter().map(|row| row.1.clone()));
        let counts = [
            ("calls of no duration", self.empty),
            ("resets of counters", self.resets),
            ("samples about another thread or process", self.foreign),
            ("divisions by zero", self.divisions_by_zero),
            ("threads without events", self.absent_threads),
            ("threads without bursts", self.idle_threads),
            ("repairs of calls", self.repairs.repairs()),
        ];
        let counts = Table::new("counts", "Counts of the extraction of CPU bursts.")
            .text("count of", counts.map(|(name, _)| name))
            .unsigned("count", "", counts.map(|(_, count)| count));
        [amount_columns(bursts, &amounts, self.found), counts]
    }
}

impl DurationCut {
    /// Returns minimum durations of experiments as a table.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `experiment` | text | name |
    /// | `minimum duration` | time | shortest duration that is kept |
    /// | `bursts`, `time` | unsigned, time | all bursts |
    /// | `dropped bursts`, `dropped time` | unsigned, time | shorter bursts |
    /// | `dropped share of time` | float, % | share of the shorter bursts in the time |
    ///
    /// ```
    /// use perf_core::Nanos;
    /// use perf_track::{Amount, DurationCut};
    /// let amount = |bursts, time| Amount { bursts, time: Nanos(time) };
    /// let cut = DurationCut { min: Nanos(1_000), below: amount(9, 10), total: amount(10, 1_000) };
    /// let table = DurationCut::table([("8 tasks", &cut)]);
    /// assert_eq!(table.text_of(0, "minimum duration"), "1.00 us");
    /// assert_eq!(table.text_of(0, "dropped share of time"), "1 %");
    /// ```
    pub fn table<'a>(cuts: impl IntoIterator<Item = (&'a str, &'a DurationCut)>) -> Table {
        let cuts: Vec<_> = cuts.into_iter().collect();
        let all = || cuts.iter().map(|(_, cut)| *cut);
        let share = |cut: &DurationCut| 100.0 * cut.below.time.0 as f64 / cut.total.time.0 as f64;
        Table::new("minimum durations", "Minimum durations of CPU bursts.")
            .text("experiment", cuts.iter().map(|(name, _)| *name))
            .times("minimum duration", all().map(|cut| cut.min))
            .unsigned("bursts", "", all().map(|cut| cut.total.bursts))
            .times("time", all().map(|cut| cut.total.time))
            .unsigned("dropped bursts", "", all().map(|cut| cut.below.bursts))
            .times("dropped time", all().map(|cut| cut.below.time))
            .floats("dropped share of time", "%", all().map(share))
    }
}

impl TimeBalance {
    /// Returns the division of the CPU time of experiments as a table.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `experiment` | text | name |
    /// | `part` | text | class of bursts, see [`parts`](Self::parts) |
    /// | `bursts` | unsigned | number of bursts |
    /// | `time` | time | sum of the durations |
    /// | `share of time` | float, % | share of the CPU time of the experiment |
    ///
    /// ```
    /// use perf_core::{Cell, Nanos};
    /// use perf_track::{Amount, TimeBalance};
    /// let amount = |bursts, time| Amount { bursts, time: Nanos(time) };
    /// let (total, tracked, noise) = (amount(4, 100), amount(3, 75), amount(1, 25));
    /// let balance = TimeBalance { total, tracked, noise, ..TimeBalance::default() };
    /// let table = TimeBalance::table([("8 tasks", &balance)]);
    /// assert_eq!((table.rows(), table.cell(2, "part")), (7, Some(Cell::Text("noise"))));
    /// assert_eq!(table.text_of(2, "share of time"), "25 %");
    /// ```
    pub fn table<'a>(balances: impl IntoIterator<Item = (&'a str, &'a TimeBalance)>) -> Table {
        let rows = balances.into_iter().flat_map(|(name, balance)| {
            let share = |amount| match balance.total.time {
                Nanos::ZERO => None,
                _ => Some(100.0 * balance.share(amount)),
            };
            let parts = balance.parts();
            parts.map(|(part, amount)| (name, part, amount, share(amount)))
        });
        let rows: Vec<_> = rows.collect();
        Table::new(
            "time balance",
            "Division of the CPU time of each experiment.",
        )
        .text("experiment", rows.iter().map(|row| row.0))
        .text("part", rows.iter().map(|row| row.1))
        .unsigned("bursts", "", rows.iter().map(|row| row.2.bursts))
        .times("time", rows.iter().map(|row| row.2.time))
        .floats("share of time", "%", rows.iter().map(|row| row.3))
    }
}
