//! Tables of [`Devices`] (work, overlap, causes of idle time, streams, gaps), of [`Hta`] results and of
//! [`DeviceCopies`].

use super::{Cause, Device, DeviceCopies, Devices, Hta, Work};
use crate::table::percent;
use crate::{Line, Utilisation};
use perf_core::{Clock, Column, Definitions, Nanos, Table};

impl Devices {
    /// Returns the devices as six tables, in this order. Times cover the window of each device.
    ///
    /// | column of `devices` | type | meaning |
    /// |---|---|---|
    /// | `device` | text | name, preceded by the name of its process if several devices have this name |
    /// | `rank` | unsigned | rank that drives the device, if known |
    /// | `streams` | unsigned | number of streams |
    /// | `start` | time | begin of the window |
    /// | `span`, `busy`, `utilisation`, ... | | the columns of [`Utilisation::table`] |
    /// | `idle` | time | span without the busy time |
    /// | `events` | unsigned | pieces of work |
    /// | `instants` | unsigned | pieces of work of zero length |
    /// | `unlinked` | unsigned | pieces of work without a link to their launch |
    ///
    /// | column of `work` | type | meaning |
    /// |---|---|---|
    /// | `device` | text | as above |
    /// | `work` | text | kind of work, see [`Work`] |
    /// | `events` | unsigned | pieces of that kind |
    /// | `busy` | time | time in which work of that kind is open |
    /// | `share` | float, % | its share of the span |
    ///
    /// | column of `overlap of work` | type | meaning |
    /// |---|---|---|
    /// | `device`, `work`, `other work` | text | a device and two kinds of work |
    /// | `time` | time | time in which work of both kinds is open |
    /// | `share` | float, % | its share of the time in which work of the first kind is open |
    ///
    /// | column of `idle causes` | type | meaning |
    /// |---|---|---|
    /// | `device` | text | as above |
    /// | `cause` | text | cause of idle time, see [`Cause`] |
    /// | `time` | time | idle time of that cause |
    /// | `share of idle`, `share of span` | float, % | its share of all idle time, and of the span |
    ///
    /// | column of `streams` | type | meaning |
    /// |---|---|---|
    /// | `device` | text | as above |
    /// | `stream` | text | label of the location |
    /// | `events` | unsigned | pieces of work |
    /// | `busy` | time | time in which work is open |
    /// | `share` | float, % | its share of the span |
    ///
    /// | column of `gaps` | type | meaning |
    /// |---|---|---|
    /// | `device` | text | as above |
    /// | `gap` | unsigned | number of the gap on its device, starting at 0 |
    /// | `start`, `end`, `duration` | time | part of the gap that has one cause |
    /// | `cause` | text | cause of this part |
    ///
    /// The table of gaps has no rows unless
    /// [`DeviceParams::keep_gaps`](super::DeviceParams::keep_gaps) is set. Kinds of work, overlaps
    /// and causes that do not occur on a device are skipped.
    ///
    /// ```
    /// use perf_core::{Cell, Job};
    /// use perf_fold::{DeviceParams, Devices};
    /// let trace = perf_core::samples::device::trace();
    /// let devices = Devices::new(trace.view(), &DeviceParams::new().keep_gaps(true), &Job::default())?;
    /// let [devices, work, overlap, causes, streams, gaps] = devices.tables(trace.definitions());
    /// assert_eq!(devices.text_of(0, "utilisation"), "70 %");
    /// assert_eq!(work.cell(0, "work"), Some(Cell::Text("compute")));
    /// let longest = causes.sorted_by("time", true);
    /// assert_eq!(longest.cell(0, "cause"), Some(Cell::Text("host_late")));
    /// assert_eq!(longest.text_of(0, "share of idle"), "50.0 %");
    /// assert_eq!((streams.rows(), gaps.rows()), (2, 3));
    /// assert!(overlap.rows() > 0);
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    pub fn tables(&self, definitions: &Definitions) -> [Table; 6] {
        let names = self.names(definitions);
        let of = Named {
            all: self.devices.iter().zip(&names).collect(),
            clock: definitions.clock,
        };
        [
            of.devices(),
            of.work(),
            of.overlap(),
            of.causes(),
            of.streams(definitions),
            of.gaps(),
        ]
    }

    /// Returns device names that are distinct as far as the recording allows.
    fn names(&self, definitions: &Definitions) -> Vec<String> {
        let name = |device: &Device| {
            let same = self.devices.iter().filter(|it| it.name == device.name);
            let process = device.process.and_then(|id| definitions.system.group(id));
            match process {
                Some(process) if same.count() > 1 && process.name != device.name => {
                    format!("{}, {}", process.name, device.name)
                }
                _ => device.name.clone(),
            }
        };
        self.devices.iter().map(name).collect()
    }
}

