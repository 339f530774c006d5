//! Conversion of judgements, calls that were not judged, losses, changes, facts of models,
//! moments, histograms, stream health and reports to tables.

use crate::calls::{Calls, StreamHealth};
use crate::lost_time::{NewMode, SlowPhase, SlowRank};
use crate::server::{RankSummary, Ranking};
use crate::{
    Change, FunctionId, Histogram, Judgement, Label, LongCall, Loss, Losses, Moments, Report,
    UnjudgedCall,
};
use perf_core::{CallPathId, Column, Nanos, Table};

impl Label {
    /// Returns the name for tables and stores: `normal`, `too slow`, `too fast`, `beyond experience`, `not enough
    /// data` or `ignored`.
    ///
    /// ```
    /// assert_eq!(perf_anomaly::Label::TooSlow.name(), "too slow");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Label::Normal => "normal",
            Label::TooSlow => "too slow",
            Label::TooFast => "too fast",
            Label::NotEnoughData => "not enough data",
            Label::Ignored => "ignored",
            Label::BeyondExperience => "beyond experience",
        }
    }
}

/// Returns the name of a call path, such as `main > solve`; `(other)` for paths beyond the limit.
pub(crate) fn call_path(calls: &Calls, path: CallPathId) -> String {
    let regions = calls.path(path).into_iter();
    let name = |region| {
        calls
            .region_name(region)
            .map_or("(unknown)", |(_, name)| name)
    };
    let names: Vec<&str> = regions.map(name).collect();
    if names.is_empty() {
        "(other)".into()
    } else {
        names.join(" > ")
    }
}

/// Converts nanoseconds to a time.
pub(crate) fn nanos(value: f64) -> Nanos {
    // Conversions saturate.
    Nanos(value.round() as i64)
}

impl Judgement {
    /// Returns the calls of the last step with their judgements as a table, one row each.
    /// `judgements` holds one judgement for each call in the batch of `calls`, as returned by
    /// [`Monitor::judgements`](crate::Monitor::judgements).
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `program`, `rank`, `thread` | unsigned | stream of the call |
    /// | `step` | unsigned | step in which the call was completed |
    /// | `function` | text | function or call path that has the model |
    /// | `call path` | text | names of the regions, `main > solve` |
    /// | `entry`, `exit` | time | begin and end of the call |
    /// | `run time` | time | time that was judged |
    /// | `expected` | time | time that the model expects, missing for none |
    /// | `label` | text | see [`Label::name`] |
    /// | `score` | float | rarity in the units of the detector |
    /// | `time lost` | time | run time of a slow call above the expected one, otherwise 0 |
    ///
    /// ```
    /// use perf_anomaly::{Judgement, Monitor, Watch};
    /// use perf_core::{Cell, Nanos};
    /// let monitor = Monitor::default();
    /// let mut watch = Watch::new(monitor, 0, 3);
    /// let solve = watch.region("solve");
    /// for k in 0..1000 {
    ///     let length = if k == 900 { 5_000_000 } else { 50_000 + k * 37 % 1000 };
    ///     watch.enter(0, solve, Nanos(10_000_000 * k));
    ///     watch.exit(0, solve, Nanos(10_000_000 * k + length));
    /// }
    /// watch.end_step();
    /// let monitor = watch.sink();
    /// let table = Judgement::table(monitor.judgements(), monitor.calls());
    /// let worst = table.sorted_by("time lost", true).head(1);
    /// assert_eq!(worst.cell(0, "label"), Some(Cell::Text("beyond experience")));
    /// assert_eq!(worst.cell(0, "rank"), Some(Cell::Unsigned(3)));
    /// assert_eq!(worst.text_of(0, "run time"), "5.00 ms");
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    pub fn table(judgements: &[Judgement], calls: &Calls) -> Table {
        let batch = calls.batch();
        let rows: Vec<_> = batch
            .calls()
            .iter()
            .zip(batch.samples())
            .zip(judgements)
            .map(|((call, sample), judgement)| (call, sample, judgement))
            .collect();
        let stream = |of: fn(perf_core::StreamKey) -> u32| {
            let key = |row: &(&crate::calls::Call, _, _)| calls.stream_key(row.0.stream);
            rows.iter().map(move |row| key(row).map(of))
        };
        let steps = std::iter::repeat_n(batch.step(), rows.len());
        let functions = rows.iter().map(|row| calls.function_name(row.1.function));
        let paths = rows.iter().map(|row| call_path(calls, row.0.path));
        Table::new("calls", "Calls of a step and their judgements.")
            .unsigned("program", "", stream(|key| key.program))
            .unsigned("rank", "", stream(|key| key.rank))
            .unsigned("thread", "", stream(|key| key.thread))
            .unsigned("step", "", steps)
            .text("function", functions)
            .text("call path", paths)
            .times("entry", rows.iter().map(|row| row.0.entry))
            .times("exit", rows.iter().map(|row| row.0.exit))
            .times("run time", rows.iter().map(|row| row.1.runtime))
            .times("expected", rows.iter().map(|row| row.2.expected))
            .text("label", rows.iter().map(|row| row.2.label.name()))
            .floats("score", "", rows.iter().map(|row| row.2.score))
            .times("time lost", rows.iter().map(|row| row.2.severity(row.1)))
    }
}

