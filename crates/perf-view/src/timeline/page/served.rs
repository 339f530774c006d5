//! [`Served`]: server side of a timeline page: folds the [`Part`] that the page requests and
//! returns cells, messages, shares and counters as JSON.

use super::data::rounded;
use super::overlays::{Links, MOST_LINKS, Shown, Size, sizes};
use super::pyramid::{Codes, Node, Plan};
use crate::timeline::counters::{Tracks, TracksData};
use crate::timeline::picture::busy_share;
use crate::timeline::{legend, message_bundles};
use crate::{Error, Palette, Result, Theme};
use perf_core::{Job, TimeRange};
use perf_fold::{
    Counter, FoldParams, Folder, GroupId, Groups, Line, MessageSizes, Op, Timelines, Usage,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// Timeline of a page that asks a server for the cells of the visible part, so that it is exact at
/// every zoom. [`View::served`](super::View::served) creates it together with the section.
///
/// The server folds exactly the window, columns and rows on the screen. Cells equal those of
/// [`Folder::fold`] with the same window and number of columns.
#[derive(Debug)]
pub struct Served {
    /// States of all streams.
    pub(super) timelines: Timelines,
    /// Groups of streams.
    pub(super) groups: Groups,
    /// Groups that the page can show. The first `roots` of them are its rows.
    pub(super) nodes: Vec<Node>,
    /// Number of nodes that no other node unfolds into.
    pub(super) roots: usize,
    /// Kinds of rows of the legend.
    pub(super) parts: Vec<legend::Part>,
    /// Window of the page with the usage of each node, for the requests of the whole window.
    pub(super) whole: (TimeRange, Vec<Usage>),
    /// Operations of the page.
    pub(super) ops: Vec<Option<Op>>,
    /// Codes of states.
    pub(super) codes: Codes,
    /// Colours of states.
    pub(super) palette: Palette,
    /// Messages; empty until they are added.
    pub(super) messages: OnceLock<Sent>,
    /// Sentences above the rows; empty until they are added.
    pub(super) remarks: OnceLock<Vec<String>>,
    /// `true` if the reference of busy shares is the span of the row.
    pub(super) has_own_spans: bool,
    /// Rules of all folds.
    pub(super) rules: FoldParams,
    /// Begin of the page in nanoseconds.
    pub(super) start: i64,
    /// Counters below the rows.
    pub(super) counters: Vec<Counter>,
}

/// Messages of a served timeline.
#[derive(Debug)]
pub(super) struct Sent {
    /// Messages in the order of sending.
    lines: Vec<Line>,
    /// Longest time between the ends of a message, in ticks.
    longest: u64,
}

impl Sent {
    pub(super) fn of(mut lines: Vec<Line>) -> Self {
        lines.sort_by_key(|line| line.sent);
        let length = |line: &Line| line.sent.0.abs_diff(line.received.0);
        let longest = lines.iter().map(length).max().unwrap_or(0);
        Sent { lines, longest }
    }

    /// Returns the messages that may overlap a window: those sent at most the longest duration before
    /// or after it.
    fn near(&self, window: TimeRange) -> &[Line] {
        let first = window.start.0.saturating_sub(self.longest);
        let last = window.end.0.saturating_add(self.longest);
        let from = self.lines.partition_point(|line| line.sent.0 < first);
        let to = self.lines.partition_point(|line| line.sent.0 <= last);
        // Empty if the window ends before it starts.
        self.lines.get(from..to).unwrap_or_default()
    }
}

/// Part of a [served](Served) timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Time window.
    pub window: TimeRange,
    /// Number of columns, from 1 to [`Part::MOST_COLUMNS`].
    pub columns: usize,
    /// Index of the operation in the page.
    pub op: usize,
    /// Rows by their numbers in the page, at most [`Part::MOST_ROWS`].
    pub rows: Vec<usize>,
}

impl Part {
    /// Largest number of columns.
    pub const MOST_COLUMNS: usize = 8192;
    /// Largest number of rows.
    pub const MOST_ROWS: usize = 512;
}

/// Checks that a number of a request is within its limits.
///
/// # Errors
///
/// Returns [`Error::Outside`] if it is not.
pub(super) fn check_limits(
    what: &'static str,
    (least, most): (usize, usize),
    got: usize,
) -> Result<()> {
    if (least..=most).contains(&got) {
        return Ok(());
    }
    Err(Error::Outside {
        what,
        least,
        most,
        got,
    })
}

/// Largest number of columns of a counter.
const MOST_TRACK_COLUMNS: usize = 2048;

/// Busy share of a row, the states with the most time with their shares, and the share of MPI.
type Shares = (f64, Vec<(String, f64)>, f64);

/// Name, colour, and share of the time of all streams with the time in nanoseconds.
type Entry = (String, Option<String>, Option<(f64, f64)>);

