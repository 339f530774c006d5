//! [`Bursts`]: table of CPU bursts, with the thread, times, callers, [`Kind`] and [`Position`] of
//! each [`Burst`] and a [`Column`] for each metric.

mod chains;
mod dropped;
mod duration_cut;
mod extraction;
mod formula;
mod share_filter;
mod table;
mod unfiltered;

pub use chains::CallerChain;
pub use dropped::{Amount, Dropped};
pub use duration_cut::DurationCut;
pub(crate) use extraction::OUTSIDE;
pub use extraction::{Delimiter, Extract, ExtractParams};
pub use formula::{Formula, ZeroDivision};
pub use share_filter::drop_small_clusters;
pub use unfiltered::Unfiltered;

use crate::{Error, Result};
use chains::Chains;
use perf_core::{LocationId, Nanos};
use std::sync::Arc;

/// Thread that executes bursts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Thread {
    /// Location in the recording.
    pub location: LocationId,
    /// Name, such as `rank 3, thread 0`.
    pub name: String,
    /// Index of the process of the thread, from 0: the rank if there is one.
    pub process: u32,
}

/// Classification of a burst before clustering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Kind {
    /// The burst has all metrics and passed all filters.
    #[default]
    Complete,
    /// A required metric is missing or not finite, or has no logarithm on a logarithmic axis.
    Missing,
    /// The burst is too short or too long.
    Duration,
    /// A metric is out of the requested range.
    Range,
    /// The burst belongs to a cluster with a share of the time below the requested minimum.
    Share,
}

/// Number of a chain of callers, innermost first, each as text such as `field_bc boundary.F90:299`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[repr(transparent)]
pub struct ChainId(pub u32);

/// One metric of all bursts.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Column {
    /// Name, such as `PAPI_TOT_INS` or `IPC`.
    pub name: String,
    /// Unit; empty for a ratio.
    pub unit: String,
    /// One value for each burst; NaN if it is missing.
    pub values: Vec<f64>,
}

/// One burst.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Burst {
    /// Index of the thread of the burst in [`Bursts::threads`].
    pub thread: u32,
    /// Begin.
    pub begin: Nanos,
    /// End, not before the begin.
    pub end: Nanos,
    /// Callers of the call before the burst, if known.
    pub before: Option<ChainId>,
    /// Callers of the call after the burst, if known.
    pub after: Option<ChainId>,
    /// Calls around the burst and functions that contain it.
    pub position: Position,
}

/// Program position of a burst, as far as known. Each part is a chain with the innermost function
/// first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Position {
    /// Communication call before the burst: the call, then its callers.
    pub call_before: Option<ChainId>,
    /// Communication call after the burst: the call, then its callers.
    pub call_after: Option<ChainId>,
    /// Functions that were open when the burst began. On a thread with parallel functions but without
    /// communication calls, a burst outside of them has the functions around it, as in
    /// `outside parallel functions, before solve`. `None` for bursts between calls, whose calls have
    /// these functions as callers.
    pub within: Option<ChainId>,
}

/// Bursts of one recording, ordered by thread and then by time, in columns.
///
/// ```
/// use perf_core::Nanos;
/// use perf_track::{Burst, Bursts, Thread};
/// let mut bursts = Bursts::new(["instructions"]);
/// let rank = bursts.add_thread(Thread { name: "rank 0".into(), ..Default::default() })?;
/// let solve = bursts.add_chain(&["solve solver.f90:12"])?;
/// let (begin, end) = (Nanos(0), Nanos(2_000_000));
/// let burst = Burst { thread: rank, begin, end, before: Some(solve), ..Burst::default() };
/// bursts.push(burst, &[3.4e9])?;
/// assert_eq!(bursts.durations(), [2e6]);
/// assert_eq!(bursts.column("instructions")?.values, [3.4e9]);
/// assert_eq!(bursts.chain(solve).collect::<Vec<_>>(), ["solve solver.f90:12"]);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Bursts {
    /// Threads, shared by copies and windows.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialize::shared"))]
    threads: Arc<Vec<Thread>>,
    /// Bursts.
    rows: Vec<Burst>,
    /// Kind of each burst.
    kinds: Vec<Kind>,
    /// Metrics.
    columns: Vec<Column>,
    /// Chains of callers, shared by copies and windows.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialize::shared"))]
    chains: Arc<Chains>,
}

