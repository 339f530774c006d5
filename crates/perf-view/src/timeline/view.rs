//! [`View`]: section of a page with a timeline that folds, unfolds and zooms.

use super::cell_colour::MEASURE;
use super::local::Local;
use super::page_overlays::{Leaves, Links, MOST_LINKS, Mark};
use super::picture::{busy_share, busy_words};
use super::pyramid::{Codes, Level, NUMBER, Node, OTHERS, Plan, most, nodes};
use super::{Marker, Part, Picture, Served, legend, markup};
use crate::{Error, OTHER, Result, Section, Theme, number, section};
use perf_core::{Job, LocationKind, TimeRange};
use perf_fold::{
    FoldOp, FoldParams, Folder, GroupId, Groups, Line, Op, RowOrder, Timelines, Usage,
};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

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
    heading: String,
    id: String,
    ops: Vec<Op>,
    pub(super) lines: Vec<Line>,
    pub(super) markers: Vec<Marker>,
    finest: usize,
    most_rows: usize,
    budget: usize,
    command: Option<String>,
    serve: Option<String>,
    pub(super) has_own_spans: bool,
    local: usize,
    rules: FoldParams,
    pub(super) has_default_rules: bool,
}

/// Name, description, `true` if agreement is shown, and the largest number with its unit.
type OpData = (String, String, bool, Option<(f64, &'static str)>);

#[derive(Serialize)]
struct Data<'a> {
    start: i64,
    span: i64,
    busy: &'static str,
    groups: Vec<GroupData<'a>>,
    /// Names and colours of the states.
    states: Vec<(&'a str, String)>,
    /// Name, colour and code of all other states.
    others: (String, String, u8),
    /// Code and colour of numbers.
    number: (u8, String),
    ops: Vec<OpData>,
    levels: &'a [Level],
    /// States from which the script computes cells; `None` for a page with levels.
    local: Option<Local<'a>>,
    /// Names of the colours that depend on the theme.
    themed: BTreeMap<String, &'static str>,
    /// Begin in nanoseconds with all digits.
    begin: String,
    /// `None` for a page that contains its cells.
    served: Option<Requests<'a>>,
    links: Option<Links>,
    command: Option<&'a str>,
    serve: Option<&'a str>,
    markers: Vec<Mark<'a>>,
}

/// Requests of a page for its cells.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Requests<'a> {
    /// Address without the query, relative to the page.
    address: &'a str,
    /// Shortest window in nanoseconds.
    shortest: f64,
    /// Largest number of rows of a request.
    most_rows: usize,
    /// Largest number of columns of a request.
    most_columns: usize,
    /// `true` if there are messages.
    has_links: bool,
}

#[derive(Serialize)]
struct GroupData<'a> {
    label: &'a str,
    streams: usize,
    parent: Option<usize>,
    children: &'a [usize],
    cut: bool,
    busy: f64,
    /// Position when similar rows are neighbours.
    similar: usize,
    /// Shares of the states with the most time.
    shares: Vec<(&'a str, f64)>,
}

const SCRIPT: &str = concat!(
    include_str!("../../assets/timeline-local.js"),
    include_str!("../../assets/timeline.js")
);
const STYLE: &str = include_str!("../../assets/timeline.css");
/// Number of columns of the picture for readers without scripts.
const STILL: usize = 800;

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
            markers: Vec::new(),
            finest: 8192,
            most_rows: 400,
            budget: 3 << 20,
            command: None,
            serve: None,
            has_own_spans: false,
            local: 1 << 20,
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
        self
    }

    /// Sets the markers of abnormal calls, the worst first. The page contains the first 8,000
    /// markers in the window.
    pub fn markers(mut self, markers: impl IntoIterator<Item = Marker>) -> Self {
        self.markers = markers.into_iter().collect();
        self
    }

    /// Sets the largest number of columns, default 8192. The finest resolution is the largest power
    /// of two times 512 that does not exceed this number, or the number itself if it is below 512.
    pub fn finest(mut self, columns: usize) -> Self {
        self.finest = columns.clamp(1, 1 << 20);
        self
    }

    /// Sets the maximum number of rows in the page, default 400. Rows whose members would exceed
    /// this number cannot be unfolded.
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
        self.local = bytes;
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
    /// to its last end, as in [`Usage::own`]. If `false`, the default, it is the window.
    pub fn own_spans(mut self, has_own_spans: bool) -> Self {
        self.has_own_spans = has_own_spans;
        self
    }

    /// Creates the section and folds all resolutions. Reports progress in the phases `pyramid`
    /// (levels) and `usage` (rows).
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Empty`] if there are no rows, no operations, or the window is empty.
    /// - Returns [`Error::Fold`] if folding fails.
    /// - Returns [`Error::Cancelled`] if the job is cancelled.
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

    fn build(&self, served: Option<&str>, job: &Job) -> Result<(Section, Served)> {
        let nodes = nodes(&self.groups, self.most_rows);
        if nodes.is_empty() {
            return Err(Error::Empty { what: "no rows" });
        }
        if self.window.is_empty() {
            return Err(Error::Empty { what: "no time" });
        }
        let ops = self.operations(&nodes)?;
        let folder = self.folder(&nodes)?;
        let usage = folder.usage(self.window, job)?;
        let roots = nodes
            .iter()
            .take_while(|node| node.parent.is_none())
            .count();
        let totals = legend::totals(&usage[..roots]);
        let codes = Codes::new(&totals);
        let palette = legend::palette(&totals, self.timelines.classes());
        let plan = Plan {
            timelines: self.timelines,
            groups: &self.groups,
            window: self.window,
            nodes: &nodes,
            ops: &ops,
            codes: &codes,
            finest: self.finest,
            budget: self.budget,
            rules: &self.rules,
        };
        let local = match served {
            Some(_) => None,
            None => self.local(
                (&nodes, roots),
                &ops,
                (&codes, &totals, &palette),
                self.local,
            ),
        };
        let levels = match (served, &local) {
            (None, None) => plan.levels(job)?,
            _ => Vec::new(),
        };
        let clock = self.timelines.clock();
        let start = clock.nanos(self.window.start).unwrap_or_default().0;
        let span = clock.total(u128::from(self.window.len())).0;
        let others = totals.iter().filter_map(|(state, _)| state.class());
        let others = others.count().saturating_sub(codes.states.len());
        let leaves = Leaves::of(&nodes, &folder);
        let (links, hidden) = match served {
            Some(_) => (None, [0; 2]),
            None => self.link_values(&nodes, start)?,
        };
        let states = codes.states.iter().map(|class| {
            let name = self.timelines.classes().name(*class);
            (name, palette.of(name).to_string())
        });
        let light = Theme::light();
        let themed = [(light.idle, "idle"), (light.absent, "absent")];
        let data = section::data(&Data {
            start,
            span,
            busy: busy_words(self.has_own_spans),
            groups: self.groups_of(&nodes, &usage, &self.similar(job)?),
            states: states.collect(),
            others: (
                format!("one of {others} other states"),
                OTHER.to_string(),
                OTHERS,
            ),
            number: (NUMBER, MEASURE.to_string()),
            ops: ops.iter().map(|op| self.operation(*op)).collect(),
            levels: &levels,
            local,
            themed: themed
                .map(|(colour, name)| (colour.to_string(), name))
                .into(),
            begin: start.to_string(),
            served: served.map(|address| self.requests(address)),
            links,
            command: self.command.as_deref(),
            serve: self.serve.as_deref(),
            markers: self.marker_values(&leaves, start),
        })?;
        let nanos = |ticks| clock.total(ticks).0 as f64;
        let classes = self.timelines.classes();
        let entries = legend::entries(&totals, classes, &palette, &Theme::light(), nanos);
        let help = Self::help(levels.last().map(|level| level.columns), span);
        let hues = legend::hues(&totals, classes, &palette).join(", ");
        let mut note = Vec::new();
        if !hues.is_empty() {
            note.push(format!("Colours: {hues}. Each shade is a function."));
        }
        note.extend(self.note(&nodes, roots));
        note.extend(hidden_messages(hidden));
        let whole = [start as f64, (start as f64) + span as f64].map(number::time);
        let whole = format!("{} to {}", whole[0], whole[1]);
        let still = self.still(&job.without_progress())?;
        let body = markup::body(
            &self.id,
            (&entries, &whole),
            (&help, &note),
            &still,
            markup::table(
                (&self.groups, &nodes),
                &usage,
                classes,
                (&whole, self.has_own_spans),
            ),
        );
        let mut section = Section::new(
            "timeline",
            &self.id,
            &self.heading,
            body,
            data,
            SCRIPT,
            STYLE,
        );
        section.is_served = served.is_some();
        let mut lines = if served.is_some() {
            self.lines.clone()
        } else {
            Vec::new()
        };
        lines.sort_by_key(|line| line.sent);
        let length = |line: &Line| line.sent.0.abs_diff(line.received.0);
        let data = Served {
            timelines: self.timelines.clone(),
            groups: self.groups.clone(),
            ops,
            codes,
            palette,
            longest: lines.iter().map(length).max().unwrap_or(0),
            lines,
            has_own_spans: self.has_own_spans,
            rules: self.rules.clone(),
            start,
            roots,
            nodes,
        };
        Ok((section, data))
    }

    fn requests<'n>(&self, address: &'n str) -> Requests<'n> {
        /// Shortest window in ticks.
        const SHORTEST: f64 = 16.0;
        /// Number of ticks from which the length of one is computed.
        const MANY: u32 = 1_000_000;
        let clock = self.timelines.clock();
        let tick = clock.total(u128::from(MANY)).0 as f64 / f64::from(MANY);
        Requests {
            address,
            shortest: SHORTEST * tick,
            most_rows: Part::MOST_ROWS,
            most_columns: Part::MOST_COLUMNS,
            has_links: !self.lines.is_empty(),
        }
    }

    fn operations(&self, nodes: &[Node]) -> Result<Vec<Option<Op>>> {
        let accelerated = nodes.iter().any(|node| {
            let group = self.groups.get(node.group);
            group.is_some_and(|group| group.kind == LocationKind::AcceleratorStream)
        });
        let (states, numbers): (Vec<Op>, Vec<Op>) = self.ops.iter().partition(|op| op.selects());
        let is_nested = self.rules.clone().op(Op::Entropy).check().is_err();
        let numbers = numbers.into_iter().filter(|_| !is_nested);
        let chosen = states.into_iter().chain(numbers).map(Some);
        let all: Vec<Option<Op>> = accelerated
            .then_some(None)
            .into_iter()
            .chain(chosen)
            .collect();
        if all.is_empty() {
            Err(Error::Empty {
                what: "no operation",
            })
        } else {
            Ok(all)
        }
    }

    /// Returns a folder with one row for each node.
    fn folder(&self, nodes: &[Node]) -> Result<Folder> {
        let ids: Vec<_> = nodes.iter().map(|node| node.group).collect();
        let groups = self.groups.with_rows(&ids)?;
        let params = Folder::params().columns(512).check()?;
        Ok(Folder::new(self.timelines, groups, params)?)
    }

    /// Returns name, description, and `true` if agreement is shown. For operations that return
    /// numbers it also returns the largest number and its unit; 0 stands for the number of streams.
    fn operation(&self, op: Option<Op>) -> OpData {
        let (name, words) = match op {
            None => ("usual".into(), "default of each kind of row".into()),
            Some(Op::Max) => ("max".into(), "state of most streams".into()),
            Some(Op::Min) => ("min".into(), "state of the fewest streams".into()),
            Some(Op::Diff) => (
                "diff".into(),
                "state of the fewest, where streams differ".into(),
            ),
            Some(Op::Idle) => ("idle".into(), "state of the active streams".into()),
            Some(Op::Share) => ("share".into(), "state with the most time".into()),
            Some(Op::Outliers(_)) => (
                "outliers".into(),
                "states of a few streams that differ".into(),
            ),
            Some(Op::Entropy) => ("entropy".into(), "entropy of the states".into()),
            Some(Op::Any(class)) => {
                let name = self.timelines.classes().name(class);
                (
                    format!("any-{}", class.0),
                    format!("cells with any stream in {name}"),
                )
            }
            Some(Op::Count(class)) => {
                let name = self.timelines.classes().name(class);
                (
                    format!("count-{}", class.0),
                    format!("number of streams in {name}"),
                )
            }
            Some(_) => ("other".to_string(), "another operation".to_string()),
        };
        let streams = 0..self.timelines.len() as u32;
        let shaded = match op {
            // The default operation of accelerator streams is `idle`, for which agreement is not
            // informative.
            None => !streams
                .into_iter()
                .any(|it| self.timelines.kind(it).may_overlap()),
            Some(op) => matches!(op, Op::Max | Op::Share),
        };
        let number = op.filter(|op| !op.selects());
        let number = number.map(|op| match most(op, self.timelines) {
            Some(most) => (most, "nats"),
            None => (0.0, "streams"),
        });
        (name, words, shaded, number)
    }

    /// Returns the position of each group when similar groups are neighbours.
    fn similar(&self, job: &Job) -> Result<HashMap<GroupId, usize>> {
        let groups = self.groups.clone();
        let job = job.without_progress();
        let sorted = groups.ordered(RowOrder::Behaviour, self.timelines, self.window, &job)?;
        let members = sorted.all().iter().map(|group| group.children.as_slice());
        let lists = members.chain([sorted.rows()]);
        let places = lists.flat_map(|list| list.iter().enumerate());
        Ok(places.map(|(place, id)| (*id, place)).collect())
    }

    fn groups_of<'n>(
        &'n self,
        nodes: &'n [Node],
        usage: &'n [Usage],
        similar: &HashMap<GroupId, usize>,
    ) -> Vec<GroupData<'n>> {
        let classes = self.timelines.classes();
        let value = |(node, usage): (&'n Node, &'n Usage)| {
            let group = self.groups.get(node.group);
            let shares = usage.named(classes).take(4);
            GroupData {
                label: group.map_or("", |group| &group.label),
                streams: group.map_or(0, |group| group.streams.len()),
                parent: node.parent,
                children: &node.children,
                cut: node.cut,
                busy: rounded(busy_share(usage, self.has_own_spans)),
                similar: similar.get(&node.group).copied().unwrap_or(0),
                shares: shares.map(|(name, share)| (name, rounded(share))).collect(),
            }
        };
        nodes.iter().zip(usage).map(value).collect()
    }

    /// Returns the sentences of the help text, which explain the controls and the resolution of the
    /// page.
    fn help(finest: Option<usize>, span: i64) -> Vec<String> {
        let cells = match finest {
            Some(finest) => format!(
                "This page holds {} columns of {} each and zooms in until a column is a pixel. A column shows \
                 the state at its centre; shorter events may lie between two columns.",
                number::count(finest as u64),
                number::time(span as f64 / finest as f64)
            ),
            None => "Each pixel shows the state at its centre; shorter events may lie between two pixels until the view is \
                 zoomed in. All numbers are of the visible window."
                .into(),
        };
        vec![
            "Drag moves, drag with Shift or a double-click zooms in. Keys: arrows move and select a row, + and - \
             zoom, Enter unfolds, Home resets the view."
                .into(),
            cells,
        ]
    }

    fn note(&self, nodes: &[Node], roots: usize) -> Vec<String> {
        let mut note = Vec::new();
        let cut = nodes.iter().filter(|node| node.cut).count();
        if cut > 0 {
            note.push(format!(
                "{cut} rows have more members than this page can hold and stay folded; a page of `perfkit serve` \
                 unfolds them."
            ));
        }
        let missing = self.groups.rows().len().saturating_sub(roots);
        if missing > 0 {
            note.push(format!(
                "{} more rows exceed the limit of this page and are not in it.",
                number::count(missing as u64)
            ));
        }
        if self.markers.len() > MOST_LINKS {
            note.push(format!(
                "{} calls are marked as abnormal; this page has the first ones.",
                number::count(self.markers.len() as u64)
            ));
        }
        note
    }

    /// Returns the rows as a picture, for readers without scripts.
    fn still(&self, job: &Job) -> Result<(String, String)> {
        let rows = self.groups.rows();
        let groups = self
            .groups
            .with_rows(&rows[..rows.len().min(self.most_rows)])?;
        let params = self.rules.clone().columns(STILL).check()?;
        let folder = Folder::new(self.timelines, groups, params)?;
        let fold = folder.fold(self.window, job)?;
        let picture = Picture::new(&folder, &fold)?.titled(&self.heading);
        let scene = picture.own_spans(self.has_own_spans).scene();
        let words = scene.title.clone();
        Ok((crate::encoding::base64(&scene.png()?), words))
    }
}

/// Returns the text about messages that are never drawn, which are messages within one row and
/// messages with an end in no row. Returns `None` if there are none.
fn hidden_messages([inside, elsewhere]: [u64; 2]) -> Option<String> {
    let part = |count: u64, text: &str| match count {
        0 => None,
        _ => Some(format!("{} {text}", number::count(count))),
    };
    let parts = [
        part(inside, "stay within one row"),
        part(elsewhere, "have an end in no row"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let text = parts.join(" and ");
    (!parts.is_empty()).then(|| format!("Messages without a line in any view: {text}."))
}

/// Rounds a share to four decimal places, to keep pages small.
pub(super) fn rounded(share: f64) -> f64 {
    (share * 10_000.0).round() / 10_000.0
}
