//! Conversion of records, models, comparisons, data reductions and results of pruning to tables.

use super::{Comparison, Difference, Kind, ModelRecord, Pruned, Record, Reduction, Side};
use perf_core::Table;

impl Record {
    /// Returns records as a table, one row each, in the given order.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `kind` | text | `anomaly`, or `normal` for a normal execution that was kept for comparison |
    /// | `label` | text | see [`Label::name`](crate::Label::name) |
    /// | `function` | text | function or call path that has the model |
    /// | `call path` | text | callers and function, such as `main > solve`; begins with `..` if callers were dropped |
    /// | `program`, `rank`, `thread` | unsigned | stream of the call |
    /// | `host` | text | host of the rank, if known |
    /// | `step` | unsigned | step in which the call was completed |
    /// | `event` | text | id of the call, `rank:step:index` |
    /// | `entry`, `exit` | time | begin and end of the call |
    /// | `run time`, `exclusive time` | time | time that was judged, and exclusive time |
    /// | `expected` | time | run time that the model expects, missing for none |
    /// | `time lost` | time | run time of a slow call above the expected one, otherwise 0; 0 for calls that wait for others |
    /// | `waiting` | time | the same time of calls that wait for others |
    /// | `score` | float | rarity in the units of the detector |
    /// | `first call` | flag | first call of its model on its stream |
    /// | `model` | unsigned | number of the model, see [`ModelRecord::id`], missing for none |
    /// | `repair` | text | repair that ended the call, missing for none |
    ///
    /// ```
    /// use perf_anomaly::provenance::Record;
    /// use perf_core::{Cell, Nanos};
    /// let mut record = Record::default();
    /// (record.rank, record.severity) = (3, Nanos(5_000_000));
    /// record.call.function = "solve".into();
    /// let table = Record::table([&record]);
    /// assert_eq!(table.cell(0, "call path"), Some(Cell::Text("solve")));
    /// assert_eq!(table.text_of(0, "time lost"), "5.00 ms");
    /// ```
    pub fn table<'a>(records: impl IntoIterator<Item = &'a Record>) -> Table {
        let records: Vec<&Record> = records.into_iter().collect();
        let all = || records.iter().copied();
        let path = |record: &Record| {
            let dropped = (record.left_out.frames > 0).then_some("..");
            let stack = record.stack.iter().map(|call| call.function.as_str());
            let names = dropped.into_iter().chain(stack);
            let names = names.chain([record.call.function.as_str()]);
            names.collect::<Vec<_>>().join(" > ")
        };
        let kind = |record: &Record| match record.kind {
            Kind::Anomaly => "anomaly",
            Kind::Normal => "normal",
        };
        Table::new("records", "Calls that were recorded.")
            .text("kind", all().map(kind))
            .text("label", all().map(|it| it.label.name()))
            .text("function", all().map(|it| it.function.as_str()))
            .text("call path", all().map(path))
            .unsigned("program", "", all().map(|it| it.program))
            .unsigned("rank", "", all().map(|it| it.rank))
            .unsigned("thread", "", all().map(|it| it.thread))
            .text("host", all().map(|it| it.host.as_deref()))
            .unsigned("step", "", all().map(|it| it.step))
            .text("event", all().map(|it| it.call.id.as_str()))
            .times("entry", all().map(|it| it.call.entry))
            .times("exit", all().map(|it| it.call.exit))
            .times("run time", all().map(|it| it.runtime))
            .times("exclusive time", all().map(|it| it.exclusive))
            .times("expected", all().map(|it| it.expected))
            .times("time lost", all().map(Record::time_lost))
            .times("waiting", all().map(Record::waiting))
            .floats("score", "", all().map(|it| it.score))
            .flags("first call", all().map(|it| it.first))
            .unsigned(
                "model",
                "",
                all().map(|it| (it.model > 0).then_some(it.model)),
            )
            .text("repair", all().map(|it| it.repair.as_deref()))
    }
}

impl ModelRecord {
    /// Returns models as a table with a row for each fact: `model`, `program`, `step`, `detector`, and the columns
    /// of [`facts_table`](crate::facts_table).
    ///
    /// ```
    /// use perf_anomaly::provenance::ModelRecord;
    /// use perf_core::Cell;
    /// let mut model = ModelRecord::default();
    /// (model.id, model.facts) = (7, vec![("calls".into(), 1200.0), ("mean".into(), 2_000.0)]);
    /// let table = ModelRecord::table(&[model]);
    /// assert_eq!((table.rows(), table.cell(1, "model")), (2, Some(Cell::Unsigned(7))));
    /// assert_eq!(table.cell(1, "text"), Some(Cell::Text("2.00 us")));
    /// ```
    pub fn table(models: &[ModelRecord]) -> Table {
        let each = || {
            models
                .iter()
                .flat_map(|it| it.facts.iter().map(move |_| it))
        };
        let named = models
            .iter()
            .map(|it| (it.function.as_str(), it.facts.as_slice()));
        let facts = crate::facts_table(named);
        let table = Table::new("models", "Facts of the models of functions.")
            .unsigned("model", "", each().map(|it| it.id))
            .unsigned("program", "", each().map(|it| it.program))
            .unsigned("step", "", each().map(|it| it.step))
            .text("detector", each().map(|it| it.detector.as_str()));
        facts.columns().iter().cloned().fold(table, Table::with)
    }
}

