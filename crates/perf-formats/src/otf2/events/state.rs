//! [`State`]: state that the decoder of a location keeps from one block to the next; [`Stop`]:
//! reasons for which the decoder stops.

use crate::otf2::definitions::id_maps::Unresolved;
use crate::otf2::definitions::local::Segment;
use crate::otf2::wire::ByteOrder;
use perf_core::{AttributeValue, Diagnostics, Ticks, TimeRange};

/// Reason for which the decoder stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The block ends, possibly within a record.
    Block,
    /// The chunk ends, at its end mark or at the end of its bytes.
    Chunk,
    /// The bytes of the chunk end within a record.
    Cut,
    /// The bytes that follow are not a record.
    Damage,
    /// The file ends.
    File,
    /// All further events lie after the window.
    Window,
}

/// Decoding state of a location.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Byte order of the file.
    pub(super) order: ByteOrder,
    /// Clock correction at the current time.
    pub(super) segment: Segment,
    /// Latest corrected time so far.
    pub(crate) time: u64,
    /// `true` if events at that time are inside the window.
    pub(super) keep: bool,
    /// Attributes for the next event.
    pub(super) pending: Vec<AttributeValue>,
    /// `true` after the first timestamp.
    pub(super) started: bool,
    /// `true` if the last timestamp before the chunk could change the result of decoding it.
    pub(crate) is_doubtful: bool,
    /// Number of events that the header of the chunk declares.
    pub(super) declared: Option<u64>,
    /// Number of events of the chunk so far, including those outside the window.
    pub(super) seen: u64,
    /// Distance in ticks above which a timestamp is checked against the ones that follow.
    pub(super) far: u64,
    /// First timestamp of the next chunk.
    pub(super) next_first: Option<u64>,
    /// Byte of the file from which on the data is unreadable, and the stop to report if no further
    /// record is found.
    pub(super) lost: Option<(u64, Stop)>,
    /// Undefined ids so far.
    pub(crate) unresolved: Unresolved,
    /// Diagnostics so far.
    pub(crate) found: Diagnostics,
}

impl State {
    /// Creates the state at the start of a chunk. `time` is the last time before it.
    pub(crate) fn new(order: ByteOrder, time: u64, window: TimeRange) -> Self {
        State {
            order,
            time,
            started: time > 0,
            // No time falls into this segment, so that the first timestamp looks up its own.
            segment: Segment::NOWHERE,
            keep: window == TimeRange::ALL || window.contains(Ticks(time)),
            ..State::default()
        }
    }
}
