//! [`Background`]: exchanges learned statistics between ranks in a thread, while the program computes.

use super::pace::{LIMIT, colour, communicator, place};
use super::rounds::Rounds;
use super::{Finished, Mailbox, Pace};
use crate::tree::Way;
use crate::{Error, Result};
use mpi::Threading;
use perf_anomaly::server::ServerParams;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Instant;

/// Exchanges learned statistics between ranks in a background thread.
///
/// The thread takes part in one round every [`Pace::period`], on a communicator of its own. Deltas
/// from a client wait in memory for the next round, and the view of the last round waits for the
/// client. Clients therefore never call MPI, and no rank waits for another one before
/// [`finish`](Self::finish). A rank without deltas takes part as well. If MPI permits calls from a
/// single thread only, use [`Polled`](crate::Polled).
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
/// let client = Client::new(rank as u64, background.mailbox());
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
    mailbox: Mailbox,
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Finished>>>,
}

impl Background {
    /// Starts the exchange among all ranks of the world. Collective.
    ///
    /// It splits the communicator of the world, so no other thread may communicate on that
    /// communicator at the same time.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Threads`] if MPI was not initialised with `Threading::Multiple`.
    /// - Returns [`Error::Anomaly`] if [`ServerParams::check`] fails.
    /// - Returns [`Error::Background`] if the thread cannot be started.
    pub fn start(params: ServerParams, pace: Pace) -> Result<Self> {
        Self::start_in(0, params, pace)
    }

    /// Starts the exchange like [`start`](Self::start), among the ranks with the same `group`. This
    /// allows for several independent programs in one job. All ranks of the world must call it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`start`](Self::start), and [`Error::Parameter`] if `group` is 2^31 or
    /// more.
    pub fn start_in(group: u32, params: ServerParams, pace: Pace) -> Result<Self> {
        colour(group)?;
        params.clone().check()?;
        if mpi::environment::threading_support() < Threading::Multiple {
            return Err(Error::Threads);
        }
        let mailbox = Mailbox::new();
        let done = Arc::new(AtomicBool::new(false));
        let (ready, is_ready) = sync_channel(1);
        let work = {
            let (mailbox, done) = (mailbox.clone(), Arc::clone(&done));
            move || {
                let result = rounds(group, params, &mailbox, &done, pace, &ready);
                let why = match &result {
                    Ok(_) => "all ranks are done".into(),
                    Err(error) => error.to_string(),
                };
                mailbox.contents().closed = Some(why);
                result
            }
        };
        let thread = std::thread::Builder::new().name("perf-mpi".into());
        let thread = thread
            .spawn(work)
            .map_err(|error| Error::Background(error.to_string()))?;
        // The thread uses the communicator of the world until it has one of its own.
        let is_ready = is_ready.recv();
        let background = Background {
            mailbox,
            done,
            thread: Some(thread),
        };
        match is_ready {
            Ok(()) => Ok(background),
            Err(_) => Err(Error::Background("no communicator was created".into())),
        }
    }

    /// Returns the mailbox through which a client of this rank exchanges statistics. The numbers of all clients of a job must
    /// differ.
    pub fn mailbox(&self) -> Mailbox {
        self.mailbox.clone()
    }

    /// Ends the exchange after the last delta. Waits until all ranks have called it and all deltas
    /// were exchanged.
    ///
    /// # Errors
    ///
    /// Returns the error that ended the exchange before, the same on all ranks.
    pub fn finish(mut self) -> Result<Finished> {
        self.join()
    }

    fn join(&mut self) -> Result<Finished> {
        let ended = || Error::Background("it was ended earlier".into());
        let thread = self.thread.take().ok_or_else(ended)?;
        self.done.store(true, Ordering::Release);
        thread.thread().unpark();
        thread.join().map_err(|_| ended())?
    }
}

impl Drop for Background {
    /// Ends the exchange like [`finish`](Background::finish) and discards the result, because MPI
    /// must not end before the thread.
    fn drop(&mut self) {
        if self.thread.is_some() {
            // A drop without `finish` follows another error, which is the one to report.
            let _ = self.join();
        }
    }
}

/// Runs rounds in the thread until all ranks are done.
fn rounds(
    group: u32,
    params: ServerParams,
    mailbox: &Mailbox,
    done: &AtomicBool,
    pace: Pace,
    ready: &SyncSender<()>,
) -> Result<Finished> {
    let comm = communicator(group)?;
    let none = || Error::Background("the starting thread is gone".into());
    ready.send(()).map_err(|_| none())?;
    let way = (LIMIT, Way::short());
    let mut rounds = Rounds::new(place(&comm), way, (params, mailbox.clone()))?;
    let mut next = Instant::now();
    let mut is_due = false;
    loop {
        next += pace.period;
        // A rank that is done does not wait for the next period.
        while !is_due
            && !done.load(Ordering::Acquire)
            && let Some(left) = next.checked_duration_since(Instant::now())
        {
            std::thread::park_timeout(left);
        }
        // Missed rounds are not made up for.
        next = next.max(Instant::now());
        // The flag is read first: a rank that sets it has sent all its deltas before.
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