impl Loss {
    /// Adds the columns of losses to a table with one row for each loss.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `calls` | unsigned | number of calls |
    /// | `anomalies` | unsigned | calls that were too slow or too fast |
    /// | `too slow`, `beyond experience`, `too fast` | unsigned | calls with these labels; `too slow` includes `beyond experience` |
    /// | `not enough data` | unsigned | calls that could not be judged |
    /// | `in slow calls` | time | run time above the expected one, summed over the slow calls |
    /// | `waiting in slow calls` | time | the part of it in calls that wait for others |
    ///
    /// ```
    /// use perf_anomaly::Loss;
    /// use perf_core::{Cell, Column, Nanos, Table};
    /// let loss = Loss { calls: 900, too_slow: 2, time: Nanos(5_000_000), ..Loss::default() };
    /// let table = Table::new("functions", "").text("function", ["solve"]);
    /// let table = Loss::columns(table, &[loss]);
    /// assert_eq!(table.cell(0, "anomalies"), Some(Cell::Unsigned(2)));
    /// assert_eq!(table.text_of(0, "in slow calls"), "5.00 ms");
    /// ```
    ///
    /// # Panics
    /// Panics if the table has another number of rows.
    #[must_use]
    pub fn columns(table: Table, losses: &[Loss]) -> Table {
        let counts = |name: &'static str, of: fn(&Loss) -> u64| {
            Column::unsigned(name, "", losses.iter().map(of))
        };
        table
            .with(counts("calls", |loss| loss.calls))
            .with(counts("anomalies", Loss::anomalies))
            .with(counts("too slow", |loss| loss.too_slow))
            .with(counts("beyond experience", |loss| loss.beyond_experience))
            .with(counts("too fast", |loss| loss.too_fast))
            .with(counts("not enough data", |loss| loss.not_enough_data))
            .times("in slow calls", losses.iter().map(Loss::in_slow_calls))
            .times(
                "waiting in slow calls",
                losses.iter().map(|loss| loss.waiting),
            )
    }
}

