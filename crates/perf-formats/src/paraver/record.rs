//! [`Record`]: a line of a `.prv`, with its thread ([`Object`]) and events ([`Pair`]); [`Batch`]:
//! consecutive records stored in columns.

use super::decimal::Expected;
use perf_core::Ticks;

/// A thread, as identified in a trace. All numbers start at 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object {
    /// Number of the application.
    pub application: u32,
    /// Number of the task within the application.
    pub task: u32,
    /// Number of the thread within the task.
    pub thread: u32,
}

impl std::fmt::Display for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Object {
            application,
            task,
            thread,
        } = self;
        write!(f, "application {application}, task {task}, thread {thread}")
    }
}

/// A thread and the CPU that it ran on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OnCpu {
    /// Number of the CPU, from 1; 0 if the header declares no resources.
    pub cpu: u32,
    /// Thread that ran on the CPU.
    pub object: Object,
}

/// Type and value of an event. Values have 64 bits and are signed or unsigned, depending on the
/// tool.
///
/// ```
/// use perf_formats::paraver::Pair;
/// let pair = Pair::signed(42_000_050, -1);
/// assert_eq!((pair.value(), pair.bits(), pair.is_negative()), (-1, u64::MAX, true));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pair {
    /// Type of the event.
    pub kind: u32,
    /// `true` if the value is written with a minus sign.
    is_negative: bool,
    /// Bit pattern of the value.
    bits: u64,
}

impl Pair {
    /// Creates an event with an unsigned value.
    pub fn new(kind: u32, value: u64) -> Self {
        Pair {
            kind,
            is_negative: false,
            bits: value,
        }
    }

    /// Creates an event with a signed value.
    pub fn signed(kind: u32, value: i64) -> Self {
        Pair {
            kind,
            is_negative: value < 0,
            bits: value.cast_unsigned(),
        }
    }

    pub(super) fn of(kind: u32, (is_negative, bits): (bool, u64)) -> Self {
        Pair {
            kind,
            is_negative,
            bits,
        }
    }

    /// Returns the 64 bits of the value.
    pub fn bits(self) -> u64 {
        self.bits
    }

    /// Returns the value as a signed number. A value above 2^63 - 1 becomes negative.
    pub fn value(self) -> i64 {
        self.bits.cast_signed()
    }

    /// Returns `true` if the value is written with a minus sign.
    pub fn is_negative(self) -> bool {
        self.is_negative
    }
}

/// A message with both ends.
///
/// *Logical* times are the times of the calls; *physical* times are those of the transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Communication {
    /// Sending thread.
    pub sender: OnCpu,
    /// Time of the send call, by which the lines of messages are ordered.
    pub logical_send: Ticks,
    /// Time at which the message left.
    pub physical_send: Ticks,
    /// Receiving thread.
    pub receiver: OnCpu,
    /// Time at which the receive was called or posted.
    pub logical_receive: Ticks,
    /// Time at which the message had arrived.
    pub physical_receive: Ticks,
    /// Size in bytes.
    pub size: u64,
    /// Message tag.
    pub tag: i64,
}

/// One line of a `.prv`. Lists are borrowed from the [`Batch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Record<'a> {
    /// `1:`, a state of a thread.
    State {
        /// Thread and CPU.
        at: OnCpu,
        /// Begin of the state.
        begin: Ticks,
        /// End of the state.
        end: Ticks,
        /// Number of the state in the `.pcf`.
        state: u32,
    },
    /// `2:`, events of a thread at one instant.
    Events {
        /// Thread and CPU.
        at: OnCpu,
        /// Time of the events.
        time: Ticks,
        /// Types and values, at least one.
        pairs: &'a [Pair],
    },
    /// `3:`, a message.
    Communication(&'a Communication),
    /// `4:`, global communication of old traces, verbatim and uninterpreted.
    Global(&'a [u8]),
    /// `c:`, a communicator of an application.
    Communicator {
        /// Number of the application.
        application: u32,
        /// Number of the communicator within the application.
        id: u32,
        /// Tasks of the communicator, by rank.
        tasks: &'a [u32],
        /// `true` if the record is written with `C`.
        is_upper: bool,
    },
    /// `i:`, an inter-communicator, which connects two communicators.
    InterCommunicator {
        /// Number of the application.
        application: u32,
        /// Number of the inter-communicator within the application.
        id: u32,
        /// Communicator and leading task of each of the two sides.
        sides: [(u32, u32); 2],
        /// `true` if the record is written with `I`.
        is_upper: bool,
    },
    /// A line that begins with `#`, without its line end.
    Comment(&'a [u8]),
    /// A line that is empty or consists of blanks.
    Blank,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    State,
    Events,
    Communication,
    Global,
    Communicator,
    InterCommunicator,
    Comment,
    Blank,
}

/// Line of a batch. The meaning of `payload` and `detail` depends on the kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Kind of the record.
    pub(super) kind: Kind,
    /// Offset of the line in the text of the batch in bytes.
    pub(super) offset: u32,
    /// Thread and CPU.
    pub(super) at: OnCpu,
    /// Time of the record.
    pub(super) time: u64,
    /// First kind-specific value.
    pub(super) payload: u64,
    /// Second kind-specific value.
    pub(super) detail: u32,
}

/// An invalid line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Skip {
    /// Line in the batch, from 0.
    pub(super) line: u64,
    /// Offset of the line in the text of the batch in bytes.
    pub(super) offset: u64,
    /// Column, from 0.
    pub(super) column: u64,
    /// Element that was expected.
    pub(super) expected: Expected,
    /// Text found instead.
    pub(super) got: String,
    /// `true` if the text ends within the line.
    pub(super) is_cut: bool,
}

