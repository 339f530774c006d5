//! Tables of folds, of the usage of rows, of counted states and of messages.

use crate::{
    Cell, Classes, Column, Fold, Folder, Line, Lines, Result, Tally, Traffic, Usage, Utilisation,
    Value,
};
use perf_core::{Clock, Column as Of, Definitions, Job, Table};

/// Returns the share in per cent, or a missing cell if `whole` is 0.
pub(crate) fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

impl Fold {
    /// Returns the cells as a table, row after row from the top.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `row` | text | label of the row |
    /// | `time` | time | centre of the pixel |
    /// | `shown` | text | `class`, `idle`, `uniform`, `differs` or `number`, see [`Value`] |
    /// | `state` | text | class that the cell shows, or `idle`; missing for uniform cells and numbers |
    /// | `value` | float | number, for operations that compute a number; otherwise missing |
    /// | `agreement` | float, % | share of `counted` that is in the shown state |
    /// | `distinct states` | unsigned | number of states that occur, including idle |
    /// | `counted` | unsigned | streams when sampled, stream-ticks when exact |
    /// | `idle`, `absent` | unsigned | parts of `counted` that are idle and absent; dropped absent streams are not in `counted` |
    ///
    /// ```
    /// use perf_core::{Cell, Job};
    /// use perf_fold::{Folder, GroupBy, Groups, RegionMap, Timelines};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let job = Job::default();
    /// let timelines = Timelines::new(trace.view(), &RegionMap::by_name(trace.definitions())?, &job)?;
    /// let groups = Groups::by(&timelines, GroupBy::Node);
    /// let folder = Folder::new(&timelines, groups, Folder::params().columns(100).check()?)?;
    /// let fold = folder.fold(timelines.range(), &job)?;
    /// let table = fold.table(&job)?;
    /// assert_eq!(table.rows(), 4 * 100);
    /// assert_eq!(table.cell(0, "shown"), Some(Cell::Text("class")));
    /// assert_eq!(table.cell(0, "counted"), Some(Cell::Unsigned(10)));
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn table(&self, job: &Job) -> Result<Table> {
        let cells = || self.rows().flat_map(|row| row.cells().iter());
        let columns = self.columns();
        let labels = self
            .rows()
            .flat_map(|row| std::iter::repeat_n(row.label(), columns));
        let rows = self.rows().count();
        let times = (0..rows).flat_map(|_| (0..columns).map(|column| self.time(column)));
        let (phase, total) = ("cells of a table", (10 * rows * columns) as u64);
        let shown = cells().map(|cell| match cell.value {
            Value::Idle => "idle",
            Value::Class(_) => "class",
            Value::Uniform => "uniform",
            Value::Differs(_) | Value::DiffersIdle => "differs",
            Value::Number(_) => "number",
        });
        let state = cells().map(|cell| match cell.value {
            Value::Idle | Value::DiffersIdle => Some("idle"),
            value => value.picture().map(|class| self.classes().name(class)),
        });
        let agreement = cells().map(|cell| percent(cell.winning, cell.total));
        let value = cells().map(|it| it.value.number());
        let count = |name: &'static str, of: fn(&Cell) -> u64| {
            Of::unsigned(name, "", job.watch(phase, total, cells().map(of)))
        };
        let columns = [
            Of::text("row", job.watch(phase, total, labels)),
            Of::times("time", job.watch(phase, total, times)),
            Of::text("shown", job.watch(phase, total, shown)),
            Of::text("state", job.watch(phase, total, state)),
            Of::floats("value", "", job.watch(phase, total, value)),
            Of::floats("agreement", "%", job.watch(phase, total, agreement)),
            count("distinct states", |it| it.distinct.into()),
            count("counted", |it| it.total),
            count("idle", |it| it.idle),
            count("absent", |it| it.absent),
        ];
        job.check()?;
        let table = Table::new("cells", "Cells of a folded timeline.");
        Ok(columns.into_iter().fold(table, Table::with))
    }
}

