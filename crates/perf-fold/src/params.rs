//! [`FoldParams`] and what they check to, [`Checked`].

use crate::{Boundary, Error, FoldOp, Op, Result};
use perf_core::LocationKind;
use std::sync::Arc;

/// How the state of a stream in a pixel is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Selection {
    /// The state at the centre of the pixel counts 1: the published method. O(log n) a pixel.
    #[default]
    Sampled,
    /// Each state counts with the ticks it lasts within the pixel. O(transitions in the window).
    /// A pixel shorter than a tick is sampled.
    Exact,
}

/// Which of several states of equal weight is selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ties {
    /// That of the stream with the lowest number; of two states of one stream in a pixel (exact
    /// selection) the lower in the order of [`State`](crate::State).
    #[default]
    StreamOrder,
    /// The lowest in the order of [`State`](crate::State): a fold that does not depend on the
    /// order of streams.
    LowestStateId,
    /// That of the cell to the left, so that ties do not flicker; stream order where it is none
    /// of them.
    KeepPrevious,
}

/// What absent streams count as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AbsentRule {
    /// As idle, as published.
    #[default]
    AsIdle,
    /// Not at all: n is the number of streams that exist at that time.
    LeaveOut,
}

/// What folding a group of groups means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Nesting {
    /// All streams of the group count the same, whatever groups lie between.
    #[default]
    Flat,
    /// Each child is folded first and counts once: a majority of majorities, which differs where
    /// children differ in size. A child that shows no class counts as idle, one whose streams are
    /// all absent as absent.
    ///
    /// [`Op::Diff`] and [`Op::Outliers`] compare the children with each other: each child is first
    /// folded by the default operation of its kind, and differences within it are not seen.
    Nested,
}

/// Parameters of a fold: set them, then [`check`](Self::check).
///
/// ```
/// use perf_fold::{Folder, Op};
/// let params = Folder::params().columns(800).op(Op::Diff).check()?;
/// assert!(Folder::params().columns(0).check().is_err());
/// # Ok::<(), perf_fold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FoldParams {
    columns: usize,
    op: Option<Arc<dyn FoldOp>>,
    known: Option<Op>,
    selection: Selection,
    boundary: Boundary,
    ties: Ties,
    absent: AbsentRule,
    ignore_idle: bool,
    nesting: Nesting,
    instants: bool,
    max_cells: usize,
}

impl Default for FoldParams {
    fn default() -> Self {
        FoldParams {
            columns: 1920,
            op: None,
            known: None,
            selection: Selection::default(),
            boundary: Boundary::default(),
            ties: Ties::default(),
            absent: AbsentRule::default(),
            ignore_idle: false,
            nesting: Nesting::default(),
            instants: false,
            max_cells: 1 << 24,
        }
    }
}

impl FoldParams {
    /// Width in pixels, default 1920, at least 1.
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = columns;
        self
    }

    /// The operation. Default by kind of the row: [`Op::Idle`] for accelerator streams, since few
    /// of many work at a time, and [`Op::Max`] for all else.
    pub fn op(mut self, op: Op) -> Self {
        self.known = Some(op);
        self.op = None;
        self
    }

    /// An operation of one's own, in place of [`op`](Self::op). Default: none.
    pub fn own_op(mut self, op: impl FoldOp + 'static) -> Self {
        self.op = Some(Arc::new(op));
        self.known = None;
        self
    }

    /// Sampled (default) or exact.
    pub fn selection(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }

    /// Which transitions count at the time of a sample, default [`Boundary::AtOrBefore`].
    pub fn boundary(mut self, boundary: Boundary) -> Self {
        self.boundary = boundary;
        self
    }

    /// How ties are decided, default [`Ties::StreamOrder`].
    pub fn ties(mut self, ties: Ties) -> Self {
        self.ties = ties;
        self
    }

    /// What absent streams count as, default [`AbsentRule::AsIdle`].
    pub fn absent(mut self, absent: AbsentRule) -> Self {
        self.absent = absent;
        self
    }

    /// Whether [`Op::Min`] leaves idle streams out, default false. Where all are idle it is idle.
    pub fn ignore_idle(mut self, ignore: bool) -> Self {
        self.ignore_idle = ignore;
        self
    }

    /// Flat (default) or nested folds of groups of groups.
    pub fn nesting(mut self, nesting: Nesting) -> Self {
        self.nesting = nesting;
        self
    }

    /// Whether [work of no length](crate::Timelines::instants) shows in cells of one tick at most, instead
    /// of what its stream does at that time. Default false: states of no length vanish, as published, and
    /// cells are what a stream is in.
    pub fn instants(mut self, show: bool) -> Self {
        self.instants = show;
        self
    }

    /// Most cells of one fold, default 2^24. A cell takes 48 bytes.
    pub fn max_cells(mut self, cells: usize) -> Self {
        self.max_cells = cells;
        self
    }

    /// Checks them.
    ///
    /// # Errors
    /// [`Error::NoColumns`], and [`Error::NestedNumbers`] for a nested fold by an operation that
    /// selects no state.
    pub fn check(self) -> Result<Checked> {
        if self.columns == 0 {
            return Err(Error::NoColumns);
        }
        let own = self.op.as_ref().is_none_or(|op| op.selects());
        let known = self.known.is_none_or(|op| op.selects());
        if self.nesting == Nesting::Nested && !(own && known) {
            return Err(Error::NestedNumbers);
        }
        Ok(Checked(self))
    }
}

