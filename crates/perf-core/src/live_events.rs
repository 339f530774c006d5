//! Live events: an [`EventSource`] pushes [`StreamEvent`]s of streams step by step into an
//! [`EventSink`].
//!
//! A [`Trace`](crate::Trace) is a complete recording in memory, whereas a live stream need not have
//! an end. Readers of streams and self-instrumented programs push events into a sink and do not
//! depend on the analysis that uses them.

use crate::{Job, MetricId, MetricMode, Nanos, Region, RegionId, StreamId, Value};

/// Identity of a stream: a thread of a rank of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StreamKey {
    /// Program within a workflow.
    pub program: u32,
    /// Rank within the program.
    pub rank: u32,
    /// Thread within the rank; streams of accelerators are threads too.
    pub thread: u32,
}

/// Message as seen from one of its ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Peer {
    /// Rank of the other end: the receiver of a sent message, the sender of a received message.
    pub rank: u32,
    /// Message tag.
    pub tag: u32,
    /// Length in bytes.
    pub bytes: u64,
}

/// Event of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// A region is entered.
    Enter(RegionId),
    /// A region is left.
    Exit(RegionId),
    /// A message was sent.
    Send(Peer),
    /// A message was received.
    Receive(Peer),
    /// A counter has a value.
    Counter(MetricId, Value),
    /// The region that was entered last launches work on an accelerator, or is itself work on an
    /// accelerator. A launch and its work have the same id.
    Correlation(u64),
    /// A collective operation or an access to remote memory transfers this number of bytes, sent and
    /// received.
    Bytes(u64),
}

/// Receiver of live events.
///
/// Names are registered first: the sink assigns an id to each name, so that events contain no text.
/// Events of one stream should be in order of time; streams may interleave. A sink never fails on
/// an event: it repairs, counts and reports defects.
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
    /// Returns the id of a region of a program. Equal names of one program have the same id.
    fn region(&mut self, program: u32, name: &str) -> RegionId;

    /// Receives the programming model and role of a region, which some sources know. By default they
    /// are ignored.
    fn describe_region(&mut self, region: RegionId, properties: &Region) {
        let _ = (region, properties);
    }

    /// Returns the id of a counter. Equal names have the same id.
    fn counter(&mut self, name: &str) -> MetricId;

    /// Receives the unit of a counter, such as `bytes`, and its mode, which some sources know. By default they are ignored.
    fn describe_counter(&mut self, counter: MetricId, unit: &str, mode: MetricMode) {
        let _ = (counter, unit, mode);
    }

    /// Returns the id of a stream.
    fn stream(&mut self, key: StreamKey) -> StreamId;

    /// Receives an event of a stream. All streams must share the origin of the time, which is
    /// otherwise arbitrary.
    fn push(&mut self, stream: StreamId, at: Nanos, event: StreamEvent);

    /// Receives a property of a stream, such as its host, as name and value.
    fn metadata(&mut self, stream: StreamId, name: &str, value: &str);

    /// Receives the end of a step: all its events have been pushed. Step numbers have the same
    /// meaning on all ranks and ascend on each rank. A delayed rank may end a step after other
    /// ranks have ended later steps.
    fn end_step(&mut self, step: u64);
}

/// Provider of live events.
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
    /// Error of the source.
    type Error;

    /// Pushes the events of the next step and the end of the step. Returns `false` if there are no
    /// more steps.
    ///
    /// # Errors
    ///
    /// Returns an error for defects that the source cannot repair; later steps may still be
    /// readable. If the job is cancelled, a source returns an error; a source that is waiting for
    /// events returns `false` instead.
    fn next_step(&mut self, sink: &mut dyn EventSink, job: &Job) -> Result<bool, Self::Error>;
}
