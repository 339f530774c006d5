//! [`run`]: load test in which many simulated ranks play a tape by the rules of a [`Load`], and its
//! [`Figures`], compared with the data of the server.

use super::connection::Connection;
use super::players::{Players, accepted};
use super::tape::Tape;
use crate::client::Target;
use crate::{Error, Result};
use std::time::{Duration, Instant};

/// Load: number of ranks, rate and duration.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Number of simulated ranks.
    pub ranks: u32,
    /// Number of updates of each rank.
    pub updates: u64,
    /// Time between two updates of a rank; 0 for the fastest possible rate.
    pub period: Duration,
    /// Total number of connections.
    pub connections: usize,
    /// Number of threads that serve the connections.
    pub threads: usize,
    /// Number of updates of a rank between requests for the view; 0 for none.
    pub views: u64,
    /// Number of the program of the ranks. No other client may use it, so that the counts of the
    /// server can be compared.
    pub program: u32,
    /// `true` if the ranks also send records of anomalies.
    pub records: bool,
}

impl Default for Load {
    fn default() -> Self {
        Load {
            ranks: 80,
            updates: 60,
            period: Duration::from_secs(1),
            connections: 256,
            threads: 1,
            views: 10,
            program: 0,
            records: true,
        }
    }
}

/// Statistics of a simulation.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Figures {
    /// Number of acknowledged updates. Acknowledged updates are stored.
    pub updates: u64,
    /// Number of calls in the updates.
    pub calls: u64,
    /// Number of anomalies in the updates.
    pub anomalies: u64,
    /// Time lost in the updates, in nanoseconds.
    pub time: i64,
    /// Number of acknowledged records.
    pub records: u64,
    /// Number of answers that did not acknowledge the message.
    pub missing: u64,
    /// Increase of the counts of the server for the program: calls, anomalies, and time lost in
    /// nanoseconds.
    pub stored: (u64, u64, i64),
    /// Longest delay of the begin of an update.
    pub lag: Duration,
    /// Number of updates that were late by more than a period.
    pub late: u64,
    /// Number of received views.
    pub views: u64,
    /// Size of the messages in bytes.
    pub sent: u64,
    /// Size of the answers in bytes.
    pub received: u64,
    /// Time from the first update to the last answer, in seconds.
    pub seconds: f64,
    /// Response time of each update in microseconds, ascending.
    pub latencies: Vec<u32>,
}

impl Figures {
    /// Returns the quantile `share`, in `0.0..=1.0`, of the response times in microseconds, or 0
    /// without updates.
    pub fn latency(&self, share: f64) -> u32 {
        let at = (share * self.latencies.len() as f64) as usize;
        // Without answers the latency is 0.
        let last = self.latencies.len().saturating_sub(1);
        self.latencies
            .get(at.min(last))
            .copied()
            .unwrap_or_default()
    }

    /// Returns `true` if the server has stored each update once, that is, if the increase of its
    /// counts equals the sent data.
    pub fn is_accounted(&self) -> bool {
        self.missing == 0 && self.stored == (self.calls, self.anomalies, self.time)
    }

    fn merge(&mut self, other: Figures) {
        self.updates += other.updates;
        self.calls += other.calls;
        self.anomalies += other.anomalies;
        self.time += other.time;
        self.records += other.records;
        self.missing += other.missing;
        self.lag = self.lag.max(other.lag);
        self.late += other.late;
        self.views += other.views;
        self.sent += other.sent;
        self.received += other.received;
        self.latencies.extend(other.latencies);
    }
}