/// Parameters that [`FoldParams::check`] let pass: what a [`Folder`](crate::Folder) runs with.
#[derive(Clone, Debug, Default)]
pub struct Checked(FoldParams);

fn default_op(kind: LocationKind) -> Op {
    match kind {
        LocationKind::AcceleratorStream => Op::Idle,
        _ => Op::Max,
    }
}

/// The operation of one row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowOp<'a> {
    Known(Op),
    Own(&'a dyn FoldOp),
}

impl Checked {
    /// Width in pixels.
    pub fn columns(&self) -> usize {
        self.0.columns
    }

    /// The operation for a row of `kind`; `None` if it is one of the caller's own.
    pub fn op(&self, kind: LocationKind) -> Option<Op> {
        match self.row_op(kind) {
            RowOp::Known(op) => Some(op),
            RowOp::Own(_) => None,
        }
    }

    pub(crate) fn row_op(&self, kind: LocationKind) -> RowOp<'_> {
        match (&self.0.op, self.0.known, kind) {
            (Some(op), _, _) => RowOp::Own(op.as_ref()),
            (None, Some(op), _) => RowOp::Known(op),
            (None, None, kind) => RowOp::Known(default_op(kind)),
        }
    }

    /// The operation for the children of a nested fold, where it is not that of the row: what
    /// tells where streams differ gives no state that could be compared again.
    pub(crate) fn child_op(&self, kind: LocationKind) -> Option<Op> {
        match self.op(kind)? {
            Op::Diff | Op::Outliers(_) => Some(default_op(kind)),
            _ => None,
        }
    }

    /// Exact where asked for, and for [`Op::Share`] always.
    pub(crate) fn exact(&self, kind: LocationKind) -> bool {
        self.0.selection == Selection::Exact || self.op(kind) == Some(Op::Share)
    }

    pub(crate) fn boundary(&self) -> Boundary {
        self.0.boundary
    }

    pub(crate) fn ties(&self) -> Ties {
        self.0.ties
    }

    pub(crate) fn absent(&self) -> AbsentRule {
        self.0.absent
    }

    pub(crate) fn ignores_idle(&self) -> bool {
        self.0.ignore_idle
    }

    pub(crate) fn shows_instants(&self) -> bool {
        self.0.instants
    }

    pub(crate) fn nested(&self) -> bool {
        self.0.nesting == Nesting::Nested
    }

    /// That `rows` rows are not more cells than allowed.
    pub(crate) fn room(&self, rows: usize) -> Result<usize> {
        let (columns, limit) = (self.0.columns, self.0.max_cells);
        // The times of the columns take memory too, also without rows.
        let fits = rows
            .max(1)
            .checked_mul(columns)
            .is_some_and(|cells| cells <= limit);
        match fits {
            true => Ok(rows * columns),
            false => Err(Error::TooManyCells {
                rows,
                columns,
                limit,
            }),
        }
    }
}
