//! [`Grids`]: the search for the grid of processes on which a program works, from the severity
//! views of a profile, with its [`GridParams`], each [`GridCandidate`] and the [`GridVerdict`].

mod candidates;
mod evidence;
mod views;

use crate::significance::Random;
use crate::{Error, Result};
use candidates::{Candidates, is_coarsening};
use evidence::Evidence;
use perf_core::{Job, Profile, Table, parallel};
use perf_topology::{Axis, Place, Shape, Topology};
use views::Views;

/// Smallest number of processes. The permutations of fewer processes hardly differ.
const MIN_PROCESSES: usize = 8;

/// Largest number of processes, which bounds the time of a search.
const MAX_PROCESSES: usize = 1 << 17;

/// Upper bound on the number of surrogates.
const MAX_SURROGATES: usize = 1 << 16;

/// Upper bound on the number of additions over all surrogates; limits the number of views.
const MAX_ADDITIONS: usize = 2_000_000_000;

/// Number of views that are compared even if they exceed [`MAX_ADDITIONS`].
const MIN_VIEWS: usize = 8;

perf_core::parameters! {
    /// Parameters of a search for the grid of a profile. Set them, then call [`check`](Self::check).
    ///
    /// ```
    /// use perf_spectral::GridParams;
    /// assert!(GridParams::default().surrogates(199).level(0.005).check().is_ok());
    /// assert!(GridParams::default().axes(1).check().is_err());
    /// // 99 surrogates show no p-value below 0.01.
    /// assert!(GridParams::default().surrogates(99).level(0.001).check().is_err());
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct GridParams {
        /// Sets the largest number of axes, 2 to 4; default 4.
        axes: usize = 4,
        /// Sets the number of surrogates, which are permutations of the processes; default 99, at most
        /// 65,536. The smallest p-value is `1 / (surrogates + 1)`.
        surrogates: usize = 99,
        /// Sets the largest p-value of a proposal, between 0 and 1; default 0.01.
        level: f64 = 0.01,
        /// Sets the evidence that a rival of a proposal may have, relative to that of the proposal, in
        /// `0.0..=1.0`; default 0.9.
        margin: f64 = 0.9,
        /// Sets the largest number of views; default 256. Those with the largest variation, relative to
        /// the largest of their metric, are compared.
        views: usize = 256,
        /// Sets the seed of the permutations; default 0. The same seed gives the same result on any
        /// number of threads.
        seed: u64 = 0,
    }
}

impl GridParams {
    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`] for a parameter out of its range, and for a level that the
    /// number of surrogates cannot show.
    pub fn check(self) -> Result<CheckedGrids> {
        let wrong = |what, got| Err(Error::Parameter { what, got });
        if !(2..=4).contains(&self.axes) {
            return wrong("the largest number of axes", self.axes as f64);
        }
        if !(1..=MAX_SURROGATES).contains(&self.surrogates) {
            return wrong("the number of surrogates", self.surrogates as f64);
        }
        if self.views == 0 {
            return wrong("the number of views", 0.0);
        }
        let smallest = 1.0 / (self.surrogates + 1) as f64;
        if !(self.level >= smallest && self.level < 1.0) {
            return wrong("the level of a proposal", self.level);
        }
        if !(0.0..=1.0).contains(&self.margin) {
            return wrong("the margin of a proposal", self.margin);
        }
        Ok(CheckedGrids(self))
    }
}

/// Parameters validated by [`GridParams::check`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckedGrids(GridParams);

/// Assignment of the processes to the cells of a [`GridCandidate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Assignment {
    /// Processes in the order of their ranks, last axis fastest.
    Order,
    /// Machine node and process of the node, [`Topology::from_system`]. Used if the order of the
    /// processes does not follow the nodes.
    System,
}

/// Grid with the evidence for it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct GridCandidate {
    /// Length of each axis, slowest first.
    pub lens: Vec<usize>,
    /// Assignment of the processes to the cells.
    pub assignment: Assignment,
    /// `true` if one of two axes is the machine node and the other the process of the node.
    pub is_machine: bool,
    /// Evidence for the grid, 0 or more: the mean over the views of `-log10 P`, with P the
    /// probability that a random view varies as much along the axes as the view does.
    pub evidence: f64,
    /// Mean over the views of the share of the variance in frequencies along a single axis.
    pub share: f64,
    /// The same share of random views: the share of these frequencies among all.
    pub chance: f64,
}

impl GridCandidate {
    /// Returns the lengths, `4 x 4 x 4`.
    pub fn name(&self) -> String {
        let lens: Vec<_> = self.lens.iter().map(usize::to_string).collect();
        lens.join(" x ")
    }

