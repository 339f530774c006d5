//! Parameters of a fold: [`FoldParams`], with choices such as [`Selection`], [`Ties`],
//! [`AbsentRule`] and [`Nesting`], and their validated form, [`Checked`].

use crate::{Boundary, Error, FoldOp, Op, Result};
use perf_core::LocationKind;
use std::sync::Arc;

/// Method that determines the state of a stream in a pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Selection {
    /// The state at the centre of the pixel has weight 1. This is the published method. It takes
    /// O(log n) for each pixel and stream.
    #[default]
    Sampled,
    /// Each state is weighted by the number of ticks that it lasts within the pixel. This takes
    /// time proportional to the number of transitions in the window. A pixel shorter than a tick is
    /// sampled.
    Exact,
}

/// Rule that selects one of several states of equal weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ties {
    /// The state of the stream with the lowest number. With exact selection, one stream can have
    /// two tied states in a pixel; then the state that is lower in the order of
    /// [`State`](crate::State) wins.
    #[default]
    StreamOrder,
    /// The lowest state in the order of [`State`](crate::State). The fold then does not depend on
    /// the order of streams.
    LowestStateId,
    /// The state of the cell to the left if it is among the tied states, so that ties do not
    /// flicker; otherwise stream order.
    KeepPrevious,
}

/// Treatment of absent streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AbsentRule {
    /// Counted as idle, as published.
    #[default]
    AsIdle,
    /// Not counted. The total is then the number of streams that exist at that time.
    LeaveOut,
}

/// Method of folding a group of groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Nesting {
    /// All streams of the group have equal weight, regardless of the groups in between.
    #[default]
    Flat,
    /// Each child is folded first, and all children have equal weight. The result is a majority of
    /// majorities, which differs from a flat fold if children differ in size. A child that shows no
    /// class counts as idle; a child whose streams are all absent counts as absent.
    ///
    /// [`Op::Diff`] and [`Op::Outliers`] compare the children with each other. Each child is first
    /// folded by the default operation of its kind, so differences within a child are not visible.
    Nested,
}

perf_core::parameters! {
    /// Parameters of a fold. Set them, then call [`check`](Self::check).
    ///
    /// ```
    /// use perf_fold::{Folder, Op};
    /// let params = Folder::params().columns(800).op(Op::Diff).check()?;
    /// assert!(Folder::params().columns(0).check().is_err());
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    #[derive(Clone, Debug)]
    pub struct FoldParams {
        /// Sets the width in pixels; default 1920, at least 1.
        columns: usize = 1920,
        /// Selects sampled (default) or exact states.
        selection: Selection = Selection::default(),
        /// Sets the transitions that count at the time of a sample; default [`Boundary::AtOrBefore`].
        boundary: Boundary = Boundary::default(),
        /// Sets the rule for ties; default [`Ties::StreamOrder`].
        ties: Ties = Ties::default(),
        /// Sets the treatment of absent streams; default [`AbsentRule::AsIdle`].
        absent: AbsentRule = AbsentRule::default(),
        /// Makes [`Op::Min`] skip idle streams; default false. If all streams are idle, the result is
        /// idle.
        ignore_idle: bool = false,
        /// Selects flat (default) or nested folds of groups of groups.
        nesting: Nesting = Nesting::default(),
        /// Shows [zero-length work](crate::Timelines::instants) in cells of at most one tick, in place
        /// of the state of its stream at that time. Default false: zero-length states are not shown, as
        /// published.
        instants: bool = false,
        /// Sets the largest number of cells of one fold; default 2^24. A cell takes 48 bytes.
        max_cells: usize = 1 << 24,
    } and {
        /// User-defined operation.
        op: Option<Arc<dyn FoldOp>> = None,
        /// Predefined operation; `None` for the default of each kind, or if `op` is set.
        known: Option<Op> = None,
    }
}

impl FoldParams {
    /// Sets the operation. The default depends on the kind of the row: [`Op::Idle`] for accelerator
    /// streams, because few of many streams are active at a time, and [`Op::Max`] otherwise.
    pub fn op(mut self, op: Op) -> Self {
        self.known = Some(op);
        self.op = None;
        self
    }

    /// Sets a user-defined operation, which replaces [`op`](Self::op). Default: none.
    pub fn own_op(mut self, op: impl FoldOp + 'static) -> Self {
        self.op = Some(Arc::new(op));
        self.known = None;
        self
    }

    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::NoColumns`] without columns, or [`Error::NestedNumbers`] for a nested fold
    /// with an operation that does not select a state.
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

/// Parameters of a [`Folder`](crate::Folder), validated by [`FoldParams::check`].
#[derive(Clone, Debug, Default)]
pub struct Checked(FoldParams);

fn default_op(kind: LocationKind) -> Op {
    match kind {
        LocationKind::AcceleratorStream => Op::Idle,
        _ => Op::Max,
    }
}

/// Operation of one row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowOp<'a> {
    /// Predefined operation.
    Known(Op),
    /// User-defined operation.
    Own(&'a dyn FoldOp),
}

impl Checked {
    /// Returns the width in pixels.
    pub fn columns(&self) -> usize {
        self.0.columns
    }

    /// Returns the operation for a row of `kind`, or `None` if it is user-defined.
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

    /// Returns the operation for the children of a nested fold if it differs from the operation of
    /// the row. `Op::Diff` and `Op::Outliers` show differences, which cannot be compared again as
    /// states.
    pub(crate) fn child_op(&self, kind: LocationKind) -> Option<Op> {
        match self.op(kind)? {
            Op::Diff | Op::Outliers(_) => Some(default_op(kind)),
            _ => None,
        }
    }

    /// Returns `true` if states are weighted exactly, which [`Op::Share`] always requires.
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

    /// Returns the number of cells of `rows` rows, or an error if this number exceeds the limit.
    pub(crate) fn room(&self, rows: usize) -> Result<usize> {
        let (columns, limit) = (self.0.columns, self.0.max_cells);
        // The times of the columns take memory even without rows.
        let fits = rows
            .max(1)
            .checked_mul(columns)
            .is_some_and(|cells| cells <= limit);
        if fits {
            Ok(rows * columns)
        } else {
            Err(Error::TooManyCells {
                rows,
                columns,
                limit,
            })
        }
    }
}