/// Rows for the tables: devices with their names.
struct Named<'a> {
    /// Devices and their names.
    all: Vec<(&'a Device, &'a String)>,
    /// Clock of the recording.
    clock: Clock,
}

impl Named<'_> {
    fn time(&self, ticks: u64) -> Option<Nanos> {
        self.clock.duration(ticks)
    }

    /// Returns the rows of a table, each with its device and the name of the device.
    fn rows<'a, T, I: IntoIterator<Item = T>>(
        &'a self,
        of: impl Fn(&'a Device) -> I,
    ) -> Vec<(&'a Device, &'a str, T)> {
        let rows = self.all.iter().flat_map(|(device, name)| {
            let rows = of(device).into_iter();
            rows.map(move |row| (*device, name.as_str(), row))
        });
        rows.collect()
    }

    fn devices(&self) -> Table {
        let all = || self.all.iter().map(|(device, _)| *device);
        let named = self
            .all
            .iter()
            .map(|(it, name)| (name.as_str(), &it.utilisation));
        let utilisation = Utilisation::table("device", named, self.clock);
        let starts = all().map(|it| self.clock.nanos(it.window.start));
        let table = Table::new("devices", "Busy time of devices.")
            .text("device", self.all.iter().map(|(_, name)| name.as_str()))
            .unsigned("rank", "", all().map(|it| it.rank))
            .unsigned("streams", "", all().map(|it| it.streams.len()))
            .times("start", starts);
        let columns = utilisation.columns().iter().skip(1).cloned();
        columns
            .fold(table, Table::with)
            .times("idle", all().map(|it| self.time(it.all_idle())))
            .unsigned("events", "", all().map(|it| it.events))
            .unsigned("instants", "", all().map(|it| it.instants))
            .unsigned("unlinked", "", all().map(|it| it.unlinked))
    }

    fn work(&self) -> Table {
        let rows = self.rows(|device| {
            let occurs = |work: &Work| device.count(*work) > 0;
            Work::ALL.into_iter().filter(occurs)
        });
        let busy = rows.iter().map(|(it, _, work)| self.time(it.busy(*work)));
        let share =
            |(it, _, work): &(&Device, _, Work)| percent(it.busy(*work), it.utilisation.span);
        let events = rows.iter().map(|(it, _, work)| it.count(*work));
        Table::new("work", "Busy time of devices by kind of work.")
            .text("device", rows.iter().map(|row| row.1))
            .text("work", rows.iter().map(|row| row.2.name()))
            .unsigned("events", "", events)
            .times("busy", busy)
            .floats("share", "%", rows.iter().map(share))
    }

    fn overlap(&self) -> Table {
        let rows = self.rows(|device| {
            let pairs = Work::ALL
                .into_iter()
                .flat_map(|one| Work::ALL.map(|other| (one, other)));
            pairs.filter(|(one, other)| one != other && device.both(*one, *other) > 0)
        });
        let times = rows
            .iter()
            .map(|(it, _, (one, other))| self.time(it.both(*one, *other)));
        let shares = rows
            .iter()
            .map(|(it, _, (one, other))| percent(it.both(*one, *other), it.busy(*one)));
        Table::new(
            "overlap of work",
            "Time in which work of two kinds is open.",
        )
        .text("device", rows.iter().map(|row| row.1))
        .text("work", rows.iter().map(|row| row.2.0.name()))
        .text("other work", rows.iter().map(|row| row.2.1.name()))
        .times("time", times)
        .floats("share", "%", shares)
    }

    fn causes(&self) -> Table {
        let rows = self.rows(|device| {
            let occurs = |cause: &Cause| device.idle(*cause) > 0;
            Cause::ALL.into_iter().filter(occurs)
        });
        let times = rows.iter().map(|(it, _, cause)| self.time(it.idle(*cause)));
        let of_idle = rows
            .iter()
            .map(|(it, _, cause)| percent(it.idle(*cause), it.all_idle()));
        let of_span = rows
            .iter()
            .map(|(it, _, cause)| percent(it.idle(*cause), it.utilisation.span));
        Table::new("idle causes", "Idle time of devices by cause.")
            .text("device", rows.iter().map(|row| row.1))
            .text("cause", rows.iter().map(|row| row.2.name()))
            .times("time", times)
            .floats("share of idle", "%", of_idle)
            .floats("share of span", "%", of_span)
    }

    fn streams(&self, definitions: &Definitions) -> Table {
        let rows = self.rows(|device| device.streams.iter());
        let labels = rows
            .iter()
            .map(|row| definitions.system.label(row.2.location));
        let shares = rows
            .iter()
            .map(|(it, _, stream)| percent(stream.busy, it.utilisation.span));
        Table::new("streams", "Busy time of the streams of devices.")
            .text("device", rows.iter().map(|row| row.1))
            .text("stream", labels)
            .unsigned("events", "", rows.iter().map(|row| row.2.events))
            .times("busy", rows.iter().map(|row| self.time(row.2.busy)))
            .floats("share", "%", shares)
    }

    fn gaps(&self) -> Table {
        let rows = self.rows(|device| {
            let gaps = device.gaps.iter().enumerate();
            gaps.flat_map(|(at, gap)| gap.parts().map(move |(cause, range)| (at, cause, range)))
        });
        let starts = rows.iter().map(|row| self.clock.nanos(row.2.2.start));
        let ends = rows.iter().map(|row| self.clock.nanos(row.2.2.end));
        let durations = rows.iter().map(|row| self.time(row.2.2.len()));
        Table::new("gaps", "Time without work on devices, by cause.")
            .text("device", rows.iter().map(|row| row.1))
            .unsigned("gap", "", rows.iter().map(|row| row.2.0))
            .times("start", starts)
            .times("end", ends)
            .times("duration", durations)
            .text("cause", rows.iter().map(|row| row.2.1.name()))
    }
}

