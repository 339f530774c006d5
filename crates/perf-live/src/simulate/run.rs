//! [`run`]: many ranks, few connections.

use super::tape::{Tape, Told};
use crate::client::{Kept, Link, Requests, Target, Who};
use crate::wire::NO_VIEW;
use crate::{Error, Result};
use perf_anomaly::provenance::{Entry, Store};
use perf_anomaly::server::Exchange;
use perf_core::Nanos;
use std::time::{Duration, Instant};

/// How many ranks, how often, for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Simulated ranks.
    pub ranks: u32,
    /// Updates of each.
    pub updates: u64,
    /// Time between two updates of a rank; 0 for as fast as the server answers.
    pub period: Duration,
    /// Connections, each with a thread.
    pub connections: usize,
    /// Each which update of a rank asks for the view; 0 for none.
    pub views: u64,
    /// The program they are of.
    pub program: u32,
    /// Whether they send what they kept of anomalies, too.
    pub records: bool,
}

impl Default for Load {
    fn default() -> Self {
        Load {
            ranks: 80,
            updates: 60,
            period: Duration::from_secs(1),
            connections: 4,
            views: 10,
            program: 0,
            records: true,
        }
    }
}

/// What was told and answered.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Figures {
    /// Updates that were answered, which is: stored.
    pub updates: u64,
    /// Calls, anomalies and lost time in nanoseconds in them.
    pub calls: u64,
    /// See `calls`.
    pub anomalies: u64,
    /// See `calls`.
    pub time: i64,
    /// Records that were answered.
    pub records: u64,
    /// Updates that were late by more than a period.
    pub late: u64,
    /// Time from the first update to the last answer, seconds.
    pub seconds: f64,
    /// Time of each update from the request to the answer in microseconds, in order of size.
    pub latencies: Vec<u32>,
}

impl Figures {
    /// The time that a share of all updates took at most, in microseconds.
    pub fn latency(&self, share: f64) -> u32 {
        let at = (share * self.latencies.len() as f64) as usize;
        let last = self.latencies.len().saturating_sub(1);
        self.latencies
            .get(at.min(last))
            .copied()
            .unwrap_or_default()
    }

    fn merge(&mut self, other: Figures) {
        self.updates += other.updates;
        self.calls += other.calls;
        self.anomalies += other.anomalies;
        self.time += other.time;
        self.records += other.records;
        self.late += other.late;
        self.latencies.extend(other.latencies);
    }
}

/// Lets ranks play a tape, the first one again where it ends.
///
/// # Errors
/// The first error of a rank; the others go on to their ends.
pub fn run(tape: &Tape, load: &Load, target: &Target) -> Result<Figures> {
    let connections = load.connections.clamp(1, 1024);
    let shares = (0..connections).map(|at| (at as u32..load.ranks).step_by(connections));
    // All are there before the first one begins.
    let links = each(shares, |ranks| open(target, load.program, ranks));
    let links: Vec<Vec<Player>> = links.into_iter().collect::<Result<_>>()?;
    let begin = Instant::now();
    let outcomes = each(links, |players| play(tape, load, players, begin));
    let mut figures = Figures::default();
    for outcome in outcomes {
        figures.merge(outcome?);
    }
    figures.latencies.sort_unstable();
    figures.seconds = begin.elapsed().as_secs_f64();
    Ok(figures)
}

/// Does some work for each in a thread of its own.
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

/// A simulated rank.
type Player = (u32, Requests, Kept);

/// Ranks that share a connection.
fn open(target: &Target, program: u32, ranks: impl Iterator<Item = u32>) -> Result<Vec<Player>> {
    let mut players = Vec::new();
    let mut shared: Option<Link> = None;
    for rank in ranks {
        let who = Who::new(program, rank).program_name("simulated");
        let link = match &shared {
            Some(link) => link.beside(who)?,
            None => Link::open(target, who)?,
        };
        players.push((rank, link.exchange(), link.store()));
        shared.get_or_insert(link);
    }
    Ok(players)
}

