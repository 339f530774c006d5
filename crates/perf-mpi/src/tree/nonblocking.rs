//! [`Outgoing`] and [`Incoming`]: long MPI messages, split into short chunks and advanced by
//! polling, with acknowledgements; [`Way`]: the send mode of the chunks, standard or buffered.
//!
//! A message is sent in chunks that are short enough for MPI to buffer them while the receiver is
//! busy. Receiving polls and never waits. At most [`WINDOW`] chunks are in flight. After that the
//! sender continues when the receiver acknowledges them. The first byte of a chunk marks the last
//! one, so that no transmitted length determines the size of an allocation.

use mpi::datatype::Equivalence;
use mpi::point_to_point::{Destination, Source};
use mpi::topology::{Communicator, Rank, SimpleCommunicator};
use std::sync::Arc;

/// Maximum number of chunks in flight.
pub(crate) const WINDOW: usize = 32;
/// Size of a chunk in bytes. Every MPI library known to us sends it without first contacting the
/// receiver.
const CHUNK: usize = 3840;
/// Overhead of MPI for a buffered message in bytes.
const BESIDE: usize = 512;

/// Tags of messages up the tree, down the tree, and of acknowledgements.
pub(super) const UP: i32 = 1;
pub(super) const DOWN: i32 = 2;
const GO_ON: i32 = 3;

const MORE: u8 = 0;
const LAST: u8 = 1;

/// Kind of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// Maximum size of a chunk in bytes.
    chunk: usize,
    /// `true` for buffered messages.
    is_buffered: bool,
}

impl Way {
    /// Returns standard messages of up to `piece` bytes, whose sender may wait for the receiver.
    pub(crate) fn waiting(piece: usize) -> Self {
        Way {
            chunk: piece.max(1),
            is_buffered: false,
        }
    }

    /// Returns short standard messages, for which no MPI library known to us lets the sender wait.
    pub(crate) fn short() -> Self {
        Self::waiting(CHUNK)
    }

    /// Returns buffered messages, for which MPI must not let the sender wait. They need a buffer of
    /// [`room`](Self::room) bytes.
    pub(crate) fn buffered() -> Self {
        Way {
            chunk: CHUNK,
            is_buffered: true,
        }
    }

    /// Returns the buffer size in bytes for buffered messages to `neighbours` ranks.
    pub(crate) fn room(neighbours: usize) -> usize {
        (WINDOW + 1) * (CHUNK + 1 + BESIDE) * neighbours.max(1)
    }

    fn send(self, comm: &SimpleCommunicator, to: Rank, bytes: &[u8], tag: i32) {
        let to = comm.process_at_rank(to);
        if self.is_buffered {
            to.buffered_send_with_tag(bytes, tag)
        } else {
            to.send_with_tag(bytes, tag)
        }
    }
}

/// Message that is being sent.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    /// Receiver.
    to: Rank,
    /// Tag of the message.
    tag: i32,
    /// Content of the message.
    bytes: Arc<Vec<u8>>,
    /// Number of bytes sent so far.
    at: usize,
    /// Number of chunks sent so far.
    sent: usize,
    /// Number of chunks that the receiver has acknowledged.
    known: usize,
    /// `true` once the last chunk is sent.
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

    /// Sends as many chunks as possible, and returns `true` if the message is complete.
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

/// Message that is being received.
#[derive(Debug)]
pub(super) struct Incoming {
    /// Sender.
    from: Rank,
    /// Tag of the message.
    tag: i32,
    /// Bytes received so far.
    bytes: Vec<u8>,
    /// Total number of bytes, including those beyond the limit, which are not stored.
    length: u64,
    /// Maximum number of bytes.
    limit: u64,
    /// Number of chunks received so far.
    chunks: usize,
    /// `true` once the last chunk has arrived.
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

    /// Receives the available chunks, and returns `true` if the message is complete.
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
        // An empty chunk is malformed, and is treated as the last one.
        let (first, rest) = chunk.split_first().unwrap_or((&LAST, &[]));
        self.is_over = *first != MORE;
        self.length += rest.len() as u64;
        if self.length <= self.limit {
            self.bytes.extend_from_slice(rest)
        } else {
            self.bytes = Vec::new()
        }
    }

    /// Returns the message, or its length if it exceeds the limit.
    pub(super) fn into_bytes(self) -> Result<Vec<u8>, u64> {
        if self.length <= self.limit {
            Ok(self.bytes)
        } else {
            Err(self.length)
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
        // Malformed chunks: an empty one, and one with an unknown first byte.
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
