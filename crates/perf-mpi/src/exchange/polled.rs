//! [`Polled`]: exchange of learned statistics between ranks, in [`Rounds`] that the thread of the program advances
//! by polling.

use super::pace::{LIMIT, communicator, place};
use super::rounds::Rounds;
use super::{Finished, Mailbox, Pace};
use crate::tree::{Family, Way};
use crate::{Error, Result};
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use perf_anomaly::server::ServerParams;
use std::time::Instant;

/// Exchanges learned statistics between ranks whenever the program calls [`poll`](Self::poll).
///
/// It is intended for MPI libraries that permit calls from one thread only (`Threading::Funneled`),
/// from one thread at a time (`Serialized`), or that start without threads.
///
/// A call of [`poll`](Self::poll) checks for messages of a round, sends its own as buffered
/// messages, and never waits. Between rounds it only reads a clock. The progress of a round depends
/// on the polls: it takes as many polls as the tree of ranks has levels, up and down. A rank that
/// polls rarely delays the views of all ranks, but no program. Merging uses the time of the
/// program, whereas a [`Background`](crate::Background) can use an idle core.
///
/// ```no_run
/// use perf_anomaly::calls::Calls;
/// use perf_anomaly::server::{Client, Server};
/// use perf_anomaly::{Monitor, Tail, Watch};
/// use perf_mpi::{Pace, Polled, mpi};
/// use mpi::traits::Communicator;
/// let (mut universe, _) = mpi::initialize_with_threading(mpi::Threading::Funneled).ok_or("twice")?;
/// let rank = universe.world().rank();
/// let mut polled = Polled::start(&mut universe, Server::params(), Pace::default())?;
/// let calls = Calls::default();
/// let client = Client::new(rank as u64, polled.mailbox());
/// let monitor = Monitor::new(calls, Box::new(Tail::default())).share(client);
/// let mut watch = Watch::new(monitor, 0, rank as u32);
/// for step in 0..1000 {
///     // A step of the program calls watch.enter and watch.exit; after it:
///     watch.end_step();
///     polled.poll()?;
/// }
/// let report = watch.into_sink().finish()?;
/// let finished = polled.finish()?;
/// println!("{} functions on all ranks", finished.server.names().len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Polled {
    running: Option<Running>,
    /// Reason why it no longer runs.
    why: String,
}

#[derive(Debug)]
struct Running {
    comm: Comm,
    rounds: Rounds,
    pace: Pace,
    next: Instant,
}

/// Communicator with a `Debug` implementation.
struct Comm(SimpleCommunicator);

impl std::fmt::Debug for Comm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("communicator")
    }
}

impl Polled {
    /// Starts the exchange among all ranks of the world. Collective.
    ///
    /// It enlarges the buffer for buffered messages ([`Universe::set_buffer_size`]) by about 150 KB
    /// for each neighbour in the tree of ranks. A program that sends buffered messages itself must
    /// not reduce the buffer again.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Anomaly`] if [`ServerParams::check`] fails.
    pub fn start(universe: &mut Universe, params: ServerParams, pace: Pace) -> Result<Self> {
        Self::start_in(0, universe, params, pace)
    }

    /// Starts the exchange like [`start`](Self::start), among the ranks with the same `group`. All
    /// ranks of the world must call it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`start`](Self::start), and [`Error::Parameter`] if `group` is 2^31 or
    /// more.
    pub fn start_in(
        group: u32,
        universe: &mut Universe,
        params: ServerParams,
        pace: Pace,
    ) -> Result<Self> {
        params.clone().check()?;
        let comm = communicator(group)?;
        let (rank, size) = place(&comm);
        let family = Family::new(rank, size);
        let room = Way::room(family.children.len() + 1);
        universe.set_buffer_size(universe.buffer_size().saturating_add(room));
        let way = (LIMIT, Way::buffered());
        let rounds = Rounds::new((rank, size), way, (params, Mailbox::new()))?;
        let running = Running {
            comm: Comm(comm),
            rounds,
            pace,
            next: Instant::now() + pace.period,
        };
        Ok(Polled {
            running: Some(running),
            why: String::new(),
        })
    }

    /// Returns the exchange for a client of this rank. The numbers of all clients of a job must
    /// differ.
    pub fn mailbox(&self) -> Mailbox {
        match &self.running {
            Some(running) => running.rounds.mailbox().clone(),
            None => Mailbox::closed(&self.why),
        }
    }

    /// Begins a round if it is due, and advances a round in progress. Never waits.
    ///
    /// # Errors
    ///
    /// Returns the error that ended the exchange, the same on all ranks. Later calls return
    /// [`Error::Background`].
    pub fn poll(&mut self) -> Result<()> {
        let Some(running) = &mut self.running else {
            return Err(self.ended());
        };
        match running.poll(false) {
            Ok(_) => Ok(()),
            Err(error) => {
                self.running = None;
                self.why = error.to_string();
                Err(error)
            }
        }
    }

    /// Ends the exchange after the last delta. Waits until all ranks have called it and all deltas
    /// were exchanged.
    ///
    /// # Errors
    ///
    /// Returns the error that ended the exchange before, the same on all ranks.
    pub fn finish(mut self) -> Result<Finished> {
        match self.running.take() {
            Some(running) => running.finish(),
            None => Err(self.ended()),
        }
    }

    fn ended(&self) -> Error {
        Error::Background(self.why.clone())
    }
}

impl Drop for Polled {
    /// Ends the exchange like [`finish`](Polled::finish) and discards the result, so that other
    /// ranks can complete their rounds.
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            // A drop without `finish` follows another error, which is the one to report.
            let _ = running.finish();
        }
    }
}

impl Running {
    /// Returns `true` if all ranks are done.
    fn poll(&mut self, is_done: bool) -> Result<bool> {
        let outcome = self.go_on(is_done);
        let why = match &outcome {
            Ok(false) => return Ok(false),
            Ok(true) => "all ranks are done".into(),
            Err(error) => error.to_string(),
        };
        self.rounds.mailbox().contents().closed = Some(why);
        outcome
    }

    fn go_on(&mut self, is_done: bool) -> Result<bool> {
        if !self.rounds.is_on_its_way() {
            let now = Instant::now();
            if now < self.next && !is_done {
                return Ok(false);
            }
            // Missed rounds are not made up for.
            self.next = now + self.pace.period;
            self.rounds.begin(is_done);
        }
        let Some(ended) = self.rounds.poll(&self.comm.0) else {
            return Ok(false);
        };
        let ended = ended?;
        if ended.is_due {
            self.next = Instant::now();
        }
        Ok(ended.all_done)
    }

    fn finish(mut self) -> Result<Finished> {
        while !self.poll(true)? {
            if self.rounds.is_on_its_way() {
                std::thread::sleep(self.pace.poll);
            }
        }
        Ok(self.rounds.finish())
    }
}
