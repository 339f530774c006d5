//! [`Polled`]: rounds by the program's own thread, which looks after them now and then.

use super::finished::{LIMIT, communicator, place};
use super::rounds::Rounds;
use super::{Finished, Pace, Post};
use crate::tree::{Family, Way};
use crate::{Error, Result};
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use perf_anomaly::server::ServerParams;
use std::time::Instant;

/// Exchanges what ranks learned while they compute, whenever the program [says so](Self::poll): for an MPI that
/// lets one thread call it alone (`Threading::Funneled`), one at a time (`Serialized`), or that starts without
/// threads.
///
/// A call of [`poll`](Self::poll) looks whether messages of a round arrived, sends what is to be sent by buffered
/// messages, and never waits; between rounds it looks at a clock alone. A round goes on as ranks poll: it takes as
/// many polls as the tree of ranks has levels, up and down, and one of a rank that polls rarely holds up the
/// views of all, though no program. What it costs is merged on the program's time, where a
/// [`Background`](crate::Background) has a core of its own if there is one.
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
/// let client = Client::new(rank as u64, polled.post());
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
    /// Why it does not run any more.
    why: String,
}

#[derive(Debug)]
struct Running {
    comm: Comm,
    rounds: Rounds,
    pace: Pace,
    next: Instant,
}

/// A communicator has nothing to show.
struct Comm(SimpleCommunicator);

impl std::fmt::Debug for Comm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("communicator")
    }
}

impl Polled {
    /// Starts the exchange among all ranks of the world. Collective. It adds what it needs, some 150 KB a rank
    /// beside this one in the tree of ranks, to the buffer of buffered messages ([`Universe::set_buffer_size`]):
    /// a program that sends such messages itself must not make it smaller again.
    ///
    /// # Errors
    /// Those of [`ServerParams::check`].
    pub fn start(universe: &mut Universe, params: ServerParams, pace: Pace) -> Result<Self> {
        Self::start_in(0, universe, params, pace)
    }

    /// As [`start`](Self::start), among the ranks that give the same group. All ranks of the world call it.
    ///
    /// # Errors
    /// As [`start`](Self::start), and [`Error::Parameter`] for a group of 2^31 or more.
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
        let rounds = Rounds::new((rank, size), way, (params, Post::new()))?;
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

    /// The exchange of a client of this rank. No two clients of a job may have one number.
    pub fn post(&self) -> Post {
        match &self.running {
            Some(running) => running.rounds.post().clone(),
            None => Post::closed(&self.why),
        }
    }

    /// Begins a round if it is time, and goes on with the one that is on its way. Never waits.
    ///
    /// # Errors
    /// What ended the exchange, on all ranks alike; after that there is none, and each call says so.
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

    /// After the last delta was sent: waits until all ranks are here and know all.
    ///
    /// # Errors
    /// What ended the exchange before, on all ranks alike.
    pub fn finish(mut self) -> Result<Finished> {
        match self.running.take() {
            Some(running) => running.finish(),
            None => Err(self.ended()),
        }
    }

    fn ended(&self) -> Error {
        Error::Background(format!("it ended before: {}", self.why))
    }
}

impl Drop for Polled {
    /// As [`finish`](Polled::finish), whose result nobody wants: other ranks hear of this one until they are
    /// done.
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            // Whoever drops it has another error to tell.
            let _ = running.finish();
        }
    }
}

impl Running {
    /// Whether all ranks are done.
    fn poll(&mut self, is_done: bool) -> Result<bool> {
        let outcome = self.go_on(is_done);
        let why = match &outcome {
            Ok(false) => return Ok(false),
            Ok(true) => "all ranks are done".into(),
            Err(error) => error.to_string(),
        };
        self.rounds.post().office().closed = Some(why);
        outcome
    }

    fn go_on(&mut self, is_done: bool) -> Result<bool> {
        if !self.rounds.is_on_its_way() {
            let now = Instant::now();
            if now < self.next && !is_done {
                return Ok(false);
            }
            // Late rounds are not made up for.
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
