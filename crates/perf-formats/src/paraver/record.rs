//! Records of a `.prv`, and batches of them in columns.

use super::scan::Expected;
use perf_core::Ticks;

/// A thread as a trace names it, all numbers from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object {
    /// Application.
    pub application: u32,
    /// Task of the application.
    pub task: u32,
    /// Thread of the task.
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

/// A thread and the CPU it ran on, from 1; 0 where the header has no resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OnCpu {
    /// The CPU.
    pub cpu: u32,
    /// The thread.
    pub object: Object,
}

/// Type and value of an event. Values are 64 bits, signed or unsigned: tools differ.
///
/// ```
/// use perf_formats::paraver::Pair;
/// let pair = Pair::signed(42_000_050, -1);
/// assert_eq!((pair.value(), pair.bits(), pair.is_negative()), (-1, u64::MAX, true));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pair {
    /// Type.
    pub kind: u32,
    is_negative: bool,
    bits: u64,
}

impl Pair {
    /// An unsigned value.
    pub fn new(kind: u32, value: u64) -> Self {
        Pair {
            kind,
            is_negative: false,
            bits: value,
        }
    }

    /// A signed value.
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

    /// The 64 bits of the value.
    pub fn bits(self) -> u64 {
        self.bits
    }

    /// The value as a signed number: one past 2^63 - 1 comes out negative.
    pub fn value(self) -> i64 {
        self.bits.cast_signed()
    }

    /// Whether the value is written with a minus.
    pub fn is_negative(self) -> bool {
        self.is_negative
    }
}

/// A message with both ends.
///
/// *Logical* times are those of the calls, *physical* ones those of the transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Communication {
    /// Who sent.
    pub sender: OnCpu,
    /// When the send was called. Lines are in order of it.
    pub logical_send: Ticks,
    /// When the message left.
    pub physical_send: Ticks,
    /// Who received.
    pub receiver: OnCpu,
    /// When the receive was called, or posted.
    pub logical_receive: Ticks,
    /// When the message had arrived.
    pub physical_receive: Ticks,
    /// Bytes.
    pub size: u64,
    /// Message tag.
    pub tag: i64,
}

/// One line of a `.prv`. Borrows lists from its [`Batch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Record<'a> {
    /// `1:`, what a thread did for a while.
    State {
        /// Who.
        at: OnCpu,
        /// From when on.
        begin: Ticks,
        /// Until when.
        end: Ticks,
        /// What, by its number in the `.pcf`.
        state: u32,
    },
    /// `2:`, events of a thread at one instant.
    Events {
        /// Who.
        at: OnCpu,
        /// When.
        time: Ticks,
        /// Types and values, at least one.
        pairs: &'a [Pair],
    },
    /// `3:`, a message.
    Communication(&'a Communication),
    /// `4:`, global communication of old traces, as it stands and without meaning.
    Global(&'a [u8]),
    /// `c:`, a communicator of an application.
    Communicator {
        /// The application.
        application: u32,
        /// Its number in the application.
        id: u32,
        /// Its tasks, by rank.
        tasks: &'a [u32],
        /// Whether it is written with `C`.
        is_upper: bool,
    },
    /// `i:`, two communicators that talk to each other.
    InterCommunicator {
        /// The application.
        application: u32,
        /// Its number in the application.
        id: u32,
        /// For each of the two sides the communicator and the task that leads it.
        sides: [(u32, u32); 2],
        /// Whether it is written with `I`.
        is_upper: bool,
    },
    /// A line that begins with `#`, as it stands without its end.
    Comment(&'a [u8]),
    /// A line without anything but blanks.
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

/// A line in the columns of a batch; what `payload` and `detail` are depends on the kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    /// Start of the line in the batch.
    pub(super) offset: u32,
    pub(super) at: OnCpu,
    pub(super) time: u64,
    pub(super) payload: u64,
    pub(super) detail: u32,
}

/// A line that was no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Skip {
    /// Line in the batch, from 0.
    pub(super) line: u64,
    /// Start of the line in the batch.
    pub(super) offset: u64,
    /// Column, from 0.
    pub(super) column: u64,
    pub(super) expected: Expected,
    pub(super) got: String,
    /// Whether what is wrong is that the text ends.
    pub(super) is_cut: bool,
}

/// Lines that follow one another, in columns: nothing is allocated for a line of its own.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub(super) entries: Vec<Entry>,
    pub(super) pairs: Vec<Pair>,
    pub(super) communications: Vec<Communication>,
    pub(super) tasks: Vec<u32>,
    pub(super) sides: Vec<(u32, [(u32, u32); 2])>,
    /// Comments, and lines that are not written as this crate would.
    pub(super) text: Vec<u8>,
    /// Entry, start and end in `text` of lines that are kept as they stand, with their ends.
    pub(super) raw: Vec<(u32, u32, u32)>,
    /// Lines that were no records, the first of them.
    pub(super) skips: Vec<Skip>,
    /// For each line that was no record, how many entries come before it, and where it stands in `text`
    /// with its end.
    pub(super) skipped: Vec<(u32, u32, u32)>,
    pub(super) lines: u64,
    /// Whether the last line has no end.
    pub(super) is_unterminated: bool,
    /// Where the batch begins in the trace.
    pub(super) offset: u64,
    pub(super) first_line: u64,
}

impl Batch {
    /// Most lines that were no records whose particulars are kept.
    pub(super) const SKIPS: usize = 8;

    /// Number of records.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Record `index`.
    pub fn get(&self, index: usize) -> Option<Record<'_>> {
        self.record(self.entries.get(index)?)
    }

    /// All records in order.
    pub fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        let entries = self.entries.iter();
        entries.filter_map(|entry| self.record(entry))
    }

    /// Line of record `index` in the trace, from 1.
    pub fn line(&self, index: usize) -> u64 {
        let skipped = self
            .skipped
            .partition_point(|(before, ..)| *before as usize <= index);
        self.first_line + (index + skipped) as u64
    }

    /// The latest time of a message.
    pub(super) fn last_of_message(&self, entry: &Entry) -> u64 {
        let message = self.communications.get(entry.payload as usize);
        message.map_or(entry.time, |message| {
            let sent = message.logical_send.max(message.physical_send);
            let received = message.logical_receive.max(message.physical_receive);
            sent.max(received).0
        })
    }

    /// Where the line of record `index` starts, in bytes of the unpacked trace.
    pub fn offset(&self, index: usize) -> u64 {
        let entry = self.entries.get(index);
        self.offset + entry.map_or(0, |entry| u64::from(entry.offset))
    }

    /// The lines that were no records and stand before record `index`, behind the one before it, as they
    /// are with their ends; with `index` being [`len`](Self::len) those behind all records.
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
    /// [`Error::Usage`](crate::Error::Usage) for events without a pair, a text with a newline, and
    /// a batch of more than 2^32 of anything.
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

    /// Takes all records out and keeps the memory for others.
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
