//! [`Ranks::reduce`] and its variants: merge one value of each rank, or the results of an analysis
//! of shards, along a tree, for all ranks or for rank 0.

use crate::tree::{Family, Part, Patience, Plan, Round, Status};
use crate::{Ranks, Result, Wire};
use perf_core::Merge;

/// Number of parts that are collected before they are merged.
const WAITING: usize = 64;

impl Ranks {
    /// Merges the parts of all ranks along a tree and returns the result on all ranks. Collective.
    ///
    /// A rank sends and receives at most as many messages as the number of ranks has bits, each as
    /// long as a merged part. No rank holds the parts of all ranks. If a rank passes an error
    /// instead of a part, all ranks return an error.
    ///
    /// Parts are merged in pairs of neighbours, then in pairs of pairs, which is the same order
    /// each time and for all ranks. If merging rounds, another number of ranks gives another
    /// rounding; use [`reduce_shards`](Self::reduce_shards) if the result must not depend on it.
    ///
    /// ```no_run
    /// use perf_mpi::{Ranks, Reader, Result, Wire, mpi};
    /// /// Longest call: it has an order of merging and an encoding.
    /// #[derive(Default)]
    /// struct Longest(u64);
    /// impl perf_core::Merge for Longest {
    ///     fn merge(&mut self, other: &Self) {
    ///         self.0 = self.0.max(other.0);
    ///     }
    /// }
    /// impl Wire for Longest {
    ///     const LEAST: usize = 8;
    ///     fn write(&self, to: &mut Vec<u8>) {
    ///         self.0.write(to);
    ///     }
    ///     fn read(from: &mut Reader<'_>) -> Result<Self> {
    ///         u64::read(from).map(Longest)
    ///     }
    /// }
    /// let universe = mpi::initialize().ok_or("MPI was initialised before")?;
    /// let ranks = Ranks::new(&universe.world());
    /// let own = Ok(Longest(10 + ranks.rank() as u64));
    /// assert_eq!(ranks.reduce(own)?.0, 9 + ranks.size() as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - Returns the own error on a rank that has one, and
    ///   [`Error::Elsewhere`](crate::Error::Elsewhere) on the others.
    /// - Returns [`Error::TooLong`](crate::Error::TooLong) if a message exceeds the
    ///   [`limit`](Self::limit).
    /// - Returns [`Error::Message`](crate::Error::Message) if a message cannot be decoded.
    pub fn reduce<T: Merge + Wire>(&self, part: Result<T>) -> Result<T> {
        let whole = self.up_and_down(&self.plan(), self.own(part), &mut |_| {})?;
        Ok(whole.unwrap_or_default())
    }

    /// Applies `analyse` to each of `shards` shards and merges the results on all ranks.
    /// Collective.
    ///
    /// Each rank analyses a [block](Self::block) of shards. The shards are the leaves of a binary
    /// tree, in which they are merged regardless of the rank that analysed them. The result is
    /// therefore identical for any number of ranks, even if merging rounds. Without shards the
    /// result is the default.
    ///
    /// ```no_run
    /// # use perf_core::Merge;
    /// # use perf_mpi::{Ranks, Reader, Result, Wire, mpi};
    /// # #[derive(Default)]
    /// # struct Sum(f64);
    /// # impl Merge for Sum {
    /// #     fn merge(&mut self, other: &Self) { self.0 += other.0; }
    /// # }
    /// # impl Wire for Sum {
    /// #     const LEAST: usize = 8;
    /// #     fn write(&self, to: &mut Vec<u8>) { self.0.write(to); }
    /// #     fn read(from: &mut Reader<'_>) -> Result<Self> { f64::read(from).map(Sum) }
    /// # }
    /// let universe = mpi::initialize().ok_or("MPI was initialised before")?;
    /// let ranks = Ranks::new(&universe.world());
    /// // The sum of floating-point numbers is identical to that of a single process.
    /// let sum = ranks.reduce_shards(1000, |shard| Ok(Sum(1.0 / (1.0 + shard as f64))))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`reduce`](Self::reduce), and
    /// [`Error::TooMany`](crate::Error::TooMany) for 2^32 shards or more.
    pub fn reduce_shards<T: Merge + Wire>(
        &self,
        shards: usize,
        analyse: impl FnMut(usize) -> Result<T>,
    ) -> Result<T> {
        let block = self.block(shards);
        let parts = match u32::try_from(shards) {
            Ok(_) => self.analyse(shards, analyse),
            Err(_) => Err(crate::Error::TooMany {
                what: "shards",
                limit: u64::from(u32::MAX),
            }),
        };
        let subtree = Family::new(self.rank(), self.size()).all;
        let last = crate::blocks::block(shards, subtree.end.saturating_sub(1), self.size());
        let plan = Plan::block(shards, block.start..last.end);
        let whole = self.up_and_down(&plan, parts, &mut |_| {})?;
        Ok(whole.unwrap_or_default())
    }

    /// Analyses the shards of this rank, and merges those without shards of other ranks between
    /// them.
    fn analyse<T: Merge>(
        &self,
        shards: usize,
        mut analyse: impl FnMut(usize) -> Result<T>,
    ) -> Result<Vec<Part<T>>> {
        let block = self.block(shards);
        let known = |end: usize| Plan::block(shards, block.start..end);
        let mut parts = Vec::new();
        for shard in block.clone() {
            parts.push(Part::new(shard as u32, analyse(shard)?));
            if parts.len() >= WAITING {
                // Shards after this one are not analysed yet.
                parts = known(shard + 1).settle(parts);
            }
        }
        Ok(known(block.end).settle(parts))
    }

    /// Merges parts like [`reduce`](Self::reduce), and returns the result on rank 0 only; `None` on
    /// the others. Collective.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`reduce`](Self::reduce).
    pub fn merge<T: Merge + Wire>(&self, part: T) -> Result<Option<T>> {
        let mut top = None;
        let mut take = |whole: &mut T| top = Some(std::mem::take(whole));
        self.up_and_down(&self.plan(), self.own(Ok(part)), &mut take)?;
        Ok(top)
    }

    /// Merges parts like [`reduce`](Self::reduce), for parts that are available without an error.
    /// Collective.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`reduce`](Self::reduce).
    pub fn merge_to_all<T: Merge + Wire>(&self, part: T) -> Result<T> {
        self.reduce(Ok(part))
    }

    fn plan(&self) -> Plan {
        let subtree = Family::new(self.rank(), self.size()).all;
        Plan::of_ranks(self.size(), subtree)
    }

    /// Returns the part of this rank, whose position is the number of the rank.
    fn own<T>(&self, part: Result<T>) -> Result<Vec<Part<T>>> {
        part.map(|part| vec![Part::new(self.rank() as u32, part)])
    }

    fn up_and_down<T: Merge + Wire>(
        &self,
        plan: &Plan,
        parts: Result<Vec<Part<T>>>,
        at_top: &mut dyn FnMut(&mut T),
    ) -> Result<Option<T>> {
        let status = Status::new(self.rank(), false, Vec::new());
        let place = (self.rank(), self.size());
        let mut round = Round::new(place, status, parts, self.way());
        let mut patience = Patience::default();
        loop {
            if let Some(outcome) = round.poll(self.comm(), plan, at_top) {
                return Ok(outcome?.whole);
            }
            patience.wait();
        }
    }
}