/// Content of a part that the page shows. Times are in nanoseconds since the start of the page.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Cells<'a> {
    from: i64,
    span: i64,
    columns: usize,
    op: usize,
    rows: BTreeMap<usize, String>,
    /// Shares of the rows and of the roots in the window.
    shares: BTreeMap<usize, Shares>,
    /// Heading and entries of each kind of row.
    legend: Vec<(Option<String>, Vec<Entry>)>,
    /// Messages; `None` if the timeline has none, or does not have them yet.
    links: Option<Links>,
    /// `true` if messages are going to be added.
    awaits_links: bool,
    /// Number of messages within a row, and of messages with an end in no row of the part.
    inside: u64,
    elsewhere: u64,
    /// Messages sent in the window by length.
    sizes: Vec<Size>,
    /// Sentences above the rows.
    remarks: &'a [String],
    /// Values of the counters.
    tracks: Vec<TracksData>,
}

impl Served {
    /// Returns the timelines.
    pub fn timelines(&self) -> &Timelines {
        &self.timelines
    }

    /// Adds the messages of a timeline that was created with
    /// [`View::lines_later`](super::View::lines_later). Has no effect if the timeline has its
    /// messages.
    ///
    /// ```
    /// use perf_core::{Job, LocationId, Ticks};
    /// use perf_fold::{GroupBy, Groups, Line, RegionMap, Timelines};
    /// use perf_view::timeline::{Part, View};
    /// # let trace = perf_core::samples::cosmo::trace();
    /// # let map = RegionMap::by_name(trace.definitions())?;
    /// # let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
    /// let groups = Groups::by(&timelines, GroupBy::Process);
    /// let (_, served) = View::new(&timelines, groups).lines_later().served("cells/0", &Job::default())?;
    /// let part = Part { window: timelines.range(), columns: 9, op: 0, rows: vec![0, 1] };
    /// assert!(served.cells(&part, &Job::default())?.contains("\"awaitsLinks\":true"));
    /// let (from, to) = (LocationId(0), LocationId(1));
    /// served.add_lines([Line { from, sent: Ticks(3), to, received: Ticks(5), bytes: 8 }]);
    /// assert!(served.cells(&part, &Job::default())?.contains("\"awaitsLinks\":false"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_lines(&self, lines: impl IntoIterator<Item = Line>) {
        // Only the first messages are kept.
        let _ = self.messages.set(Sent::of(lines.into_iter().collect()));
    }

    /// Adds sentences about the recording, such as about clocks that disagree, which the page shows
    /// above the rows from the next answer on. Has no effect if the timeline has sentences.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_fold::{GroupBy, Groups, RegionMap, Timelines};
    /// use perf_view::timeline::{Part, View};
    /// # let trace = perf_core::samples::cosmo::trace();
    /// # let map = RegionMap::by_name(trace.definitions())?;
    /// # let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
    /// let groups = Groups::by(&timelines, GroupBy::Process);
    /// let (_, served) = View::new(&timelines, groups).served("cells/0", &Job::default())?;
    /// served.add_remarks(vec!["The clocks of the ranks disagree.".into()]);
    /// let part = Part { window: timelines.range(), columns: 9, op: 0, rows: vec![0] };
    /// assert!(served.cells(&part, &Job::default())?.contains("The clocks of the ranks disagree."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_remarks(&self, remarks: Vec<String>) {
        // Only the first sentences are kept.
        let _ = self.remarks.set(remarks);
    }

    /// Folds a part and returns the data for the script of the page as JSON: cells, messages, busy
    /// shares and legend, all of the window.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Empty`] for an empty window.
    /// - Returns [`Error::Outside`] for a number of columns or rows outside of the limits, and for
    ///   an operation or row that the page does not have.
    /// - Returns [`Error::Fold`] if folding fails.
    /// - Returns [`Error::Cancelled`] if the job is cancelled.
    pub fn cells(&self, part: &Part, job: &Job) -> Result<String> {
        let reply = self.reply(part, job)?;
        Ok(serde_json::to_string(&reply).map_err(std::io::Error::from)?)
    }

    fn reply(&self, part: &Part, job: &Job) -> Result<Cells<'_>> {
        let Part {
            window,
            columns,
            op,
            ref rows,
        } = *part;
        if window.is_empty() {
            return Err(Error::Empty { what: "no time" });
        }
        check_limits("columns", (1, Part::MOST_COLUMNS), columns)?;
        check_limits("op", (0, self.ops.len().saturating_sub(1)), op)?;
        check_limits("the number of rows", (0, Part::MOST_ROWS), rows.len())?;
        for row in rows {
            check_limits("a row", (0, self.nodes.len().saturating_sub(1)), *row)?;
        }
        let plan = Plan {
            timelines: &self.timelines,
            groups: &self.groups,
            window,
            nodes: &self.nodes,
            ops: &self.ops,
            codes: &self.codes,
            finest: columns,
            budget: usize::MAX,
            rules: &self.rules,
        };
        let wanted: Vec<usize> = rows
            .iter()
            .copied()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let mut cells = vec![None; self.nodes.len()];
        plan.folded(columns, self.ops[op], &wanted, &mut cells, job)?;
        let cells = wanted
            .iter()
            .filter_map(|row| Some((*row, cells.get_mut(*row)?.take()?)));
        let cells = cells.collect();
        let (shares, usage) = self.shares(window, &wanted, job)?;
        let clock = self.timelines.clock();
        let nanos = |ticks| clock.total(ticks).0 as f64;
        let classes = self.timelines.classes();
        let legend = self.parts.iter().map(|part| {
            let totals = legend::totals(part.rows.iter().filter_map(|row| usage.get(*row)));
            let entries = legend::entries(&totals, classes, &self.palette, &Theme::light(), nanos);
            let entry = |it: legend::Entry| (it.name, it.colour.map(|it| it.to_string()), it.time);
            (
                part.heading.clone(),
                entries.into_iter().map(entry).collect(),
            )
        });
        let legend = legend.collect();
        // Messages that are added from here on are in the next answer.
        let awaits_links = self.messages.get().is_none();
        let (links, [inside, elsewhere]) = self.links(window, &wanted, job)?;
        let from = clock.nanos(window.start).unwrap_or_default();
        let from = from.0.saturating_sub(self.start);
        let span = clock.total(u128::from(window.len())).0;
        let mut tracks = Vec::with_capacity(self.counters.len());
        for counter in &self.counters {
            job.check()?;
            let found = Tracks::of(counter, window, columns.min(MOST_TRACK_COLUMNS));
            tracks.push(found.data(from, span));
        }
        Ok(Cells {
            from,
            span,
            columns,
            op,
            rows: cells,
            shares,
            legend,
            links,
            awaits_links,
            inside,
            elsewhere,
            sizes: self.sizes(window),
            remarks: self.remarks.get().map_or(&[], Vec::as_slice),
            tracks,
        })
    }

    /// Returns the messages sent in a window by length.
    fn sizes(&self, window: TimeRange) -> Vec<Size> {
        let lines = self.messages.get().map_or(&[][..], |it| it.near(window));
        let found = MessageSizes::of(window, lines.iter().copied());
        sizes(&found, self.timelines.clock())
    }

    /// Returns a folder of some rows, for their usage and messages.
    fn folder(&self, rows: impl Iterator<Item = usize>) -> Result<Folder> {
        let ids: Vec<GroupId> = rows
            .filter_map(|row| Some(self.nodes.get(row)?.group))
            .collect();
        let params = Folder::params().columns(1).check()?;
        Ok(Folder::new(
            &self.timelines,
            self.groups.with_rows(&ids)?,
            params,
        )?)
    }

    /// Returns the shares of rows and roots, and the usage of the roots.
    fn shares(
        &self,
        window: TimeRange,
        rows: &[usize],
        job: &Job,
    ) -> Result<(BTreeMap<usize, Shares>, Vec<Usage>)> {
        let others = rows.iter().copied().filter(|row| *row >= self.roots);
        let all: Vec<usize> = (0..self.roots).chain(others).collect();
        let mut usage = if window == self.whole.0 {
            let known = all.iter().filter_map(|row| self.whole.1.get(*row));
            known.cloned().collect()
        } else {
            let folder = self.folder(all.iter().copied())?;
            folder.busy_shares(window, &job.without_progress())?
        };
        let classes = self.timelines.classes();
        let of = |(row, usage): (&usize, &Usage)| {
            let named = legend::named(usage, classes).take(4);
            let named = named.map(|(name, share)| (name.to_owned(), rounded(share)));
            let group = self
                .nodes
                .get(*row)
                .and_then(|node| self.groups.get(node.group));
            let kind = group.map_or_else(Default::default, |it| it.kind);
            let busy = rounded(busy_share(usage, kind, self.has_own_spans));
            let mpi = rounded(legend::mpi_share(usage, classes));
            (busy, named.collect::<Vec<_>>(), mpi)
        };
        let shares = all
            .iter()
            .copied()
            .zip(all.iter().zip(&usage).map(of))
            .collect();
        usage.truncate(self.roots);
        Ok((shares, usage))
    }

    /// Returns the messages between rows in a window, and the numbers of those within a row and of
    /// those with an end in no row.
    fn links(
        &self,
        window: TimeRange,
        rows: &[usize],
        job: &Job,
    ) -> Result<(Option<Links>, [u64; 2])> {
        let Some(sent) = self.messages.get().filter(|it| !it.lines.is_empty()) else {
            return Ok((None, [0; 2]));
        };
        job.check()?;
        let lines = sent.near(window);
        // Lines connect the members of a row that is unfolded.
        let mut unfolded = BTreeSet::new();
        for row in rows {
            let parents = std::iter::successors(Some(*row), |at| self.nodes.get(*at)?.parent);
            unfolded.extend(parents.skip(1));
        }
        let rows: Vec<usize> = rows
            .iter()
            .copied()
            .filter(|row| !unfolded.contains(row))
            .collect();
        let folder = self.folder(rows.iter().copied())?;
        let found = message_bundles::bundled(&folder, window, lines, MOST_LINKS);
        let shown: Vec<Shown> = rows
            .iter()
            .filter_map(|row| Some((*row, self.nodes.get(*row)?.group)))
            .collect();
        let links = Links::of(&shown, &found, self.timelines.clock(), self.start);
        Ok((Some(links), [found.inside, found.elsewhere]))
    }
}
