//! [`Fold`]: the folded window as rows ([`FoldRow`]) of cells, with their labels and times.

use crate::cells::folder::Plan;
use crate::{Cell, ClassId, Classes, Group, GroupId};
use perf_core::{Clock, Nanos, Ticks, TimeRange};
use std::sync::Arc;

/// Folded window: rows and columns of [`Cell`]s, with the labels and times that a picture needs.
#[derive(Clone, Debug)]
pub struct Fold {
    /// Plan of the folder that computed the fold.
    plan: Arc<Plan>,
    /// Folded window.
    window: TimeRange,
    /// Cells, row after row.
    pub(crate) cells: Vec<Cell>,
    /// Time at the centre of each column.
    pub(crate) centres: Vec<Ticks>,
    /// First tick of each column and the end of the window.
    pub(crate) edges: Vec<Ticks>,
}

impl Fold {
    pub(crate) fn new(plan: Arc<Plan>) -> Self {
        let start = plan.timelines.range().start;
        Fold {
            plan,
            window: TimeRange { start, end: start },
            cells: Vec::new(),
            centres: Vec::new(),
            edges: Vec::new(),
        }
    }

    pub(crate) fn begin(&mut self, plan: Arc<Plan>, window: TimeRange, cells: usize) {
        self.plan = plan;
        self.window = window;
        self.cells.resize(cells, Cell::default());
    }

    /// Returns the window that was folded.
    pub fn window(&self) -> TimeRange {
        self.window
    }

    /// Returns the width in pixels.
    pub fn columns(&self) -> usize {
        self.centres.len()
    }

    /// Returns the clock that converts ticks to nanoseconds.
    pub fn clock(&self) -> Clock {
        self.plan.timelines.clock()
    }

    /// Returns the classes that cells show.
    pub fn classes(&self) -> &Classes {
        self.plan.timelines.classes()
    }

    /// Returns the time at which each column was sampled, which is the centre of the pixel.
    pub fn centres(&self) -> &[Ticks] {
        &self.centres
    }

    /// Returns the first tick of each pixel, followed by the end of the window.
    pub fn edges(&self) -> &[Ticks] {
        &self.edges
    }

    /// Returns the time of a column's centre since the origin of the recording's clock. Returns
    /// `None` for a column that does not exist or a time beyond 292 years.
    pub fn time(&self, column: usize) -> Option<Nanos> {
        self.plan
            .timelines
            .clock()
            .nanos(*self.centres.get(column)?)
    }

    /// Returns all cells, row after row.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Returns one cell, or `None` if there is no such row or column.
    pub fn cell(&self, row: usize, column: usize) -> Option<&Cell> {
        self.row(row)?.cells.get(column)
    }

    /// Returns one row, or `None` if there is no such row.
    pub fn row(&self, row: usize) -> Option<FoldRow<'_>> {
        let id = *self.plan.groups.rows().get(row)?;
        let start = row.checked_mul(self.columns())?;
        Some(FoldRow {
            id,
            group: self.plan.groups.get(id)?,
            cells: self.cells.get(start..start.checked_add(self.columns())?)?,
        })
    }

    /// Returns the rows from top to bottom.
    pub fn rows(&self) -> impl Iterator<Item = FoldRow<'_>> {
        (0..self.plan.groups.rows().len()).filter_map(|row| self.row(row))
    }
}

/// One row of a [`Fold`].
///
/// ```
/// use perf_core::Job;
/// use perf_fold::{Folder, GroupBy, Groups, RegionMap, Timelines};
/// let trace = perf_core::samples::cosmo::trace();
/// let timelines = Timelines::new(trace.view(), &RegionMap::by_name(trace.definitions())?, &Job::default())?;
/// let groups = Groups::by(&timelines, GroupBy::Node);
/// let folder = Folder::new(&timelines, groups, Folder::params().columns(100).check()?)?;
/// let fold = folder.fold(timelines.range(), &Job::default())?;
/// let row = fold.row(0).expect("there are four nodes");
/// assert_eq!((row.streams(), row.cells().len(), row.idle_cells()), (10, 100, 0));
/// // Number of cells of each state, in descending order.
/// let (most, cells) = row.painted()[0];
/// assert!(cells > 25, "{cells} of {}", fold.classes().name(most));
/// # Ok::<(), perf_fold::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FoldRow<'a> {
    /// Group that was folded into the row.
    id: GroupId,
    /// Definition of this group.
    group: &'a Group,
    /// Cells of the row, one for each column.
    cells: &'a [Cell],
}

impl<'a> FoldRow<'a> {
    /// Returns the id of the group that was folded into this row.
    pub fn id(&self) -> GroupId {
        self.id
    }

    /// Returns the group: its kind, streams and children.
    pub fn group(&self) -> &'a Group {
        self.group
    }

    /// Returns the display name.
    pub fn label(&self) -> &'a str {
        &self.group.label
    }

    /// Returns the number of streams.
    pub fn streams(&self) -> usize {
        self.group.streams.len()
    }

    /// Returns the cells, one for each column.
    pub fn cells(&self) -> &'a [Cell] {
        self.cells
    }

    /// Returns the number of cells that paint no class.
    pub fn idle_cells(&self) -> usize {
        self.cells
            .iter()
            .filter(|cell| cell.picture().is_none())
            .count()
    }

    /// Returns the number of cells that paint each class, in descending order and then by class.
    /// Idle cells are not listed.
    pub fn painted(&self) -> Vec<(ClassId, usize)> {
        let mut counts = std::collections::BTreeMap::new();
        for class in self.cells.iter().filter_map(Cell::picture) {
            *counts.entry(class).or_insert(0) += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(class, count)| (std::cmp::Reverse(*count), *class));
        counts
    }

    /// Returns the fraction of cells in which a class is painted. For [`Op::Idle`](crate::Op::Idle)
    /// this fraction is the sampled estimate of the utilisation, with an error of at most
    /// [`Utilisation::sampled_error`](crate::Utilisation::sampled_error).
    pub fn painted_share(&self) -> f64 {
        let painted = self.cells.len() - self.idle_cells();
        painted as f64 / self.cells.len().max(1) as f64
    }
}
