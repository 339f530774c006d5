//! [`ActivityGraph`]: activities with durations and dependencies, and its replay with other
//! durations, which gives a [`Schedule`] of begins and ends.
//!
//! An activity begins when all activities that it depends on have ended, and ends after its duration. Activities of a
//! group begin together, at the latest time at which one of them could begin; each ends after its own duration. The
//! replay of the graph with other durations gives the times that the program would have had with them
//! (what-if replay).
//!
//! ```text
//! ready(a) = max(0, end(p) for all p that a depends on)
//! start(a) = max(ready(b) for all b in the group of a)
//! end(a)   = start(a) + duration(a)
//! ```

mod builder;
mod chains;
mod program;

pub use builder::GraphBuilder;
pub(crate) use chains::{ChainGraph, Durations};
pub(crate) use program::{Burst, Places, ProgramGraph};

use crate::{Error, Result};
use perf_core::{Job, Nanos};

/// An activity by its number in an [`ActivityGraph`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ActivityId(pub u32);

impl ActivityId {
    /// Returns the number of the activity as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Activities with durations and dependencies, in an order in which they can be replayed.
///
/// ```
/// use perf_core::{Job, Nanos};
/// use perf_wait::graph::{GraphBuilder, Schedule};
/// let job = Job::default();
/// let mut graph = GraphBuilder::default();
/// // Two ranks compute for 5 and 9 ns, meet in a barrier of 1 ns, and compute for 2 ns.
/// let first = [graph.add(Nanos(5))?, graph.add(Nanos(9))?];
/// let barrier = [graph.add(Nanos(1))?, graph.add(Nanos(1))?];
/// let last = [graph.add(Nanos(2))?, graph.add(Nanos(2))?];
/// for rank in 0..2 {
///     graph.depend(barrier[rank], first[rank])?;
///     graph.depend(last[rank], barrier[rank])?;
/// }
/// graph.group(&barrier)?;
/// let graph = graph.build(&job)?;
///
/// let mut times = Schedule::default();
/// graph.replay(graph.durations(), &mut times, &job)?;
/// assert_eq!(times.length(), Nanos(12));
/// // Balanced computation is 2 ns faster.
/// let balanced = [7, 7, 1, 1, 2, 2].map(Nanos);
/// graph.replay(&balanced, &mut times, &job)?;
/// assert_eq!(times.length(), Nanos(10));
/// # Ok::<(), perf_wait::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ActivityGraph {
    durations: Vec<Nanos>,
    /// Activities in an order of replay; those of a group follow each other.
    order: Vec<u32>,
    /// Ends in `order` of the activities that begin together.
    ends: Vec<u32>,
    /// Start of the dependencies of each activity in `before`, and the end.
    starts: Vec<u32>,
    before: Vec<u32>,
}

/// Times of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Schedule {
    /// Time at which each activity could begin on its own.
    pub ready: Vec<Nanos>,
    /// Time at which each activity begins.
    pub start: Vec<Nanos>,
    /// Time at which each activity ends.
    pub end: Vec<Nanos>,
}

impl Schedule {
    /// Returns the latest end of an activity, 0 without activities.
    pub fn length(&self) -> Nanos {
        self.end.iter().copied().max().unwrap_or_default()
    }
}

impl ActivityGraph {
    /// Returns the number of activities.
    pub fn len(&self) -> usize {
        self.durations.len()
    }

    /// Returns `true` if there are no activities.
    pub fn is_empty(&self) -> bool {
        self.durations.is_empty()
    }

    /// Duration of each activity, as given to the builder.
    pub fn durations(&self) -> &[Nanos] {
        &self.durations
    }

    /// Returns the activities that an activity depends on.
    pub fn dependencies(&self, of: ActivityId) -> impl Iterator<Item = ActivityId> + '_ {
        self.before(of.0).iter().map(|id| ActivityId(*id))
    }

    fn before(&self, of: u32) -> &[u32] {
        let range = || {
            let at = of as usize;
            Some(*self.starts.get(at)? as usize..*self.starts.get(at + 1)? as usize)
        };
        // An activity that does not exist depends on nothing.
        let range = range().unwrap_or_default();
        self.before.get(range).unwrap_or_default()
    }

    /// Replays the graph with these durations.
    ///
    /// `times` is overwritten; its memory is used again. Takes time in proportion to activities and dependencies.
    /// Sums beyond the range of [`Nanos`] saturate.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Length`] unless there is one duration for each activity, and [`Error::Cancelled`] if the job
    /// is cancelled.
    pub fn replay(&self, durations: &[Nanos], times: &mut Schedule, job: &Job) -> Result<()> {
        let count = self.len();
        if durations.len() != count {
            return Err(Error::Length {
                what: "durations of activities",
                expected: count,
                got: durations.len(),
            });
        }
        let Schedule { ready, start, end } = times;
        for list in [&mut *ready, &mut *start, &mut *end] {
            list.clear();
            list.resize(count, Nanos(0));
        }
        let mut checks = job.checks();
        let mut from = 0;
        for until in &self.ends {
            let together = &self.order[from..*until as usize];
            from = *until as usize;
            let mut begin = Nanos(i64::MIN);
            for id in together {
                let before = self.before(*id);
                checks.next(before.len() + 1)?;
                let ends = before.iter().map(|id| end[*id as usize]);
                let own = ends.fold(Nanos(0), Nanos::max);
                ready[*id as usize] = own;
                begin = begin.max(own);
            }
            for id in together.iter().map(|id| *id as usize) {
                start[id] = begin;
                end[id] = begin.saturating_add(durations[id]);
            }
        }
        Ok(())
    }
}
