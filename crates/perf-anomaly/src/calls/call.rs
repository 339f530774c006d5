//! [`Call`]: one call of a region on a stream, with its [`CallKey`] and [`CallFlags`]; [`Batch`]:
//! the calls that were completed in a step, with their samples.

use super::gpu::GpuLink;
use crate::Sample;
use perf_core::{CallPathId, Nanos, RegionId, StreamId};
use std::ops::Range;

/// Flags of a call, such as the way in which it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CallFlags(pub(super) u8);

impl CallFlags {
    pub(super) const OPEN: u8 = 1;
    pub(super) const FIRST: u8 = 2;
    pub(super) const IMPLICIT: u8 = 4;
    pub(super) const RENAMED: u8 = 8;
    pub(super) const AT_END: u8 = 16;
    pub(super) const CORRELATED: u8 = 32;

    /// Returns `true` if the call is still open, such as a caller of a completed call.
    pub fn is_open(self) -> bool {
        self.0 & Self::OPEN != 0
    }

    /// Returns `true` for the first completed call of its model on its stream.
    pub fn is_first(self) -> bool {
        self.0 & Self::FIRST != 0
    }

    /// Returns `true` if the exit of an outer call, or a stack that became too deep, closed the
    /// call. Its end is then a guess.
    pub fn closed_by_outer(self) -> bool {
        self.0 & Self::IMPLICIT != 0
    }

    /// Returns `true` if an exit with the name of another region closed the call.
    pub fn closed_by_other_name(self) -> bool {
        self.0 & Self::RENAMED != 0
    }

    /// Returns `true` if the call was open at the end of its stream and closed there.
    pub fn closed_at_end(self) -> bool {
        self.0 & Self::AT_END != 0
    }

    /// Returns `true` if the exit of the call is missing or has another name, so that its run time
    /// is a guess.
    pub fn closed_early(self) -> bool {
        self.0 & (Self::IMPLICIT | Self::RENAMED | Self::AT_END) != 0
    }

    /// Returns `true` if the call has a correlation id: it launches work on an accelerator, or is
    /// such work.
    pub fn is_correlated(self) -> bool {
        self.0 & Self::CORRELATED != 0
    }
}

/// One call of a region on a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Call {
    /// Stream on which the call ran.
    pub stream: StreamId,
    /// Region, with one id for all ranks and threads of a program.
    pub region: RegionId,
    /// Call path, see [`Calls::path`](super::Calls::path).
    pub path: CallPathId,
    /// Depth in the stack; 0 for a call without a caller.
    pub depth: u32,
    /// Time of the enter.
    pub entry: Nanos,
    /// Time of the exit; for an open call, time of the enter.
    pub exit: Nanos,
    /// Time in the call without its callees.
    pub exclusive: Nanos,
    /// Number of the call in the order of entry on its stream, from 0.
    pub number: u64,
    /// Number of the calling call, or a marker for none.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialize::caller"))]
    pub(super) caller: u64,
    /// Step of its enter.
    pub step: u64,
    /// Index of its enter among the enters and exits of its rank in that step, from 0.
    pub index: u32,
    /// Number of its direct callees.
    pub children: u32,
    /// Number of messages sent and received in the call and not in a callee.
    pub messages: u32,
    /// Number of counter values taken in the call and not in a callee.
    pub counters: u32,
    /// Flags.
    pub flags: CallFlags,
    /// Index plus 1 of its last message or counter value among all notes of its stream; 0 for none.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) last_note: u64,
}

impl Call {
    pub(crate) const NOBODY: u64 = u64::MAX;

    /// Returns the caller; `None` for a call of depth 0.
    pub fn caller(&self) -> Option<CallKey> {
        (self.caller != Self::NOBODY).then_some(CallKey {
            stream: self.stream,
            number: self.caller,
        })
    }

    /// Returns the inclusive time, from entry to exit.
    pub fn inclusive(&self) -> Nanos {
        Nanos(self.exit.0.saturating_sub(self.entry.0).max(0))
    }

    /// Returns stream and number, which identify the call.
    pub fn key(&self) -> CallKey {
        CallKey {
            stream: self.stream,
            number: self.number,
        }
    }
}

/// Identity of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct CallKey {
    /// Stream on which the call ran.
    pub stream: StreamId,
    /// Number in the order of entry on that stream.
    pub number: u64,
}

/// Calls that were completed in a step, in two columns of equal length: the samples for detectors,
/// and the calls.
///
/// Streams are in order of program, rank and thread, the calls of a stream in order of completion.
/// The order therefore does not depend on the interleaving of the streams.
///
/// ```
/// use perf_anomaly::{Watch, calls::Calls};
/// use perf_core::Nanos;
/// let mut watch = Watch::new(Calls::default(), 0, 3);
/// let (main, solve) = (watch.region("main"), watch.region("solve"));
/// watch.enter(0, main, Nanos(0));
/// watch.enter(0, solve, Nanos(10));
/// watch.exit(0, solve, Nanos(60));
/// watch.exit(0, main, Nanos(100));
/// watch.end_step();
/// let batch = watch.sink().batch();
/// // In order of their ends; samples hold the exclusive time.
/// let times: Vec<Nanos> = batch.samples().iter().map(|sample| sample.runtime).collect();
/// assert_eq!(times, [Nanos(50), Nanos(50)]);
/// let main = &batch.calls()[1];
/// assert_eq!((main.depth, main.entry, main.exit, main.exclusive), (0, Nanos(0), Nanos(100), Nanos(50)));
/// assert!(main.flags.is_first() && !main.flags.closed_early());
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Step.
    pub(super) step: u64,
    /// Sample of each call.
    pub(super) samples: Vec<Sample>,
    /// Calls.
    pub(super) calls: Vec<Call>,
    /// Range of the calls of each stream.
    pub(super) streams: Vec<(StreamId, Range<usize>)>,
    /// Accelerator work connected to its launch.
    pub(super) links: Vec<GpuLink>,
}

impl Batch {
    /// Returns the step.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Returns the number of calls.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns `true` if no call was completed.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Returns the sample of each call.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Returns the calls.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Returns the streams with calls in the batch, and the range of their calls.
    pub fn streams(&self) -> &[(StreamId, Range<usize>)] {
        &self.streams
    }

    /// Returns the accelerator work that was connected to its launch in this step. The work may
    /// have been completed in an earlier step.
    pub fn links(&self) -> &[GpuLink] {
        &self.links
    }

    pub(super) fn clear(&mut self, step: u64) {
        self.step = step;
        self.samples.clear();
        self.calls.clear();
        self.streams.clear();
        self.links.clear();
    }
}
