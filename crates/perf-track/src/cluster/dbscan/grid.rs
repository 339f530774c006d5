//! [`scan`]: DBSCAN on a grid of [`Cells`], for up to three dimensions: finds the core points,
//! unites their cells and labels all points.
//!
//! Points of one cell are neighbours. A cell with enough points therefore consists of core points,
//! and the core points of a cell are in one cluster. Two cells are in one cluster if any core point
//! of one is within eps of any core point of the other. Only the points of cells with fewer than
//! `min_points` points are examined one by one. (Gunawan 2013; de Berg, Gunawan and Roeloffzen
//! 2019.)

use super::border::Claim;
use super::cells::{self, Cells};
use super::proximity::any_within;
use super::{Checked, Found};
use crate::cluster::disjoint_sets::DisjointSets;
use crate::cluster::distance::squared;
use crate::{Points, Result};
use perf_core::{CancellationChecks, Cancelled, Job, parallel};
use std::ops::Range;

/// Number of cells that a thread processes at a time.
const PIECE: usize = 128;
/// Number of points of either cell that are compared directly before the search by halves.
const SAMPLE: usize = 6;

/// Computes labels and core points on a grid. `None` if eps is too small for a grid over the extent of
/// the points.
pub(super) fn scan<const D: usize>(
    points: Points<'_>,
    params: &Checked,
    job: &Job,
) -> Result<Option<Found>> {
    job.check()?;
    let Some(cells) = Cells::<D>::new(points, params.eps(), job)? else {
        return Ok(None);
    };
    let grid = Grid {
        limit: params.eps() * params.eps(),
        least: params.min_points(),
        cells,
    };
    let core = grid.pieces("core points", job, |range, checks| grid.core(range, checks))?;
    let core: Vec<bool> = core.concat();
    let sets = DisjointSets::new(grid.cells.len());
    let has_core = parallel::fill(
        grid.cells.len(),
        false,
        |cell| core[grid.cells.range(cell)].contains(&true),
        job,
    )?;
    // Adjacent cells are united first, after which most cells farther apart are already in one set.
    for (phase, reach) in [("adjacent cells", 1), ("distant cells", 2)] {
        grid.pieces(phase, job, |range, checks| {
            grid.merge(range, reach, (&core, &has_core), &sets, checks)
        })?;
    }
    drop(has_core);
    let (cluster_of, seeds) = grid.number(&core, &sets, job)?;
    let found = Found::new(points.len());
    let marks = Marks {
        core: &core,
        cluster_of: &cluster_of,
        seeds: &seeds,
    };
    grid.pieces("border points", job, |range, checks| {
        grid.label(range, marks, params, &found, checks)
    })?;
    Ok(Some(found))
}

/// Returns an upper bound of the memory of a scan in bytes; `None` if there is no grid.
pub(super) fn memory<const D: usize>(points: Points<'_>, eps: f64) -> Option<usize> {
    let (count, (filled, sorting)) = (points.len(), cells::memory::<D>(points, eps)?);
    let point = size_of::<[f64; D]>() + size_of::<u32>();
    // Key, start and box of a cell, its set, and number and root of its cluster.
    let cell = 8 + 4 + size_of::<([f64; D], [f64; D])>() + 4 + 16;
    // Core flags, labels, and core flags in the order of the points.
    let scanning = count * (point + 1 + 4 + 1) + filled * cell;
    Some(scanning.max(sorting))
}

struct Grid<const D: usize> {
    /// Square of eps.
    limit: f64,
    /// Minimum number of points.
    least: usize,
    /// Points by cell.
    cells: Cells<D>,
}

/// State of points and cells after core points are united.
#[derive(Clone, Copy)]
struct Marks<'a> {
    /// `true` for each position with a core point.
    core: &'a [bool],
    /// Cluster of each cell; `u32::MAX` without core points.
    cluster_of: &'a [u32],
    /// Core point of lowest index of each cluster.
    seeds: &'a [u32],
}

