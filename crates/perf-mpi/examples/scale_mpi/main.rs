//! Detection on many ranks: are labels those of one detector that sees all calls, and what does a rank pay?
//!
//! `mpirun -n 4 target/release/examples/scale_mpi --ranks 2560`
//!
//! Each process plays a block of the ranks of a program: their calls, their detectors, and their clients of the
//! exchange. After each step all exchange what they learned. The table has the processor time of a rank and step,
//! beside what was published for Chimbuko on as many ranks, each with a core of its own.

#[path = "../common/mod.rs"]
mod common;
mod played;

use common::Outcome;
use mpi::environment::Universe;
use perf_anomaly::server::Server;
use perf_mpi::{Finished, Lockstep, Ranks};
use played::{Label, Rank, Shape};
use std::fmt::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: scale_mpi [OPTIONS]

Plays a program of many ranks that watches itself, and compares labels with those of one detector.

  --ranks N      ranks of the program, default 80
  --steps N      steps, default 120
  --functions N  functions, default 8
  --calls N      calls of each function in a step of a rank, default 3
  --every N      steps from one exchange of a rank to the next, default 1
  --alone        labels are not compared: what all ranks do is not done again by one";

fn main() -> ExitCode {
    common::main(USAGE, mpi::Threading::Single, run)
}

struct Asked {
    shape: Shape,
    every: u64,
    compares: bool,
}

fn parse(mut parser: lexopt::Parser) -> Result<Asked, lexopt::Error> {
    use lexopt::prelude::*;
    let mut asked = Asked {
        shape: Shape {
            ranks: 80,
            steps: 120,
            functions: 8,
            calls: 3,
        },
        every: 1,
        compares: true,
    };
    let shape = &mut asked.shape;
    while let Some(arg) = parser.next()? {
        match arg {
            Long("ranks") => shape.ranks = parser.value()?.parse::<u32>()?.clamp(1, 1 << 20),
            Long("steps") => shape.steps = parser.value()?.parse::<u64>()?.clamp(1, 1 << 20),
            Long("functions") => shape.functions = parser.value()?.parse::<u64>()?.clamp(1, 4096),
            Long("calls") => shape.calls = parser.value()?.parse::<u64>()?.clamp(1, 4096),
            Long("every") => asked.every = parser.value()?.parse::<u64>()?.max(1),
            Long("alone") => asked.compares = false,
            other => return Err(other.unexpected()),
        }
    }
    Ok(asked)
}

/// Processor time that this thread used so far, where the system tells; else time.
struct Clock(Instant);

impl Clock {
    fn now(&self) -> Duration {
        let told = std::fs::read_to_string("/proc/thread-self/schedstat");
        let nanos = told
            .ok()
            .and_then(|told| told.split(' ').next()?.parse().ok());
        nanos.map_or_else(|| self.0.elapsed(), Duration::from_nanos)
    }
}

/// Processor time of this process in microseconds: calls from events, their judging, and the exchange, of which
/// `round` in rounds.
#[derive(Clone, Copy, Default)]
struct Times {
    calls: f64,
    detect: f64,
    clients: f64,
    round: f64,
}

fn run(ranks: &Ranks, _: &mut Universe, parser: lexopt::Parser) -> Outcome {
    let asked = ranks.agree(parse(parser).map_err(|error| perf_mpi::Error::Parameter {
        name: "an option",
        value: error.to_string(),
        range: "as --help says",
    }))?;
    let shape = asked.shape;
    let mut lockstep = Lockstep::new(ranks, Server::params())?;
    let own = ranks.block(shape.ranks as usize);
    let own = own.map(|rank| Rank::new(rank as u32, &shape, lockstep.post(), asked.every));
    let mut own: Vec<Rank> = own.collect::<Result<_, _>>()?;
    let clock = Clock(Instant::now());
    let mut times = Times::default();
    let spent = |since: &mut Duration| {
        let now = clock.now();
        let spent = now.saturating_sub(*since);
        *since = now;
        spent.as_secs_f64() * 1e6
    };
    for step in 0..shape.steps {
        let mut since = clock.now();
        own.iter_mut().for_each(|rank| rank.play(step, &shape));
        times.calls += spent(&mut since);
        own.iter_mut().for_each(Rank::judge);
        times.detect += spent(&mut since);
        own.iter_mut().try_for_each(Rank::share)?;
        times.clients += spent(&mut since);
        lockstep.round()?;
        times.round += spent(&mut since);
    }
    own.iter_mut().try_for_each(Rank::finish)?;
    let finished = lockstep.finish()?;
    let mut text = String::new();
    table(ranks, &shape, &times, &finished, &mut text)?;
    if asked.compares {
        let labels = own.into_iter().map(|rank| rank.labels).collect();
        compare(ranks, &shape, labels, &mut text)?;
    }
    Ok(text)
}