/// One connection: its ranks one after the other, update by update.
fn play(tape: &Tape, load: &Load, mut players: Vec<Player>, begin: Instant) -> Result<Figures> {
    let mut figures = Figures::default();
    let mut player = Turn {
        program: load.program,
        told: vec![None; tape.ranks.len()],
    };
    for update in 0..load.updates {
        for (rank, exchange, store) in &mut players {
            let share = f64::from(*rank) / f64::from(load.ranks.max(1));
            let due = load.period.mul_f64(update as f64 + share);
            let now = begin.elapsed();
            match due.checked_sub(now) {
                Some(early) => std::thread::sleep(early),
                None => figures.late += u64::from(now > due + load.period),
            }
            let Some(told) = player.told(tape, *rank, update) else {
                continue;
            };
            told.delta.client = exchange.link().client();
            let asks = load.views > 0 && (update + u64::from(*rank)).is_multiple_of(load.views);
            let sent = Instant::now();
            exchange.ask(if asks { 0 } else { NO_VIEW });
            exchange.send(&told.delta)?;
            exchange.receive()?;
            figures.latencies.push(sent.elapsed().as_micros() as u32);
            figures.updates += 1;
            for step in &told.delta.steps {
                figures.calls += step.loss.calls;
                figures.anomalies += step.loss.anomalies();
                figures.time += step.loss.time.0;
            }
            if load.records && !told.entries.is_empty() {
                for entry in &told.entries {
                    store.put(entry)?;
                }
                store.commit()?;
                figures.records += told.entries.len() as u64;
            }
        }
    }
    Ok(figures)
}

/// What ranks of the tape tell in an update, for those that play them one after the other.
#[derive(Debug)]
struct Turn {
    program: u32,
    told: Vec<Option<(u64, Told)>>,
}

impl Turn {
    /// What a rank tells in an update.
    fn told(&mut self, tape: &Tape, rank: u32, update: u64) -> Option<&mut Told> {
        let at = rank as usize % tape.ranks.len().max(1);
        let slot = self.told.get_mut(at)?;
        let known = slot.take().filter(|(of, _)| *of == update);
        let known = known.or_else(|| Some((update, later(tape, at, update)?)));
        *slot = known;
        let (_, told) = slot.as_mut()?;
        for step in &mut told.delta.steps {
            (step.program, step.rank) = (self.program, rank);
        }
        for entry in &mut told.entries {
            match entry {
                Entry::Call(record) => (record.program, record.rank) = (self.program, rank),
                Entry::Stream(stream) => (stream.program, stream.rank) = (self.program, rank),
                Entry::Model(model) => model.program = self.program,
                _ => {}
            }
        }
        Some(told)
    }
}

/// What a rank of the tape tells in an update, when it plays the tape for the first time or again.
fn later(tape: &Tape, rank: usize, update: u64) -> Option<Told> {
    let rank = tape.ranks.get(rank)?;
    let length = (rank.len() as u64).max(1);
    let mut told = rank.get((update % length) as usize)?.clone();
    let round = update / length;
    let steps = round * tape.steps;
    let time = tape.span.0.saturating_mul(round as i64);
    let later = |at: Nanos| Nanos(at.0.saturating_add(time));
    told.delta.sequence = update + 1;
    for step in &mut told.delta.steps {
        step.step += steps;
        (step.start, step.end) = (later(step.start), later(step.end));
    }
    if round > 0 {
        // What was known before is not told again.
        told.entries.retain(|entry| matches!(entry, Entry::Call(_)));
    }
    for entry in &mut told.entries {
        let Entry::Call(record) = entry else {
            continue;
        };
        record.step += steps;
        let calls = record.before.iter_mut().chain(&mut record.after);
        for call in calls.chain(&mut record.stack).chain([&mut record.call]) {
            call.entry = later(call.entry);
            call.exit = call.exit.map(later);
        }
        for message in &mut record.messages {
            message.at = later(message.at);
        }
    }
    Some(told)
}
