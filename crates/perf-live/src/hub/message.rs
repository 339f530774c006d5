//! [`Message`], [`HubAnswer`] and [`Counts`]: messages to a hub, its answers, and its counters.

use crate::Result;
use crate::wire::{Answer, Hello, Push, Welcome};
use perf_anomaly::server::{Position, View};

/// Message of a client.
///
/// ```
/// use perf_live::hub::Message;
/// use perf_live::wire::Hello;
/// let hello = Hello { client: 7, rank: 3, ..Hello::default() };
/// let message = Message::hello(&hello.encode())?;
/// assert!(matches!(message, Message::Hello(sent) if sent == hello));
/// assert!(Message::push(&hello.encode()).is_err());
/// # Ok::<(), perf_live::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Message {
    /// Identity of the client.
    Hello(Hello),
    /// New knowledge and records, and the encoded delta.
    Push(Box<Push>, Vec<u8>),
}

impl Message {
    /// Decodes a message of [`wire::PUSH`](crate::wire::PUSH).
    ///
    /// # Errors
    /// Returns the errors of [`Push::decode`].
    pub fn push(bytes: &[u8]) -> Result<Self> {
        let (push, delta) = Push::decode_with(bytes)?;
        Ok(Message::Push(Box::new(push), delta.to_vec()))
    }

    /// Decodes a message of [`wire::HELLO`](crate::wire::HELLO).
    ///
    /// # Errors
    /// Returns the errors of [`Hello::decode`].
    pub fn hello(bytes: &[u8]) -> Result<Self> {
        Hello::decode(bytes).map(Message::Hello)
    }
}

/// Answer to a client.
///
/// ```
/// use perf_live::hub::HubAnswer;
/// let answer = HubAnswer::default();
/// assert_eq!((answer.welcome(8 << 20).most, answer.answer().view), (8_388_608, None));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct HubAnswer {
    /// Session of the server.
    pub session: u64,
    /// Number of the last stored delta of the client.
    pub delta: u64,
    /// Number of the last stored bundle of records of the client.
    pub records: u64,
    /// Number of the latest view.
    pub number: u64,
    /// Latest view, if the client requested it.
    pub view: Option<View>,
    /// Last merged steps of the ranks of the client, for the answer to a hello.
    pub positions: Vec<Position>,
}

impl HubAnswer {
    /// Returns the answer to a push.
    pub fn answer(&self) -> Answer {
        Answer {
            session: self.session,
            delta: self.delta,
            records: self.records,
            number: self.number,
            view: self.view.as_ref().map(View::encode),
        }
    }

    /// Returns the answer to a hello, with the largest accepted message in bytes.
    pub fn welcome(&self, most: u64) -> Welcome {
        Welcome {
            session: self.session,
            delta: self.delta,
            records: self.records,
            most,
        }
    }
}

/// Counters since the start of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Number of hellos.
    pub hellos: u64,
    /// Number of accepted deltas.
    pub deltas: u64,
    /// Number of deltas and bundles that were sent again although they had been accepted.
    pub repeated: u64,
    /// Number of rejected messages.
    pub refused: u64,
    /// Number of accepted bundles of records.
    pub bundles: u64,
    /// Number of records in the accepted bundles.
    pub records: u64,
    /// Number of views sent.
    pub views: u64,
    /// Number of transactions.
    pub batches: u64,
    /// Total time of transactions, in microseconds.
    pub storing: u64,
    /// Number of failed transactions.
    pub failures: u64,
    /// Number of messages that were not stored because a transaction failed. The clients are asked
    /// to send them again.
    pub unstored: u64,
    /// Size of the logged deltas in bytes.
    pub logged: u64,
    /// Number of times that the complete state was stored.
    pub states: u64,
    /// Number of [forgotten](super::HubParams::forget) clients.
    pub forgotten: u64,
}