    /// Returns the topology of the grid over the locations of a profile. The locations of a process
    /// share its cell. No axis is periodic, because the views do not show it.
    ///
    /// # Errors
    /// Returns the errors of [`Shape::new`] and [`Topology::from_system`].
    pub fn topology(&self, profile: &Profile) -> Result<Topology> {
        let system = profile.system();
        if self.assignment == Assignment::System {
            return Ok(Topology::from_system(
                system,
                &[Place::Node, Place::Process],
            )?);
        }
        let axes = self.lens.iter().map(|len| Axis {
            len: *len,
            ..Axis::default()
        });
        let shape = Shape::new(axes.collect())?;
        Ok(views::in_order(shape, system).named("detected"))
    }
}

/// Conclusion of a search for the grid of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum GridVerdict {
    /// The first candidate is proposed.
    Proposed,
    /// Several candidates explain the views about equally well.
    Ambiguous,
    /// The views vary smoothly with the number of the process, which explains them as well.
    Smooth,
    /// The first candidate has two axes, one of them of length 2, and is not that of the machine. It
    /// states only that two halves of the processes, or pairs of neighbours, are alike.
    Twofold,
    /// No candidate explains the views better than a random assignment would.
    Chance,
    /// No candidate exists: the number of processes is below 8 or a prime.
    NoCandidates,
}

/// Candidates for the grid of a profile.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Grids {
    /// Candidates, largest evidence first.
    pub candidates: Vec<GridCandidate>,
    /// Conclusion.
    pub verdict: GridVerdict,
    /// p-value: the share of permutations of the processes whose best candidate has at least the
    /// evidence of the first one, counting the profile itself.
    pub p: f64,
    /// Evidence for views that vary smoothly with the number of the process, on no grid.
    pub smooth: f64,
    /// Number of processes.
    pub processes: usize,
    /// Number of compared views.
    pub views: usize,
    /// Number of views that vary and differ from one another, compared or not.
    pub distinct: usize,
    /// Number of grids that were not tried, because there are more than 500 with that number of
    /// axes. The most compact ones are tried.
    pub untried: usize,
}

impl Grids {
    /// Searches the grid of processes on which the program of a profile works.
    ///
    /// Each way to write the number of processes as a product of 2 to 4 lengths is a candidate,
    /// with the processes in order, last axis fastest. Both orders of axes are among them, as `a x
    /// b` and `b x a`. If nodes have equal numbers of processes, node x process is a candidate too.
    ///
    /// A program on a grid has roles by position: borders, planes under a cloud, columns. Its views
    /// are mostly sums of one function for each axis, so their variance lies in few frequencies:
    /// those with a single non-zero index, `d_1 - 1 + .. + d_n - 1` of N - 1. The evidence compares
    /// the share of the variance in them with its distribution over random views, a beta
    /// distribution, so that neither many nor few frequencies are favoured. Views that vary along
    /// some of the axes only are compared by these axes, and views that vary smoothly along an axis
    /// of 5 or more by its lowest frequency. Finally, all processes are permuted,
    /// together for all views, and the best candidate is compared with the best one of each
    /// permutation.
    ///
    /// The first candidate is proposed if its p-value is at most the level, and if neither a rival
    /// nor a smooth function of the process number has evidence beyond the margin. Candidates that
    /// merge adjacent axes of the first one are no rivals: `16 x 4` explains all that `4 x 4 x 4`
    /// does. `2 x n` and `n x 2` are proposed only for the nodes of the machine.
    ///
    /// All stored rows of the profile are views, in the scope of their metrics. Locations of a
    /// process are combined. Progress is reported in surrogates, in the phase `grids`.
    ///
    /// ```
    /// use perf_core::*;
    /// use perf_spectral::{GridParams, GridVerdict, Grids};
    /// use std::sync::Arc;
    /// // 6 x 5 processes that take longer at the borders, and random noise.
    /// let mut locations = Vec::new();
    /// let mut times = Vec::new();
    /// for rank in 0..30u64 {
    ///     locations.push(Location { key: rank, ..Location::default() });
    ///     let (row, column) = (rank / 5, rank % 5);
    ///     let borders = u8::from(row % 5 == 0) + u8::from(column % 4 == 0);
    ///     times.push(f64::from(borders) + (rank * 7919 % 31) as f64 / 100.0);
    /// }
    /// let system = SystemTree::new(vec![], vec![], locations, &Limits::default())?;
    /// let mut calls = CallTree::default();
    /// let main = calls.child(None, RegionId(0))?;
    /// let mut rows = Rows::default();
    /// rows.insert(MetricId(0), main, Severities::F64(times));
    /// let regions = vec![Region::named("main")];
    /// let profile = Profile::new(system, regions, calls, vec![ProfileMetric::default()], Arc::new(rows))?;
    ///
    /// let grids = Grids::of(&profile, &GridParams::default().check()?, &Job::default())?;
    /// assert_eq!(grids.verdict, GridVerdict::Proposed);
    /// let grid = grids.proposal().expect("a grid is proposed");
    /// assert_eq!(grid.lens, [6, 5]);
    /// assert!(grid.share > 2.0 * grid.chance && grids.p <= 0.01);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Parameter`] for more than 131,072 processes, [`Error::Profile`] if a row
    /// cannot be read, and [`Error::Cancelled`] if the job is cancelled.
    pub fn of(profile: &Profile, params: &CheckedGrids, job: &Job) -> Result<Self> {
        let CheckedGrids(params) = params;
        let processes = views::count(profile.system());
        if processes > MAX_PROCESSES {
            return Err(Error::Parameter {
                what: "the number of processes of a search for grids",
                got: processes as f64,
            });
        }
        let mut found = Grids {
            candidates: Vec::new(),
            verdict: GridVerdict::NoCandidates,
            p: 1.0,
            smooth: 0.0,
            processes,
            views: 0,
            distinct: 0,
            untried: 0,
        };
        let candidates = match processes {
            MIN_PROCESSES.. => Candidates::of(profile.system(), processes, params.axes),
            _ => return Ok(found),
        };
        found.untried = candidates.untried;
        let effort = candidates
            .parts()
            .saturating_mul(processes)
            .saturating_mul(params.surrogates);
        let most = (MAX_ADDITIONS / effort.max(1)).max(MIN_VIEWS);
        let views = Views::of(profile, processes, most.min(params.views), job)?;
        (found.views, found.distinct) = (views.len(), views.distinct);
        if candidates.grids.is_empty() || views.len() == 0 {
            return Ok(found);
        }
        let evidence = Evidence::of(&candidates, processes);
        let order: Vec<u32> = (0..processes as u32).collect();
        let own = evidence.means(&views, &order, job)?;
        let best = |means: &[f64]| means.iter().copied().fold(0.0, f64::max);
        let chance = parallel::try_map(params.surrogates, |number| -> Result<_> {
            let mut order = order.clone();
            let mut random = Random::of(params.seed, number as u64);
            for at in (1..processes).rev() {
                // The number is below 1, so the index is at most `at`.
                order.swap(at, (random.unit() * (at + 1) as f64) as usize);
            }
            let found = best(&evidence.means(&views, &order, job)?);
            job.advance("grids", 1, params.surrogates as u64);
            Ok(found)
        })?;
        let reached = chance.iter().filter(|it| **it >= best(&own)).count();
        found.p = (reached + 1) as f64 / (params.surrogates + 1) as f64;
        found.smooth = evidence.smooth(&views, job)?;
        let shares = evidence.shares(&views);
        let means = own.iter().zip(shares);
        let rows = candidates.grids.into_iter().zip(means);
        found.candidates = rows
            .map(|(grid, (evidence, share))| GridCandidate {
                chance: grid.frequencies() as f64 / (processes - 1) as f64,
                lens: grid.lens,
                assignment: grid.assignment,
                is_machine: grid.is_machine,
                evidence: *evidence,
                share,
            })
            .collect();
        // The sort is stable: of equal ones, those with fewer axes come first.
        let order = |a: &GridCandidate, b: &GridCandidate| b.evidence.total_cmp(&a.evidence);
        found.candidates.sort_by(order);
        found.verdict = found.concluded(params);
        Ok(found)
    }

