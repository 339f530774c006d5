//! How far a location is decoded, and why the decoder stopped there.

use crate::otf2::local::Segment;
use crate::otf2::maps::Unresolved;
use crate::otf2::wire::ByteOrder;
use perf_core::{AttributeValue, Diagnostics, Ticks, TimeRange};

/// Why the decoder stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The block ends, maybe within a record.
    Block,
    /// The chunk ends, by its end mark or where its bytes do.
    Chunk,
    /// The bytes of the chunk end within a record.
    Cut,
    /// What follows is no record.
    Damage,
    /// The file ends.
    File,
    /// All that follows lies after the window.
    Window,
}

/// How far a location is decoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(super) order: ByteOrder,
    pub(super) segment: Segment,
    /// The latest time so far, corrected.
    pub(crate) time: u64,
    /// Whether events at that time are inside the window.
    pub(super) keep: bool,
    /// Attributes of the next event.
    pub(super) pending: Vec<AttributeValue>,
    /// Set once a timestamp was taken.
    pub(super) started: bool,
    /// Set if the timestamp before the chunk could change its events.
    pub(crate) is_doubtful: bool,
    /// Number of events that the header of the chunk declares.
    pub(super) declared: Option<u64>,
    /// Number of events of the chunk so far, those outside the window included.
    pub(super) seen: u64,
    /// Distance in ticks from which on a timestamp is compared with those that follow.
    pub(super) far: u64,
    /// The time that the next chunk begins with.
    pub(super) next_first: Option<u64>,
    /// The byte of the file from which on nothing could be read, and the way the chunk stops if no
    /// record follows.
    pub(super) lost: Option<(u64, Stop)>,
    pub(crate) unresolved: Unresolved,
    pub(crate) found: Diagnostics,
}

impl State {
    /// At the start of a chunk. `time` is the last one of what comes before.
    pub(crate) fn new(order: ByteOrder, time: u64, window: TimeRange) -> Self {
        State {
            order,
            time,
            started: time > 0,
            // No time belongs to this line, so that the first one looks for its own.
            segment: Segment::NOWHERE,
            keep: window == TimeRange::ALL || window.contains(Ticks(time)),
            ..State::default()
        }
    }
}
