//! Rows, and what lies in them.

use perf_core::EventId;

/// A word that says where something ran: a process, thread, device or stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Sym(pub(crate) u32);

/// What a begin and its end, or the points of a flow, share: a category and an id in it.
pub(crate) type Tag = (Sym, u64);

/// What has a row of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RowKey {
    /// A thread of a process.
    Thread { process: Sym, thread: Sym },
    /// Asynchronous calls of a process, by category.
    Async { process: Sym, category: Sym },
    /// Counters of a process.
    Counters { process: Sym },
    /// Work of a stream.
    Work {
        device: Sym,
        context: Sym,
        stream: Sym,
    },
    /// What is no work and stands beside that of a stream: ranges, waits.
    Beside { device: Sym, stream: Sym },
}

/// A call with its begin and end in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) start: i64,
    pub(super) end: i64,
    /// The region, by its number in this file.
    pub(super) region: u32,
    /// The number of its [`Extra`], and 1; 0 without one.
    pub(super) extra: u32,
}

/// Something that takes no time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instant {
    pub(super) at: i64,
    /// The number of its text.
    pub(super) name: u32,
    pub(super) extra: u32,
}

/// Which side of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Its begin, with its region.
    Begin(u32),
    /// Its end, with the number of its text where it says which call ends.
    End(Option<u32>),
}

/// A begin or an end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) at: i64,
    pub(super) edge: Edge,
    /// What the two belong to: the row, or an asynchronous id.
    pub(super) of: Tag,
}

/// A row.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) key: RowKey,
    pub(super) calls: Vec<Call>,
    pub(super) instants: Vec<Instant>,
    pub(super) marks: Vec<Mark>,
}

impl Row {
    /// Returns a row of instants.
    pub(super) fn new(key: RowKey, instants: Vec<Instant>) -> Self {
        Row {
            key,
            calls: Vec::new(),
            instants,
            marks: Vec::new(),
        }
    }
}

/// What a call is to a correlation id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// Nothing.
    #[default]
    None,
    /// It may have launched work.
    Launch,
    /// It is work.
    Work,
}

/// What a call carries beside its name and times. There may be millions: 32 bytes each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extra {
    correlation: u64,
    bytes: u64,
    /// Where it came to lie, [`NOWHERE`] before that.
    place: EventId,
    /// Which of the numbers are there, and which are negative.
    flags: u8,
    pub(super) role: Role,
    /// List of its [`Arguments`](super::arguments::Arguments), 0 without any.
    pub(super) arguments: u32,
}

/// A number as bits, and whether it is negative.
pub(crate) type Number = (u64, bool);

/// The place of what has none.
const NOWHERE: EventId = EventId {
    location: perf_core::LocationId(u32::MAX),
    index: u32::MAX,
};

impl Extra {
    /// A correlation id and a number of bytes, as far as they are there.
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

    /// The same of a call that has nothing to do with launches.
    #[cfg(feature = "rocprof")]
    pub(crate) fn without_role(self) -> Self {
        Extra {
            role: Role::None,
            ..self
        }
    }

    /// Whether there is nothing to keep.
    pub(super) fn is_nothing(&self) -> bool {
        self.flags == 0 && self.role != Role::Work && self.arguments == 0
    }

    /// Its correlation id.
    pub(super) fn correlation(&self) -> Option<Number> {
        (self.flags & 1 > 0).then_some((self.correlation, self.flags & 2 > 0))
    }

    /// Bytes moved.
    pub(super) fn bytes(&self) -> Option<Number> {
        (self.flags & 4 > 0).then_some((self.bytes, self.flags & 8 > 0))
    }

    /// Where it came to lie.
    pub(super) fn place(&self) -> Option<EventId> {
        Some(self.place).filter(|place| *place != NOWHERE)
    }

    pub(super) fn put(&mut self, place: Option<EventId>) {
        self.place = place.unwrap_or(NOWHERE);
    }
}

/// Which end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowEnd {
    /// It begins, in the call around it.
    Start,
    /// It goes on, in the call around it.
    Step,
    /// It ends, in the call around it.
    Around,
    /// It ends, in the next call.
    Next,
}

/// One point of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    id: u64,
    pub(super) at: i64,
    category: Sym,
    pub(super) process: Sym,
    pub(super) thread: Sym,
    place: EventId,
    pub(super) end: FlowEnd,
    /// The call it leads to begins at its time.
    is_exact: bool,
}

impl Flow {
    pub(super) fn new(of: Tag, end: FlowEnd, at: i64, (process, thread): (Sym, Sym)) -> Self {
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

    /// Category and id.
    pub(super) fn tag(&self) -> Tag {
        (self.category, self.id)
    }

    /// The call it leads to.
    pub(super) fn place(&self) -> Option<EventId> {
        Some(self.place).filter(|place| *place != NOWHERE)
    }

    /// Leads it to a call, unless it leads to a better one: one that begins at its time.
    pub(super) fn lead(&mut self, place: EventId, is_exact: bool) {
        if self.place == NOWHERE || (is_exact && !self.is_exact) {
            (self.place, self.is_exact) = (place, is_exact);
        }
    }
}