impl Losses {
    /// Returns the losses by function, by call path, by rank and by step as four tables, the first
    /// three in descending order of time lost. `calls` provides the names.
    ///
    /// | table | columns before those of [`Loss::columns`] |
    /// |---|---|
    /// | `functions` | `program`, `function` |
    /// | `call paths` | `call path`, `main > solve` |
    /// | `ranks` | `program`, `rank` |
    /// | `steps` | `step`; the last 1,024 |
    ///
    /// ```
    /// use perf_anomaly::{Monitor, Watch};
    /// use perf_core::{Cell, Nanos};
    /// let monitor = Monitor::default();
    /// let mut watch = Watch::new(monitor, 0, 3);
    /// let solve = watch.region("solve");
    /// for k in 0..1000 {
    ///     let length = if k == 900 { 5_000_000 } else { 50_000 + k * 37 % 1000 };
    ///     watch.enter(0, solve, Nanos(10_000_000 * k));
    ///     watch.exit(0, solve, Nanos(10_000_000 * k + length));
    /// }
    /// watch.end_step();
    /// let monitor = watch.sink();
    /// let [functions, paths, ranks, steps] = monitor.losses().tables(monitor.calls());
    /// assert_eq!(functions.cell(0, "function"), Some(Cell::Text("solve")));
    /// assert_eq!(functions.cell(0, "too slow"), Some(Cell::Unsigned(1)));
    /// assert_eq!(ranks.cell(0, "rank"), Some(Cell::Unsigned(3)));
    /// assert_eq!((paths.rows(), steps.rows()), (1, 10));
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    pub fn tables(&self, calls: &Calls) -> [Table; 4] {
        fn parts<K: Copy>(all: impl IntoIterator<Item = (K, Loss)>) -> (Vec<K>, Vec<Loss>) {
            all.into_iter().unzip()
        }
        let (ids, losses) = parts(self.worst_functions());
        let programs = ids.iter().map(|id| calls.function_program(*id));
        let names = ids.iter().map(|id| calls.function_name(*id));
        let functions = Table::new("functions", "Anomalies and time lost by function.")
            .unsigned("program", "", programs)
            .text("function", names);
        let functions = Loss::columns(functions, &losses);
        let (ids, losses) = parts(self.worst_paths());
        let names = ids.iter().map(|id| call_path(calls, *id));
        let paths = Table::new("call paths", "Anomalies and time lost by call path.")
            .text("call path", names);
        let paths = Loss::columns(paths, &losses);
        let (keys, losses) = parts(self.worst_ranks());
        let ranks = Table::new("ranks", "Anomalies and time lost by rank.")
            .unsigned("program", "", keys.iter().map(|key| key.0))
            .unsigned("rank", "", keys.iter().map(|key| key.1));
        let ranks = Loss::columns(ranks, &losses);
        let (numbers, losses) = parts(self.steps());
        let steps =
            Table::new("steps", "Anomalies and time lost by step.").unsigned("step", "", numbers);
        [functions, paths, ranks, Loss::columns(steps, &losses)]
    }
}

impl Change {
    /// Returns changes of the run times of functions as a table. `calls` provides the names.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `program` | unsigned | program of the function |
    /// | `function` | text | name |
    /// | `step` | unsigned | step in which the change began |
    /// | `confirmed` | unsigned | step in which it was confirmed |
    /// | `run time before`, `run time after` | time | usual run times before and after the change |
    /// | `factor` | float | run time after the change divided by that before |
    /// | `calls before` | unsigned | number of calls from which the run time before was computed |
    /// | `ranks` | unsigned | number of ranks that called the function before |
    /// | `score` | float | distance in standard deviations of the rank sum |
    ///
    /// ```
    /// use perf_anomaly::{Change, Drift, Monitor, Watch};
    /// use perf_core::Nanos;
    /// let monitor = Monitor::default();
    /// let monitor = monitor.watch_drift(Drift::default());
    /// let mut watch = Watch::new(monitor, 0, 0);
    /// let solve = watch.region("solve");
    /// for k in 0..4000 {
    ///     let usual = if k < 2000 { 100_000 } else { 200_000 };
    ///     watch.enter(0, solve, Nanos(1_000_000 * k));
    ///     watch.exit(0, solve, Nanos(1_000_000 * k + usual + k * 37 % 1000));
    ///     if k % 100 == 99 {
    ///         watch.end_step();
    ///     }
    /// }
    /// let report = watch.into_sink().finish()?;
    /// let drift = report.drift.as_ref().expect("it was watched");
    /// let table = Change::table(drift.changes(), &report.calls);
    /// assert_eq!((table.rows(), table.text_of(0, "factor")), (1, "2.00".into()));
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    pub fn table(changes: &[Change], calls: &Calls) -> Table {
        let all = || changes.iter();
        let factor = all().map(|it| it.to.0 as f64 / it.from.0 as f64);
        let programs = all().map(|it| calls.function_program(it.function));
        let names = all().map(|it| calls.function_name(it.function));
        Table::new("changes", "Functions that became slower or faster.")
            .unsigned("program", "", programs)
            .text("function", names)
            .unsigned("step", "", all().map(|it| it.step))
            .unsigned("confirmed", "", all().map(|it| it.until))
            .times("run time before", all().map(|it| it.from))
            .times("run time after", all().map(|it| it.to))
            .floats("factor", "", factor)
            .unsigned("calls before", "", all().map(|it| it.calls))
            .unsigned("ranks", "", all().map(|it| it.ranks))
            .floats("score", "", all().map(|it| it.score))
    }
}

