//! [`Lockstep`]: merges the statistics that the ranks learn, in rounds that all ranks run at the same time.

use super::rounds::{Ended, Rounds};
use super::{Finished, Mailbox};
use crate::tree::Patience;
use crate::{Error, Ranks, Result};
use perf_anomaly::server::{Server, ServerParams};

/// Exchanges learned statistics between ranks in collective rounds.
///
/// After a round, each client can receive the merged statistics, its view. A [`Monitor`](perf_anomaly::Monitor)
/// takes it before it judges the next step. Programs with a client of their own call
/// [`Client::receive`](perf_anomaly::server::Client::receive).
///
/// If a rank leaves while others continue, for example because of an error between two rounds, the
/// exchange ends on all ranks: dropping a `Lockstep` takes part in a last round, in which the
/// others learn that the rank has left. Dropping is therefore collective, like
/// [`round`](Self::round).
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
/// let client = Client::new(ranks.rank() as u64, lockstep.mailbox());
/// let mut monitor = Monitor::new(calls, Box::new(Tail::default())).share(client);
/// for step in 0..10 {
///     // Pass the events of the step to the monitor, end the step, and then:
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
    /// Creates a server on each rank. The parameters must be the same on all ranks;
    /// [`ServerParams::publish`] has no effect here. All ranks must create one.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Anomaly`] if [`ServerParams::check`] fails.
    pub fn new(ranks: &'r Ranks, params: ServerParams) -> Result<Self> {
        let place = (ranks.rank(), ranks.size());
        Ok(Lockstep {
            ranks,
            rounds: Rounds::new(place, ranks.way(), (params, Mailbox::new()))?,
            taken: 0,
            is_over: false,
        })
    }

    /// Returns the mailbox through which a client of this rank exchanges messages. The numbers of
    /// all clients of a job must differ. Consecutive numbers on each rank need less communication
    /// than numbers that are distributed round-robin.
    pub fn mailbox(&self) -> Mailbox {
        self.rounds.mailbox().clone()
    }

    /// Merges the deltas that the clients of all ranks sent since the last round, and provides a
    /// view for each of these clients. Returns the number of deltas. Collective.
    ///
    /// # Errors
    ///
    /// On all ranks, and ends the exchange:
    ///
    /// - Returns [`Error::Elsewhere`] if another rank left or failed.
    /// - Returns [`Error::TooLong`] if a message exceeds the limit.
    /// - Returns [`Error::Message`] if a message cannot be decoded.
    /// - Returns [`Error::Parameter`] if two clients have the same number.
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
            // The deltas of new clients are merged in the next round, so another round follows.
            if !ended.is_due {
                self.taken += 1;
                return Ok(deltas);
            }
        }
    }

    fn once(&mut self, is_done: bool) -> Result<Ended> {
        if self.is_over {
            return Err(Error::Background("it was ended earlier".into()));
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
        self.rounds.mailbox().contents().closed = Some(why.into());
    }

    /// Returns the number of rounds.
    pub fn rounds(&self) -> u64 {
        self.taken
    }

    /// Returns the merged knowledge of all ranks; see [`Finished::server`].
    pub fn server(&self) -> &Server {
        self.rounds.server()
    }

    /// Ends the exchange. The result includes deltas that clients sent after the last round.
    /// Collective.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`round`](Self::round).
    pub fn finish(mut self) -> Result<Finished> {
        self.round()?;
        self.once(true)?;
        self.close("all ranks are done");
        Ok(self.rounds.finished())
    }
}

impl Drop for Lockstep<'_> {
    fn drop(&mut self) {
        // Errors are ignored: a drop without `finish` follows another error, or nothing is left to
        // report. New clients need one more round.
        while let Ok(Ended { is_due: true, .. }) = self.once(true) {}
    }
}