fn table(
    ranks: &Ranks,
    shape: &Shape,
    times: &Times,
    finished: &Finished,
    text: &mut String,
) -> Outcome {
    let told = [times.calls, times.detect, times.clients, times.round];
    let moved = finished.sent + finished.received;
    let all = ranks.all_gather(&(told, moved))?;
    let (processes, steps) = (ranks.size(), shape.steps as f64);
    let of_rank = |at: usize| {
        let sum: f64 = all.iter().map(|(told, _)| told[at]).sum();
        sum / (steps * f64::from(shape.ranks))
    };
    let calls: u64 = finished
        .server
        .functions()
        .iter()
        .map(|(_, stats)| stats.loss.calls)
        .sum();
    let made = u64::from(shape.ranks) * shape.steps * shape.functions * shape.calls;
    if calls != made {
        return Err(format!("{made} calls were made, {calls} are known").into());
    }
    writeln!(
        text,
        "{} ranks on {processes} processes, {} steps of {} calls of {} functions",
        shape.ranks,
        shape.steps,
        shape.functions * shape.calls,
        shape.functions
    )?;
    writeln!(text, "processor time of a rank and step")?;
    writeln!(text, "  events to calls  {:9.1} us", of_rank(0))?;
    writeln!(text, "  detection        {:9.1} us", of_rank(1))?;
    writeln!(
        text,
        "  exchange         {:9.1} us",
        of_rank(2) + of_rank(3)
    )?;
    let rounds: Vec<f64> = all.iter().map(|(told, _)| told[3] / steps).collect();
    let most = all
        .iter()
        .map(|(_, moved)| *moved)
        .max()
        .unwrap_or_default();
    writeln!(
        text,
        "a round of a process: {:.1} us, rank 0 {:.1} us; at most {:.1} KB in and out",
        rounds.iter().sum::<f64>() / processes as f64,
        rounds.first().copied().unwrap_or_default(),
        most as f64 / (1e3 * finished.rounds.max(1) as f64)
    )?;
    writeln!(
        text,
        "published for 1280 to 4000 ranks: detection 310 to 41600 us, exchange 1350 to 178500 us"
    )?;
    Ok(String::new())
}

/// Labels beside those of one detector.
fn compare(ranks: &Ranks, shape: &Shape, own: Vec<Vec<Label>>, text: &mut String) -> Outcome {
    let shared = ranks.all_gather(&own)?.concat();
    let single = played::single(shape, ranks.is_root())?;
    let single = ranks.broadcast(0, ranks.is_root().then_some(&single))?;
    let (mut same, mut all, mut later, mut same_later) = (0_u64, 0_u64, 0_u64, 0_u64);
    let first = (shape.functions * shape.calls) as usize;
    for (one, other) in single.iter().zip(&shared) {
        for (at, (one, other)) in one.iter().zip(other).enumerate() {
            all += 1;
            same += u64::from(one == other);
            later += u64::from(at >= first);
            same_later += u64::from(at >= first && one == other);
        }
    }
    let anomalies = |labels: &[Vec<Label>]| {
        let abnormal = labels
            .iter()
            .flatten()
            .filter(|label| **label == played::ABNORMAL);
        abnormal.count()
    };
    let percent = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
    writeln!(
        text,
        "{:.2} % of {all} labels are those of one detector, {:.2} % from the second step on; {} and {} anomalies",
        percent(same, all),
        percent(same_later, later),
        anomalies(&single),
        anomalies(&shared)
    )?;
    let made = u64::from(shape.ranks) * shape.steps * shape.functions * shape.calls;
    match all == made && same * 100 >= all * 99 {
        true => Ok(String::new()),
        false => Err(format!("labels differ: {text}").into()),
    }
}
