//! [`Stragglers`]: ranks, steps and calls that are slower than their peers, from the times of
//! functions by rank and step, without a model of dependencies.
//!
//! The same function is called on several ranks in each of several steps. Its time is decomposed into parts that
//! multiply:
//!
//! ```text
//! log(time of function f on rank r in step s) = typical(f) + rank(f, r) + step(f, s) + rest(f, r, s)
//! ```
//!
//! The parts are found by median polish (Tukey, Exploratory Data Analysis, 1977): medians over steps and over ranks are
//! taken out in turns until they are 0. Single bad calls therefore stay in the rest and do not change the other parts.
//!
//! | finding | part | time lost |
//! |---|---|---|
//! | slow rank | `rank` | time of the rank in the function times `1 - exp(-rank)` |
//! | slow step | `step` | time of all ranks in the step times `1 - exp(-step)` |
//! | bad call | `rest` | time of the call times `1 - exp(-rest)` |
//!
//! A part is a finding if it is above the noise: the median of the absolute rests gives the standard deviation of a call,
//! and that of a median over n calls is 1.25 / sqrt(n) times this one. A step must also stand out of the spread of all steps.
//! Functions whose steps typically differ by a factor of 1.5 do different work in each and have no slow steps.
//!
//! [`PeerSums`] collects the times. It implements [`Merge`], so that threads, processes and streams can collect parts, and
//! [`PeerSums::forget_before`] bounds its memory on a stream.

mod polish;
mod row;
mod sums;

pub use sums::{PeerSums, PeerSumsParams};

#[cfg(doc)]
use perf_core::Merge;
use perf_core::{Job, Nanos, Table};

/// Function that was called, as a number that the caller chooses.
pub type FunctionKey = u32;

/// Part of the time of a function that belongs to one rank or one step.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Effect {
    /// The rank or step.
    pub key: u64,
    /// Logarithm of the factor by which it is slower than its peers.
    pub log: f64,
    /// Standard error of the logarithm.
    pub error: f64,
    /// Time lost; 0 for a rank or step that is faster.
    pub lost: Nanos,
}

/// Decomposed time of one function.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FunctionTimes {
    /// The function.
    pub function: FunctionKey,
    /// Number of calls.
    pub calls: u64,
    /// Typical time of a rank in a step.
    pub typical: Nanos,
    /// Standard deviation of the rest, a logarithm.
    pub noise: f64,
    /// Effects of ranks, by rank.
    pub ranks: Vec<Effect>,
    /// Effects of steps, by step.
    pub steps: Vec<Effect>,
}

/// Kind of a [`Straggler`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum StragglerKind {
    /// A rank that is slower than its peers in most steps.
    Rank,
    /// A step that is slower than others on most ranks.
    Step,
    /// A single call.
    Call,
}

/// A rank, step or call that is slower than its peers.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Straggler {
    /// Kind.
    pub kind: StragglerKind,
    /// The function.
    pub function: FunctionKey,
    /// The rank; `None` for a step.
    pub rank: Option<u32>,
    /// The step; `None` for a rank.
    pub step: Option<u64>,
    /// Factor by which it is slower than its peers.
    pub factor: f64,
    /// Distance from the peers in standard errors.
    pub score: f64,
    /// Time lost.
    pub lost: Nanos,
}

/// Decomposed times of all functions, and the stragglers among them.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stragglers {
    /// Functions with peers, by key.
    pub functions: Vec<FunctionTimes>,
    /// Stragglers, the one with the most time lost first.
    pub stragglers: Vec<Straggler>,
}

impl Stragglers {
    /// Decomposes the times that were collected.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn of(sums: &PeerSums, job: &Job) -> crate::Result<Self> {
        polish::decompose(sums, job)
    }

    /// Returns the stragglers as a table.
    pub fn table(&self, name: impl Fn(FunctionKey) -> String) -> Table {
        let rows = || self.stragglers.iter();
        let kind = |it: &Straggler| match it.kind {
            StragglerKind::Rank => "slow rank",
            StragglerKind::Step => "slow step",
            StragglerKind::Call => "bad call",
        };
        Table::new(
            "stragglers",
            "Ranks, steps and calls that are slower than their peers.",
        )
        .text("kind", rows().map(kind))
        .text("function", rows().map(|it| name(it.function)))
        .unsigned("rank", "", rows().map(|it| it.rank.map(u64::from)))
        .unsigned("step", "", rows().map(|it| it.step))
        .floats("factor", "", rows().map(|it| it.factor))
        .floats("score", "", rows().map(|it| it.score))
        .times("lost", rows().map(|it| it.lost))
    }
}
