//! Messages of any length that nobody waits for.
//!
//! A message goes as chunks that an MPI sends at once and keeps for a receiver that is busy, and is asked
//! for, never waited for. Of chunks that were not received there are [`WINDOW`] at most: then the sender goes on
//! when the receiver says so. The first byte of a chunk tells whether it is the last, so that no number decides
//! how much is to come.

use mpi::datatype::Equivalence;
use mpi::point_to_point::{Destination, Source};
use mpi::topology::{Communicator, Rank, SimpleCommunicator};
use std::sync::Arc;

/// Chunks that wait for a receiver.
pub(crate) const WINDOW: usize = 32;
/// Bytes of a chunk that every MPI known to us sends without asking the receiver first.
const CHUNK: usize = 3840;
/// What an MPI needs beside a buffered message.
const BESIDE: usize = 512;

/// Tags of what goes up, comes down, and is said of chunks that arrived.
pub(super) const UP: i32 = 1;
pub(super) const DOWN: i32 = 2;
const GO_ON: i32 = 3;

const MORE: u8 = 0;
const LAST: u8 = 1;

/// How messages are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    chunk: usize,
    is_buffered: bool,
}

impl Way {
    /// As standard messages of so many bytes: whoever sends may wait for the receiver.
    pub(crate) fn waiting(piece: usize) -> Self {
        Way {
            chunk: piece.max(1),
            is_buffered: false,
        }
    }

    /// As short standard messages, for which no MPI known to us lets the sender wait.
    pub(crate) fn short() -> Self {
        Self::waiting(CHUNK)
    }

    /// As buffered messages, for which no MPI may let the sender wait. It needs a
    /// [`room`](Self::room).
    pub(crate) fn buffered() -> Self {
        Way {
            chunk: CHUNK,
            is_buffered: true,
        }
    }

    /// Bytes that buffered messages to so many ranks need.
    pub(crate) fn room(neighbours: usize) -> usize {
        (WINDOW + 1) * (CHUNK + 1 + BESIDE) * neighbours.max(1)
    }

    fn send(self, comm: &SimpleCommunicator, to: Rank, bytes: &[u8], tag: i32) {
        let to = comm.process_at_rank(to);
        match self.is_buffered {
            true => to.buffered_send_with_tag(bytes, tag),
            false => to.send_with_tag(bytes, tag),
        }
    }
}

/// A message on its way to a rank.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    to: Rank,
    tag: i32,
    bytes: Arc<Vec<u8>>,
    at: usize,
    /// Chunks that were sent, and those of them of which the receiver said that they arrived.
    sent: usize,
    known: usize,
    is_over: bool,
}

impl Outgoing {
    pub(super) fn new(to: usize, tag: i32, bytes: Arc<Vec<u8>>) -> Self {
        Outgoing {
            to: to as Rank,
            tag,
            bytes,
            at: 0,
            sent: 0,
            known: 0,
            is_over: false,
        }
    }

    /// Sends what can be sent; whether that was all.
    pub(super) fn poll(&mut self, comm: &SimpleCommunicator, way: Way) -> bool {
        let mut chunk = Vec::new();
        while !self.is_over {
            if self.sent == self.known + WINDOW {
                let answer = comm.process_at_rank(self.to);
                let Some((answer, _)) = answer.immediate_matched_probe_with_tag(GO_ON) else {
                    return false;
                };
                answer.matched_receive_into(&mut [0_u8; 0][..]);
                self.known += WINDOW;
            }
            let end = self.at.saturating_add(way.chunk).min(self.bytes.len());
            self.is_over = end == self.bytes.len();
            chunk.clear();
            chunk.push(if self.is_over { LAST } else { MORE });
            chunk.extend_from_slice(&self.bytes[self.at..end]);
            way.send(comm, self.to, &chunk, self.tag);
            (self.at, self.sent) = (end, self.sent + 1);
        }
        true
    }
}

/// A message that comes from a rank.
#[derive(Debug)]
pub(super) struct Incoming {
    from: Rank,
    tag: i32,
    bytes: Vec<u8>,
    /// Bytes in all, also those beyond the limit, which are not kept.
    length: u64,
    limit: u64,
    chunks: usize,
    is_over: bool,
}

impl Incoming {
    pub(super) fn new(from: usize, tag: i32, limit: u64) -> Self {
        Incoming {
            from: from as Rank,
            tag,
            bytes: Vec::new(),
            length: 0,
            limit,
            chunks: 0,
            is_over: false,
        }
    }

    /// Takes what is there; whether that was all.
    pub(super) fn poll(&mut self, comm: &SimpleCommunicator, way: Way) -> bool {
        while !self.is_over {
            let from = comm.process_at_rank(self.from);
            let Some((message, status)) = from.immediate_matched_probe_with_tag(self.tag) else {
                return false;
            };
            let count = status.count(u8::equivalent_datatype());
            let mut chunk = vec![0_u8; usize::try_from(count).unwrap_or_default()];
            message.matched_receive_into(&mut chunk[..]);
            self.take(&chunk);
            if !self.is_over && self.chunks.is_multiple_of(WINDOW) {
                way.send(comm, self.from, &[], GO_ON);
            }
        }
        true
    }

    fn take(&mut self, chunk: &[u8]) {
        self.chunks += 1;
        // Without a first byte it is no chunk, and the last of whatever it is.
        let (first, rest) = chunk.split_first().unwrap_or((&LAST, &[]));
        self.is_over = *first != MORE;
        self.length += rest.len() as u64;
        match self.length <= self.limit {
            true => self.bytes.extend_from_slice(rest),
            false => self.bytes = Vec::new(),
        }
    }

    /// The message, or how long it was where that is too long.
    pub(super) fn into_bytes(self) -> Result<Vec<u8>, u64> {
        match self.length <= self.limit {
            true => Ok(self.bytes),
            false => Err(self.length),
        }
    }

    pub(super) fn from(&self) -> usize {
        self.from as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_ends_where_a_chunk_says_so() {
        let mut message = Incoming::new(3, UP, 10);
        message.take(&[MORE, 1, 2]);
        assert!(!message.is_over);
        message.take(&[LAST]);
        assert!(message.is_over);
        assert_eq!(message.into_bytes(), Ok(vec![1, 2]));
        // Nothing, and something else.
        for odd in [&[][..], &[9, 9]] {
            let mut message = Incoming::new(3, UP, 10);
            message.take(odd);
            assert!(message.is_over, "{odd:?}");
        }
    }

    #[test]
    fn what_is_too_long_is_heard_to_its_end_and_not_kept() {
        let mut message = Incoming::new(0, DOWN, 5);
        (0..3).for_each(|_| message.take(&[MORE, 0, 0]));
        message.take(&[LAST, 0, 0]);
        assert_eq!(message.bytes.capacity(), 0);
        assert_eq!(message.into_bytes(), Err(8));
    }
}