/// Returns the next id of a table of `len` entries. No id is `u32::MAX`.
fn next_id(len: usize, what: &'static str) -> Result<u32> {
    let limit = u64::from(u32::MAX);
    let id = u32::try_from(len).ok().filter(|&id| id != u32::MAX);
    id.ok_or(Error::TooMany { what, limit })
}

impl Bursts {
    /// Creates an empty table of bursts with these metrics in addition to the duration.
    pub fn new<'n>(metrics: impl IntoIterator<Item = &'n str>) -> Self {
        Self::with_units(metrics.into_iter().map(|name| (name, "")))
    }

    /// Creates an empty table of bursts with these metrics, given by name and unit.
    pub fn with_units<'n>(metrics: impl IntoIterator<Item = (&'n str, &'n str)>) -> Self {
        let column = |(name, unit): (&str, &str)| Column {
            name: name.to_owned(),
            unit: unit.to_owned(),
            values: Vec::new(),
        };
        Bursts {
            columns: metrics.into_iter().map(column).collect(),
            ..Bursts::default()
        }
    }

    /// Adds a thread and returns its index.
    ///
    /// # Errors
    /// Returns [`Error::TooMany`] for more threads than 32 bits can count.
    pub fn add_thread(&mut self, thread: Thread) -> Result<u32> {
        let id = next_id(self.threads.len(), "threads")?;
        Arc::make_mut(&mut self.threads).push(thread);
        Ok(id)
    }

    /// Returns the id of a chain of callers, innermost first; equal chains have the same id.
    ///
    /// # Errors
    /// Returns [`Error::TooMany`] for more chains than 32 bits can count.
    pub fn add_chain<S: AsRef<str>>(&mut self, callers: &[S]) -> Result<ChainId> {
        if let Some(id) = self.chains.find(callers) {
            return Ok(id);
        }
        let chains = Arc::make_mut(&mut self.chains);
        let texts = callers
            .iter()
            .rev()
            .map(|text| chains.number(text.as_ref()));
        let numbers: Vec<_> = texts.collect::<Result<_>>()?;
        chains.add(numbers.into_iter())
    }

    /// Returns the chains for modification.
    fn chains_mut(&mut self) -> &mut Chains {
        Arc::make_mut(&mut self.chains)
    }

    /// Adds a burst with a value for each metric (NaN if it is missing).
    ///
    /// # Errors
    /// Returns [`Error::Unknown`] for an unknown thread or chain, [`Error::Backwards`] if the burst
    /// ends before it begins, [`Error::Length`] if there is not one value for each metric, or
    /// [`Error::TooMany`] for more bursts than 32 bits can count.
    pub fn push(&mut self, burst: Burst, values: &[f64]) -> Result<()> {
        next_id(self.rows.len(), "bursts")?;
        let known = |what, id: u32, count| {
            if (id as usize) < count {
                Ok(())
            } else {
                Err(Error::Unknown {
                    what,
                    id: id as usize,
                    count,
                })
            }
        };
        known("thread", burst.thread, self.threads.len())?;
        let Position {
            call_before,
            call_after,
            within,
        } = burst.position;
        let chains = [burst.before, burst.after, call_before, call_after, within];
        for chain in chains.into_iter().flatten() {
            known("caller chain", chain.0, self.chains.len())?;
        }
        if burst.end < burst.begin {
            return Err(Error::Backwards {
                thread: burst.thread,
                begin: burst.begin.0,
                end: burst.end.0,
            });
        }
        if values.len() != self.columns.len() {
            return Err(Error::Length {
                what: "metrics of a burst",
                expected: self.columns.len(),
                got: values.len(),
            });
        }
        self.rows.push(burst);
        self.kinds.push(Kind::Complete);
        for (column, &value) in self.columns.iter_mut().zip(values) {
            column.values.push(value);
        }
        Ok(())
    }

    /// Adds a metric to all bursts.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if there is not one value for each burst.
    pub fn add_column(&mut self, column: Column) -> Result<()> {
        self.one_each("values of a metric", column.values.len())?;
        self.columns.push(column);
        Ok(())
    }

    /// Sets the kind of each burst.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if there is not one kind for each burst.
    pub fn set_kinds(&mut self, kinds: Vec<Kind>) -> Result<()> {
        self.one_each("kinds of bursts", kinds.len())?;
        self.kinds = kinds;
        Ok(())
    }

    fn one_each(&self, what: &'static str, got: usize) -> Result<()> {
        let expected = self.rows.len();
        if got == expected {
            Ok(())
        } else {
            Err(Error::Length {
                what,
                expected,
                got,
            })
        }
    }

    /// Returns the number of bursts of all kinds.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns `true` if there are no bursts.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the threads.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// Returns the number of processes of the threads.
    pub fn processes(&self) -> usize {
        let mut seen: Vec<u32> = self.threads.iter().map(|thread| thread.process).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.len()
    }

    /// Returns the bursts.
    pub fn rows(&self) -> &[Burst] {
        &self.rows
    }

    /// Returns the kind of each burst.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Returns the metrics.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns a metric by name.
    ///
    /// # Errors
    /// Returns [`Error::UnknownMetric`] if there is no metric of this name.
    pub fn column(&self, name: &str) -> Result<&Column> {
        let found = self.columns.iter().find(|column| column.name == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.columns.iter().map(|c| c.name.as_str()).collect();
            Error::UnknownMetric {
                name: name.to_owned(),
                known: known.join(", "),
            }
        })
    }

    /// Returns the indices of the complete bursts, which are clustered, in ascending order.
    pub fn complete(&self) -> Vec<u32> {
        let kinds = self.kinds.iter().enumerate();
        let complete = kinds.filter(|(_, kind)| **kind == Kind::Complete);
        // `push` ensures that there are fewer than 2^32.
        complete.map(|(index, _)| index as u32).collect()
    }

    /// Returns the duration of each burst in nanoseconds.
    pub fn durations(&self) -> Vec<f64> {
        let rows = self.rows.iter();
        rows.map(|burst| burst.end.0.saturating_sub(burst.begin.0) as f64)
            .collect()
    }

    /// Returns the resolution of the clock: the greatest common divisor of the times from the begin of
    /// the first burst to all begins and ends. Returns 1 ns if all bursts begin and end at one time.
    pub fn tick(&self) -> Nanos {
        let origin = self.rows.first().map_or(0, |burst| burst.begin.0);
        let mut tick = 0_u64;
        for burst in &self.rows {
            for at in [burst.begin.0, burst.end.0] {
                let (mut a, mut b) = (tick, at.abs_diff(origin));
                while b > 0 {
                    (a, b) = (b, a % b);
                }
                tick = a;
            }
            if tick == 1 {
                break;
            }
        }
        Nanos(i64::try_from(tick.max(1)).unwrap_or(i64::MAX))
    }

    /// Returns the callers of a chain, innermost first; no callers for an unknown id.
    pub fn chain(&self, id: ChainId) -> CallerChain<'_> {
        self.chains.get(id)
    }

    /// Returns all chains of callers in order of their ids.
    pub fn chains(&self) -> impl Iterator<Item = CallerChain<'_>> {
        self.chains.all()
    }

    /// Selects bursts by index; threads and chains are shared.
    pub(crate) fn part(&self, rows: &[u32]) -> Self {
        fn pick<T: Copy>(all: &[T], rows: &[u32]) -> Vec<T> {
            let of = |&row: &u32| all.get(row as usize).copied();
            rows.iter().filter_map(of).collect()
        }
        let columns = self.columns.iter().map(|column| Column {
            name: column.name.clone(),
            unit: column.unit.clone(),
            values: pick(&column.values, rows),
        });
        Bursts {
            threads: Arc::clone(&self.threads),
            rows: pick(&self.rows, rows),
            kinds: pick(&self.kinds, rows),
            columns: columns.collect(),
            chains: Arc::clone(&self.chains),
        }
    }
}