impl Utilisation {
    /// Returns utilisations as a table with a row for each name.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | the value of `heading` | text | name |
    /// | `span` | time | length of the window |
    /// | `busy` | time | time in which at least one stream is busy |
    /// | `utilisation` | float, % | its share of the span |
    /// | `overlap` | time | time in which more than one stream is busy |
    /// | `overlap share` | float, % | its share of the span |
    /// | `stream time` | time | sum of the busy times of the streams |
    /// | `mean concurrency` | float | mean number of busy streams |
    /// | `busy intervals` | unsigned | number of intervals of the busy time |
    ///
    /// ```
    /// use perf_core::{Cell, Clock, Ticks, TimeRange};
    /// use perf_fold::Utilisation;
    /// let range = |start, end| TimeRange { start: Ticks(start), end: Ticks(end) };
    /// let found = Utilisation::of([range(0, 4), range(2, 6), range(8, 9)], range(0, 10));
    /// let table = Utilisation::table("device", [("gpu 0", &found)], Clock::default());
    /// assert_eq!(table.cell(0, "device"), Some(Cell::Text("gpu 0")));
    /// assert_eq!(table.text_of(0, "busy"), "7 ns");
    /// assert_eq!(table.text_of(0, "utilisation"), "70 %");
    /// ```
    pub fn table<'a>(
        heading: &'static str,
        named: impl IntoIterator<Item = (&'a str, &'a Utilisation)>,
        clock: Clock,
    ) -> Table {
        let named: Vec<_> = named.into_iter().collect();
        let names = named.iter().map(|(name, _)| *name);
        let all = || named.iter().map(|(_, one)| *one);
        let times = |name: &'static str, of: fn(&Utilisation) -> u64| {
            Of::times(name, all().map(|one| clock.duration(of(one))))
        };
        let shares = |name: &'static str, of: fn(&Utilisation) -> u64| {
            Of::floats(name, "%", all().map(|one| percent(of(one), one.span)))
        };
        let concurrency = all().map(|one| (one.span > 0).then(|| one.mean_concurrency()));
        Table::new("utilisation", "Busy time of streams over a window.")
            .with(Of::text(heading, names))
            .with(times("span", |one| one.span))
            .with(times("busy", |one| one.busy))
            .with(shares("utilisation", |one| one.busy))
            .with(times("overlap", |one| one.overlap))
            .with(shares("overlap share", |one| one.overlap))
            .with(times("stream time", |one| one.stream_time))
            .with(Of::floats("mean concurrency", "", concurrency))
            .with(Of::unsigned(
                "busy intervals",
                "",
                all().map(|one| one.intervals),
            ))
    }
}

impl Usage {
    /// Returns the time in each state as a table, in descending order.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `row` | text | name of the row |
    /// | `state` | text | class, `idle` or `absent` |
    /// | `time` | time | time of all streams in that state |
    /// | `share` | float, % | its share of the time of all streams |
    ///
    /// ```
    /// use perf_core::{Cell, Job};
    /// use perf_fold::{RegionMap, Timelines, Usage};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let job = Job::default();
    /// let timelines = Timelines::new(trace.view(), &RegionMap::by_name(trace.definitions())?, &job)?;
    /// let usage = Usage::of(&timelines, &[0, 1, 2], timelines.range(), &job)?;
    /// let table = Usage::table([("first three", &usage)], timelines.classes(), timelines.clock());
    /// assert_eq!(table.rows(), usage.times.len());
    /// assert_eq!(table.cell(0, "row"), Some(Cell::Text("first three")));
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    pub fn table<'a>(
        named: impl IntoIterator<Item = (&'a str, &'a Usage)>,
        classes: &Classes,
        clock: Clock,
    ) -> Table {
        let named: Vec<_> = named.into_iter().collect();
        let rows = || {
            named.iter().flat_map(|(name, usage)| {
                let shares = usage.shares().map(|(_, share)| share);
                let times = usage.times.iter().zip(shares);
                times.map(move |((state, time), share)| (*name, *state, *time, share))
            })
        };
        let states = rows().map(|(_, state, _, _)| classes.state_name(state));
        let times = rows().map(|(_, _, time, _)| clock.duration(time));
        let shares = rows().map(|(_, _, _, share)| 100.0 * share);
        Table::new("states", "Time of streams in each state.")
            .with(Of::text("row", rows().map(|(name, ..)| name)))
            .with(Of::text("state", states))
            .with(Of::times("time", times))
            .with(Of::floats("share", "%", shares))
    }
}

