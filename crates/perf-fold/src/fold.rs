//! [`Fold`]: the result, rows of cells with their labels and times.

use crate::folder::Plan;
use crate::{Cell, ClassId, Classes, Group, GroupId};
use perf_core::{Clock, Nanos, Ticks, TimeRange};
use std::sync::Arc;

/// A folded window: rows x columns of [`Cell`]s, with what a picture needs beside them.
#[derive(Clone, Debug)]
pub struct Fold {
    plan: Arc<Plan>,
    window: TimeRange,
    pub(crate) cells: Vec<Cell>,
    pub(crate) centres: Vec<Ticks>,
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

    /// The window that was folded.
    pub fn window(&self) -> TimeRange {
        self.window
    }

    /// Width in pixels.
    pub fn columns(&self) -> usize {
        self.centres.len()
    }

    /// How ticks relate to nanoseconds.
    pub fn clock(&self) -> Clock {
        self.plan.timelines.clock()
    }

    /// The classes that cells show.
    pub fn classes(&self) -> &Classes {
        self.plan.timelines.classes()
    }

    /// The time at which each column was sampled: the centres of the pixels.
    pub fn centres(&self) -> &[Ticks] {
        &self.centres
    }

    /// The first tick of each pixel and, as one more, the end of the window.
    pub fn edges(&self) -> &[Ticks] {
        &self.edges
    }

    /// The time of a column's centre since the origin of the recording's clock. `None` for a
    /// column that is not there, or a time past 292 years.
    pub fn time(&self, column: usize) -> Option<Nanos> {
        self.plan
            .timelines
            .clock()
            .nanos(*self.centres.get(column)?)
    }

    /// All cells, row after row.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// One cell.
    pub fn cell(&self, row: usize, column: usize) -> Option<&Cell> {
        self.row(row)?.cells.get(column)
    }

    /// One row.
    pub fn row(&self, row: usize) -> Option<FoldRow<'_>> {
        let id = *self.plan.groups.rows().get(row)?;
        let start = row.checked_mul(self.columns())?;
        Some(FoldRow {
            id,
            group: self.plan.groups.get(id)?,
            cells: self.cells.get(start..start.checked_add(self.columns())?)?,
        })
    }

    /// The rows, from the top.
    pub fn rows(&self) -> impl Iterator<Item = FoldRow<'_>> {
        (0..self.plan.groups.rows().len()).filter_map(|row| self.row(row))
    }
}

/// One row of a [`Fold`].
///
/// ```
/// use perf_core::Job;
/// use perf_fold::{Folder, GroupBy, Groups, RegionMap, Timelines};
/// let trace = perf_testdata::cosmo::trace();
/// let timelines = Timelines::new(trace.view(), &RegionMap::by_name(trace.definitions())?, &Job::default())?;
/// let groups = Groups::by(&timelines, GroupBy::Node);
/// let folder = Folder::new(&timelines, groups, Folder::params().columns(100).check()?)?;
/// let fold = folder.fold(timelines.range(), &Job::default())?;
/// let row = fold.row(0).expect("there are four nodes");
/// assert_eq!((row.streams(), row.cells().len(), row.idle_cells()), (10, 100, 0));
/// // How many cells show which state, the most first.
/// let (most, cells) = row.painted()[0];
/// assert!(cells > 25, "{cells} of {}", fold.classes().name(most));
/// # Ok::<(), perf_fold::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FoldRow<'a> {
    id: GroupId,
    group: &'a Group,
    cells: &'a [Cell],
}

impl<'a> FoldRow<'a> {
    /// The group that was folded into it.
    pub fn id(&self) -> GroupId {
        self.id
    }

    /// That group: its kind, streams and children.
    pub fn group(&self) -> &'a Group {
        self.group
    }

    /// Name for people.
    pub fn label(&self) -> &'a str {
        &self.group.label
    }

    /// Number of streams.
    pub fn streams(&self) -> usize {
        self.group.streams.len()
    }

    /// Its cells, one a column.
    pub fn cells(&self) -> &'a [Cell] {
        self.cells
    }

    /// Number of cells that paint no class.
    pub fn idle_cells(&self) -> usize {
        self.cells
            .iter()
            .filter(|cell| cell.picture().is_none())
            .count()
    }

    /// How many cells paint each class, most first, equals by class. Idle cells are not listed.
    pub fn painted(&self) -> Vec<(ClassId, usize)> {
        let mut counts = std::collections::BTreeMap::new();
        for class in self.cells.iter().filter_map(Cell::picture) {
            *counts.entry(class).or_insert(0) += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(class, count)| (std::cmp::Reverse(*count), *class));
        counts
    }

    /// The share of cells in which a class is painted: for [`Op::Idle`](crate::Op::Idle) the
    /// sampled estimate of the utilisation, whose error is at most
    /// [`Utilisation::sampled_error`](crate::Utilisation::sampled_error).
    pub fn painted_share(&self) -> f64 {
        let painted = self.cells.len() - self.idle_cells();
        painted as f64 / self.cells.len().max(1) as f64
    }
}
