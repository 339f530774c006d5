//! [`Ranks`]: values to and from all ranks of a program.

use crate::blocks::{PIECE, block, part, partition};
use crate::tree::Way;
use crate::{Error, Result, Wire};
use mpi::datatype::PartitionMut;
use mpi::point_to_point::send_receive_into;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};
use perf_core::Merge;
use std::ops::Range;

/// The ranks that analyse together.
///
/// All methods that say *collective* must be called by all ranks, in the same order, as those of MPI.
/// What fails does so on all ranks alike, so that nobody waits for a rank that has given up; what may
/// fail on one alone goes through [`agree`](Self::agree).
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
    /// The ranks of a communicator. Collective: the communicator is duplicated, so that no message of
    /// ours is taken for one of the program.
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

    /// Most bytes that one value of all ranks together may have, the same on all of them. Default: 16 GiB.
    pub fn limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Most bytes of one call of MPI, the same on all ranks: what is longer takes several. Default and most:
    /// 256 MiB, since MPI counts with 31 bits; at least 1.
    pub fn piece(mut self, bytes: usize) -> Self {
        self.piece = bytes.clamp(1, PIECE);
        self
    }

    /// The number of this rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether this is rank 0, which prints.
    pub fn is_root(&self) -> bool {
        self.rank == 0
    }

    /// Which of so many things are those of this rank: blocks in the order of ranks, whose lengths
    /// differ by one at most.
    pub fn block(&self, things: usize) -> Range<usize> {
        block(things, self.rank, self.size)
    }

    /// Waits for all ranks. Collective.
    pub fn barrier(&self) {
        self.comm.barrier();
    }

    /// The bytes of each rank, on all of them. Collective.
    ///
    /// # Errors
    /// [`Error::TooLong`].
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

    /// The value of each rank, by rank, on all of them. Collective.
    ///
    /// # Errors
    /// [`Error::TooLong`], [`Error::Message`].
    pub fn all_gather<T: Wire>(&self, value: &T) -> Result<Vec<T>> {
        let all = self.all_gather_bytes(&value.to_bytes())?;
        let all = all.iter().enumerate();
        let read = |(rank, bytes): (usize, &Vec<u8>)| {
            T::from_bytes(bytes).map_err(|error| error.sent_by(rank))
        };
        all.map(read).collect()
    }

    /// The value of `root`, on all ranks; the others give `None`. Collective.
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is no such rank or it gives none, [`Error::TooLong`], [`Error::Message`].
    pub fn broadcast<T: Wire>(&self, root: usize, value: Option<&T>) -> Result<T> {
        let none = Error::Parameter {
            name: "the rank that tells",
            value: root.to_string(),
            range: "one that has something to tell",
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

    /// Sends bytes to each rank, one entry a rank, and gives those of each rank for this one.
    /// Collective.
    ///
    /// # Errors
    /// [`Error::TooLong`] if what one rank gets is, [`Error::Parameter`] if there is not one entry a rank
    /// (on that rank; the others take its entries to be empty and get [`Error::Elsewhere`]).
    pub fn all_to_all(&self, bytes: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
        let is_whole = match bytes.len() == self.size {
            true => Ok(()),
            false => Err(Error::Parameter {
                name: "entries of ranks",
                value: bytes.len().to_string(),
                range: "one a rank",
            }),
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

    /// Gives bytes to the next rank, the last one to the first, and takes those of the rank before.
    /// Collective.
    ///
    /// # Errors
    /// [`Error::TooLong`].
    pub fn shift(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let lens: Vec<u64> = self.all_gather(&(bytes.len() as u64))?;
        let most = lens.iter().copied().max().unwrap_or_default();
        let most = self.length("values that go round", most)?;
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

    /// Sends to one rank and receives from another at once, in so many pieces.
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

    /// The parts of all ranks as one, on all of them: merged one after the other in the order of ranks,
    /// so that rounding is the same each time and on each rank. All ranks get the parts of all: of many ranks or
    /// long parts [`reduce`](Self::reduce) is the better way. Collective.
    ///
    /// # Errors
    /// [`Error::TooLong`], [`Error::Message`].
    pub fn all_merge<T: Merge + Wire>(&self, part: &T) -> Result<T> {
        let mut whole = T::default();
        for part in self.all_gather(part)? {
            whole.merge(&part);
        }
        Ok(whole)
    }

    /// A result that every rank has, or an error on all of them: its own where it failed itself, else
    /// [`Error::Elsewhere`]. Collective.
    ///
    /// # Errors
    /// If any rank has one.
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

    /// Whether all ranks have the same value. Collective.
    ///
    /// # Errors
    /// [`Error::Differs`] if not.
    pub fn same<T: Wire + PartialEq>(&self, what: &'static str, value: &T) -> Result<()> {
        let all = self.all_gather(value)?;
        match all.iter().all(|other| Some(other) == all.first()) {
            true => Ok(()),
            false => Err(Error::Differs { what }),
        }
    }

    pub(crate) fn comm(&self) -> &SimpleCommunicator {
        &self.comm
    }

    /// The most bytes of a message, and how messages are sent where one may wait for the receiver.
    pub(crate) fn way(&self) -> (u64, Way) {
        (self.limit, Way::waiting(self.piece))
    }

    /// Lengths that are the same on all ranks, within the limit together.
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
