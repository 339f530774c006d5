//! [`Background`]: rounds by a thread, while the program goes on.

use super::finished::{LIMIT, colour, communicator, place};
use super::rounds::Rounds;
use super::{Finished, Pace, Post};
use crate::tree::Way;
use crate::{Error, Result};
use mpi::Threading;
use perf_anomaly::server::ServerParams;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Instant;

/// Exchanges what ranks learned while they compute, by a thread.
///
/// The thread takes part in a round each [`Pace::period`] on a communicator of its own. What a client sends waits
/// for the next round in memory, and the view of the last one waits for the client: neither touches MPI, and
/// no rank waits for another before [`finish`](Self::finish). A rank that has nothing to tell takes part all the
/// same. Where MPI lets one thread call it alone, [`Polled`](crate::Polled) does the same without a thread.
///
/// ```no_run
/// use perf_anomaly::calls::Calls;
/// use perf_anomaly::server::{Client, Server};
/// use perf_anomaly::{Monitor, Tail, Watch};
/// use perf_mpi::{Background, Pace, mpi};
/// use mpi::traits::Communicator;
/// let (universe, _) = mpi::initialize_with_threading(mpi::Threading::Multiple).ok_or("twice")?;
/// let rank = universe.world().rank();
/// let background = Background::start(Server::params(), Pace::default())?;
/// let calls = Calls::default();
/// let client = Client::new(rank as u64, background.post());
/// let monitor = Monitor::new(calls, Box::new(Tail::default())).share(client);
/// let mut watch = Watch::new(monitor, 0, rank as u32);
/// // The program runs and calls watch.enter and watch.exit; then
/// let report = watch.into_sink().finish()?;
/// let finished = background.finish()?;
/// println!("{} functions on all ranks", finished.server.names().len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Background {
    post: Post,
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Finished>>>,
}

impl Background {
    /// Starts the exchange among all ranks of the world. Collective: it splits the communicator of
    /// the world, and so must not be called while another thread communicates by it.
    ///
    /// # Errors
    /// [`Error::Threads`] unless MPI was initialised with `Threading::Multiple`, those of
    /// [`ServerParams::check`], [`Error::Background`] if there is no thread to be had.
    pub fn start(params: ServerParams, pace: Pace) -> Result<Self> {
        Self::start_in(0, params, pace)
    }

    /// As [`start`](Self::start), among the ranks that give the same group: for several programs of one job
    /// that have nothing to tell each other. All ranks of the world call it.
    ///
    /// # Errors
    /// As [`start`](Self::start), and [`Error::Parameter`] for a group of 2^31 or more.
    pub fn start_in(group: u32, params: ServerParams, pace: Pace) -> Result<Self> {
        colour(group)?;
        params.clone().check()?;
        if mpi::environment::threading_support() < Threading::Multiple {
            return Err(Error::Threads);
        }
        let post = Post::new();
        let done = Arc::new(AtomicBool::new(false));
        let (ready, is_ready) = sync_channel(1);
        let work = {
            let (post, done) = (post.clone(), Arc::clone(&done));
            move || {
                let result = rounds(group, params, &post, &done, pace, &ready);
                let why = match &result {
                    Ok(_) => "all ranks are done".into(),
                    Err(error) => error.to_string(),
                };
                post.office().closed = Some(why);
                result
            }
        };
        let thread = std::thread::Builder::new().name("perf-mpi".into());
        let thread = thread
            .spawn(work)
            .map_err(|error| Error::Background(error.to_string()))?;
        // Until it has a communicator of its own, the thread uses that of the world.
        let is_ready = is_ready.recv();
        let background = Background {
            post,
            done,
            thread: Some(thread),
        };
        match is_ready {
            Ok(()) => Ok(background),
            Err(_) => Err(Error::Background("it has no communicator".into())),
        }
    }

    /// The exchange of a client of this rank. No two clients of a job may have one number.
    pub fn post(&self) -> Post {
        self.post.clone()
    }

    /// After the last delta was sent: waits until all ranks are here and know all.
    ///
    /// # Errors
    /// What ended the exchange before, on all ranks alike.
    pub fn finish(mut self) -> Result<Finished> {
        self.join()
    }

    fn join(&mut self) -> Result<Finished> {
        let ended = || Error::Background("it ended before".into());
        let thread = self.thread.take().ok_or_else(ended)?;
        self.done.store(true, Ordering::Release);
        thread.thread().unpark();
        thread.join().map_err(|_| ended())?
    }
}

impl Drop for Background {
    /// As [`finish`](Background::finish), whose result nobody wants: MPI must not end before the thread.
    fn drop(&mut self) {
        if self.thread.is_some() {
            // Whoever drops it has another error to tell.
            let _ = self.join();
        }
    }
}

/// The thread: rounds until all ranks are done.
fn rounds(
    group: u32,
    params: ServerParams,
    post: &Post,
    done: &AtomicBool,
    pace: Pace,
    ready: &SyncSender<()>,
) -> Result<Finished> {
    let comm = communicator(group)?;
    let none = || Error::Background("nobody waits for it".into());
    ready.send(()).map_err(|_| none())?;
    let way = (LIMIT, Way::short());
    let mut rounds = Rounds::new(place(&comm), way, (params, post.clone()))?;
    let mut next = Instant::now();
    let mut is_due = false;
    loop {
        next += pace.period;
        // Whoever is done wants the end, not the next period.
        while !is_due
            && !done.load(Ordering::Acquire)
            && let Some(left) = next.checked_duration_since(Instant::now())
        {
            std::thread::park_timeout(left);
        }
        // Late rounds are not made up for.
        next = next.max(Instant::now());
        // Asked first: whoever says so has sent all before.
        rounds.begin(done.load(Ordering::Acquire));
        let ended = loop {
            match rounds.poll(&comm) {
                Some(ended) => break ended?,
                None => std::thread::sleep(pace.poll),
            }
        };
        if ended.all_done {
            return Ok(rounds.finish());
        }
        is_due = ended.is_due;
    }
}
