//! [`Hello`], [`Welcome`], [`Push`] and [`Answer`]: binary messages between clients and a server,
//! the bodies of HTTP requests and answers.
//!
//! A message consists of `PKL`, a letter for its kind, a 16-bit version, and its fields in order.
//! Numbers are little-endian, and texts and blocks of bytes are preceded by their 32-bit length.
//! Deltas and views in a message have separate versions.
//!
//! | request | body | answer |
//! |---|---|---|
//! | `POST /v1/hello` | [`Hello`]: identity of the client | [`Welcome`] |
//! | `POST /v1/push` | [`Push`]: a delta, records, or both | [`Answer`] |
//!
//! Deltas and bundles of records are numbered separately for each client. If a client repeats one
//! of them after a lost answer, it is acknowledged but not counted again. Data acknowledged with
//! status `200` is on the disk of the server. The status `409` also has an [`Answer`] as its body.
//! It means that the server was restarted with another session, and that names must be sent again.
//! With status `503`, the header `Retry-After` contains the delay before the next attempt.
//!
//! ```
//! use perf_live::wire::{Hello, Welcome};
//! let hello = Hello { client: 7, program: 0, rank: 3, name: "lammps".into(), host: "n12".into() };
//! assert_eq!(Hello::decode(&hello.encode())?, hello);
//! assert!(Welcome::decode(&hello.encode()).is_err());
//! # Ok::<(), perf_live::Error>(())
//! ```

use crate::Result;
use perf_anomaly::provenance::Entry;
use perf_anomaly::server::{Delta, Position};
use perf_core::Nanos;
use perf_core::codec::{Reader, Writer};

/// Version of the messages.
pub const VERSION: u16 = 1;

/// Begins a message of a kind, with memory for about `capacity` bytes.
fn begin(kind: u8, capacity: usize) -> Writer {
    let mut to = Writer(Vec::with_capacity(capacity + 16));
    to.bytes(&[b'P', b'K', b'L', kind]);
    to.u16(VERSION);
    to
}

/// Returns a reader of the fields of a message of a kind.
fn open<'a>(bytes: &'a [u8], kind: u8, expected: &'static str) -> Result<Reader<'a>> {
    let mut from = Reader::new(bytes);
    if from.array(expected)? != [b'P', b'K', b'L', kind] {
        return Err(from.error(4, expected).into());
    }
    match from.u16("a version")? {
        VERSION => Ok(from),
        _ => Err(from.error(2, "version 1 of a message").into()),
    }
}

/// Longest name of a program or host, in bytes.
pub const LONGEST_NAME: usize = 256;

/// Value of [`Push::view`] that requests no view.
pub const NO_VIEW: u64 = u64::MAX;

/// Path of requests with a [`Hello`].
pub const HELLO: &str = "/v1/hello";

/// Path of requests with a [`Push`].
pub const PUSH: &str = "/v1/push";

/// Identity of a client. It must be sent before all other messages and may be sent again at any
/// time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// Number of the client. Each start of a program needs a new number, whereas a reader that
    /// restarts on the same stream uses the same number.
    pub client: u64,
    /// Number of the program within a workflow.
    pub program: u32,
    /// Rank of the client, or the first rank if the client represents several ranks.
    pub rank: u32,
    /// Display name of the program; at most [`LONGEST_NAME`] bytes.
    pub name: String,
    /// Name of the host, which may be empty; at most [`LONGEST_NAME`] bytes.
    pub host: String,
}

impl Hello {
    const KIND: u8 = b'h';

    /// Encodes the message. Names that are too long are truncated.
    pub fn encode(&self) -> Vec<u8> {
        let mut to = begin(Self::KIND, 64 + self.name.len() + self.host.len());
        to.u64(self.client);
        to.u32(self.program);
        to.u32(self.rank);
        to.block(cut(&self.name).as_bytes());
        to.block(cut(&self.host).as_bytes());
        to.0
    }

    /// Decodes the bytes of [`encode`](Self::encode).
    ///
    /// # Errors
    /// Returns [`Error::Wire`](crate::Error::Wire) with the offset of the invalid bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut from = open(bytes, Self::KIND, "a hello")?;
        let hello = Hello {
            client: from.u64("a client")?,
            program: from.u32("a program")?,
            rank: from.u32("a rank")?,
            name: from
                .text_block(LONGEST_NAME as u64, "the name of a program")?
                .into(),
            host: from
                .text_block(LONGEST_NAME as u64, "the name of a host")?
                .into(),
        };
        from.end()?;
        Ok(hello)
    }
}

