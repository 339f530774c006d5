//! [`Row`]: calls, instants and unpaired begins and ends of one thread, device stream or counter
//! group; [`Extra`]: further data of a call; [`Flow`]: a point of a flow.

use perf_core::EventId;

/// A word that identifies a process, thread, device or stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Sym(pub(crate) u32);

/// Tag shared by a begin and its end, or by the points of a flow: a category and an id in it.
pub(crate) type Tag = (Sym, u64);

/// Identity of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RowKey {
    /// A thread of a process.
    Thread { process: Sym, thread: Sym },
    /// Asynchronous calls of a process, by category.
    Async { process: Sym, category: Sym },
    /// Counters of a process.
    Counters { process: Sym },
    /// Activities of a stream.
    Work {
        device: Sym,
        context: Sym,
        stream: Sym,
    },
    /// Ranges and waits shown next to a stream, which are not device work.
    Beside { device: Sym, stream: Sym },
}

/// A call with its begin and end in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(in crate::timeline) struct Call {
    /// Begin in nanoseconds.
    pub(in crate::timeline) start: i64,
    /// End in nanoseconds.
    pub(in crate::timeline) end: i64,
    /// Number of the region in this file.
    pub(in crate::timeline) region: u32,
    /// Index of its [`Extra`] plus 1; 0 without one.
    pub(in crate::timeline) extra: u32,
}

/// An event without duration.
#[derive(Clone, Copy, Debug)]
pub(in crate::timeline) struct Instant {
    /// Time in nanoseconds.
    pub(in crate::timeline) at: i64,
    /// Number of the text of the instant.
    pub(in crate::timeline) name: u32,
    /// Index of its [`Extra`] plus 1; 0 without one.
    pub(in crate::timeline) extra: u32,
}

/// Begin or end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Begin, with its region.
    Begin(u32),
    /// End, with the text number of the ended call if the file names it.
    End(Option<u32>),
}

/// A begin or an end.
#[derive(Clone, Copy, Debug)]
pub(in crate::timeline) struct Mark {
    /// Time in nanoseconds.
    pub(in crate::timeline) at: i64,
    /// Begin or end.
    pub(in crate::timeline) edge: Edge,
    /// Tag for the pairing: the row, or an asynchronous id.
    pub(in crate::timeline) of: Tag,
}

/// A row with its contents.
#[derive(Debug)]
pub(in crate::timeline) struct Row {
    /// Identity of the row.
    pub(in crate::timeline) key: RowKey,
    /// Calls of the row.
    pub(in crate::timeline) calls: Vec<Call>,
    /// Instants of the row.
    pub(in crate::timeline) instants: Vec<Instant>,
    /// Begins and ends that are not paired yet.
    pub(in crate::timeline) marks: Vec<Mark>,
}

impl Row {
    /// Returns a row of instants.
    pub(in crate::timeline) fn new(key: RowKey, instants: Vec<Instant>) -> Self {
        Row {
            key,
            calls: Vec::new(),
            instants,
            marks: Vec::new(),
        }
    }
}

/// Role of a call with respect to a correlation id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// No role.
    #[default]
    None,
    /// The call may have launched activities.
    Launch,
    /// The call is a device activity.
    Work,
}

/// Data of a call in addition to name and times. There may be millions: 32 bytes each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extra {
    /// Bits of the correlation id.
    correlation: u64,
    /// Number of bytes moved.
    bytes: u64,
    /// Position in the trace, [`NOWHERE`] until it is known.
    place: EventId,
    /// Bit 0: there is a correlation id; bit 1: it is negative. Bits 2 and 3: the same for the number of bytes.
    flags: u8,
    /// Role of the call.
    pub(in crate::timeline) role: Role,
    /// List in [`Arguments`](super::arguments::Arguments) with the arguments of the call; 0 for none.
    pub(in crate::timeline) arguments: u32,
}

/// Bits of a number, and `true` if the number is negative.
pub(crate) type Number = (u64, bool);

