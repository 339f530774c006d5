//! [`View`]: builder with the options of a page section that shows a timeline, which folds, unfolds
//! and zooms.

use super::Served;
use super::calls::Calls;
use crate::timeline::Marker;
use crate::timeline::counters::MOST_COUNTERS;
use crate::{Result, Section};
use perf_core::{Job, TimeRange, TraceView};
use perf_fold::{Counter, FoldParams, Folder, Groups, Line, Op, RegionMap, Timelines};

/// Timeline in a page, with rows that unfold, a choice of operations, zoom and pan.
///
/// The page of a small recording contains the states of all streams. Its script folds every window
/// exactly, and all numbers refer to the visible window. A page of a larger recording contains cells
/// at several resolutions. It shows cells that were folded at the visible resolution, and does not
/// zoom in beyond the finest resolution.
///
/// ```
/// use perf_core::Job;
/// use perf_fold::{GroupBy, Groups, Op, RegionMap, Timelines};
/// use perf_view::{Page, timeline::View};
/// let trace = perf_core::samples::cosmo::trace();
/// let map = RegionMap::by_name(trace.definitions())?;
/// let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
/// let groups = Groups::by(&timelines, GroupBy::Node);
/// let view = View::new(&timelines, groups).ops(&[Op::Max, Op::Diff]).finest(2048);
/// let section = view.section(&Job::default())?;
/// assert!(Page::new("Two operations").with(section).html(&Job::default())?.contains("MPI_Allreduce"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct View<'a> {
    pub(super) timelines: &'a Timelines,
    pub(super) groups: Groups,
    pub(super) window: TimeRange,
    pub(super) heading: String,
    pub(super) id: String,
    pub(super) ops: Vec<Op>,
    pub(super) lines: Vec<Line>,
    pub(super) has_later_lines: bool,
    pub(super) markers: Vec<Marker>,
    pub(super) finest: usize,
    pub(super) most_rows: usize,
    pub(super) budget: usize,
    pub(super) command: Option<String>,
    pub(super) serve: Option<String>,
    pub(super) counters: Vec<Counter>,
    pub(super) calls: Option<Calls<'a>>,
    pub(super) has_own_spans: bool,
    pub(super) states: usize,
    pub(super) rules: FoldParams,
    pub(super) has_default_rules: bool,
}

impl<'a> View<'a> {
    /// Creates a view of the rows of `groups` over the whole recording.
    pub fn new(timelines: &'a Timelines, groups: Groups) -> Self {
        View {
            timelines,
            groups,
            window: timelines.range(),
            heading: "Timeline".into(),
            id: "timeline".into(),
            ops: vec![Op::Max, Op::Idle, Op::Diff, Op::Min, Op::Entropy],
            lines: Vec::new(),
            has_later_lines: false,
            markers: Vec::new(),
            finest: 8192,
            most_rows: 12_000,
            budget: 3 << 20,
            command: None,
            serve: None,
            counters: Vec::new(),
            calls: None,
            has_own_spans: false,
            states: 1 << 20,
            rules: Folder::params().instants(true),
            has_default_rules: true,
        }
    }

    /// Sets the heading of the section and its link anchor. Default `Timeline` and `timeline`.
    pub fn named(mut self, heading: impl Into<String>, id: impl Into<String>) -> Self {
        (self.heading, self.id) = (heading.into(), id.into());
        self
    }

    /// Sets the time window, default the whole recording.
    pub fn window(mut self, window: TimeRange) -> Self {
        self.window = window;
        self
    }

    /// Sets the operations that readers can choose from, default max, idle, diff, min and entropy.
    ///
    /// In the page, operations that return numbers come last. If there are rows of accelerators, an
    /// additional first choice selects the default operation of each kind of row.
    pub fn ops(mut self, ops: &[Op]) -> Self {
        self.ops = ops.to_vec();
        self
    }

    /// Sets the messages, which are drawn as lines between visible rows.
    pub fn lines(mut self, lines: impl IntoIterator<Item = Line>) -> Self {
        self.lines = lines.into_iter().collect();
        self.has_later_lines = false;
        self
    }

    /// Announces messages that are not known yet. A [served](Self::served) timeline is then shown
    /// without messages until [`Served::add_lines`] adds them. Matching the messages of a large
    /// recording takes longer than all else that the first picture needs.
    ///
    /// Other pages have no messages.
    pub fn lines_later(mut self) -> Self {
        self.lines = Vec::new();
        self.has_later_lines = true;
        self
    }

    /// Sets the markers of abnormal calls, the worst first. The page contains the first 8,000
    /// markers in the window.
    pub fn markers(mut self, markers: impl IntoIterator<Item = Marker>) -> Self {
        self.markers = markers.into_iter().collect();
        self
    }

