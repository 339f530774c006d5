//! [`Folder`]: folds any window of timelines with groups and parameters that were checked once,
//! into a new fold or, with the buffers of a [`Scratch`], into an existing one.

use super::inner_loops::{self, Pixels, Workspace};
use crate::states::sampling;
use crate::{
    Cell, Checked, Error, Fold, FoldParams, GroupBy, GroupId, Groups, Result, Tally, Timelines,
};
use perf_core::parallel::{self, Workspaces};
use perf_core::{Job, Ticks, TimeRange};
use std::sync::Arc;

/// Folds timelines. A folder is planned once from timelines, groups and parameters, and then folds
/// any window.
///
/// Folders are `Send + Sync` and cheap to clone. [`fold`](Self::fold) allocates its result.
/// [`refold`](Self::refold) reuses buffers, which suits repeated calls such as zooming.
///
/// ```
/// use perf_core::Job;
/// use perf_fold::{Folder, GroupBy, Groups, Op, RegionMap, Timelines};
/// let trace = perf_core::samples::cosmo::trace();
/// let map = RegionMap::by_name(trace.definitions())?;
/// let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
/// let groups = Groups::by(&timelines, GroupBy::All);
/// let params = Folder::params().columns(6000).op(Op::Diff).check()?;
/// let folder = Folder::new(&timelines, groups, params)?;
/// let fold = folder.fold(timelines.range(), &Job::default())?;
/// // Ranks differ while some wait for the slow ones, and the outliers are in SPECS.
/// let specs = timelines.classes().id("SPECS");
/// let row = fold.row(0).expect("one row");
/// let painted = row.cells().iter().filter(|cell| cell.picture() == specs).count();
/// assert_eq!(painted, 1638);
/// # Ok::<(), perf_fold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Folder(Arc<Plan>);

/// Data that a folder shares with the folds that it computes.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Timelines to fold.
    pub(crate) timelines: Timelines,
    /// Groups and rows.
    pub(crate) groups: Groups,
    /// Parameters.
    pub(crate) params: Checked,
    /// Number of columns of one piece of work.
    pub(crate) piece: usize,
    /// Number of columns of the widest piece.
    pub(crate) widest: usize,
    /// Number of streams of the largest row.
    pub(crate) most_streams: usize,
    /// Largest number of state codes in the samples of a piece.
    pub(crate) room: usize,
    /// Number of levels of nested folds.
    pub(crate) depth: usize,
    /// Largest number of state codes in the pictures of the children, at each level.
    pub(crate) nested_room: usize,
    /// Highest state code.
    pub(crate) last_code: u32,
}

/// Reusable buffers for [`Folder::refold`], one set for each thread. [`Folder::scratch`] creates
/// the buffers. They grow when a larger folder uses them.
#[derive(Debug, Default)]
pub struct Scratch(Workspaces<Workspace>);

/// Returns the number of columns that are folded at once for a row of `streams`.
///
/// Each piece begins with a binary search for each stream, which favours wide pieces. Samples are
/// written by stream and counted by column, which favours pieces that fit in the cache. On one
/// core, with 18.4 M transitions of 1,024 streams and 1,920 pixels, one row of all streams takes 77
/// ms in pieces of 64 columns, 70 ms with 128, 58 ms with 256 and 55 ms with 512. Rows of 16
/// streams take 51 ms in pieces of 2^15 codes, 61 ms with 2^17 and 69 ms with 2^18. Pieces of 256
/// columns also leave enough pieces for all cores.
fn piece(streams: usize) -> usize {
    const CODES: usize = 1 << 15;
    const NARROWEST: usize = 256;
    // With a million streams, pieces of a few columns stay within the bound.
    let fits = (MOST_CODES / streams).clamp(1, NARROWEST);
    (CODES / streams).max(fits)
}

/// Upper bound on the codes of a piece, 4 bytes each. A single column with more streams may exceed
/// it.
const MOST_CODES: usize = 1 << 26;

impl Folder {
    /// Returns parameters with their default values, see [`FoldParams`].
    pub fn params() -> FoldParams {
        FoldParams::default()
    }

