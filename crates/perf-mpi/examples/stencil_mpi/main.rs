//! Program of many ranks that watches itself, with a measurement of the overhead.
//!
//! `mpirun --oversubscribe -n 4 target/release/examples/stencil_mpi`
//!
//! Ranks relax a plate and exchange the edges of their parts with their neighbours. Sometimes one
//! of them sweeps over its part eight times instead of once. The program runs in several variants:
//! without monitoring, with its calls recorded by a sink that only keeps the call stack, and with
//! calls judged during the run and statistics shared in the background. The table is that of Table
//! I of the Chimbuko paper, with the published values below.

#[path = "../common/mod.rs"]
mod common;
mod plate;
mod table;

use common::Outcome;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator;
use perf_anomaly::calls::Calls;
use perf_anomaly::server::{Client, Server};
use perf_anomaly::{Monitor, Watch};
use perf_core::{EventSink, Nanos, RegionId};
use perf_mpi::{Background, Finished, Mailbox, Pace, Polled, Ranks};
use plate::Plate;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: stencil_mpi [OPTIONS]

Relaxes a plate on all ranks, watched and not, and prints what watching costs.

  --rows N     rows of cells a rank, default 256
  --columns N  columns of cells, default 1024
  --steps N    steps, default 400
  --slow N     some rank is slow once in N steps, default 100; 0 for never
  --repeat N   runs of each kind, of which the fastest counts, default 3
  --period N   milliseconds from one exchange to the next, default 200
  --polled     the program itself looks after the exchange, by an MPI that one thread alone may call; without
               it a thread does, by one that many threads may call";

fn main() -> ExitCode {
    let is_polled = std::env::args().any(|word| word == "--polled");
    let threads = if is_polled {
        mpi::Threading::Funneled
    } else {
        mpi::Threading::Multiple
    };
    common::main(USAGE, threads, run)
}

/// Size of the solver's work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) steps: usize,
    pub(crate) slow: usize,
    pub(crate) repeat: usize,
    pub(crate) period: u64,
    pub(crate) is_polled: bool,
}

fn parse(mut parser: lexopt::Parser) -> Result<Plan, lexopt::Error> {
    use lexopt::prelude::*;
    let mut plan = Plan {
        rows: 256,
        columns: 1024,
        steps: 400,
        slow: 100,
        repeat: 3,
        period: 200,
        is_polled: false,
    };
    while let Some(arg) = parser.next()? {
        match arg {
            Long("rows") => plan.rows = parser.value()?.parse::<usize>()?.clamp(1, 1 << 14),
            Long("columns") => plan.columns = parser.value()?.parse::<usize>()?.clamp(3, 1 << 14),
            Long("steps") => plan.steps = parser.value()?.parse()?,
            Long("slow") => plan.slow = parser.value()?.parse()?,
            Long("repeat") => plan.repeat = parser.value()?.parse::<usize>()?.max(1),
            Long("period") => plan.period = parser.value()?.parse()?,
            Long("polled") => plan.is_polled = true,
            other => return Err(other.unexpected()),
        }
    }
    Ok(plan)
}

/// Parts of a step.
const PARTS: [&str; 4] = ["step", "exchange edges", "sweep", "residual"];
const STEP: usize = 0;
const EDGES: usize = 1;
const SWEEP: usize = 2;
const RESIDUAL: usize = 3;
/// Number of solver steps from one residual to the next, and in a step of the detector.
pub(crate) const EACH: usize = 20;

/// Monitor of the solver.
trait Probe {
    fn enter(&mut self, part: usize);
    fn exit(&mut self, part: usize);
    fn end_step(&mut self);
    /// Advances the exchange after each step of the solver.
    fn look(&mut self) {}
}

/// No monitoring.
impl Probe for () {
    fn enter(&mut self, _part: usize) {}
    fn exit(&mut self, _part: usize) {}
    fn end_step(&mut self) {}
}

/// The three lines with which a program watches itself.
struct Instrumented<S> {
    watch: Watch<S>,
    regions: [RegionId; 4],
    start: Instant,
    polled: Option<Polled>,
}

impl<S: EventSink> Instrumented<S> {
    fn new(sink: S, rank: usize, polled: Option<Polled>) -> Self {
        let mut watch = Watch::new(sink, 0, rank as u32).period(Nanos(0));
        Instrumented {
            regions: PARTS.map(|part| watch.region(part)),
            watch,
            start: Instant::now(),
            polled,
        }
    }

    fn now(&self) -> Nanos {
        Nanos(self.start.elapsed().as_nanos() as i64)
    }
}

impl<S: EventSink> Probe for Instrumented<S> {
    fn enter(&mut self, part: usize) {
        let now = self.now();
        self.watch.enter(0, self.regions[part], now);
    }

    fn exit(&mut self, part: usize) {
        let now = self.now();
        self.watch.exit(0, self.regions[part], now);
    }

    fn end_step(&mut self) {
        self.watch.end_step();
    }

    fn look(&mut self) {
        if let Some(polled) = &mut self.polled {
            // An error is reported at the end of the run.
            let _ = polled.poll();
        }
    }
}

