//! Events as they happen: an [`EventSource`] gives them step by step, an [`EventSink`] takes them.
//!
//! A [`Trace`](crate::Trace) is a whole recording in memory; a stream is one that may not have an
//! end. Readers of streams and programs that watch themselves push into a sink and need to know
//! nothing of the analysis behind it.

use crate::{Job, MetricId, Nanos, RegionId, StreamId, Value};

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
///
/// ```
/// use perf_core::{EventSink, MetricId, Nanos, RegionId, StreamEvent, StreamId, StreamKey};
/// /// Counts calls.
/// #[derive(Default)]
/// struct Calls {
///     names: Vec<String>,
///     count: u64,
/// }
/// impl EventSink for Calls {
///     fn region(&mut self, _program: u32, name: &str) -> RegionId {
///         let known = self.names.iter().position(|known| known == name);
///         let at = known.unwrap_or(self.names.len());
///         if known.is_none() {
///             self.names.push(name.into());
///         }
///         RegionId(at as u32)
///     }
///     fn counter(&mut self, _name: &str) -> MetricId {
///         MetricId(0)
///     }
///     fn stream(&mut self, _key: StreamKey) -> StreamId {
///         StreamId(0)
///     }
///     fn push(&mut self, _stream: StreamId, _at: Nanos, event: StreamEvent) {
///         self.count += u64::from(matches!(event, StreamEvent::Enter(_)));
///     }
///     fn metadata(&mut self, _stream: StreamId, _name: &str, _value: &str) {}
///     fn end_step(&mut self, _step: u64) {}
/// }
/// let mut calls = Calls::default();
/// let (solve, stream) = (calls.region(0, "solve"), calls.stream(StreamKey::default()));
/// assert_eq!(calls.region(0, "solve"), solve);
/// calls.push(stream, Nanos(10), StreamEvent::Enter(solve));
/// calls.push(stream, Nanos(15), StreamEvent::Exit(solve));
/// calls.end_step(0);
/// assert_eq!(calls.count, 1);
/// ```
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

    /// All events of a step have been pushed. Steps mean the same on all ranks, and those of a rank count up. A
    /// rank that is late may end steps after later ones of other ranks.
    fn end_step(&mut self, step: u64);
}

/// What gives events as they happen.
///
/// ```
/// use perf_core::{EventSink, EventSource, Job, Nanos, StreamEvent, StreamKey};
/// # use perf_core::{MetricId, RegionId, StreamId};
/// use std::convert::Infallible;
/// # #[derive(Default)]
/// # struct Calls {
/// #     names: Vec<String>,
/// #     count: u64,
/// # }
/// # impl EventSink for Calls {
/// #     fn region(&mut self, _program: u32, name: &str) -> RegionId {
/// #         let known = self.names.iter().position(|known| known == name);
/// #         let at = known.unwrap_or(self.names.len());
/// #         if known.is_none() {
/// #             self.names.push(name.into());
/// #         }
/// #         RegionId(at as u32)
/// #     }
/// #     fn counter(&mut self, _name: &str) -> MetricId {
/// #         MetricId(0)
/// #     }
/// #     fn stream(&mut self, _key: StreamKey) -> StreamId {
/// #         StreamId(0)
/// #     }
/// #     fn push(&mut self, _stream: StreamId, _at: Nanos, event: StreamEvent) {
/// #         self.count += u64::from(matches!(event, StreamEvent::Enter(_)));
/// #     }
/// #     fn metadata(&mut self, _stream: StreamId, _name: &str, _value: &str) {}
/// #     fn end_step(&mut self, _step: u64) {}
/// # }
/// /// Two steps, in each of which `solve` takes 5 ns.
/// struct Solver(u64);
/// impl EventSource for Solver {
///     type Error = Infallible;
///     fn next_step(&mut self, sink: &mut dyn EventSink, _: &Job) -> Result<bool, Infallible> {
///         if self.0 == 2 {
///             return Ok(false);
///         }
///         let (solve, stream) = (sink.region(0, "solve"), sink.stream(StreamKey::default()));
///         let begin = 10 * self.0 as i64;
///         sink.push(stream, Nanos(begin), StreamEvent::Enter(solve));
///         sink.push(stream, Nanos(begin + 5), StreamEvent::Exit(solve));
///         sink.end_step(self.0);
///         self.0 += 1;
///         Ok(true)
///     }
/// }
/// // A sink that counts calls.
/// let (mut solver, mut calls, job) = (Solver(0), Calls::default(), Job::default());
/// while solver.next_step(&mut calls, &job)? {}
/// assert_eq!(calls.count, 2);
/// # Ok::<(), Infallible>(())
/// ```
pub trait EventSource {
    /// What can be wrong with the source.
    type Error;

    /// Pushes the events of the next step and its end; `false` when there are no more.
    ///
    /// # Errors
    ///
    /// Returns an error for what the source cannot repair; later steps may still be readable. Once the job is cancelled, a
    /// source returns an error or, if it waits for more events, ends.
    fn next_step(&mut self, sink: &mut dyn EventSink, job: &Job) -> Result<bool, Self::Error>;
}