/// Truncates a name to the length that a message allows.
fn cut(name: &str) -> &str {
    let mut end = name.len().min(LONGEST_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// State of a client on the server, the answer to a hello.
///
/// It may be followed by the [positions](Self::encode_with) of the ranks of the client. A new
/// client gets no positions, and servers of earlier versions send none. Clients of earlier versions
/// are new at each start, so they never get positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Welcome {
    /// Session of the server.
    pub session: u64,
    /// Last stored delta of the client; 0 for none.
    pub delta: u64,
    /// Last stored bundle of records of the client; 0 for none.
    pub records: u64,
    /// Size of the largest message that the server accepts, in bytes.
    pub most: u64,
}

impl Welcome {
    const KIND: u8 = b'w';

    /// Encodes the message without positions.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_with(&[])
    }

    /// Encodes the message with the positions of the ranks of the client, which contain their last
    /// merged steps.
    pub fn encode_with(&self, positions: &[Position]) -> Vec<u8> {
        let mut to = begin(Self::KIND, 36 + 24 * positions.len());
        for number in [self.session, self.delta, self.records, self.most] {
            to.u64(number);
        }
        if !positions.is_empty() {
            to.u32(positions.len() as u32);
        }
        for one in positions {
            to.u32(one.program);
            to.u32(one.rank);
            to.u64(one.first.0.cast_unsigned());
            to.u64(one.last);
        }
        to.0
    }

    /// Decodes the bytes of [`encode`](Self::encode).
    ///
    /// # Errors
    /// Returns [`Error::Wire`](crate::Error::Wire) with the offset of the invalid bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        Ok(Self::decode_with(bytes)?.0)
    }

    /// Decodes the welcome and the positions from the bytes of [`encode_with`](Self::encode_with).
    ///
    /// # Errors
    /// Returns the errors of [`decode`](Self::decode).
    pub fn decode_with(bytes: &[u8]) -> Result<(Self, Vec<Position>)> {
        let mut from = open(bytes, Self::KIND, "a welcome")?;
        let welcome = Welcome {
            session: from.u64("a session")?,
            delta: from.u64("the last delta")?,
            records: from.u64("the last records")?,
            most: from.u64("the size limit of a message")?,
        };
        let mut positions = Vec::new();
        if from.end().is_err() {
            for _ in 0..from.u32("the number of positions")? {
                positions.push(Position {
                    program: from.u32("a program")?,
                    rank: from.u32("a rank")?,
                    first: Nanos(from.u64("a time")?.cast_signed()),
                    last: from.u64("a step")?,
                });
            }
        }
        from.end()?;
        Ok((welcome, positions))
    }
}

/// Records of a client that are sent together.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// Number of the bundle within the client, from 1.
    pub sequence: u64,
    /// Entries of a provenance store.
    pub entries: Vec<Entry>,
}

/// New knowledge and records of a client.
///
/// ```
/// use perf_live::wire::{Bundle, Push};
/// let push = Push { client: 7, records: Some(Bundle { sequence: 1, entries: vec![] }), ..Push::default() };
/// assert_eq!(Push::decode(&push.encode())?, push);
/// # Ok::<(), perf_live::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Push {
    /// Number of the client.
    pub client: u64,
    /// Number of the last view of the client; 0 if it has no view, and [`NO_VIEW`] if it requests
    /// none.
    pub view: u64,
    /// New knowledge; `None` for records only.
    pub delta: Option<Delta>,
    /// New records; `None` for a delta only.
    pub records: Option<Bundle>,
}

impl Push {
    const KIND: u8 = b'p';

    /// Encodes the message.
    pub fn encode(&self) -> Vec<u8> {
        let delta = self.delta.as_ref().map(Delta::encode);
        let records = self.records.as_ref().map(|bundle| {
            let lines = bundle.entries.iter().map(Entry::to_string);
            (bundle.sequence, lines.collect())
        });
        Self::raw((self.client, self.view), delta.as_deref(), records.as_ref())
    }

    /// Builds the message from encoded parts.
    pub(crate) fn raw(
        (client, view): (u64, u64),
        delta: Option<&[u8]>,
        records: Option<&(u64, Vec<String>)>,
    ) -> Vec<u8> {
        let lines = records.map_or(&[][..], |(_, lines)| lines);
        let room: usize = lines.iter().map(|line| line.len() + 4).sum();
        let mut to = begin(Self::KIND, 64 + room + delta.map_or(0, <[u8]>::len));
        to.u64(client);
        to.u64(view);
        to.u8(u8::from(delta.is_some()) + 2 * u8::from(records.is_some()));
        if let Some(delta) = delta {
            to.block(delta);
        }
        if let Some((sequence, lines)) = records {
            to.u64(*sequence);
            to.u32(lines.len() as u32);
            for line in lines {
                to.block(line.as_bytes());
            }
        }
        to.0
    }

