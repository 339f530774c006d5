//! [`Folder`]: planned once, folds any window.

use crate::kernel::{self, Pixels, Workspace};
use crate::{
    Cell, Checked, Error, Fold, FoldParams, GroupBy, GroupId, Groups, Result, Tally, Timelines,
    sample,
};
use perf_core::parallel::{self, Workspaces};
use perf_core::{Job, Ticks, TimeRange};
use std::sync::Arc;

/// Folds timelines: planned once from timelines, groups and parameters, then run for any window.
///
/// `Send + Sync`, and cheap to clone. [`fold`](Self::fold) is the convenience that allocates,
/// [`refold`](Self::refold) the hot call for zooming, which writes into what it is given.
///
/// ```
/// use perf_core::Job;
/// use perf_fold::{Folder, GroupBy, Groups, Op, RegionMap, Timelines};
/// let trace = perf_testdata::cosmo::trace();
/// let map = RegionMap::by_name(trace.definitions())?;
/// let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
/// let groups = Groups::by(&timelines, GroupBy::All);
/// let params = Folder::params().columns(6000).op(Op::Diff).check()?;
/// let folder = Folder::new(&timelines, groups, params)?;
/// let fold = folder.fold(timelines.range(), &Job::default())?;
/// // Ranks differ where some wait for the slow ones, and the outliers are in SPECS.
/// let specs = timelines.classes().id("SPECS");
/// let row = fold.row(0).expect("one row");
/// let painted = row.cells().iter().filter(|cell| cell.picture() == specs).count();
/// assert_eq!(painted, 1638);
/// # Ok::<(), perf_fold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Folder(Arc<Plan>);

/// What a folder and the folds it made share.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) timelines: Timelines,
    pub(crate) groups: Groups,
    pub(crate) params: Checked,
    /// Columns of one piece of work.
    pub(crate) piece: usize,
    /// Widest piece.
    pub(crate) widest: usize,
    /// Streams of the largest row.
    pub(crate) most_streams: usize,
    /// Codes that the samples of a piece take.
    pub(crate) room: usize,
    /// Levels of nested folds.
    pub(crate) depth: usize,
    /// Codes that the pictures of the children take, at each level.
    pub(crate) nested_room: usize,
    pub(crate) last_code: u32,
}

/// Space for [`Folder::refold`], one part a thread. Made by [`Folder::scratch`]; with another
/// folder it grows where it is too small.
#[derive(Debug, Default)]
pub struct Scratch(Workspaces<Workspace>);

/// How many columns are folded at once, for a row of `streams`.
///
/// Each piece begins with a binary search a stream, which wants it wide; samples are written by
/// stream and counted by column, which wants them in cache. One core, 18.4 M transitions of 1024
/// streams, 1920 pixels: one row of all streams takes 77 ms in pieces of 64 columns, 70 of 128, 58 of
/// 256 and 55 of 512; rows of 16 streams take 51 ms in pieces of 2^15 codes, 61 of 2^17 and 69 of
/// 2^18. Pieces of 256 also leave enough of them for all cores.
fn piece(streams: usize) -> usize {
    const CODES: usize = 1 << 15;
    const NARROWEST: usize = 256;
    // A million streams still fit, in pieces of few columns.
    let fits = (MOST_CODES / streams).clamp(1, NARROWEST);
    (CODES / streams).max(fits)
}

/// Most codes of a piece, 4 bytes each, unless it is one column of more streams.
const MOST_CODES: usize = 1 << 26;

impl Folder {
    /// Parameters with their defaults, see [`FoldParams`].
    pub fn params() -> FoldParams {
        FoldParams::default()
    }