    /// Sets the counters below the rows, at most 12. A served page computes them for each window; any
    /// other page contains them at one resolution, and says so where it zooms in further. Default:
    /// none.
    pub fn counters(mut self, counters: impl IntoIterator<Item = Counter>) -> Self {
        self.counters = counters.into_iter().take(MOST_COUNTERS).collect();
        self
    }

    /// Sets the trace and the functions from which the page shows the call stack of a location: a row
    /// for each depth, below the other rows. A page without a server holds the call stacks of as many
    /// locations as fit in 1 MiB, or in half of it if the page contains cells. Default: no call stacks.
    pub fn calls(mut self, trace: TraceView<'a>, map: &'a RegionMap) -> Self {
        self.calls = Some(Calls { trace, map });
        self
    }

    /// Sets the largest number of columns, default 8192. The finest resolution is the largest power
    /// of two times 512 that does not exceed this number, or the number itself if it is below 512.
    pub fn finest(mut self, columns: usize) -> Self {
        self.finest = columns.clamp(1, 1 << 20);
        self
    }

    /// Sets the maximum number of rows in the page, default 12,000. Rows whose members would exceed
    /// this number cannot be unfolded.
    ///
    /// In a page with cells and more than 400 rows, all but the first rows have one resolution only,
    /// which the page names.
    pub fn most_rows(mut self, rows: usize) -> Self {
        self.most_rows = rows;
        self
    }

    /// Sets the maximum size of all cells in the page in bytes, default 3 MiB. Finer resolutions
    /// that exceed it are dropped.
    pub fn budget(mut self, bytes: usize) -> Self {
        self.budget = bytes;
        self
    }

    /// Sets the maximum size of the states in the page in bytes, default 1 MiB. A page of a larger
    /// recording contains cells instead. 0 always selects cells.
    pub fn states(mut self, bytes: usize) -> Self {
        self.states = bytes;
        self
    }

    /// Sets the rules of all folds: boundary, ties, absent streams, idle states and nesting. Columns
    /// and operation of the rules are ignored. Default: the rules of [`Folder::params`], with
    /// zero-length work shown.
    ///
    /// A page with other rules contains cells, because its script knows the default rules only.
    pub fn rules(mut self, rules: FoldParams) -> Self {
        self.rules = rules.instants(true);
        self.has_default_rules = false;
        self
    }

    /// Sets the command that serves a page which is exact at every zoom, default none. A page with
    /// cells shows it at its finest resolution.
    pub fn serve(mut self, command: impl Into<String>) -> Self {
        self.serve = Some(command.into());
        self
    }

    /// Sets the command that writes a page of another window of the recording, default none.
    ///
    /// At its finest resolution the page shows this command, followed by `--from` and `--to` with
    /// the times of the visible window in nanoseconds, such as `--from 1200ns --to 1500ns`.
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    /// Sets the reference span of the busy share of a row.
    ///
    /// If `true`, the reference is the span of the row, from its first begin of work in the window
    /// to its last end, as in [`Usage::own`](perf_fold::Usage::own). If `false`, the default, it is the window.
    pub fn own_spans(mut self, has_own_spans: bool) -> Self {
        self.has_own_spans = has_own_spans;
        self
    }

    /// Creates the section and folds all resolutions. Reports progress in the phases `pyramid`
    /// (levels) and `usage` (rows).
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Empty`](crate::Error::Empty) if there are no rows, no operations, or the window is empty.
    /// - Returns [`Error::Fold`](crate::Error::Fold) if folding fails.
    /// - Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn section(&self, job: &Job) -> Result<Section> {
        Ok(self.build(None, job)?.0)
    }

    /// Creates a section that asks a server for the cells it shows, and the data from which the
    /// server answers with [`Served::cells`]. `address` is relative to the page; the script appends
    /// a query with `from` and `to` (nanoseconds), `columns`, `op` and `rows`.
    ///
    /// The page is exact at every zoom, and all numbers refer to the visible window.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_fold::{GroupBy, Groups, RegionMap, Timelines};
    /// use perf_view::timeline::{Part, View};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let map = RegionMap::by_name(trace.definitions())?;
    /// let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
    /// let groups = Groups::by(&timelines, GroupBy::Node);
    /// let (section, served) = View::new(&timelines, groups).served("cells/0", &Job::default())?;
    /// # drop(section);
    /// let part = Part { window: timelines.range(), columns: 100, op: 0, rows: vec![0] };
    /// let cells = served.cells(&part, &Job::default())?;
    /// assert!(cells.contains("\"columns\":100") && cells.contains("MPI_Allreduce"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`section`](Self::section).
    pub fn served(&self, address: &str, job: &Job) -> Result<(Section, Served)> {
        self.build(Some(address), job)
    }
}