impl Hta {
    /// Returns the breakdown of each rank as a table.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `rank` | unsigned | rank, if known |
    /// | `total` | time | from the begin of the first work to the end of the last work |
    /// | `busy`, `idle` | time | time with and without work |
    /// | `compute` | time | time in which a kernel computes |
    /// | `non-compute` | time | time of copies and communication during which no kernel computes |
    /// | `utilisation` | float, % | share of the busy time |
    /// | `events` | unsigned | pieces of work that count |
    /// | `skipped events` | unsigned | pieces of work that do not count |
    /// | `steps` | unsigned | number of distinct names of profiler steps in the recording |
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_fold::{Hta, HtaParams};
    /// let trace = perf_core::samples::device::trace();
    /// let ranks = Hta::of(trace.view(), &HtaParams::default().round_inwards(false), &Job::default())?;
    /// let table = Hta::table(&ranks);
    /// assert_eq!((table.text_of(0, "idle"), table.text_of(0, "utilisation")), ("30 ns".into(), "70 %".into()));
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    pub fn table(ranks: &[Hta]) -> Table {
        let times = |name: &'static str, of: fn(&Hta) -> i64| {
            Column::times(name, ranks.iter().map(|rank| Nanos(of(rank))))
        };
        let counts = |name: &'static str, of: fn(&Hta) -> u64| {
            Column::unsigned(name, "", ranks.iter().map(of))
        };
        let utilisation = ranks
            .iter()
            .map(|rank| (rank.total != 0).then(|| 100.0 * rank.utilisation()));
        Table::new(
            "ranks",
            "Time of ranks, divided as in Holistic Trace Analysis.",
        )
        .unsigned("rank", "", ranks.iter().map(|rank| rank.rank))
        .with(times("total", |rank| rank.total))
        .with(times("busy", Hta::busy))
        .with(times("idle", |rank| rank.idle))
        .with(times("compute", |rank| rank.compute))
        .with(times("non-compute", |rank| rank.non_compute))
        .floats("utilisation", "%", utilisation)
        .with(counts("events", |rank| rank.events))
        .with(counts("skipped events", |rank| rank.left_out))
        .with(counts("steps", |rank| rank.steps as u64))
    }
}

impl DeviceCopies {
    /// Returns two tables: the copies as [`Line::table`], and the number of copies without a line.
    /// The second table has the columns `reason` (`not between host and device`, `direction
    /// unknown` or `launch unknown`) and `copies`, the number of such copies.
    ///
    /// ```
    /// use perf_core::{Cell, Job};
    /// use perf_fold::{WorkRules, device_copies};
    /// let trace = perf_core::samples::device::trace();
    /// let found = device_copies(trace.view(), &WorkRules::default(), &Job::default())?;
    /// let [copies, others] = found.tables(trace.definitions());
    /// assert_eq!(copies.text_of(0, "bytes"), "4 096 B");
    /// assert_eq!(others.cell(2, "copies"), Some(Cell::Unsigned(0)));
    /// # Ok::<(), perf_core::Cancelled>(())
    /// ```
    pub fn tables(&self, definitions: &Definitions) -> [Table; 2] {
        let others = [
            ("not between host and device", self.elsewhere),
            ("direction unknown", self.unknown),
            ("launch unknown", self.unlinked),
        ];
        let others = Table::new("copies without a line", "Copies without a line.")
            .text("reason", others.map(|(reason, _)| reason))
            .unsigned("copies", "", others.map(|(_, count)| count));
        [Line::table(&self.lines, definitions), others]
    }
}
