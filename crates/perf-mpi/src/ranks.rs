//! [`Ranks`]: collective operations on values of all ranks of a program: gather, broadcast,
//! all-to-all, shift, merge, and agreement on errors.

use crate::blocks::{PIECE, block, part, partition};
use crate::tree::Way;
use crate::{Error, Result, Wire};
use mpi::datatype::PartitionMut;
use mpi::point_to_point::send_receive_into;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};
use perf_core::Merge;
use std::ops::Range;

/// Ranks that analyse together.
///
/// Methods documented as *collective* must be called by all ranks in the same order, like those of
/// MPI. They fail on all ranks alike, so that no rank waits for one that has given up. Pass results
/// of operations that may fail on a single rank through [`agree`](Self::agree).
///
/// ```no_run
/// use perf_mpi::{Ranks, mpi};
/// let universe = mpi::initialize().ok_or("MPI was initialised before")?;
/// let ranks = Ranks::new(&universe.world());
/// let squares = ranks.all_gather(&(ranks.rank() * ranks.rank()))?;
/// assert_eq!(squares.len(), ranks.size());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Ranks {
    comm: SimpleCommunicator,
    rank: usize,
    size: usize,
    limit: u64,
    piece: usize,
}

impl std::fmt::Debug for Ranks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut f = f.debug_struct("Ranks");
        f.field("rank", &self.rank)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl Ranks {
    /// Creates a value for the ranks of a communicator. Collective: the communicator is duplicated,
    /// so that messages of this crate and of the program cannot be confused.
    pub fn new(comm: &impl Communicator) -> Self {
        let comm = comm.duplicate();
        let number = |value: i32| usize::try_from(value).unwrap_or_default();
        Ranks {
            rank: number(comm.rank()),
            size: number(comm.size()).max(1),
            comm,
            limit: 1 << 34,
            piece: PIECE,
        }
    }

    /// Sets the maximum size of a value over all ranks in bytes, which must be the same on all
    /// ranks. Default: 16 GiB.
    pub fn limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Sets the maximum number of bytes in one MPI call, which must be the same on all ranks.
    /// Longer values take several calls. Default and maximum: 256 MiB, because MPI counts with 31
    /// bits; minimum: 1.
    pub fn piece(mut self, bytes: usize) -> Self {
        self.piece = bytes.clamp(1, PIECE);
        self
    }

    /// Returns the number of this rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns `true` on rank 0, which prints by convention.
    pub fn is_root(&self) -> bool {
        self.rank == 0
    }

    /// Returns the block of this rank among `things` items. Blocks are in the order of ranks, and
    /// their lengths differ by at most one.
    pub fn block(&self, things: usize) -> Range<usize> {
        block(things, self.rank, self.size)
    }

    /// Waits for all ranks. Collective.
    pub fn barrier(&self) {
        self.comm.barrier();
    }

    /// Returns the bytes of each rank on all ranks. Collective.
    ///
    /// # Errors
    ///
    /// Returns [`Error::TooLong`] if all values together exceed the limit.
    pub fn all_gather_bytes(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut lens = vec![0_u64; self.size];
        self.comm
            .all_gather_into(&(bytes.len() as u64), &mut lens[..]);
        let lens = self.lengths("values of all ranks", &lens)?;
        let most = lens.iter().copied().max().unwrap_or_default();
        let piece = (self.piece / self.size).max(1);
        let mut all: Vec<Vec<u8>> = lens.iter().map(|len| Vec::with_capacity(*len)).collect();
        for round in 0..most.div_ceil(piece) {
            let from = round * piece;
            let parts: Vec<usize> = lens
                .iter()
                .map(|len| len.saturating_sub(from).min(piece))
                .collect();
            let (counts, displs) = partition(&parts);
            let mut space = vec![0_u8; parts.iter().sum()];
            let mut to = PartitionMut::new(&mut space[..], counts, displs);
            self.comm
                .all_gather_varcount_into(part(bytes, from, piece), &mut to);
            let mut rest = &space[..];
            for (all, len) in all.iter_mut().zip(parts) {
                let (own, others) = rest.split_at(len.min(rest.len()));
                all.extend_from_slice(own);
                rest = others;
            }
        }
        Ok(all)
    }

    /// Returns the value of each rank on all ranks, ordered by rank. Collective.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::TooLong`] if all values together exceed the limit.
    /// - Returns [`Error::Message`] if a value cannot be decoded.
    pub fn all_gather<T: Wire>(&self, value: &T) -> Result<Vec<T>> {
        let all = self.all_gather_bytes(&value.to_bytes())?;
        let all = all.iter().enumerate();
        let read = |(rank, bytes): (usize, &Vec<u8>)| {
            T::from_bytes(bytes).map_err(|error| error.sent_by(rank))
        };
        all.map(read).collect()
    }

    /// Returns the value of `root` on all ranks. The other ranks pass `None`. Collective.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Parameter`] if there is no such rank or it passes no value.
    /// - Returns [`Error::TooLong`] if the value exceeds the limit.
    /// - Returns [`Error::Message`] if the value cannot be decoded.
    pub fn broadcast<T: Wire>(&self, root: usize, value: Option<&T>) -> Result<T> {
        let none = Error::Parameter {
            name: "the root of a broadcast",
            value: root.to_string(),
            range: "a rank that passes a value",
        };
        if root >= self.size {
            return Err(none);
        }
        let mut bytes = match (self.rank == root, value) {
            (true, Some(value)) => value.to_bytes(),
            _ => Vec::new(),
        };
        let from = self.comm.process_at_rank(root as i32);
        let mut len = bytes.len() as u64;
        from.broadcast_into(&mut len);
        let len = self.length("a value for all ranks", len)?;
        if len == 0 {
            return Err(none);
        }
        bytes.resize(len, 0);
        for piece in bytes.chunks_mut(self.piece) {
            from.broadcast_into(piece);
        }
        T::from_bytes(&bytes).map_err(|error| error.sent_by(root))
    }

    /// Sends one entry of `bytes` to each rank, and returns the entries of each rank for this one.
    /// Collective.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::TooLong`] if the entries for one rank exceed the limit.
    /// - Returns [`Error::Parameter`] if the numbers of entries and ranks differ. The other ranks
    ///   return [`Error::Elsewhere`].
    pub fn all_to_all(&self, bytes: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
        let is_whole = if bytes.len() == self.size {
            Ok(())
        } else {
            Err(Error::Parameter {
                name: "entries of ranks",
                value: bytes.len().to_string(),
                range: "one a rank",
            })
        };
        self.agree(is_whole)?;
        let own: Vec<u64> = bytes.iter().map(|bytes| bytes.len() as u64).collect();
        let mut lens = vec![0_u64; self.size];
        self.comm.all_to_all_into(&own[..], &mut lens[..]);
        let sum = lens.iter().fold(0_u64, |sum, len| sum.saturating_add(*len));
        let longest = own.iter().chain(&lens).copied().max().unwrap_or_default();
        let of_all = self.all_gather(&(sum, longest))?;
        let most = of_all.iter().map(|(sum, _)| *sum).max();
        self.length("values for one rank", most.unwrap_or_default())?;
        let longest = of_all.iter().map(|(_, longest)| *longest).max();
        let rounds = (longest.unwrap_or_default() as usize).div_ceil(self.piece);
        let mut all: Vec<Vec<u8>> = vec![Vec::new(); self.size];
        for step in 0..self.size {
            let (to, from) = (
                (self.rank + step) % self.size,
                (self.rank + self.size - step) % self.size,
            );
            let out = bytes.get(to).map_or(&[][..], Vec::as_slice);
            let Some(slot) = all.get_mut(from) else {
                continue;
            };
            if step == 0 {
                slot.extend_from_slice(out);
                continue;
            }
            let len = lens[from] as usize;
            *slot = self.swap(out, to, len, from, rounds);
        }
        Ok(all)
    }

    /// Sends bytes to the next rank, from the last one to the first, and returns the bytes of the
    /// previous rank. Collective.
    ///
    /// # Errors
    ///
    /// Returns [`Error::TooLong`] if the bytes of one rank exceed the limit.
    pub fn shift(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let lens: Vec<u64> = self.all_gather(&(bytes.len() as u64))?;
        let most = lens.iter().copied().max().unwrap_or_default();
        let most = self.length("values of a shift", most)?;
        let (to, from) = (
            (self.rank + 1) % self.size,
            (self.rank + self.size - 1) % self.size,
        );
        if to == self.rank {
            return Ok(bytes.to_vec());
        }
        let len = lens[from] as usize;
        Ok(self.swap(bytes, to, len, from, most.div_ceil(self.piece)))
    }

    /// Sends to one rank and receives from another at the same time, in `rounds` pieces.
    fn swap(&self, out: &[u8], to: usize, len: usize, from: usize, rounds: usize) -> Vec<u8> {
        let mut space = vec![0_u8; len];
        let (to, from) = (
            self.comm.process_at_rank(to as i32),
            self.comm.process_at_rank(from as i32),
        );
        for round in 0..rounds {
            let start = round.saturating_mul(self.piece).min(len);
            let end = (start + self.piece).min(len);
            let out = part(out, round * self.piece, self.piece);
            if let Some(space) = space.get_mut(start..end) {
                send_receive_into(out, &to, space, &from);
            }
        }
        space
    }

    /// Merges the parts of all ranks in the order of ranks and returns the result on all ranks,
    /// with the same rounding on each rank. Collective.
    ///
    /// Each rank receives the parts of all ranks. For many ranks or large parts
    /// [`reduce`](Self::reduce) is more efficient.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::TooLong`] if all parts together exceed the limit.
    /// - Returns [`Error::Message`] if a part cannot be decoded.
    pub fn all_merge<T: Merge + Wire>(&self, part: &T) -> Result<T> {
        let mut whole = T::default();
        for part in self.all_gather(part)? {
            whole.merge(&part);
        }
        Ok(whole)
    }

    /// Returns the own value if the result of every rank is `Ok`, and an error on all ranks
    /// otherwise. Collective.
    ///
    /// # Errors
    ///
    /// Returns the own error on ranks that have one, and [`Error::Elsewhere`] on all other ranks.
    pub fn agree<T>(&self, result: Result<T>) -> Result<T> {
        let mine = result.as_ref().err().map(ToString::to_string);
        let all = self.all_gather(&mine)?;
        let value = result?;
        let mut failed = all.into_iter().enumerate();
        match failed.find_map(|(rank, error)| Some((rank, error?))) {
            Some((rank, what)) => Err(Error::Elsewhere { rank, what }),
            None => Ok(value),
        }
    }

    /// Checks that all ranks have the same value. Collective.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Differs`] if they have not.
    pub fn same<T: Wire + PartialEq>(&self, what: &'static str, value: &T) -> Result<()> {
        let all = self.all_gather(value)?;
        if all.iter().all(|other| Some(other) == all.first()) {
            Ok(())
        } else {
            Err(Error::Differs { what })
        }
    }

    pub(crate) fn comm(&self) -> &SimpleCommunicator {
        &self.comm
    }

    /// Returns the maximum size of a message, and the kind of messages whose sender may wait for
    /// the receiver.
    pub(crate) fn way(&self) -> (u64, Way) {
        (self.limit, Way::waiting(self.piece))
    }

    /// Checks the lengths, which are the same on all ranks, against the limit.
    fn lengths(&self, what: &'static str, lens: &[u64]) -> Result<Vec<usize>> {
        let sum = lens.iter().fold(0_u64, |sum, len| sum.saturating_add(*len));
        self.length(what, sum)?;
        Ok(lens.iter().map(|len| *len as usize).collect())
    }

    fn length(&self, what: &'static str, got: u64) -> Result<usize> {
        let limit = self.limit;
        match usize::try_from(got) {
            Ok(len) if got <= limit => Ok(len),
            _ => Err(Error::TooLong { what, got, limit }),
        }
    }
}