    /// Plans folds with the default parameters and one row for each process.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_fold::{Folder, RegionMap, Timelines};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let regions = RegionMap::by_name(trace.definitions())?;
    /// let timelines = Timelines::new(trace.view(), &regions, &Job::default())?;
    /// let folder = Folder::default_for(&timelines)?;
    /// assert_eq!(folder.groups().rows().len(), 40);
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`new`](Self::new).
    pub fn default_for(timelines: &Timelines) -> Result<Self> {
        let rows = Groups::by(timelines, GroupBy::Process);
        Folder::new(timelines, rows, Checked::default())
    }

    /// Plans folds of the rows of `groups`.
    ///
    /// # Errors
    /// Returns [`Error::OtherTimelines`] if the groups were not built for these timelines. Returns
    /// [`Error::TooManyCells`] if the rows exceed [`FoldParams::max_cells`], or if a row needs more
    /// than 2^26 samples at once with [`Ties::KeepPrevious`](crate::Ties::KeepPrevious), which
    /// folds each row in one piece.
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
            // Each cell depends on the one to its left, so a row is one piece.
            crate::Ties::KeepPrevious => columns,
            _ => piece(most_streams.max(1)),
        };
        let widest = piece.min(columns);
        let (depth, most_children) = if params.nested() {
            (
                rows().map(|group| group.depth()).max().unwrap_or(0),
                groups
                    .all()
                    .iter()
                    .map(|group| group.children.len())
                    .max()
                    .unwrap_or(0),
            )
        } else {
            (0, 0)
        };
        // Bounds the memory of one thread. Only wide rows with `KeepPrevious` can reach it.
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
        let last_code = crate::states::class::last_code(timelines.classes());
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

    /// Returns the timelines to fold.
    pub fn timelines(&self) -> &Timelines {
        &self.0.timelines
    }

    /// Returns the groups and rows.
    pub fn groups(&self) -> &Groups {
        &self.0.groups
    }

    /// Returns the parameters.
    pub fn checked(&self) -> &Checked {
        &self.0.params
    }

    /// Returns the size in bytes of a fold and of the [`scratch`](Self::scratch) of the current
    /// thread pool. The size does not depend on the events, so a program can check it before it
    /// folds 100,000 rows.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_fold::{Folder, GroupBy, Groups, RegionMap, Timelines};
    /// let trace = perf_core::samples::cosmo::trace();
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

    /// Creates buffers for [`refold`](Self::refold), one set for each thread of the current pool.
    pub fn scratch(&self) -> Scratch {
        let spaces = (0..parallel::current_threads()).map(|_| {
            let mut space = Workspace::new();
            space.prepare(&self.0);
            space
        });
        Scratch(Workspaces::of(spaces.collect()))
    }

    /// Returns a fold without cells, as a target for [`refold`](Self::refold).
    pub fn empty(&self) -> Fold {
        Fold::new(self.0.clone())
    }

    /// Folds `window`, which may lie anywhere. Outside of the recording all streams are absent. In
    /// an empty window all pixels show its start.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`refold`](Self::refold).
    pub fn fold(&self, window: TimeRange, job: &Job) -> Result<Fold> {
        let mut fold = self.empty();
        self.refold(window, &mut self.scratch(), &mut fold, job)?;
        Ok(fold)
    }

    /// Folds a window like [`fold`](Self::fold), into an existing fold. Does not allocate if the
    /// fold and the scratch have already been used with this folder or a larger one. Progress is
    /// reported in cells, in the phase `fold`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`] if the job is cancelled. Some cells then belong to this window
    /// and others to the previous window.
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
        sampling::centres(window, columns, &mut fold.centres);
        sampling::edges(window, columns, &mut fold.edges);
        let (centres, edges) = (&fold.centres, &fold.edges);
        let scratch = &scratch.0;
        parallel::try_for_each_chunk(&mut fold.cells, columns, plan.piece, |row, from, out| {
            job.check()?;
            let to = from + out.len();
            let (Some(centres), Some(edges)) = (centres.get(from..to), edges.get(from..=to)) else {
                return Ok(());
            };
            if let Some(group) = rows.get(row).and_then(|id| plan.groups.get(*id)) {
                // There is one workspace for each thread. If the pool has grown since `scratch`,
                // more are created.
                scratch.with(Workspace::new, |space| {
                    space.prepare(plan);
                    space.job = job.without_progress();
                    inner_loops::fold(plan, group, Pixels { centres, edges }, space, out);
                });
                // A piece that was interrupted is not valid.
                job.check()?;
            }
            job.advance("fold", out.len() as u64, cells as u64);
            Ok(())
        })
    }

    /// Returns a folder with the same parameters and one row replaced by its children, see
    /// [`Groups::unfold`].
    ///
    /// # Errors
    /// Returns [`Error::UnknownGroup`] if there is no such row, or [`Error::TooManyCells`] if the
    /// new rows exceed the limit.
    pub fn unfold(&self, row: usize) -> Result<Self> {
        self.with(self.0.groups.unfold(row)?)
    }

    /// Returns a folder with the same parameters and groups, but other rows.
    ///
    /// # Errors
    /// Returns [`Error::UnknownGroup`] if a group does not exist, or [`Error::TooManyCells`] if the
    /// rows exceed the limit.
    pub fn with_rows(&self, rows: &[GroupId]) -> Result<Self> {
        self.with(self.0.groups.with_rows(rows)?)
    }

    fn with(&self, groups: Groups) -> Result<Self> {
        Folder::new(&self.0.timelines, groups, self.0.params.clone())
    }

    /// Counts the states of the streams of a row at one time. The counts serve as a tool tip (`43 %
    /// in MPI_Wait`) or are merged with counts of the same row from another process. The tally is
    /// empty if there is no such row.
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
