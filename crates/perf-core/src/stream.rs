//! Events as they happen: an [`EventSource`] gives them step by step, an [`EventSink`] takes them.
//!
//! A [`Trace`](crate::Trace) is a whole recording in memory; a stream is one that may not have an
//! end. Readers of streams and programs that watch themselves push into a sink and need to know
//! nothing of the analysis behind it.

use crate::{MetricId, Nanos, RegionId, StreamId, Value};

/// Who runs: a thread of a rank of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StreamKey {
    /// The program, of those of one workflow.
    pub program: u32,
    /// The rank in the program.
    pub rank: u32,
    /// The thread in the rank; streams of accelerators are threads too.
    pub thread: u32,
}

/// A message as one of its ends sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Peer {
    /// Rank of the other end: where it is sent to, or received from.
    pub rank: u32,
    /// The message tag.
    pub tag: u32,
    /// Length in bytes.
    pub bytes: u64,
}

/// One thing that happens on a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// A region is entered.
    Enter(RegionId),
    /// A region is left.
    Exit(RegionId),
    /// A message is sent.
    Send(Peer),
    /// A message is received.
    Receive(Peer),
    /// A counter has a value.
    Counter(MetricId, Value),
    /// The region that was entered last launches work on an accelerator, or is such work: a launch and
    /// its work have the same id.
    Correlation(u64),
}

/// What takes events as they happen.
///
/// Names come first: the sink gives each an id, so that an event carries no text. Events of one
/// stream should come in order of time; streams may interleave in any way. A sink never fails on
/// an event: what is wrong with it is repaired, counted and reported by the sink.
pub trait EventSink {
    /// The id of a region of a program; equal names of one program have one id.
    fn region(&mut self, program: u32, name: &str) -> RegionId;

    /// The id of a counter; equal names have one id.
    fn counter(&mut self, name: &str) -> MetricId;

    /// The id of a stream.
    fn stream(&mut self, key: StreamKey) -> StreamId;

    /// One event of a stream, at a time since any origin that all streams share.
    fn push(&mut self, stream: StreamId, at: Nanos, event: StreamEvent);

    /// A fact about a stream, such as its host, as name and value.
    fn metadata(&mut self, stream: StreamId, name: &str, value: &str);

    /// All events of a step have been pushed; steps count up and mean the same on all ranks.
    fn end_step(&mut self, step: u64);
}

/// What gives events as they happen.
pub trait EventSource {
    /// What can be wrong with the source.
    type Error;

    /// Pushes the events of the next step and its end; `false` when there are no more.
    ///
    /// # Errors
    /// What the source cannot repair. Later steps may still be readable.
    fn next_step(&mut self, sink: &mut dyn EventSink) -> Result<bool, Self::Error>;
}