/// Consecutive lines, stored in columns without an allocation for each line.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Lines in order.
    pub(super) entries: Vec<Entry>,
    /// Types and values of all event records.
    pub(super) pairs: Vec<Pair>,
    /// Messages of the batch.
    pub(super) communications: Vec<Communication>,
    /// Tasks of all communicators.
    pub(super) tasks: Vec<u32>,
    /// Inter-communicators with their sides.
    pub(super) sides: Vec<(u32, [(u32, u32); 2])>,
    /// Comments, and lines that this crate would format differently.
    pub(super) text: Vec<u8>,
    /// Entry, start and end in `text` of lines that are kept verbatim, including their line ends.
    pub(super) raw: Vec<(u32, u32, u32)>,
    /// The first invalid lines.
    pub(super) skips: Vec<Skip>,
    /// For each invalid line, the number of entries before it, and its start and end in `text`,
    /// including its line end.
    pub(super) skipped: Vec<(u32, u32, u32)>,
    /// Number of lines.
    pub(super) lines: u64,
    /// `true` if the last line has no line end.
    pub(super) is_unterminated: bool,
    /// Offset of the batch in the trace.
    pub(super) offset: u64,
    /// Number of the first line in the trace.
    pub(super) first_line: u64,
}

impl Batch {
    /// Maximum number of invalid lines with stored details.
    pub(super) const SKIPS: usize = 8;

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if there are no records.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns record `index`.
    pub fn get(&self, index: usize) -> Option<Record<'_>> {
        self.record(self.entries.get(index)?)
    }

    /// Iterates over all records in order.
    pub fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        let entries = self.entries.iter();
        entries.filter_map(|entry| self.record(entry))
    }

    /// Returns the line number of record `index` in the trace, from 1.
    pub fn line(&self, index: usize) -> u64 {
        let skipped = self
            .skipped
            .partition_point(|(before, ..)| *before as usize <= index);
        self.first_line + (index + skipped) as u64
    }

    /// Returns the latest of the four times of a message.
    pub(super) fn last_of_message(&self, entry: &Entry) -> u64 {
        let message = self.communications.get(entry.payload as usize);
        message.map_or(entry.time, |message| {
            let sent = message.logical_send.max(message.physical_send);
            let received = message.logical_receive.max(message.physical_receive);
            sent.max(received).0
        })
    }

    /// Returns the offset of the line of record `index`, in bytes of the uncompressed trace.
    pub fn offset(&self, index: usize) -> u64 {
        let entry = self.entries.get(index);
        self.offset + entry.map_or(0, |entry| u64::from(entry.offset))
    }

    /// Iterates over the invalid lines between the previous record and record `index`, including
    /// their line ends. If `index` is [`len`](Self::len), these are the lines after all records.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_formats::paraver::Reader;
    /// use perf_formats::OpenOptions;
    /// let text = "#Paraver (1/1/20 at 1:00):9:0:1:1(1:1)\n2:0:1:1:1:3:7:1\noops\n2:0:1:1:1:9:7:0\n";
    /// let mut reader = Reader::new(text.as_bytes(), "x.prv", &OpenOptions::new(), &Job::default())?;
    /// let batch = reader.next_batch()?.expect("a batch");
    /// assert_eq!(batch.skipped_before(1).collect::<Vec<_>>(), [b"oops\n"]);
    /// assert_eq!(batch.skipped_before(0).count(), 0);
    /// # Ok::<(), perf_formats::Error>(())
    /// ```
    pub fn skipped_before(&self, index: usize) -> impl Iterator<Item = &[u8]> {
        let before = |than: usize| {
            self.skipped
                .partition_point(move |(entries, ..)| (*entries as usize) < than)
        };
        let lines = self.skipped.get(before(index)..before(index + 1));
        lines
            .unwrap_or_default()
            .iter()
            .filter_map(|(_, start, end)| self.text.get(*start as usize..*end as usize))
    }

    #[inline(always)]
    pub(super) fn record(&self, entry: &Entry) -> Option<Record<'_>> {
        let (start, count) = (entry.payload as usize, entry.detail as usize);
        Some(match entry.kind {
            Kind::State => Record::State {
                at: entry.at,
                begin: Ticks(entry.time),
                end: Ticks(entry.payload),
                state: entry.detail,
            },
            Kind::Events => Record::Events {
                at: entry.at,
                time: Ticks(entry.time),
                pairs: self.pairs.get(start..start + count)?,
            },
            Kind::Communication => Record::Communication(self.communications.get(start)?),
            Kind::Global => Record::Global(self.text.get(start..start + count)?),
            Kind::Communicator => Record::Communicator {
                application: entry.at.object.application,
                id: entry.at.object.task,
                tasks: self.tasks.get(start..start + count)?,
                is_upper: entry.at.object.thread != 0,
            },
            Kind::InterCommunicator => {
                let (id, sides) = *self.sides.get(start)?;
                Record::InterCommunicator {
                    application: entry.at.object.application,
                    id,
                    sides,
                    is_upper: entry.at.object.thread != 0,
                }
            }
            Kind::Comment => Record::Comment(self.text.get(start..start + count)?),
            Kind::Blank => Record::Blank,
        })
    }

    /// Adds a record.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Usage`](crate::Error::Usage) for events without a pair, a text with a
    /// newline, and a batch with more than 2^32 elements of any kind.
    pub fn push(&mut self, record: Record<'_>) -> crate::Result<()> {
        let usage = |what: &str| crate::Error::Usage { what: what.into() };
        let size = |len: usize| u32::try_from(len).map_err(|_| usage("a batch is full"));
        size(self.entries.len())?;
        let mut entry = Entry {
            kind: Kind::Blank,
            offset: 0,
            at: OnCpu::default(),
            time: 0,
            payload: 0,
            detail: 0,
        };
        let named = |application, id, is_upper| OnCpu {
            cpu: 0,
            object: Object {
                application,
                task: id,
                thread: u32::from(is_upper),
            },
        };
        match record {
            Record::State {
                at,
                begin,
                end,
                state,
            } => {
                (entry.kind, entry.at) = (Kind::State, at);
                (entry.time, entry.payload, entry.detail) = (begin.0, end.0, state);
            }
            Record::Events { at, time, pairs } => {
                if pairs.is_empty() {
                    return Err(usage("a line of events has at least one"));
                }
                (entry.kind, entry.at, entry.time) = (Kind::Events, at, time.0);
                (entry.payload, entry.detail) = (self.pairs.len() as u64, size(pairs.len())?);
                self.pairs.extend_from_slice(pairs);
            }
            Record::Communication(message) => {
                entry.kind = Kind::Communication;
                (entry.at, entry.time) = (message.sender, message.logical_send.0);
                entry.payload = self.communications.len() as u64;
                self.communications.push(*message);
            }
            Record::Communicator {
                application,
                id,
                tasks,
                is_upper,
            } => {
                (entry.kind, entry.at) = (Kind::Communicator, named(application, id, is_upper));
                (entry.payload, entry.detail) = (self.tasks.len() as u64, size(tasks.len())?);
                self.tasks.extend_from_slice(tasks);
            }
            Record::InterCommunicator {
                application,
                id,
                sides,
                is_upper,
            } => {
                (entry.kind, entry.at) =
                    (Kind::InterCommunicator, named(application, id, is_upper));
                entry.payload = self.sides.len() as u64;
                self.sides.push((id, sides));
            }
            Record::Global(text) | Record::Comment(text) => {
                let (kind, start) = match record {
                    Record::Global(_) => (Kind::Global, &b"4:"[..]),
                    _ => (Kind::Comment, &b"#"[..]),
                };
                if text.contains(&b'\n') || !text.starts_with(start) {
                    return Err(usage(
                        "a comment is one line that begins with #, a global one with 4:",
                    ));
                }
                entry.kind = kind;
                (entry.payload, entry.detail) = (self.text.len() as u64, size(text.len())?);
                self.text.extend_from_slice(text);
            }
            Record::Blank => {}
        }
        self.entries.push(entry);
        self.lines += 1;
        Ok(())
    }

    /// Removes all records and keeps the memory.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.pairs.clear();
        self.communications.clear();
        self.tasks.clear();
        self.sides.clear();
        self.text.clear();
        self.raw.clear();
        self.skips.clear();
        self.skipped.clear();
        (self.lines, self.offset, self.first_line) = (0, 0, 0);
        self.is_unterminated = false;
    }
}
