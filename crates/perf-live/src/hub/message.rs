//! [`Message`] and [`Told`]: what goes into a hub and what comes out, and what of it was counted.

use crate::Result;
use crate::wire::{Answer, Hello, Push, Welcome};
use perf_anomaly::server::{Position, View};

/// What a client said.
///
/// ```
/// use perf_live::hub::Message;
/// use perf_live::wire::Hello;
/// let hello = Hello { client: 7, rank: 3, ..Hello::default() };
/// let message = Message::hello(&hello.encode())?;
/// assert!(matches!(message, Message::Hello(told) if told == hello));
/// assert!(Message::push(&hello.encode()).is_err());
/// # Ok::<(), perf_live::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Message {
    /// Who it is.
    Hello(Hello),
    /// What it learned and kept, and its delta as the bytes it came in.
    Push(Box<Push>, Vec<u8>),
}

impl Message {
    /// The message of [`wire::PUSH`](crate::wire::PUSH) from its bytes.
    ///
    /// # Errors
    /// Those of [`Push::decode`].
    pub fn push(bytes: &[u8]) -> Result<Self> {
        let (push, delta) = Push::decode_with(bytes)?;
        Ok(Message::Push(Box::new(push), delta.to_vec()))
    }

    /// The message of [`wire::HELLO`](crate::wire::HELLO) from its bytes.
    ///
    /// # Errors
    /// Those of [`Hello::decode`].
    pub fn hello(bytes: &[u8]) -> Result<Self> {
        Hello::decode(bytes).map(Message::Hello)
    }
}

/// What a client is told.
///
/// ```
/// use perf_live::hub::Told;
/// let told = Told::default();
/// assert_eq!((told.welcome(8 << 20).most, told.answer().view), (8_388_608, None));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Told {
    /// The session of the server.
    pub session: u64,
    /// The last delta of the client that is stored.
    pub delta: u64,
    /// The last bundle of records of it that is stored.
    pub records: u64,
    /// The number of the latest view.
    pub number: u64,
    /// That view, if the client wants it.
    pub view: Option<View>,
    /// How far the steps of its ranks are merged, as an answer to a hello.
    pub positions: Vec<Position>,
}

impl Told {
    /// As an answer to a push.
    pub fn answer(&self) -> Answer {
        Answer {
            session: self.session,
            delta: self.delta,
            records: self.records,
            number: self.number,
            view: self.view.as_ref().map(View::encode),
        }
    }

    /// As an answer to a hello; `most` bytes are taken of a message.
    pub fn welcome(&self, most: u64) -> Welcome {
        Welcome {
            session: self.session,
            delta: self.delta,
            records: self.records,
            most,
        }
    }
}

/// What was counted since the server started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Times that a client said who it is.
    pub hellos: u64,
    /// Deltas that were taken.
    pub deltas: u64,
    /// Deltas and bundles that had been taken before.
    pub repeated: u64,
    /// Messages that were refused.
    pub refused: u64,
    /// Bundles of records that were taken.
    pub bundles: u64,
    /// Records in them.
    pub records: u64,
    /// Views that were told.
    pub views: u64,
    /// Transactions.
    pub batches: u64,
    /// Time in them, in microseconds.
    pub storing: u64,
    /// Times that storing failed.
    pub failures: u64,
    /// Messages that were not stored because of that. Their clients are told to send them again.
    pub unstored: u64,
    /// Bytes of deltas that were logged.
    pub logged: u64,
    /// Times that the state was stored as a whole.
    pub states: u64,
    /// Clients that were [forgotten](super::HubParams::forget).
    pub forgotten: u64,
}