/// Lets ranks play a tape and then reads the counts of the server. The tape is repeated if it is
/// shorter than the load.
///
/// ```
/// use perf_live::client::Target;
/// use perf_live::simulate::{Load, Tape, run};
/// use perf_live::{hub::Hub, web::Service};
/// use std::time::Duration;
/// # let file = std::env::temp_dir().join(format!("perf-live-load-{}.sqlite", std::process::id()));
/// # std::fs::remove_file(&file).ok();
/// let hub = Hub::open(&file, Default::default())?;
/// let token = "0123456789abcdef0123456789abcdef";
/// let service = Service::start(hub.clone(), Service::params().token(token).check()?)?;
/// let target = Target::new(&format!("http://{}", service.address()))?.token(token);
///
/// let tape = Tape::record(perf_core::samples::cosmo::trace().view(), 6, &target)?;
/// let load = Load { ranks: 20, updates: 6, period: Duration::ZERO, connections: 4, ..Load::default() };
/// let figures = run(&tape, &load, &target)?;
/// assert_eq!(figures.updates, 20 * 6);
/// assert!(figures.is_accounted() && figures.latency(0.5) <= figures.latency(0.99));
/// # drop(service);
/// # hub.close();
/// # std::fs::remove_file(&file).ok();
/// # Ok::<(), perf_live::Error>(())
/// ```
///
/// # Errors
/// Returns the first error of a rank; other threads continue to their end.
pub fn run(tape: &Tape, load: &Load, target: &Target) -> Result<Figures> {
    let threads = load.threads.clamp(1, 64);
    let connections = load.connections.clamp(threads, MAX_CONNECTIONS) / threads;
    let before = stored(target, load.program)?;
    let shares = (0..threads).map(|at| (at as u32..load.ranks).step_by(threads));
    // All ranks are registered before the first update.
    let players = each(shares, |ranks| {
        Players::open(target, load.program, ranks, connections)
    });
    let players: Vec<Players> = players.into_iter().collect::<Result<_>>()?;
    let begin = Instant::now();
    let outcomes = each(players, |players| players.play(tape, load, begin));
    let seconds = begin.elapsed().as_secs_f64();
    let mut figures = Figures::default();
    for outcome in outcomes {
        figures.merge(outcome?);
    }
    figures.latencies.sort_unstable();
    figures.seconds = seconds;
    // The answers of the server may be 200 ms old.
    std::thread::sleep(SETTLE);
    let after = stored(target, load.program)?;
    figures.stored = (
        after.0.saturating_sub(before.0),
        after.1.saturating_sub(before.1),
        after.2.saturating_sub(before.2),
    );
    Ok(figures)
}

/// Largest number of connections.
const MAX_CONNECTIONS: usize = 16_384;

/// Largest age of the answers of the server, with a margin.
const SETTLE: Duration = Duration::from_millis(300);

/// Returns the calls, anomalies and time lost (in nanoseconds) of a program on the server.
fn stored(target: &Target, program: u32) -> Result<(u64, u64, i64)> {
    let mut pipe = Connection::new(target)?;
    pipe.ask("GET", "/api/run", b"");
    let answered = pipe.wait()?;
    let body = accepted(&pipe, answered)?;
    let invalid = |what: String| Error::Unreachable {
        url: pipe.url().into(),
        what,
    };
    let run: serde_json::Value =
        serde_json::from_slice(&body).map_err(|error| invalid(error.to_string()))?;
    let programs = run["programs"].as_array();
    let programs = programs.ok_or_else(|| invalid("an answer without programs".into()))?;
    let Some(found) = programs.iter().find(|one| one["program"] == program) else {
        return Ok((0, 0, 0));
    };
    let loss = &found["loss"];
    let count = |name: &str| loss[name].as_u64().unwrap_or_default();
    let time = loss["time"].as_i64().unwrap_or_default();
    Ok((count("calls"), count("slow") + count("fast"), time))
}

/// Runs some work for each element in a separate thread.
fn each<T: Send, U: Send>(
    all: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> Result<U> + Sync,
) -> Vec<Result<U>> {
    std::thread::scope(|scope| {
        let work = &work;
        let start = |one| scope.spawn(move || work(one));
        let threads: Vec<_> = all.into_iter().map(start).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or(Err(Error::Closed))
        };
        threads.into_iter().map(join).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_updates_are_reported() {
        let figures = Figures {
            calls: 10,
            anomalies: 2,
            time: -3,
            stored: (10, 2, -3),
            latencies: vec![1, 2, 3, 4],
            ..Figures::default()
        };
        assert!(figures.is_accounted());
        assert_eq!(
            [0.5, 0.99, 1.0].map(|share| figures.latency(share)),
            [3, 4, 4]
        );
        let twice = Figures {
            stored: (20, 4, -6),
            ..figures.clone()
        };
        let unsaid = Figures {
            missing: 1,
            ..figures
        };
        assert!(!twice.is_accounted() && !unsaid.is_accounted());
    }
}