impl Folder {
    /// Returns the usage of the rows, computed by [`usage`](Self::usage), as two tables:
    /// [`Utilisation::table`] with the columns `row`, `busy share`, which is
    /// [`Usage::busy_share`] in per cent, and `without states`, the number of streams that are in
    /// no share; and [`Usage::table`].
    ///
    /// ```
    /// use perf_core::{Cell, Job};
    /// use perf_fold::{Folder, GroupBy, Groups, RegionMap, Timelines};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let job = Job::default();
    /// let timelines = Timelines::new(trace.view(), &RegionMap::by_name(trace.definitions())?, &job)?;
    /// let groups = Groups::by(&timelines, GroupBy::Node);
    /// let folder = Folder::new(&timelines, groups, Default::default())?;
    /// let usage = folder.usage(timelines.range(), &job)?;
    /// let [utilisation, states] = folder.usage_tables(&usage);
    /// assert_eq!((utilisation.rows(), utilisation.name()), (4, "utilisation"));
    /// assert!(states.rows() > 4);
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    pub fn usage_tables(&self, usage: &[Usage]) -> [Table; 2] {
        let (groups, timelines) = (self.groups(), self.timelines());
        let label = |id: &crate::GroupId| groups.get(*id).map_or("", |group| group.label.as_str());
        let named = || groups.rows().iter().map(label).zip(usage);
        let utilisation = named().map(|(name, usage)| (name, &usage.utilisation));
        let kinds = groups
            .rows()
            .iter()
            .map(|id| groups.get(*id).map(|group| group.kind));
        let busy = kinds.zip(usage).map(|(kind, usage)| {
            let share = usage.busy_share(kind.unwrap_or_default());
            (usage.utilisation.span > 0).then_some(100.0 * share)
        });
        let without_states = usage.iter().map(|usage| usage.without_states as u64);
        [
            Utilisation::table("row", utilisation, timelines.clock())
                .with(Of::floats("busy share", "%", busy))
                .with(Of::unsigned("without states", "", without_states)),
            Usage::table(named(), timelines.classes(), timelines.clock()),
        ]
    }
}

impl Tally {
    /// Returns the counted states as a table.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `state` | text | class, `idle` or `absent` |
    /// | `counted` | unsigned | streams when sampled, stream-ticks when exact |
    /// | `share` | float, % | its share of the sum of all states |
    /// | `first stream` | unsigned | lowest number of a stream in that state |
    ///
    /// ```
    /// use perf_core::{Cell, Job};
    /// use perf_fold::{Classes, State, Tally};
    /// let mut classes = Classes::default();
    /// let mut tally = Tally::default();
    /// tally.add(State::Class(classes.add("solve")?), 3, 1);
    /// tally.add(State::Idle, 1, 0);
    /// let table = tally.table(&classes);
    /// assert_eq!(table.cell(0, "state"), Some(Cell::Text("solve")));
    /// assert_eq!(table.text_of(0, "share"), "75 %");
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    pub fn table(&self, classes: &Classes) -> Table {
        let entries = || self.entries().iter();
        let all: u128 = entries().map(|entry| u128::from(entry.weight)).sum();
        let share = entries().map(|entry| 100.0 * entry.weight as f64 / all as f64);
        let states = entries().map(|entry| classes.state_name(entry.state));
        Table::new("states", "States of the streams of one cell.")
            .with(Of::text("state", states))
            .with(Of::unsigned("counted", "", entries().map(|it| it.weight)))
            .with(Of::floats("share", "%", share))
            .with(Of::unsigned(
                "first stream",
                "",
                entries().map(|it| it.first),
            ))
    }
}

impl Line {
    /// Returns messages as a table.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `sender`, `receiver` | text | label of the location |
    /// | `sent`, `received` | time | begin and end of the message |
    /// | `duration` | time | `received` minus `sent`, negative if the clocks disagree |
    /// | `bytes` | unsigned, B | length |
    ///
    /// ```
    /// use perf_core::{Cell, Definitions, LocationId, Ticks};
    /// use perf_fold::Line;
    /// let definitions = perf_core::samples::cosmo::trace().definitions().clone();
    /// let (from, to) = (LocationId(0), LocationId(1));
    /// let line = Line { from, sent: Ticks(5), to, received: Ticks(9), bytes: 64 };
    /// let table = Line::table(&[line], &definitions);
    /// assert_eq!(table.cell(0, "bytes"), Some(Cell::Unsigned(64)));
    /// assert_eq!(table.text_of(0, "sender"), definitions.system.label(from));
    /// ```
    pub fn table(lines: &[Line], definitions: &Definitions) -> Table {
        let (clock, system) = (&definitions.clock, &definitions.system);
        let durations = lines.iter().map(|line| {
            let (sent, received) = (clock.nanos(line.sent)?, clock.nanos(line.received)?);
            received.checked_sub(sent)
        });
        let sent = lines.iter().map(|line| clock.nanos(line.sent));
        let received = lines.iter().map(|line| clock.nanos(line.received));
        Table::new("messages", "Messages between locations.")
            .with(Of::text(
                "sender",
                lines.iter().map(|it| system.label(it.from)),
            ))
            .with(Of::text(
                "receiver",
                lines.iter().map(|it| system.label(it.to)),
            ))
            .with(Of::times("sent", sent))
            .with(Of::times("received", received))
            .with(Of::times("duration", durations))
            .with(Of::unsigned("bytes", "B", lines.iter().map(|it| it.bytes)))
    }
}

