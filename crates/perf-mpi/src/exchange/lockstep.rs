//! [`Lockstep`]: rounds that all ranks take at once.

use super::Post;
use super::replica::{Replica, parcel};
use crate::{Ranks, Result};
use perf_anomaly::server::{Server, ServerParams};

/// Exchanges what ranks learned whenever all of them say so.
///
/// ```no_run
/// use perf_anomaly::calls::Calls;
/// use perf_anomaly::server::{Client, Server};
/// use perf_anomaly::{Monitor, Tail};
/// use perf_mpi::{Lockstep, Ranks, mpi};
/// let universe = mpi::initialize().ok_or("MPI was initialised before")?;
/// let ranks = Ranks::new(&universe.world());
/// let mut lockstep = Lockstep::new(&ranks, Server::params())?;
/// let calls = Calls::new(Calls::params().check()?);
/// let client = Client::new(ranks.rank() as u64, lockstep.post());
/// let mut monitor = Monitor::new(calls, Box::new(Tail::new(Tail::params().check()?))).share(client);
/// for step in 0..10 {
///     // Events of the step into the monitor, its end, and then:
///     lockstep.round()?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Lockstep<'r> {
    ranks: &'r Ranks,
    replica: Replica,
    post: Post,
    rounds: u64,
}

impl<'r> Lockstep<'r> {
    /// A server on each rank, of the same parameters; [`ServerParams::publish`] does nothing here.
    ///
    /// # Errors
    /// Those of [`ServerParams::check`].
    pub fn new(ranks: &'r Ranks, params: ServerParams) -> Result<Self> {
        Ok(Lockstep {
            ranks,
            replica: Replica::new(params)?,
            post: Post::new(),
            rounds: 0,
        })
    }

    /// The exchange of a client of this rank. No two clients of a job may have one number.
    pub fn post(&self) -> Post {
        self.post.clone()
    }

    /// Merges what the clients of all ranks sent since the last round, and has a view for each of those that
    /// did. Gives how many deltas there were. Collective.
    ///
    /// # Errors
    /// [`Error::TooLong`](crate::Error::TooLong), and [`Error::Anomaly`](crate::Error::Anomaly) for a delta that
    /// is none; on all ranks alike.
    pub fn round(&mut self) -> Result<u64> {
        let outgoing = std::mem::take(&mut self.post.office().outgoing);
        let all = self.ranks.all_gather_bytes(&parcel(outgoing))?;
        self.rounds += 1;
        self.replica.round(&all, self.ranks.rank(), &self.post)
    }

    /// How many rounds there were.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// What all ranks know, the same on each of them.
    pub fn server(&self) -> &Server {
        self.replica.server()
    }
}
