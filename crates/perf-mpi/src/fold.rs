//! [`fold()`]: folds a window of streams that are distributed over ranks to counts of states in
//! each cell ([`Folded`]).

use crate::{Error, Ranks, Reader, Result, Wire};
use perf_core::{Job, LocationId, LocationKind, Merge, Ticks, TimeRange};
use perf_fold::{
    AbsentRule, Boundary, Cell, ClassId, FoldOp, Folder, Groups, State, Tally, Ties, Timelines,
};
use std::collections::HashSet;

/// Folded window: counts of the states of each row at the centre of each pixel. Any operation can
/// be applied to the counts without folding again.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Folded {
    /// Rows from the top.
    pub rows: Vec<FoldedRow>,
    /// Time window.
    pub window: TimeRange,
    /// Time at which each column was sampled.
    pub centres: Vec<Ticks>,
    /// Counts of each cell, row after row.
    cells: Vec<Tally>,
}

/// Row of a [`Folded`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoldedRow {
    /// Label of the row.
    pub label: String,
    /// Kind of all locations of the row.
    pub kind: LocationKind,
    /// Number of streams on all ranks.
    pub streams: usize,
}

impl Folded {
    /// Returns the counts of a cell, or `None` if there is no such cell.
    pub fn tally(&self, row: usize, column: usize) -> Option<&Tally> {
        let width = self.centres.len();
        let at = row.checked_mul(width)?.checked_add(column)?;
        self.cells.get(at).filter(|_| column < width)
    }

    /// Applies an operation to the cells of a row. Returns no cells if there is no such row.
    ///
    /// The cells are identical to those of a sampling [`Folder::fold`], except for rounding in
    /// [`Op::Entropy`](perf_fold::Op::Entropy). [`Ties::KeepPrevious`] falls back to stream order.
    pub fn cells(&self, row: usize, op: &dyn FoldOp, ties: Ties, absent: AbsentRule) -> Vec<Cell> {
        let tallies = (0..self.centres.len()).map_while(|column| self.tally(row, column));
        tallies.map(|tally| tally.cell(op, ties, absent)).collect()
    }
}

/// Folds a window into rows of `columns` cells. The default window is the range from the first to
/// the last transition on all ranks. Collective.
///
/// Each rank samples the streams of its `own` locations. Timelines and groups must cover all
/// locations, of which those of other ranks have no events, as in [`Part::trace`](crate::Part). The
/// result is the same on all ranks. Reports progress in the phase `fold`.
///
/// The size of messages depends on the numbers of cells and states, not on the number of streams.
///
/// ```no_run
/// use perf_core::Job;
/// use perf_fold::{AbsentRule, Boundary, GroupBy, Groups, Op, RegionMap, Ties, Timelines};
/// use perf_formats::OpenOptions;
/// use perf_mpi::{Ranks, fold, mpi, read};
/// let universe = mpi::initialize().ok_or("MPI was initialised before")?;
/// let ranks = Ranks::new(&universe.world());
/// let part = read(&ranks, "run/traces.otf2".as_ref(), &OpenOptions::new(), &Job::default())?;
/// let map = RegionMap::by_name(part.trace.definitions())?;
/// let timelines = Timelines::new(part.trace.view(), &map, &Job::default())?;
/// let groups = Groups::by(&timelines, GroupBy::Node);
/// let (own, at) = ((&timelines, &part.own[..]), Boundary::default());
/// let folded = fold(&ranks, own, &groups, 1000, at, None, &Job::default())?;
/// let cells = folded.cells(0, &Op::Diff, Ties::default(), AbsentRule::default());
/// assert_eq!(cells.len(), 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
/// # Errors
///
/// - Returns [`Error::Differs`] if streams, rows, columns or windows differ between ranks.
/// - Returns [`Error::TooMany`] if there are more than 2^24 cells.
/// - Returns [`Error::Fold`] if [`Folder::new`] fails.
/// - Returns [`Error::Cancelled`] if the job is cancelled.
#[allow(
    clippy::too_many_arguments,
    reason = "streams, groups, parameters, window, operation and job are independent"
)]
pub fn fold(
    ranks: &Ranks,
    (timelines, own): (&Timelines, &[LocationId]),
    groups: &Groups,
    columns: usize,
    boundary: Boundary,
    window: Option<TimeRange>,
    job: &Job,
) -> Result<Folded> {
    let shape = (timelines.len(), groups.rows().len(), columns);
    ranks.same("streams, rows or columns", &shape)?;
    let window = match window {
        Some(window) => window,
        None => range(ranks, timelines)?,
    };
    ranks.same("windows", &(window.start.0, window.end.0))?;
    let cells = groups.rows().len().saturating_mul(columns);
    if cells > MOST_CELLS {
        let limit = MOST_CELLS as u64;
        return Err(Error::TooMany {
            what: "cells",
            limit,
        });
    }
    // A folder without rows suffices to compute the centres of the pixels.
    let centres = centres(timelines, groups, columns, window);
    let centres = ranks.agree(centres)?;
    let grid = sample((timelines, own), groups, &centres, boundary, job);
    let grid = ranks.agree(grid)?;
    let Grid(cells) = ranks.merge_to_all(grid)?;
    let rows = groups.rows().iter().filter_map(|id| groups.get(*id));
    let rows = rows.map(|group| FoldedRow {
        label: group.label.clone(),
        kind: group.kind,
        streams: group.streams.len(),
    });
    Ok(Folded {
        rows: rows.collect(),
        window,
        centres,
        cells,
    })
}