    /// Decodes the bytes of [`encode`](Self::encode).
    ///
    /// # Errors
    /// Returns [`Error::Wire`](crate::Error::Wire) with the offset of the invalid bytes, and the
    /// errors of deltas and entries. Invalid lengths in the bytes cannot cause large allocations.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        Ok(Self::decode_with(bytes)?.0)
    }

    /// Decodes the message and also returns the bytes of its delta, which are empty without a
    /// delta.
    pub(crate) fn decode_with(bytes: &[u8]) -> Result<(Self, &[u8])> {
        let mut from = open(bytes, Self::KIND, "a push")?;
        let mut push = Push {
            client: from.u64("a client")?,
            view: from.u64("the last view")?,
            ..Push::default()
        };
        let parts = from.u8("the flags of the parts")?;
        let wrong = |at, expected| Err(crate::Error::Wire { at, expected });
        if parts == 0 || parts > 3 {
            return wrong(PARTS, "flags of a delta, of records, or of both");
        }
        let mut raw = &[][..];
        if parts & 1 != 0 {
            raw = from.block("a delta")?;
            let delta = Delta::decode(raw)?;
            if delta.client != push.client || delta.sequence == 0 {
                return wrong(PARTS, "a delta of this client with a number above 0");
            }
            push.delta = Some(delta);
        }
        if parts & 2 != 0 {
            push.records = Some(read_bundle(&mut from)?);
        }
        from.end()?;
        Ok((push, raw))
    }
}

/// Offset of the flags of the parts in a push.
const PARTS: usize = 6 + 8 + 8;

fn read_bundle(from: &mut Reader<'_>) -> Result<Bundle> {
    let sequence = from.u64("the number of the records")?;
    let count = from.u32("the number of records")?;
    let mut entries = Vec::new();
    for _ in 0..count {
        entries.push(from.text_block(u64::MAX, "a record")?.parse()?);
    }
    Ok(Bundle { sequence, entries })
}

/// Answer of the server to a push.
///
/// ```
/// use perf_live::wire::Answer;
/// let answer = Answer { session: 4, delta: 12, records: 3, number: 9, view: None };
/// let bytes = answer.encode();
/// assert_eq!(Answer::decode(&bytes)?, answer);
/// let error = Answer::decode(&bytes[..10]).expect_err("it is cut");
/// assert!(matches!(error, perf_live::Error::Wire { .. }));
/// # Ok::<(), perf_live::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Session of the server.
    pub session: u64,
    /// Last stored delta of the client; 0 for none.
    pub delta: u64,
    /// Last stored bundle of records of the client; 0 for none.
    pub records: u64,
    /// Number of the latest view of the server; 0 if it could not be sent for lack of memory.
    pub number: u64,
    /// Latest view as [its bytes](perf_anomaly::server::View::decode), if the client does not have
    /// it and requests one.
    pub view: Option<Vec<u8>>,
}

impl Answer {
    const KIND: u8 = b'a';

    /// Encodes the message.
    pub fn encode(&self) -> Vec<u8> {
        let view = self.view.as_deref();
        let mut to = begin(Self::KIND, 64 + view.map_or(0, <[u8]>::len));
        for number in [self.session, self.delta, self.records, self.number] {
            to.u64(number);
        }
        to.u8(u8::from(view.is_some()));
        if let Some(view) = view {
            to.block(view);
        }
        to.0
    }

    /// Decodes the bytes of [`encode`](Self::encode).
    ///
    /// # Errors
    /// Returns [`Error::Wire`](crate::Error::Wire) with the offset of the invalid bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut from = open(bytes, Self::KIND, "an answer")?;
        let mut answer = Answer {
            session: from.u64("a session")?,
            delta: from.u64("the last delta")?,
            records: from.u64("the last records")?,
            number: from.u64("the number of the view")?,
            view: None,
        };
        match from.u8("0 or 1, the flag of a view")? {
            0 => {}
            1 => answer.view = Some(from.block("a view")?.to_vec()),
            _ => {
                return Err(crate::Error::Wire {
                    at: 6 + 4 * 8,
                    expected: "0 or 1, the flag of a view",
                });
            }
        }
        from.end()?;
        Ok(answer)
    }
}
