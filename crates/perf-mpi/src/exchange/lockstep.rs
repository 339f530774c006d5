//! [`Lockstep`]: rounds that all ranks take at once.

use super::rounds::{Ended, Rounds};
use super::{Finished, Post};
use crate::tree::Patience;
use crate::{Error, Ranks, Result};
use perf_anomaly::server::{Server, ServerParams};

/// Exchanges what ranks learned whenever all of them say so.
///
/// The view of a round is there when the round is over: a [`Monitor`](perf_anomaly::Monitor) takes it before it judges
/// the next step, and whoever has a client of its own calls
/// [`Client::receive`](perf_anomaly::server::Client::receive) then.
///
/// A rank that leaves while others go on, such as one that returns an error between two rounds, ends it on all:
/// dropping takes part in a last round, in which the others hear of it instead of waiting. It is *collective*
/// therefore, like [`round`](Self::round).
///
/// ```no_run
/// use perf_anomaly::calls::Calls;
/// use perf_anomaly::server::{Client, Server};
/// use perf_anomaly::{Monitor, Tail};
/// use perf_mpi::{Lockstep, Ranks, mpi};
/// let universe = mpi::initialize().ok_or("MPI was initialised before")?;
/// let ranks = Ranks::new(&universe.world());
/// let mut lockstep = Lockstep::new(&ranks, Server::params())?;
/// let calls = Calls::default();
/// let client = Client::new(ranks.rank() as u64, lockstep.post());
/// let mut monitor = Monitor::new(calls, Box::new(Tail::default())).share(client);
/// for step in 0..10 {
///     // Events of the step into the monitor, its end, and then:
///     lockstep.round()?;
/// }
/// let finished = lockstep.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Lockstep<'r> {
    ranks: &'r Ranks,
    rounds: Rounds,
    taken: u64,
    is_over: bool,
}

impl<'r> Lockstep<'r> {
    /// A server on each rank, of the same parameters; [`ServerParams::publish`] does nothing here. Collective
    /// in that all ranks must have one.
    ///
    /// # Errors
    /// Those of [`ServerParams::check`].
    pub fn new(ranks: &'r Ranks, params: ServerParams) -> Result<Self> {
        let place = (ranks.rank(), ranks.size());
        Ok(Lockstep {
            ranks,
            rounds: Rounds::new(place, ranks.way(), (params, Post::new()))?,
            taken: 0,
            is_over: false,
        })
    }

    /// The exchange of a client of this rank. No two clients of a job may have one number. Of clients with
    /// neighbouring numbers on one rank less travels than of those that are dealt out like cards.
    pub fn post(&self) -> Post {
        self.rounds.post().clone()
    }

    /// Merges what the clients of all ranks sent since the last round, and has a view for each of those that
    /// did. Gives how many deltas there were. Collective.
    ///
    /// # Errors
    /// [`Error::Elsewhere`] if another rank left or failed, [`Error::TooLong`], [`Error::Message`] for one that
    /// cannot be read, [`Error::Parameter`] for a number that two clients have; on all ranks, and after it there
    /// are no more rounds.
    pub fn round(&mut self) -> Result<u64> {
        let mut deltas = 0;
        loop {
            let ended = self.once(false)?;
            deltas += ended.deltas;
            if let Some(rank) = ended.first_done {
                self.close("a rank has left");
                let what = "it has left".into();
                return Err(Error::Elsewhere { rank, what });
            }
            // What new clients told comes with the next one.
            if !ended.is_due {
                self.taken += 1;
                return Ok(deltas);
            }
        }
    }

    fn once(&mut self, is_done: bool) -> Result<Ended> {
        if self.is_over {
            return Err(Error::Background("it ended before".into()));
        }
        self.rounds.begin(is_done);
        let mut patience = Patience::default();
        let ended = loop {
            match self.rounds.poll(self.ranks.comm()) {
                Some(ended) => break ended,
                None => patience.wait(),
            }
        };
        if let Err(error) = &ended {
            self.close(&error.to_string());
        }
        ended
    }

    fn close(&mut self, why: &str) {
        self.is_over = true;
        self.rounds.post().office().closed = Some(why.into());
    }

    /// How many rounds there were.
    pub fn rounds(&self) -> u64 {
        self.taken
    }

    /// What all ranks know, as [`Finished::server`] has it.
    pub fn server(&self) -> &Server {
        self.rounds.server()
    }

    /// What it came to. What clients sent after the last round is in it, too. Collective.
    ///
    /// # Errors
    /// As [`round`](Self::round).
    pub fn finish(mut self) -> Result<Finished> {
        self.round()?;
        self.once(true)?;
        self.close("all ranks are done");
        Ok(self.rounds.finished())
    }
}

impl Drop for Lockstep<'_> {
    fn drop(&mut self) {
        // Whoever drops it has another error to tell, or nothing. What new clients told takes one round more.
        while let Ok(Ended { is_due: true, .. }) = self.once(true) {}
    }
}