/// Returns the range from the first transition on any rank to the last.
fn range(ranks: &Ranks, timelines: &Timelines) -> Result<TimeRange> {
    let own = timelines.range();
    let own = (timelines.transitions() > 0).then_some((own.start.0, own.end.0));
    let all = ranks.all_gather(&own)?.into_iter().flatten();
    let whole = all.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let (start, end) = whole.unwrap_or_default();
    Ok(TimeRange {
        start: Ticks(start),
        end: Ticks(end),
    })
}

fn centres(
    timelines: &Timelines,
    groups: &Groups,
    columns: usize,
    window: TimeRange,
) -> Result<Vec<Ticks>> {
    let params = Folder::params().columns(columns).check()?;
    let folder = Folder::new(timelines, groups.with_rows(&[])?, params)?;
    Ok(folder.fold(window, &Job::default())?.centres().to_vec())
}

/// Counts the states of the own streams.
fn sample(
    (timelines, own): (&Timelines, &[LocationId]),
    groups: &Groups,
    centres: &[Ticks],
    boundary: Boundary,
    job: &Job,
) -> Result<Grid> {
    let own: HashSet<LocationId> = own.iter().copied().collect();
    let is_own = |stream: &u32| {
        let location = timelines.location(*stream);
        location.is_some_and(|location| own.contains(&location))
    };
    let rows = groups.rows();
    let total = (rows.len() * centres.len()) as u64;
    let mut cells = Vec::with_capacity(rows.len().saturating_mul(centres.len()));
    for row in rows {
        job.check()?;
        let streams = groups.get(*row).map_or(&[][..], |group| &group.streams);
        let streams: Vec<u32> = streams.iter().copied().filter(is_own).collect();
        let tallies = centres
            .iter()
            .map(|centre| timelines.tally(&streams, *centre, boundary));
        cells.extend(tallies);
        job.advance("fold", centres.len() as u64, total);
    }
    Ok(Grid(cells))
}

/// Cells of a window; empty before the first merge.
#[derive(Debug, Default)]
struct Grid(Vec<Tally>);

impl Merge for Grid {
    fn merge(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize_with(other.0.len(), Tally::default);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.merge(theirs);
        }
    }
}

/// Runs of equal cells are written once, because neighbouring pixels are mostly equal.
impl Wire for Grid {
    const LEAST: usize = 8;

    fn write(&self, to: &mut Vec<u8>) {
        let runs = self.0.chunk_by(|a, b| a == b);
        let runs: Vec<(&[Tally], &Tally)> =
            runs.filter_map(|run| Some((run, run.first()?))).collect();
        self.0.len().write(to);
        runs.len().write(to);
        for (run, tally) in runs {
            run.len().write(to);
            let entries = tally.entries().iter();
            let entries: Vec<(u32, u64, u32)> = entries
                .map(|entry| (code(entry.state), entry.weight, entry.first))
                .collect();
            entries.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let len = usize::read(from)?;
        let runs = from.count64(16, "the number of runs of cells")?;
        let mut cells = Vec::new();
        for _ in 0..runs {
            let run = usize::read(from)?;
            if run > len.saturating_sub(cells.len()) || run == 0 || len > MOST_CELLS {
                return Err(from.error(0, "the declared number of cells").into());
            }
            let entries: Vec<(u32, u64, u32)> = Wire::read(from)?;
            let mut tally = Tally::default();
            for (code, weight, first) in entries {
                tally.add(state(code), weight, first);
            }
            cells.resize(cells.len() + run, tally);
        }
        if cells.len() == len {
            Ok(Grid(cells))
        } else {
            Err(from.error(0, "the declared number of cells").into())
        }
    }
}

/// Maximum number of cells. A run may hold more cells than bytes, so the length of the message is
/// no bound.
const MOST_CELLS: usize = 1 << 24;

/// Encodes a state as a number: absent, idle, then classes.
fn code(state: State) -> u32 {
    match state {
        State::Absent => 0,
        State::Idle => 1,
        State::Class(class) => class.0.saturating_add(2),
    }
}

fn state(code: u32) -> State {
    match code {
        0 => State::Absent,
        1 => State::Idle,
        class => State::Class(ClassId(class - 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_come_back_and_cut_ones_do_not() {
        let mut busy = Tally::default();
        busy.add(State::Class(ClassId(3)), 5, 1);
        busy.add(State::Idle, 2, 0);
        let mut gone = Tally::default();
        gone.add(State::Absent, 1, 9);
        let cells = vec![busy.clone(), busy.clone(), gone, Tally::default(), busy];
        let bytes = Grid(cells.clone()).to_bytes();
        assert_eq!(Grid::from_bytes(&bytes).unwrap().0, cells);
        for end in 0..bytes.len() {
            assert!(Grid::from_bytes(&bytes[..end]).is_err(), "{end}");
        }
        // A run that is longer than the grid.
        let long = [
            3_u64.to_bytes(),
            1_u64.to_bytes(),
            u64::MAX.to_bytes(),
            0_u64.to_bytes(),
        ];
        assert!(Grid::from_bytes(&long.concat()).is_err());
    }

    #[test]
    fn grids_of_parts_are_those_of_all() {
        let mut whole = Grid::default();
        for stream in 0..3 {
            let mut tally = Tally::default();
            tally.add(State::Class(ClassId(stream % 2)), 1, stream);
            whole.merge(&Grid(vec![tally]));
        }
        let weights: Vec<u64> = whole.0[0]
            .entries()
            .iter()
            .map(|entry| entry.weight)
            .collect();
        assert_eq!(weights, [2, 1]);
    }
}
