//! Compares distributed detection with one detector that sees all calls, and measures its cost for
//! each rank.
//!
//! `mpirun --oversubscribe -n 4 target/release/examples/scale_mpi --ranks 2560`
//!
//! Each process simulates a block of the ranks of a program: their calls, their detectors, and
//! their clients of the exchange. After each step all ranks exchange their learned statistics. The
//! table lists the CPU time for each rank and step, together with published values of Chimbuko on
//! the same number of ranks, each with a core of its own.

#[path = "../common/mod.rs"]
mod common;
mod detection_cost;
mod simulated_rank;

use common::Outcome;
use detection_cost::{Clock, Times, table};
use mpi::environment::Universe;
use perf_anomaly::server::Server;
use perf_mpi::{Lockstep, Ranks};
use simulated_rank::{Label, Rank, Shape};
use std::fmt::Write;
use std::process::ExitCode;

const USAGE: &str = "usage: scale_mpi [OPTIONS]

Plays a program of many ranks that watches itself, and compares labels with those of one detector.

  --ranks N      ranks of the program, default 80
  --steps N      steps, default 120
  --functions N  functions, default 8
  --calls N      calls of each function in a step of a rank, default 3
  --every N      steps from one exchange of a rank to the next, default 1
  --no-labels    labels are not compared: what all ranks do is not done again by one detector";

fn main() -> ExitCode {
    common::main(USAGE, mpi::Threading::Single, run)
}

struct Options {
    shape: Shape,
    every: u64,
    compares: bool,
}

fn parse(mut parser: lexopt::Parser) -> Result<Options, lexopt::Error> {
    use lexopt::prelude::*;
    let mut options = Options {
        shape: Shape {
            ranks: 80,
            steps: 120,
            functions: 8,
            calls: 3,
        },
        every: 1,
        compares: true,
    };
    let shape = &mut options.shape;
    while let Some(arg) = parser.next()? {
        match arg {
            Long("ranks") => shape.ranks = parser.value()?.parse::<u32>()?.clamp(1, 1 << 20),
            Long("steps") => shape.steps = parser.value()?.parse::<u64>()?.clamp(1, 1 << 20),
            Long("functions") => shape.functions = parser.value()?.parse::<u64>()?.clamp(1, 4096),
            Long("calls") => shape.calls = parser.value()?.parse::<u64>()?.clamp(1, 4096),
            Long("every") => options.every = parser.value()?.parse::<u64>()?.max(1),
            Long("no-labels") => options.compares = false,
            other => return Err(other.unexpected()),
        }
    }
    Ok(options)
}

fn run(ranks: &Ranks, _: &mut Universe, parser: lexopt::Parser) -> Outcome {
    let options = ranks.agree(parse(parser).map_err(|error| perf_mpi::Error::Parameter {
        name: "an option",
        value: error.to_string(),
        range: "as --help says",
    }))?;
    let shape = options.shape;
    let mut lockstep = Lockstep::new(ranks, Server::params())?;
    let own = ranks.block(shape.ranks as usize);
    let own = own.map(|rank| Rank::new(rank as u32, &shape, lockstep.mailbox(), options.every));
    let mut own: Vec<Rank> = own.collect::<Result<_, _>>()?;
    let clock = Clock::new();
    let mut times = Times::default();
    let begin = clock.now();
    for step in 0..shape.steps {
        let mut since = clock.now();
        own.iter_mut().for_each(|rank| rank.play(step, &shape));
        times.calls += clock.since(&mut since);
        own.iter_mut().for_each(Rank::judge);
        times.detect += clock.since(&mut since);
        own.iter_mut().try_for_each(Rank::share)?;
        times.clients += clock.since(&mut since);
        times.rounds(|| lockstep.round())?;
        times.round += clock.since(&mut since);
        own.iter_mut().try_for_each(Rank::hear)?;
        times.clients += clock.since(&mut since);
    }
    own.iter_mut().try_for_each(Rank::finish)?;
    let mut since = clock.now();
    let finished = times.rounds(|| lockstep.finish())?;
    times.round += clock.since(&mut since);
    let spent = clock.now().saturating_sub(begin);
    times.total = spent.as_secs_f64() * 1e6;
    let mut text = String::new();
    table(ranks, &shape, &times, &finished, &mut text)?;
    if options.compares {
        let labels = own.into_iter().map(|rank| rank.labels).collect();
        compare(ranks, &shape, labels, &mut text)?;
    }
    Ok(text)
}

/// Compares the labels with those of a single detector.
fn compare(ranks: &Ranks, shape: &Shape, own: Vec<Vec<Label>>, text: &mut String) -> Outcome {
    let shared = ranks.all_gather(&own)?.concat();
    let single = simulated_rank::single(shape, ranks.is_root())?;
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
            .filter(|label| **label == simulated_rank::ABNORMAL);
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
    if all == made && same * 100 >= all * 99 {
        Ok(String::new())
    } else {
        Err(format!("labels differ: {text}").into())
    }
}