    /// Returns the proposed candidate; `None` if no candidate is clearly better than the others.
    pub fn proposal(&self) -> Option<&GridCandidate> {
        let first = self.candidates.first();
        first.filter(|_| self.verdict == GridVerdict::Proposed)
    }

    fn concluded(&self, params: &GridParams) -> GridVerdict {
        let Some((first, others)) = self.candidates.split_first() else {
            return GridVerdict::NoCandidates;
        };
        let most = params.margin * first.evidence;
        let is_rival = |other: &&GridCandidate| {
            let is_merged =
                other.assignment == first.assignment && is_coarsening(&other.lens, &first.lens);
            !is_merged && other.evidence > most
        };
        if self.p > params.level {
            GridVerdict::Chance
        } else if self.smooth > most {
            GridVerdict::Smooth
        } else if others.iter().any(|other| is_rival(&other)) {
            GridVerdict::Ambiguous
        } else if first.lens.len() == 2 && first.lens.contains(&2) && !first.is_machine {
            GridVerdict::Twofold
        } else {
            GridVerdict::Proposed
        }
    }

    /// Returns a row for each candidate: `grid`, `assignment`, `machine`, `evidence`, `share` and
    /// `chance` in per cent.
    pub fn table(&self) -> Table {
        let all = || self.candidates.iter();
        let assignment = |it: &GridCandidate| match it.assignment {
            Assignment::Order => "order",
            Assignment::System => "node, process",
        };
        Table::new("grids", "Candidates for the grid of the processes.")
            .text("grid", all().map(GridCandidate::name))
            .text("assignment", all().map(assignment))
            .flags("machine", all().map(|it| it.is_machine))
            .floats("evidence", "", all().map(|it| it.evidence))
            .floats("share", "%", all().map(|it| 100.0 * it.share))
            .floats("chance", "%", all().map(|it| 100.0 * it.chance))
    }
}