impl Comparison {
    /// Returns the differences between two runs by function and by call path as two tables, in
    /// descending order of the difference of time lost.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `program` | unsigned | program |
    /// | `function` or `call path` | text | name |
    /// | `anomalies`, `too fast`, `time lost`, `waiting`, `highest score` | | anomalies that the first run kept |
    /// | `other anomalies`, `other too fast`, `other time lost`, `other waiting`, `other highest score` | | anomalies that the second run kept |
    /// | `more time lost` | time | time lost in the second run minus that in the first run |
    ///
    /// ```
    /// use perf_anomaly::provenance::{Comparison, Difference};
    /// use perf_core::{Cell, Nanos};
    /// let mut difference = Difference::default();
    /// (difference.name, difference.other.time_lost) = ("solve".into(), Nanos(4_000));
    /// let mut comparison = Comparison::default();
    /// comparison.functions.push(difference);
    /// let [functions, paths] = comparison.tables();
    /// assert_eq!(functions.cell(0, "function"), Some(Cell::Text("solve")));
    /// assert_eq!(functions.text_of(0, "more time lost"), "4.00 us");
    /// assert_eq!(paths.rows(), 0);
    /// ```
    pub fn tables(&self) -> [Table; 2] {
        let sides =
            |table: Table, all: &[Difference], prefix: &str, of: fn(&Difference) -> &Side| {
                let name = |name: &str| format!("{prefix}{name}");
                let sides = || all.iter().map(of);
                table
                    .unsigned(name("anomalies"), "", sides().map(|it| it.anomalies))
                    .unsigned(name("too fast"), "", sides().map(|it| it.too_fast))
                    .times(name("time lost"), sides().map(|it| it.time_lost))
                    .times(name("waiting"), sides().map(|it| it.waiting))
                    .floats(name("highest score"), "", sides().map(|it| it.score))
            };
        let table = |table: Table, heading: &'static str, all: &[Difference]| {
            let table = table
                .unsigned("program", "", all.iter().map(|it| it.program))
                .text(heading, all.iter().map(|it| it.name.as_str()));
            let table = sides(table, all, "", |it| &it.one);
            let table = sides(table, all, "other ", |it| &it.other);
            let more = all.iter().map(Difference::more_time_lost);
            table.times("more time lost", more)
        };
        let functions = Table::new("functions", "Anomalies of two runs by function.");
        let paths = Table::new("call paths", "Anomalies of two runs by call path.");
        [
            table(functions, "function", &self.functions),
            table(paths, "call path", &self.paths),
        ]
    }
}

/// Returns a table of named counts.
fn counts(table: Table, counts: &[(&'static str, &'static str, u64)]) -> Table {
    table
        .text("count of", counts.iter().map(|it| it.0))
        .unsigned("count", "", counts.iter().map(|it| it.2))
        .text("unit", counts.iter().map(|it| it.1))
}

impl Reduction {
    /// Returns the counts as a table: `count of`, `count`, and `unit`, `B` for bytes.
    ///
    /// ```
    /// use perf_anomaly::provenance::Reduction;
    /// use perf_core::Cell;
    /// let mut all = Reduction::default();
    /// all.raw_bytes = 9_600_000;
    /// assert_eq!(all.table().cell(0, "count"), Some(Cell::Unsigned(9_600_000)));
    /// ```
    pub fn table(&self) -> Table {
        let table = Table::new("reduction", "Events and anomalies that were kept.");
        counts(
            table,
            &[
                ("raw bytes of events", "B", self.raw_bytes),
                ("bytes kept", "B", self.kept_bytes),
                ("anomalies", "", self.anomalies),
                ("anomalies recorded", "", self.recorded),
                ("normal executions recorded", "", self.normals),
                ("anomalies dropped by a filter", "", self.filtered),
                ("anomalies not among the worst", "", self.not_among_worst),
                ("entries over the budget", "", self.over_budget),
                ("records lost", "", self.lost),
            ],
        )
    }
}

impl Pruned {
    /// Returns the counts as a table: `count of`, `count`, and `unit`, `B` for bytes.
    ///
    /// ```
    /// use perf_anomaly::provenance::Pruned;
    /// use perf_core::Cell;
    /// let mut pruned = Pruned::default();
    /// pruned.normal_after_all = 4;
    /// assert_eq!(pruned.table().cell(1, "count"), Some(Cell::Unsigned(4)));
    /// ```
    pub fn table(&self) -> Table {
        let table = Table::new("pruned", "Records that were judged again.");
        counts(
            table,
            &[
                ("records kept", "", self.kept),
                ("anomalies that are normal", "", self.normal_after_all),
                (
                    "normal executions that are abnormal",
                    "",
                    self.abnormal_after_all,
                ),
                ("anomalies not among the worst", "", self.not_among_worst),
                ("entries over the budget", "", self.over_budget),
                ("records of unknown functions", "", self.unknown),
                ("anomalies recorded", "", self.recorded),
                ("normal executions recorded", "", self.normals),
                ("bytes kept", "B", self.bytes),
            ],
        )
    }
}