impl Lines {
    /// Returns two tables: the bundles of messages, and the number of messages without a line.
    /// `fold` must have the window for which the lines were computed.
    ///
    /// | column of `bundles` | type | meaning |
    /// |---|---|---|
    /// | `sender`, `receiver` | text | label of the row |
    /// | `sent in`, `received in` | text | `window`, or `before` or `after` the window |
    /// | `sent`, `received` | time | begin of the pixel, missing outside of the window |
    /// | `messages` | unsigned | number of messages |
    /// | `bytes` | unsigned, B | total length of the messages |
    ///
    /// | column of `messages without a line` | type | meaning |
    /// |---|---|---|
    /// | `reason` | text | `within one row`, `outside of the window` or `location in no row` |
    /// | `messages`, `bytes` | unsigned | as above |
    ///
    /// ```
    /// use perf_core::{Cell, Job, LocationId, Ticks};
    /// use perf_fold::{Folder, GroupBy, Groups, Line, RegionMap, Timelines};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let job = Job::default();
    /// let timelines = Timelines::new(trace.view(), &RegionMap::by_name(trace.definitions())?, &job)?;
    /// let groups = Groups::by(&timelines, GroupBy::Process);
    /// let folder = Folder::new(&timelines, groups, Folder::params().columns(100).check()?)?;
    /// let window = timelines.range();
    /// let (from, sent) = (LocationId(0), Ticks(0));
    /// let message = |to| Line { from, sent, to: LocationId(to), received: Ticks(5), bytes: 8 };
    /// let lines = folder.lines(window, [message(1), message(1), message(0)]);
    /// let [bundles, others] = lines.tables(&folder.fold(window, &job)?);
    /// assert_eq!(bundles.cell(0, "messages"), Some(Cell::Unsigned(2)));
    /// assert_eq!(bundles.text_of(0, "receiver"), "MPI Rank 1");
    /// assert_eq!(others.cell(0, "messages"), Some(Cell::Unsigned(1)));
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    pub fn tables(&self, fold: &Fold) -> [Table; 2] {
        let ends = || self.bundles.keys();
        let traffic = || self.bundles.values();
        let label = |row: u32| fold.row(row as usize).map_or("", |row| row.label());
        let part = |column: Column| match column {
            Column::Before => "before",
            Column::At(_) => "window",
            Column::After => "after",
        };
        let clock = fold.clock();
        let time = |column: Column| match column {
            Column::At(pixel) => clock.nanos(*fold.edges().get(pixel as usize)?),
            Column::Before | Column::After => None,
        };
        let bundles = Table::new("bundles", "Messages between rows, by row and pixel.")
            .with(Of::text("sender", ends().map(|it| label(it.from_row))))
            .with(Of::text("receiver", ends().map(|it| label(it.to_row))))
            .with(Of::text("sent in", ends().map(|it| part(it.from))))
            .with(Of::times("sent", ends().map(|it| time(it.from))))
            .with(Of::text("received in", ends().map(|it| part(it.to))))
            .with(Of::times("received", ends().map(|it| time(it.to))))
            .with(Of::unsigned("messages", "", traffic().map(|it| it.count)))
            .with(Of::unsigned("bytes", "B", traffic().map(|it| it.bytes)));
        let others: [(&str, Traffic); 3] = [
            ("within one row", self.inside),
            ("outside of the window", self.outside),
            ("location in no row", self.elsewhere),
        ];
        let others = Table::new("messages without a line", "Messages without a line.")
            .with(Of::text("reason", others.map(|(reason, _)| reason)))
            .with(Of::unsigned("messages", "", others.map(|(_, it)| it.count)))
            .with(Of::unsigned("bytes", "B", others.map(|(_, it)| it.bytes)));
        [bundles, others]
    }
}