    /// Plans folds with the default parameters and one row for each process.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_fold::{Folder, RegionMap, Timelines};
    /// let trace = perf_testdata::cosmo::trace();
    /// let regions = RegionMap::by_name(trace.definitions())?;
    /// let timelines = Timelines::new(trace.view(), &regions, &Job::default())?;
    /// let folder = Folder::default_for(&timelines)?;
    /// assert_eq!(folder.groups().rows().len(), 40);
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn default_for(timelines: &Timelines) -> Result<Self> {
        let rows = Groups::by(timelines, GroupBy::Process);
        Folder::new(timelines, rows, Checked::default())
    }

    /// Plans folds.
    ///
    /// # Errors
    /// [`Error::OtherTimelines`] if the groups were not made for these timelines, and
    /// [`Error::TooManyCells`] if the rows are too many for [`FoldParams::max_cells`], or if
    /// [`Ties::KeepPrevious`](crate::Ties::KeepPrevious), which folds a row in one piece, meets
    /// more than 2^26 samples a row.
    pub fn new(timelines: &Timelines, groups: Groups, params: Checked) -> Result<Self> {
        let (expected, got) = (groups.streams(), timelines.len());
        if expected != got {
            return Err(Error::OtherTimelines { expected, got });
        }
        params.room(groups.rows().len())?;
        let columns = params.columns();
        let rows = || groups.rows().iter().filter_map(|id| groups.get(*id));
        let most_streams = rows().map(|group| group.streams.len()).max().unwrap_or(0);
        let piece = match params.ties() {
            // Each cell needs the one to its left.
            crate::Ties::KeepPrevious => columns,
            _ => piece(most_streams.max(1)),
        };
        let widest = piece.min(columns);
        let (depth, most_children) = match params.nested() {
            true => (
                rows().map(|group| group.depth()).max().unwrap_or(0),
                groups
                    .all()
                    .iter()
                    .map(|group| group.children.len())
                    .max()
                    .unwrap_or(0),
            ),
            false => (0, 0),
        };
        // Bounds the memory of one thread; only wide rows that keep the previous cell can meet it.
        let room = |streams: usize| {
            let (columns, rows, limit) = (widest, streams, MOST_CODES);
            let fits = |codes: &usize| *codes <= limit.max(rows);
            let codes = columns.checked_mul(rows).filter(fits);
            codes.ok_or(Error::TooManyCells {
                rows,
                columns,
                limit,
            })
        };
        let (room, nested_room) = (room(most_streams)?, room(most_children)?);
        let last_code = crate::class::last_code(timelines.classes());
        Ok(Folder(Arc::new(Plan {
            timelines: timelines.clone(),
            groups,
            params,
            piece,
            widest,
            most_streams,
            room,
            depth,
            nested_room,
            last_code,
        })))
    }

    /// The timelines it folds.
    pub fn timelines(&self) -> &Timelines {
        &self.0.timelines
    }

    /// The groups and rows it folds into.
    pub fn groups(&self) -> &Groups {
        &self.0.groups
    }

    /// The parameters it was planned with.
    pub fn checked(&self) -> &Checked {
        &self.0.params
    }

    /// Bytes that a fold and the [`scratch`](Self::scratch) of the current pool take, told before they are made.
    /// Neither depends on the events: a program can ask before it folds 100,000 rows.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_fold::{Folder, GroupBy, Groups, RegionMap, Timelines};
    /// let trace = perf_testdata::cosmo::trace();
    /// let map = RegionMap::by_name(trace.definitions())?;
    /// let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
    /// let groups = Groups::by(&timelines, GroupBy::Location);
    /// let folder = |columns: usize| {
    ///     let params = Folder::params().columns(columns).check()?;
    ///     Folder::new(&timelines, groups.clone(), params)
    /// };
    /// assert!(folder(4000)?.memory() > 3 * folder(1000)?.memory());
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    pub fn memory(&self) -> usize {
        let plan = &*self.0;
        let columns = plan.params.columns();
        let cells = columns * plan.groups.rows().len() * size_of::<Cell>();
        let times = (2 * columns + 1) * size_of::<Ticks>();
        cells + times + parallel::current_threads() * Workspace::memory(plan)
    }

