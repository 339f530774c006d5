//! [`Pace`] and [`Finished`]: how often ranks exchange while a program runs, and what that came to.

use crate::{Error, Result};
use mpi::topology::{Color, Communicator, SimpleCommunicator};
use perf_anomaly::server::Server;
use std::time::Duration;

/// How often ranks exchange.
///
/// ```
/// use perf_mpi::Pace;
/// use std::time::Duration;
/// let pace = Pace::default().period(Duration::from_secs(1)).poll(Duration::from_millis(5));
/// assert_ne!(pace, Pace::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    pub(super) period: Duration,
    pub(super) poll: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Pace {
            period: Duration::from_millis(200),
            poll: Duration::from_millis(1),
        }
    }
}

impl Pace {
    /// Time from one round to the next. Default: 200 ms. A round begins on the slowest rank's time: the
    /// others' programs do not wait for it.
    pub fn period(mut self, period: Duration) -> Self {
        self.period = period;
        self
    }

    /// How long the thread of a [`Background`](crate::Background) sleeps between two looks at messages that are on
    /// their way, and a [`Polled`](crate::Polled) that is asked for the end. Default: 1 ms. Each look takes about a
    /// microsecond of a processor.
    pub fn poll(mut self, poll: Duration) -> Self {
        self.poll = poll;
        self
    }
}

/// What an exchange came to while a program ran.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finished {
    /// What all ranks know: functions and their model are the same on each, to the bit. What is known of
    /// each single rank ([`ranking`](Server::ranking), [`steps`](Server::steps),
    /// [`across_ranks`](Server::across_ranks), [`clients`](Server::clients)) rank 0 has alone, since it
    /// grows with their number.
    pub server: Server,
    /// Rounds, those without a delta among them.
    pub rounds: u64,
    /// Deltas of all ranks.
    pub deltas: u64,
    /// Deltas that were left out, since their detector is not that of the first client.
    pub refused: u64,
    /// Bytes that this rank sent to those beside it in the tree.
    pub sent: u64,
    /// Bytes that it received from them.
    pub received: u64,
    /// Time in which this rank did something for rounds: not that in which it looked in vain.
    pub merging: Duration,
}

/// A communicator of the ranks of the world that give the same group.
pub(super) fn communicator(group: u32) -> Result<SimpleCommunicator> {
    let colour = colour(group)?;
    let world = SimpleCommunicator::world();
    let none = || Error::Background("it has no communicator".into());
    world
        .split_by_color(Color::with_value(colour))
        .ok_or_else(none)
}

/// A group as MPI counts.
pub(super) fn colour(group: u32) -> Result<i32> {
    i32::try_from(group).map_err(|_| Error::Parameter {
        name: "group",
        value: group.to_string(),
        range: "less than 2^31",
    })
}

/// The number of a rank and how many there are.
pub(super) fn place(comm: &SimpleCommunicator) -> (usize, usize) {
    let number = |value: i32| usize::try_from(value).unwrap_or_default();
    (number(comm.rank()), number(comm.size()).max(1))
}

/// Most bytes of a message.
pub(super) const LIMIT: u64 = 1 << 34;