/// Marks an unknown position.
const NOWHERE: EventId = EventId {
    location: perf_core::LocationId(u32::MAX),
    index: u32::MAX,
};

impl Extra {
    /// Creates the data from an optional correlation id and an optional number of bytes.
    pub(crate) fn new(correlation: Option<Number>, bytes: Option<Number>, role: Role) -> Self {
        let flags = |number: Option<Number>| match number {
            None => 0,
            Some((_, false)) => 1,
            Some((_, true)) => 3,
        };
        Extra {
            correlation: correlation.unwrap_or_default().0,
            bytes: bytes.unwrap_or_default().0,
            place: NOWHERE,
            flags: flags(correlation) | flags(bytes) << 2,
            role,
            arguments: 0,
        }
    }

    /// Returns the same data for a call that is unrelated to launches.
    #[cfg(feature = "rocprof")]
    pub(crate) fn without_role(self) -> Self {
        Extra {
            role: Role::None,
            ..self
        }
    }

    /// Returns `true` if there are no data.
    pub(in crate::timeline) fn is_nothing(&self) -> bool {
        self.flags == 0 && self.role != Role::Work && self.arguments == 0
    }

    /// Returns the correlation id.
    pub(in crate::timeline) fn correlation(&self) -> Option<Number> {
        (self.flags & 1 > 0).then_some((self.correlation, self.flags & 2 > 0))
    }

    /// Returns the number of bytes moved.
    pub(in crate::timeline) fn bytes(&self) -> Option<Number> {
        (self.flags & 4 > 0).then_some((self.bytes, self.flags & 8 > 0))
    }

    /// Returns the position in the trace.
    pub(in crate::timeline) fn place(&self) -> Option<EventId> {
        Some(self.place).filter(|place| *place != NOWHERE)
    }

    pub(in crate::timeline) fn put(&mut self, place: Option<EventId>) {
        self.place = place.unwrap_or(NOWHERE);
    }
}

/// Kind of a flow point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowEnd {
    /// Start, in the enclosing call.
    Start,
    /// Intermediate point, in the enclosing call.
    Step,
    /// End, in the enclosing call.
    Around,
    /// End, in the next call.
    Next,
}

/// A point of a flow.
#[derive(Clone, Copy, Debug)]
pub(in crate::timeline) struct Flow {
    /// Id of the flow.
    id: u64,
    /// Time in nanoseconds.
    pub(in crate::timeline) at: i64,
    /// Category of the flow.
    category: Sym,
    /// Process of the point.
    pub(in crate::timeline) process: Sym,
    /// Thread of the point.
    pub(in crate::timeline) thread: Sym,
    /// Call to which the point is bound; [`NOWHERE`] until it is known.
    place: EventId,
    /// Kind of the point.
    pub(in crate::timeline) end: FlowEnd,
    /// `true` if the bound call begins at the time of the point.
    is_exact: bool,
}

impl Flow {
    pub(in crate::timeline) fn new(
        of: Tag,
        end: FlowEnd,
        at: i64,
        (process, thread): (Sym, Sym),
    ) -> Self {
        Flow {
            id: of.1,
            at,
            category: of.0,
            process,
            thread,
            place: NOWHERE,
            end,
            is_exact: false,
        }
    }

    /// Returns category and id.
    pub(in crate::timeline) fn tag(&self) -> Tag {
        (self.category, self.id)
    }

    /// Returns the call to which the point is bound, if any.
    pub(in crate::timeline) fn place(&self) -> Option<EventId> {
        Some(self.place).filter(|place| *place != NOWHERE)
    }

    /// Binds the point to a call if it is not bound yet, or if only this call begins at the time of the point.
    pub(in crate::timeline) fn lead(&mut self, place: EventId, is_exact: bool) {
        if self.place == NOWHERE || (is_exact && !self.is_exact) {
            (self.place, self.is_exact) = (place, is_exact);
        }
    }
}