/// Returns facts of models ([`Detector::describe`](crate::Detector::describe)) as a table, one row
/// for each fact.
///
/// | column | type | meaning |
/// |---|---|---|
/// | `function` | text | given name |
/// | `fact` | text | name of the fact, `mode 1 median` |
/// | `value` | float | number as the detector states it, missing for the end of an unbounded range |
/// | `unit` | text | `ns` for times, empty for counts and for shares, which are fractions |
/// | `text` | text | value with its unit, as in [`facts_text`](crate::facts_text) |
///
/// ```
/// use perf_core::Cell;
/// let facts = [("calls".to_string(), 1200.0), ("mode 1 median".to_string(), 4_800_000.0)];
/// let table = perf_anomaly::facts_table([("solve", &facts[..])]);
/// assert_eq!(table.cell(1, "fact"), Some(Cell::Text("mode 1 median")));
/// assert_eq!(table.cell(1, "unit"), Some(Cell::Text("ns")));
/// assert_eq!(table.cell(1, "text"), Some(Cell::Text("4.80 ms")));
/// ```
pub fn facts_table<'a>(named: impl IntoIterator<Item = (&'a str, &'a [(String, f64)])>) -> Table {
    let rows: Vec<(&str, &str, f64)> = named
        .into_iter()
        .flat_map(|(name, facts)| {
            facts
                .iter()
                .map(move |(fact, value)| (name, fact.as_str(), *value))
        })
        .collect();
    let value =
        |row: &(&str, &str, f64)| (!crate::detect::is_endless(row.1, row.2)).then_some(row.2);
    let unit = |row: &(&str, &str, f64)| {
        if crate::detect::is_time(row.1) {
            "ns"
        } else {
            ""
        }
    };
    let text = rows
        .iter()
        .map(|row| crate::detect::value_text(row.1, row.2));
    Table::new("models", "Facts of the models of functions.")
        .text("function", rows.iter().map(|row| row.0))
        .text("fact", rows.iter().map(|row| row.1))
        .floats("value", "", rows.iter().map(value))
        .text("unit", rows.iter().map(unit))
        .text("text", text)
}

impl UnjudgedCall {
    /// Returns calls that were not judged as a table with the columns `program`, `rank`, `thread`,
    /// `step`, `function`, `entry`, `run time` and `calls known` (number of earlier calls of the function).
    pub fn table(longest: &[UnjudgedCall], calls: &Calls) -> Table {
        let all = || longest.iter();
        let functions = all().map(|it| calls.function_name(it.function));
        Table::new(
            "calls that were not judged",
            "Calls without enough data to judge them.",
        )
        .unsigned("program", "", all().map(|it| it.stream.program))
        .unsigned("rank", "", all().map(|it| it.stream.rank))
        .unsigned("thread", "", all().map(|it| it.stream.thread))
        .unsigned("step", "", all().map(|it| it.step))
        .text("function", functions)
        .times("entry", all().map(|it| it.entry))
        .times("run time", all().map(|it| it.runtime))
        .unsigned("calls known", "", all().map(|it| it.known))
    }
}