/// Returns the rank that is slow in a step.
pub(crate) fn slow_rank(plan: &Plan, step: usize, size: usize) -> Option<usize> {
    let is_slow = plan.slow > 0 && step % plan.slow == plan.slow - 1;
    is_slow.then_some(step / plan.slow % size)
}

fn solve(plan: &Plan, world: &SimpleCommunicator, probe: &mut impl Probe) -> f64 {
    let (rank, size) = (world.rank() as usize, world.size() as usize);
    let mut plate = Plate::new(plan, rank);
    let mut residual = 0.0;
    for step in 0..plan.steps {
        probe.enter(STEP);
        probe.enter(EDGES);
        plate.exchange(world);
        probe.exit(EDGES);
        probe.enter(SWEEP);
        let times = if slow_rank(plan, step, size) == Some(rank) {
            8
        } else {
            1
        };
        for _ in 0..times {
            plate.sweep();
        }
        probe.exit(SWEEP);
        if step % EACH == EACH - 1 {
            probe.enter(RESIDUAL);
            residual = plate.residual(world);
            probe.exit(RESIDUAL);
        }
        plate.turn();
        probe.exit(STEP);
        probe.look();
        if step % EACH == EACH - 1 {
            probe.end_step();
        }
    }
    residual
}

/// Kinds of runs.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Bare,
    Events,
    Detection,
}

/// Result of a run.
struct Run {
    /// Duration of the run in seconds.
    time: f64,
    /// Seconds after the last step.
    ending: f64,
    residual: f64,
    found: Option<Finished>,
}

/// Mailbox, and the exchange that empties it: polled by the program, or a thread.
type Exchange = (Mailbox, Option<Polled>, Option<Background>);

fn exchange(plan: &Plan, universe: &mut Universe, pace: Pace) -> perf_mpi::Result<Exchange> {
    if plan.is_polled {
        let polled = Polled::start(universe, Server::params(), pace)?;
        return Ok((polled.mailbox(), Some(polled), None));
    }
    let background = Background::start(Server::params(), pace)?;
    Ok((background.mailbox(), None, Some(background)))
}

fn once(
    plan: &Plan,
    ranks: &Ranks,
    universe: &mut Universe,
    kind: Kind,
) -> Result<Run, Box<dyn std::error::Error>> {
    let world = SimpleCommunicator::world();
    ranks.barrier();
    let begin = Instant::now();
    let (residual, found, solved);
    match kind {
        Kind::Bare => {
            residual = solve(plan, &world, &mut ());
            (solved, found) = (begin.elapsed(), None);
        }
        Kind::Events => {
            let calls = Calls::default();
            let mut instrumented = Instrumented::new(calls, ranks.rank(), None);
            residual = solve(plan, &world, &mut instrumented);
            (solved, found) = (begin.elapsed(), None);
        }
        Kind::Detection => {
            let pace = Pace::default().period(Duration::from_millis(plan.period));
            let (mailbox, polled, background) = exchange(plan, universe, pace)?;
            let client = Client::new(ranks.rank() as u64, mailbox);
            let monitor = Monitor::default().share(client);
            let mut instrumented = Instrumented::new(monitor, ranks.rank(), polled);
            residual = solve(plan, &world, &mut instrumented);
            solved = begin.elapsed();
            instrumented.watch.into_sink().finish()?;
            found = match (instrumented.polled, background) {
                (Some(polled), _) => Some(polled.finish()?),
                (None, Some(background)) => Some(background.finish()?),
                (None, None) => None,
            };
        }
    }
    ranks.barrier();
    let whole = begin.elapsed();
    let slowest = |own: Duration| {
        let all = ranks.all_gather(&own.as_secs_f64());
        all.map(|all| all.into_iter().fold(0.0, f64::max))
    };
    Ok(Run {
        time: slowest(whole)?,
        ending: slowest(whole.saturating_sub(solved))?,
        residual,
        found,
    })
}

fn run(ranks: &Ranks, universe: &mut Universe, parser: lexopt::Parser) -> Outcome {
    let plan = parse(parser)?;
    let kinds = [Kind::Bare, Kind::Events, Kind::Detection];
    let mut fastest: [Option<Run>; 3] = [None, None, None];
    let mut residuals = Vec::new();
    for _ in 0..plan.repeat {
        // The kinds alternate, so that changes in the load of the machine affect all of them.
        for (kind, fastest) in kinds.into_iter().zip(&mut fastest) {
            let run = once(&plan, ranks, universe, kind)?;
            residuals.push(run.residual);
            if fastest.as_ref().is_none_or(|best| run.time < best.time) {
                *fastest = Some(run);
            }
        }
    }
    if residuals.windows(2).any(|two| two[0] != two[1]) {
        return Err("watching changed the result".into());
    }
    let [Some(bare), Some(events), Some(detection)] = fastest else {
        return Err("nothing ran".into());
    };
    let finished = detection.found.ok_or("nothing was watched")?;
    let known = finished.server.model().map(perf_anomaly::Model::encode);
    ranks.same("what they know", &known)?;
    let times = [bare.time, events.time, detection.time];
    table::table(&plan, ranks.size(), times, detection.ending, &finished)
}