impl<const D: usize> Grid<D> {
    /// Runs `work` on pieces of the cells. Makes cancellation checks by the number of computed
    /// distances, because a cell may hold any number of points.
    fn pieces<R: Send>(
        &self,
        phase: &'static str,
        job: &Job,
        work: impl Fn(Range<usize>, &mut CancellationChecks<'_>) -> Result<R, Cancelled> + Send + Sync,
    ) -> Result<Vec<R>> {
        let all = self.cells.len();
        parallel::try_map(parallel::chunk_count(all, PIECE), |piece| -> Result<_> {
            job.check()?;
            let range = parallel::chunk(all, PIECE, piece);
            let done = range.len() as u64;
            let result = work(range, &mut job.checks())?;
            job.advance(phase, done, all as u64);
            Ok(result)
        })
    }

    /// Finds the core points of these cells.
    fn core(
        &self,
        range: Range<usize>,
        checks: &mut CancellationChecks<'_>,
    ) -> Result<Vec<bool>, Cancelled> {
        let places = self.cells.range(range.start).start..self.cells.range(range.end - 1).end;
        let mut core = Vec::with_capacity(places.len());
        self.cells.around(range, 2, false, |cell, around| {
            let inside = self.cells.inside(cell);
            let sizes = around
                .iter()
                .map(|&other| self.cells.range(other as usize).len());
            if inside.len() >= self.least {
                core.resize(core.len() + inside.len(), true);
            } else if inside.len() + sizes.sum::<usize>() < self.least {
                core.resize(core.len() + inside.len(), false);
            } else {
                let missing = self.least - inside.len();
                let from = core.len();
                core.resize(from + inside.len(), false);
                for (core, point) in core[from..].iter_mut().zip(inside) {
                    *core = self.has(point, around, missing, checks)?;
                }
            }
            Ok(())
        })?;
        Ok(core)
    }

    /// Returns `true` if at least `missing` points of these cells are within eps.
    fn has(
        &self,
        point: &[f64; D],
        around: &[u32],
        missing: usize,
        checks: &mut CancellationChecks<'_>,
    ) -> Result<bool, Cancelled> {
        let mut count = 0;
        checks.next(around.len())?;
        for &other in around {
            let (bounds, inside) = (
                self.cells.bounds(other as usize),
                self.cells.inside(other as usize),
            );
            if bounds.gap(point) > self.limit {
                continue;
            }
            if bounds.reach(point) <= self.limit {
                count += inside.len();
            } else {
                let within = |q: &&[f64; D]| squared(point, *q) <= self.limit;
                for piece in inside.chunks(CancellationChecks::EACH) {
                    checks.next(piece.len())?;
                    let within = piece.iter().filter(within);
                    count += within.take(missing - count).count();
                }
            }
            if count >= missing {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Unites these cells with later neighbours that have core points.
    fn merge(
        &self,
        range: Range<usize>,
        reach: i64,
        (core, has_core): (&[bool], &[bool]),
        sets: &DisjointSets,
        checks: &mut CancellationChecks<'_>,
    ) -> Result<(), Cancelled> {
        let mut space = (Vec::new(), Vec::new());
        self.cells.around(range, reach, true, |cell, around| {
            if !has_core[cell] {
                return Ok(());
            }
            for &other in around {
                let later = other as usize;
                if has_core[later]
                    && !sets.together(cell as u32, other)
                    && self.linked((cell, later), core, &mut space, checks)?
                {
                    sets.unite(cell as u32, other);
                }
            }
            Ok(())
        })
    }

    /// Returns `true` if a core point of one cell is within eps of a core point of the other.
    fn linked(
        &self,
        (a, b): (usize, usize),
        core: &[bool],
        (left, right): &mut (Vec<[f64; D]>, Vec<[f64; D]>),
        checks: &mut CancellationChecks<'_>,
    ) -> Result<bool, Cancelled> {
        let (bounds_a, bounds_b) = (self.cells.bounds(a), self.cells.bounds(b));
        if bounds_a.gap_to(bounds_b) > self.limit {
            return Ok(false);
        }
        if bounds_a.reach_to(bounds_b) <= self.limit {
            return Ok(true);
        }
        let some = |cell: usize| {
            let range = self.cells.range(cell);
            let step = (range.len() / SAMPLE).max(1);
            let places = range.step_by(step).filter(|&place| core[place]);
            places.map(|place| &self.cells.points[place])
        };
        if some(a).any(|p| some(b).any(|q| squared(p, q) <= self.limit)) {
            return Ok(true);
        }
        let mut gather = |cell: usize,
                          other: usize,
                          into: &mut Vec<[f64; D]>|
         -> Result<(), Cancelled> {
            let bounds = self.cells.bounds(other);
            let close =
                |&place: &usize| core[place] && bounds.gap(&self.cells.points[place]) <= self.limit;
            into.clear();
            let mut places = self.cells.range(cell);
            while !places.is_empty() {
                let piece = places.start..places.end.min(places.start + CancellationChecks::EACH);
                checks.next(piece.len())?;
                places.start = piece.end;
                let places = piece.filter(close);
                into.extend(places.map(|place| self.cells.points[place]));
            }
            Ok(())
        };
        gather(a, b, left)?;
        gather(b, a, right)?;
        any_within(left, right, self.limit, checks)
    }

    /// Returns the cluster of each cell with core points (`u32::MAX` for others) and the core point
    /// of lowest index of each cluster. Clusters are numbered in the order of these.
    fn number(
        &self,
        core: &[bool],
        sets: &DisjointSets,
        job: &Job,
    ) -> Result<(Vec<u32>, Vec<u32>)> {
        let count = self.cells.len();
        let roots_and_firsts = parallel::fill(
            count,
            (0, 0),
            |cell| {
                // Points of a cell are in the order of their indices.
                let first = self.cells.range(cell).find(|&place| core[place]);
                let first = first.map_or(u32::MAX, |place| self.cells.index[place]);
                (sets.find(cell as u32), first)
            },
            job,
        )?;
        let mut lowest = vec![u32::MAX; self.cells.len()];
        for &(root, first) in &roots_and_firsts {
            let least = &mut lowest[root as usize];
            *least = (*least).min(first);
        }
        let roots = lowest.iter().zip(0_u32..);
        let mut seeds: Vec<(u32, u32)> = roots
            .filter(|&(&least, _)| least != u32::MAX)
            .map(|(&least, root)| (least, root))
            .collect();
        job.sort_by(&mut seeds, Ord::cmp)?;
        // The memory is reused for the number of each root's cluster.
        let mut cluster_of_root = lowest;
        for (&(_, root), cluster) in seeds.iter().zip(0..) {
            cluster_of_root[root as usize] = cluster;
        }
        let cluster_of = parallel::fill(
            count,
            0,
            |cell| cluster_of_root[roots_and_firsts[cell].0 as usize],
            job,
        )?;
        let seeds = seeds.into_iter().map(|(least, _)| least);
        Ok((cluster_of, seeds.collect()))
    }

    /// Finds the cluster of each point of these cells.
    fn label(
        &self,
        range: Range<usize>,
        marks: Marks<'_>,
        params: &Checked,
        found: &Found,
        checks: &mut CancellationChecks<'_>,
    ) -> Result<(), Cancelled> {
        let Marks {
            core,
            cluster_of,
            seeds,
        } = marks;
        self.cells.around(range, 2, false, |cell, around| {
            checks.next(self.cells.range(cell).len())?;
            for place in self.cells.range(cell) {
                let index = self.cells.index[place];
                if core[place] {
                    found.set(index, cluster_of[cell], true);
                    continue;
                }
                let point = &self.cells.points[place];
                let mut claim = Claim::new(params.border(), seeds);
                checks.next(around.len())?;
                for other in std::iter::once(cell).chain(around.iter().map(|&o| o as usize)) {
                    // Cells without core points have no cluster.
                    let cluster = cluster_of[other];
                    if cluster == u32::MAX || self.cells.bounds(other).gap(point) > self.limit {
                        continue;
                    }
                    let mut places = self.cells.range(other);
                    while !places.is_empty() {
                        let piece =
                            places.start..places.end.min(places.start + CancellationChecks::EACH);
                        checks.next(piece.len())?;
                        places.start = piece.end;
                        for place in piece {
                            let is_near =
                                || squared(point, &self.cells.points[place]) <= self.limit;
                            if core[place] && is_near() {
                                claim.offer(self.cells.index[place], cluster);
                            }
                        }
                    }
                }
                if let Some(cluster) = claim.cluster() {
                    found.set(index, cluster, false);
                }
            }
            Ok(())
        })
    }
}