impl LongCall {
    /// Returns long calls as a table with the columns `program`, `rank`, `thread`, `step`, `function`, `entry`, `run
    /// time`, `longest before` (longest earlier call of the function) and `calls before` (number of these calls).
    pub fn table(all: &[LongCall], calls: &Calls) -> Table {
        let own: Vec<UnjudgedCall> = all.iter().map(|one| one.call).collect();
        let columns = ["program", "rank", "thread", "step", "function", "entry"];
        UnjudgedCall::table(&own, calls)
            .select(&[&columns[..], &["run time"]].concat())
            .times("longest before", all.iter().map(|one| one.longest))
            .unsigned("calls before", "", all.iter().map(|one| one.of))
    }
}

/// Column of moments: suffix of the name, and its value.
type Part = (&'static str, fn(&Moments) -> Option<f64>);

impl Moments {
    /// Adds columns of moments to a table with one row for each item of `moments`: `NAME count`,
    /// `NAME mean`, `NAME deviation`, `NAME minimum` and `NAME maximum`. All but the count are in
    /// `unit`; if the unit is `ns` they are times. Cells of moments without values are missing.
    ///
    /// ```
    /// use perf_anomaly::Moments;
    /// use perf_core::{Column, Table};
    /// let moments: Moments = [1_000.0, 3_000.0].into_iter().collect();
    /// let table = Table::new("functions", "").text("function", ["solve"]);
    /// let table = Moments::columns(table, "exclusive time", "ns", &[moments]);
    /// assert_eq!(table.text_of(0, "exclusive time mean"), "2.00 us");
    /// ```
    ///
    /// # Panics
    /// Panics if the table has another number of rows.
    #[must_use]
    pub fn columns(table: Table, name: &str, unit: &'static str, moments: &[Moments]) -> Table {
        let counts = moments.iter().map(Moments::count);
        let table = table.unsigned(format!("{name} count"), "", counts);
        let parts: [Part; 4] = [
            ("mean", |it| Some(it.mean())),
            ("deviation", |it| Some(it.std_dev())),
            ("minimum", Moments::min),
            ("maximum", Moments::max),
        ];
        parts.into_iter().fold(table, |table, (part, of)| {
            let values = moments.iter().map(|it| of(it).filter(|_| it.count() > 0));
            let name = format!("{name} {part}");
            table.with(match unit {
                "ns" => Column::times(name, values.map(|value| value.map(nanos))),
                unit => Column::floats(name, unit, values),
            })
        })
    }
}

impl Histogram {
    /// Returns the bins as a table with the columns `from` (exclusive) and `to` (inclusive), both
    /// in the unit of the values, `count`, and `share` in %.
    ///
    /// ```
    /// use perf_anomaly::Histogram;
    /// use perf_core::Cell;
    /// let histogram = Histogram::from_counts(vec![1, 2, 1], 0.5, 1.0, 1.0, 3.5).expect("they fit");
    /// let table = histogram.table();
    /// assert_eq!(table.cell(1, "from"), Some(Cell::Float(1.5)));
    /// assert_eq!(table.text_of(1, "share"), "50 %");
    /// ```
    pub fn table(&self) -> Table {
        let half = self.bin_width() / 2.0;
        let bins = 0..self.counts().len();
        let all = self.total() as f64;
        let share = self
            .counts()
            .iter()
            .map(|count| 100.0 * *count as f64 / all);
        Table::new("bins", "Bins of a histogram.")
            .floats("from", "", bins.clone().map(|bin| self.middle(bin) - half))
            .floats("to", "", bins.map(|bin| self.middle(bin) + half))
            .unsigned("count", "", self.counts().iter().copied())
            .floats("share", "%", share)
    }
}

impl StreamHealth {
    /// Returns the counts as a table with the columns `count of`, `count`, and the flag `fault` for
    /// counts of defects.
    ///
    /// ```
    /// use perf_anomaly::calls::StreamHealth;
    /// use perf_core::Cell;
    /// let mut health = StreamHealth::default();
    /// health.late = 2;
    /// let table = health.table().sorted_by("count", true);
    /// assert_eq!(table.cell(0, "count of"), Some(Cell::Text("late")));
    /// assert_eq!(table.cell(0, "fault"), Some(Cell::Flag(true)));
    /// ```
    pub fn table(&self) -> Table {
        let faults: Vec<&str> = self.faults().map(|(name, _)| name).collect();
        let names = || self.counts().map(|(name, _)| name);
        Table::new("health", "Events of a stream, and repairs.")
            .text("count of", names())
            .unsigned("count", "", self.counts().map(|(_, count)| count))
            .flags("fault", names().map(|name| faults.contains(&name)))
    }
}

impl Report {
    /// Returns all results as tables:
    ///
    /// * `functions`, `call paths`, `ranks` and `steps` of [`Losses::tables`];
    /// * `ranks by anomalies` of [`RankSummary::table`], in descending order of the total;
    /// * `models` of [`facts_table`](crate::facts_table), for the functions in descending order of
    ///   time lost;
    /// * `slow ranks` of [`SlowRank::table`], `slow phases` of [`SlowPhase::table`] and `new modes` of
    ///   [`NewMode::table`];
    /// * `changes` of [`Change::table`], if the report has a drift;
    /// * `reduction` of [`Reduction::table`](crate::provenance::Reduction::table), if there was a recorder;
    /// * `health` of [`StreamHealth::table`].
    ///
    /// ```
    /// use perf_anomaly::{Monitor, Watch};
    /// use perf_core::Nanos;
    /// let mut watch = Watch::new(Monitor::default(), 0, 0);
    /// let solve = watch.region("solve");
    /// for at in 0..1000 {
    ///     watch.enter(0, solve, Nanos(1_000_000 * at));
    ///     watch.exit(0, solve, Nanos(1_000_000 * at + 50_000 + at * 37 % 1000));
    /// }
    /// let tables = watch.into_sink().finish()?.tables();
    /// let names: Vec<&str> = tables.iter().map(|table| table.name()).collect();
    /// assert_eq!(names, ["functions", "call paths", "ranks", "steps", "ranks by anomalies", "models", "slow ranks",
    ///     "slow phases", "new modes", "health"]);
    /// assert_eq!(tables[5].text_of(0, "fact"), "calls");
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    pub fn tables(&self) -> Vec<Table> {
        let mut tables: Vec<Table> = self.losses.tables(&self.calls).into();
        tables.push(RankSummary::table(&self.ranks.ranked(Ranking::Total)));
        let model = |(function, _): (FunctionId, Loss)| {
            let name = self.calls.function_name(function);
            (name, self.detector.describe(function))
        };
        let models = self.losses.worst_functions().into_iter().map(model);
        let models: Vec<(String, Vec<(String, f64)>)> = models.collect();
        let named = models
            .iter()
            .map(|(name, facts)| (name.as_str(), facts.as_slice()));
        tables.push(facts_table(named));
        let (peers, modes) = (self.lasting.peers(), self.lasting.modes());
        tables.push(SlowRank::table(&peers.slow_ranks(), &self.calls));
        tables.push(SlowPhase::table(&peers.slow_phases(), &self.calls));
        tables.push(NewMode::table(
            &modes.all().collect::<Vec<_>>(),
            &self.calls,
        ));
        if let Some(drift) = &self.drift {
            tables.push(Change::table(drift.changes(), &self.calls));
        }
        if let Some((_, reduction)) = &self.store {
            tables.push(reduction.table());
        }
        tables.push(self.calls.health().table());
        tables
    }
}
