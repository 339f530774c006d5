//! Parts of all ranks as one: [`Ranks::reduce`] and its relatives.

use crate::tree::{Family, Part, Patience, Plan, Round, Told};
use crate::{Ranks, Result, Wire};
use perf_core::Merge;

/// Parts that wait to be merged before they are looked at.
const WAITING: usize = 64;

impl Ranks {
    /// The parts of all ranks as one, on all of them, along a tree: a rank sends and receives as many messages as
    /// the number of ranks has bits at most, each as long as what is merged, and nobody holds the parts of all.
    /// A rank that has an error instead of a part ends it on all. Collective.
    ///
    /// Parts are merged in pairs of neighbours, pairs in pairs of pairs: the same each time, and the same on
    /// all ranks. Where merging rounds, another number of ranks rounds otherwise; what must not depend on it is
    /// for [`reduce_shards`](Self::reduce_shards).
    ///
    /// ```no_run
    /// use perf_mpi::{Ranks, Reader, Result, Wire, mpi};
    /// /// The longest call: what tells how it is merged, and has bytes.
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
    /// Its own error on a rank that has one, and [`Error::Elsewhere`](crate::Error::Elsewhere) on the others;
    /// [`Error::TooLong`](crate::Error::TooLong) if a message is longer than [`limit`](Self::limit) allows;
    /// [`Error::Message`](crate::Error::Message) for one that cannot be read.
    pub fn reduce<T: Merge + Wire>(&self, part: Result<T>) -> Result<T> {
        let whole = self.up_and_down(&self.plan(), self.own(part), &mut |_| {})?;
        Ok(whole.unwrap_or_default())
    }

    /// What `analyse` makes of each of so many shards, as one, on all ranks: the same to the bit for any number
    /// of ranks, also where merging rounds. Each rank analyses a [block](Self::block) of shards, and shards are
    /// merged as the leaves of a binary tree, wherever they were analysed. Without shards it is the
    /// default. Collective.
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
    /// // A sum of floating-point numbers: one process has the same to the last bit.
    /// let sum = ranks.reduce_shards(1000, |shard| Ok(Sum(1.0 / (1.0 + shard as f64))))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce); [`Error::TooMany`](crate::Error::TooMany) for 2^32 shards or more.
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
        let heard = Family::new(self.rank(), self.size()).all;
        let last = crate::blocks::block(shards, heard.end.saturating_sub(1), self.size());
        let plan = Plan::block(shards, block.start..last.end);
        let whole = self.up_and_down(&plan, parts, &mut |_| {})?;
        Ok(whole.unwrap_or_default())
    }

    /// The shards of this rank, merged as far as others have nothing between.
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
                // Those after this one are not there yet.
                parts = known(shard + 1).settle(parts);
            }
        }
        Ok(known(block.end).settle(parts))
    }

    /// As [`reduce`](Self::reduce), on rank 0 alone; `None` on the others. Collective.
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    pub fn merge<T: Merge + Wire>(&self, part: T) -> Result<Option<T>> {
        let mut top = None;
        let mut take = |whole: &mut T| top = Some(std::mem::take(whole));
        self.up_and_down(&self.plan(), self.own(Ok(part)), &mut take)?;
        Ok(top)
    }

    /// As [`reduce`](Self::reduce), of parts that are there. Collective.
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    pub fn merge_to_all<T: Merge + Wire>(&self, part: T) -> Result<T> {
        self.reduce(Ok(part))
    }

    fn plan(&self) -> Plan {
        let heard = Family::new(self.rank(), self.size()).all;
        Plan::of_ranks(self.size(), heard)
    }

    /// The part of the place that is this rank.
    fn own<T>(&self, part: Result<T>) -> Result<Vec<Part<T>>> {
        part.map(|part| vec![Part::new(self.rank() as u32, part)])
    }

    fn up_and_down<T: Merge + Wire>(
        &self,
        plan: &Plan,
        parts: Result<Vec<Part<T>>>,
        at_top: &mut dyn FnMut(&mut T),
    ) -> Result<Option<T>> {
        let told = Told::new(self.rank(), false, Vec::new());
        let place = (self.rank(), self.size());
        let mut round = Round::new(place, told, parts, self.way());
        let mut patience = Patience::default();
        loop {
            if let Some(heard) = round.poll(self.comm(), plan, at_top) {
                return Ok(heard?.whole);
            }
            patience.wait();
        }
    }
}
