//! [`Pace`] and [`Finished`]: frequency and result of an exchange while a program runs; also the
//! communicator of a group of ranks.

use crate::{Error, Result};
use mpi::topology::{Color, Communicator, SimpleCommunicator};
use perf_anomaly::server::Server;
use std::time::Duration;

perf_core::parameters! {
    /// Frequency of an exchange.
    ///
    /// ```
    /// use perf_mpi::Pace;
    /// use std::time::Duration;
    /// let pace = Pace::default().period(Duration::from_secs(1)).poll(Duration::from_millis(5));
    /// assert_ne!(pace, Pace::default());
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Pace {
        /// Sets the time from one round to the next, default 200 ms. A round begins when the slowest
        /// rank is ready; the programs of the other ranks do not wait for it.
        pub(super) period: Duration = Duration::from_millis(200),
        /// Sets the time between two checks for messages, default 1 ms.
        ///
        /// It applies to the thread of a [`Background`](crate::Background), and to a
        /// [`Polled`](crate::Polled) that is finishing. Each check takes about one microsecond of CPU
        /// time.
        pub(super) poll: Duration = Duration::from_millis(1),
    }
}

/// Result of an exchange while a program ran.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finished {
    /// Merged knowledge of all ranks. Functions and their model are identical on all ranks.
    ///
    /// Only rank 0 has the statistics of single ranks ([`ranking`](Server::ranking),
    /// [`steps`](Server::steps), [`across_ranks`](Server::across_ranks),
    /// [`clients`](Server::clients)), because their size grows with the number of ranks.
    pub server: Server,
    /// Number of rounds, including those without a delta.
    pub rounds: u64,
    /// Number of deltas of all ranks.
    pub deltas: u64,
    /// Number of deltas that were refused because their detector differs from that of the first
    /// client.
    pub refused: u64,
    /// Bytes that this rank sent to its neighbours in the tree.
    pub sent: u64,
    /// Bytes that this rank received from its neighbours.
    pub received: u64,
    /// Time that this rank spent on rounds, without checks that found no message.
    pub merging: Duration,
}

/// Returns a communicator of the ranks of the world with the same group.
pub(super) fn communicator(group: u32) -> Result<SimpleCommunicator> {
    let colour = colour(group)?;
    let world = SimpleCommunicator::world();
    let none = || Error::Background("no communicator was created".into());
    world
        .split_by_color(Color::with_value(colour))
        .ok_or_else(none)
}

/// Converts a group to the integer type of MPI.
pub(super) fn colour(group: u32) -> Result<i32> {
    i32::try_from(group).map_err(|_| Error::Parameter {
        name: "group",
        value: group.to_string(),
        range: "less than 2^31",
    })
}

/// Returns the rank, and the number of ranks.
pub(super) fn place(comm: &SimpleCommunicator) -> (usize, usize) {
    let number = |value: i32| usize::try_from(value).unwrap_or_default();
    (number(comm.rank()), number(comm.size()).max(1))
}

/// Maximum number of bytes of a message.
pub(super) const LIMIT: u64 = 1 << 34;