    /// Space for [`refold`](Self::refold), for as many threads as the current pool has.
    pub fn scratch(&self) -> Scratch {
        let spaces = (0..parallel::current_threads()).map(|_| {
            let mut space = Workspace::new();
            space.prepare(&self.0);
            space
        });
        Scratch(Workspaces::of(spaces.collect()))
    }

    /// A fold without cells, to [`refold`](Self::refold) into.
    pub fn empty(&self) -> Fold {
        Fold::new(self.0.clone())
    }

    /// Folds `window`, which may lie anywhere: outside of the recording all is absent, and all
    /// pixels of an empty window show its start.
    ///
    /// # Errors
    ///
    /// As [`refold`](Self::refold).
    pub fn fold(&self, window: TimeRange, job: &Job) -> Result<Fold> {
        let mut fold = self.empty();
        self.refold(window, &mut self.scratch(), &mut fold, job)?;
        Ok(fold)
    }

    /// As [`fold`](Self::fold), into a fold that exists: the hot call of a zoom. Allocates
    /// nothing once fold and scratch have been used with this folder (or a larger one).
    /// Progress is reported in cells of the phase `fold`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`] if the job is cancelled. Some of the cells are then of this window and some of the
    /// last one.
    pub fn refold(
        &self,
        window: TimeRange,
        scratch: &mut Scratch,
        fold: &mut Fold,
        job: &Job,
    ) -> Result<()> {
        let plan = &*self.0;
        let (columns, rows) = (plan.params.columns(), plan.groups.rows());
        let cells = plan.params.room(rows.len())?;
        fold.begin(self.0.clone(), window, cells);
        sample::centres(window, columns, &mut fold.centres);
        sample::edges(window, columns, &mut fold.edges);
        let (centres, edges) = (&fold.centres, &fold.edges);
        let scratch = &scratch.0;
        parallel::try_for_each_chunk(&mut fold.cells, columns, plan.piece, |row, from, out| {
            job.check()?;
            let to = from + out.len();
            let (Some(centres), Some(edges)) = (centres.get(from..to), edges.get(from..=to)) else {
                return Ok(());
            };
            if let Some(group) = rows.get(row).and_then(|id| plan.groups.get(*id)) {
                // There is one a thread; a pool that has grown since makes more.
                scratch.with(Workspace::new, |space| {
                    space.prepare(plan);
                    space.job = job.without_progress();
                    kernel::fold(plan, group, Pixels { centres, edges }, space, out);
                });
                // A piece that was stopped in its midst is none.
                job.check()?;
            }
            job.advance("fold", out.len() as u64, cells as u64);
            Ok(())
        })
    }

    /// A folder of the same parameters with one row unfolded in place, see [`Groups::unfold`].
    ///
    /// # Errors
    /// [`Error::UnknownGroup`] and [`Error::TooManyCells`].
    pub fn unfold(&self, row: usize) -> Result<Self> {
        self.with(self.0.groups.unfold(row)?)
    }

    /// A folder of the same parameters and groups with other rows.
    ///
    /// # Errors
    /// [`Error::UnknownGroup`] and [`Error::TooManyCells`].
    pub fn with_rows(&self, rows: &[GroupId]) -> Result<Self> {
        self.with(self.0.groups.with_rows(rows)?)
    }

    fn with(&self, groups: Groups) -> Result<Self> {
        Folder::new(&self.0.timelines, groups, self.0.params.clone())
    }

    /// What the streams of a row do at one time, counted: for a tool tip (`43 % in MPI_Wait`), or
    /// to merge with the rest of a row that lies elsewhere. No stream for a row that is not there.
    pub fn tally(&self, row: usize, at: Ticks) -> Tally {
        let plan = &*self.0;
        let group = plan
            .groups
            .rows()
            .get(row)
            .and_then(|id| plan.groups.get(*id));
        let streams = group.map_or(&[][..], |group| &group.streams);
        plan.timelines.tally(streams, at, plan.params.boundary())
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.0
    }
}
