//! [`Call`] and [`Batch`]: completed calls, and those of one step.

use super::gpu::GpuLink;
use crate::Sample;
use perf_core::{CallPathId, Nanos, RegionId, StreamId};
use std::ops::Range;

/// How a call came to its end, and what else is to be known of it, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CallFlags(pub(super) u8);

impl CallFlags {
    pub(super) const OPEN: u8 = 1;
    pub(super) const FIRST: u8 = 2;
    pub(super) const IMPLICIT: u8 = 4;
    pub(super) const RENAMED: u8 = 8;
    pub(super) const AT_END: u8 = 16;
    pub(super) const CORRELATED: u8 = 32;

    /// The call is not complete: it is an ancestor of one that is.
    pub fn is_open(self) -> bool {
        self.0 & Self::OPEN != 0
    }

    /// The first call of its model on its stream that was completed.
    pub fn is_first(self) -> bool {
        self.0 & Self::FIRST != 0
    }

    /// The call was closed since one further out was left, so its end is not its own.
    pub fn closed_by_outer(self) -> bool {
        self.0 & Self::IMPLICIT != 0
    }

    /// The call was closed by an exit that named another region.
    pub fn closed_by_other_name(self) -> bool {
        self.0 & Self::RENAMED != 0
    }

    /// The call was open at the end of its stream and closed there.
    pub fn closed_at_end(self) -> bool {
        self.0 & Self::AT_END != 0
    }

    /// The end of the call is not the recording's own, so its run time is a guess.
    pub fn closed_early(self) -> bool {
        self.0 & (Self::IMPLICIT | Self::RENAMED | Self::AT_END) != 0
    }

    /// A correlation id was seen in the call: it launches work on an accelerator, or is such work.
    pub fn is_correlated(self) -> bool {
        self.0 & Self::CORRELATED != 0
    }
}

/// One call of a region on a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Call {
    /// The stream it ran on.
    pub stream: StreamId,
    /// The region; it has one id in all ranks and threads of a program.
    pub region: RegionId,
    /// Its call path, see [`Calls::path`](super::Calls::path).
    pub path: CallPathId,
    /// 0 for a call that no other one made.
    pub depth: u32,
    /// When it was entered.
    pub entry: Nanos,
    /// When it was left; for a call that is still open, the entry.
    pub exit: Nanos,
    /// Time in the call and in no call it made.
    pub exclusive: Nanos,
    /// Its place in the order of entry on its stream, from 0.
    pub number: u64,
    /// The number of the call that made it, or nobody's.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialize::caller"))]
    pub(super) caller: u64,
    /// The step it was entered in.
    pub step: u64,
    /// Which of the enters and exits of its rank in that step entered it, from 0.
    pub index: u32,
    /// Number of calls it made itself.
    pub children: u32,
    /// Number of messages it sent and received itself.
    pub messages: u32,
    /// Number of counter values in it and in no call it made.
    pub counters: u32,
    /// How it ended.
    pub flags: CallFlags,
    /// The last of its messages and counters among those that are kept, and 1; 0 for none.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) last_note: u64,
}

impl Call {
    pub(crate) const NOBODY: u64 = u64::MAX;

    /// The call that made it; `None` for one of depth 0.
    pub fn caller(&self) -> Option<CallKey> {
        (self.caller != Self::NOBODY).then_some(CallKey {
            stream: self.stream,
            number: self.caller,
        })
    }

    /// Time from entry to exit, with all calls it made.
    pub fn inclusive(&self) -> Nanos {
        Nanos(self.exit.0.saturating_sub(self.entry.0).max(0))
    }

    /// Stream and number, which tell it from all other calls.
    pub fn key(&self) -> CallKey {
        CallKey {
            stream: self.stream,
            number: self.number,
        }
    }
}

/// What tells a call from all other ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct CallKey {
    /// The stream it ran on.
    pub stream: StreamId,
    /// Its place in the order of entry on that stream.
    pub number: u64,
}

/// The calls that were completed in a step, in two columns of one length: what detectors ask for,
/// and who the calls are.
///
/// Streams come by program, rank and thread, the calls of a stream in the order of their exits, so
/// that the order does not depend on how the streams were interleaved.
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
/// // In the order in which they ended; exclusive time is what a detector is asked.
/// let times: Vec<Nanos> = batch.samples().iter().map(|sample| sample.runtime).collect();
/// assert_eq!(times, [Nanos(50), Nanos(50)]);
/// let main = &batch.calls()[1];
/// assert_eq!((main.depth, main.entry, main.exit, main.exclusive), (0, Nanos(0), Nanos(100), Nanos(50)));
/// assert!(main.flags.is_first() && !main.flags.closed_early());
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub(super) step: u64,
    pub(super) samples: Vec<Sample>,
    pub(super) calls: Vec<Call>,
    pub(super) streams: Vec<(StreamId, Range<usize>)>,
    pub(super) links: Vec<GpuLink>,
}

impl Batch {
    /// The step.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Number of calls.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether no call was completed.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Model, run time and whether it is the first, call by call.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// The calls.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The streams with calls in the batch, and which calls are theirs.
    pub fn streams(&self) -> &[(StreamId, Range<usize>)] {
        &self.streams
    }

    /// Work of accelerators that was tied to its launch in this step. The work may have been
    /// completed in an earlier step.
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
