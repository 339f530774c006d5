//! Tests of distributed detection.

use crate::{Outcome, Test, alone, equal};
use perf_anomaly::calls::Calls;
use perf_anomaly::server::{Client, Delta, Exchange, Local, Server, View};
use perf_anomaly::{Copod, Detector, Hbos, Judgement, Label, Sstd, Tail, Watch};
use perf_core::{Job, Nanos};
use perf_mpi::{Background, Lockstep, Mailbox, Pace, Ranks};
use std::time::Duration;

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("labels_in_step_do_not_depend_on_ranks", labels),
    ("in_step_all_ranks_know_the_same", knowledge),
    ("in_step_ranks_know_what_a_parameter_server_knows", served),
    ("clients_may_be_anywhere", anywhere),
    ("in_the_background_nothing_is_lost", background),
    ("a_rank_with_nothing_to_tell_holds_nobody_up", silent),
    ("groups_of_a_job_keep_to_themselves", groups),
];

/// Number of ranks of the watched program, for any number of processes.
pub(crate) const CLIENTS: u64 = 8;
pub(crate) const STEPS: u64 = 12;

/// Rank of the watched program. Its calls depend on its number only.
pub(crate) struct Watched<E = Mailbox> {
    client: Client<E>,
    watch: Watch<Calls>,
    detector: Box<dyn Detector>,
    number: u64,
    labels: Vec<u8>,
    state: u64,
}

impl<E: Exchange> Watched<E> {
    pub(crate) fn new(
        number: u64,
        post: E,
        detector: Box<dyn Detector>,
    ) -> Result<Self, perf_anomaly::Error> {
        let calls = Calls::default();
        Ok(Watched {
            client: Client::new(number, post),
            watch: Watch::new(calls, 0, number as u32).period(Nanos(0)),
            detector,
            number,
            labels: Vec::new(),
            state: number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        })
    }

    /// Runs a step of calls of three functions, of which one in a hundred is slow.
    pub(crate) fn step(&mut self, step: u64) -> Result<(), perf_anomaly::Error> {
        let names = [0, 1, 2].map(|at| match (at + self.number) % 3 {
            0 => "halo",
            1 => "solve",
            _ => "residual",
        });
        let regions = names.map(|name| self.watch.region(name));
        let mut now = (step * 1_000_000_000) as i64;
        for call in 0..60 {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            let region = regions[call % 3];
            let noise = (self.state >> 40) % 2000;
            let slow = if (self.state >> 20).is_multiple_of(100) {
                400_000
            } else {
                0
            };
            self.watch.enter(0, region, Nanos(now));
            now += 20_000 + noise as i64 + slow;
            self.watch.exit(0, region, Nanos(now));
            now += 100;
        }
        self.watch.end_step();
        let mut judgements: Vec<Judgement> = Vec::new();
        let calls = self.watch.sink();
        self.detector
            .detect(calls.batch().samples(), &mut judgements, &Job::default())
            .expect("nothing cancels the job");
        self.client.step(calls, &judgements, &mut *self.detector)?;
        self.labels
            .extend(judgements.iter().map(|judged| match judged.label {
                Label::NotEnoughData => 0,
                label if label.is_anomaly() => 2,
                _ => 1,
            }));
        Ok(())
    }

    pub(crate) fn finish(&mut self) -> Result<(), perf_anomaly::Error> {
        let calls = self.watch.sink();
        self.client.finish(calls, &mut *self.detector)?;
        Ok(())
    }
}

/// Names of the detectors, the default one first.
const DETECTORS: [&str; 4] = ["tail", "sstd", "hbos", "copod"];

pub(crate) fn detector(name: &str) -> Result<Box<dyn Detector>, perf_anomaly::Error> {
    Ok(match name {
        "tail" => Box::new(Tail::default()),
        "sstd" => Box::new(Sstd::default()),
        "hbos" => Box::new(Hbos::default()),
        _ => Box::new(Copod::default()),
    })
}

/// Returns the numbers of the watched ranks of this process, which are distributed round-robin.
pub(crate) fn mine(ranks: &Ranks) -> Vec<u64> {
    let (rank, size) = (ranks.rank() as u64, ranks.size() as u64);
    (0..CLIENTS)
        .filter(|client| client % size == rank)
        .collect()
}

/// Labels by client, and the merged knowledge.
struct Known {
    labels: Vec<(u64, Vec<u8>)>,
    /// Encoded server of rank 0.
    bytes: Vec<u8>,
    /// Knowledge about functions, the same on all ranks.
    functions: String,
}

/// Returns the knowledge about functions as text: names, models and statistics.
pub(crate) fn functions(server: &Server) -> String {
    let model = server.model().map(perf_anomaly::Model::encode);
    format!("{:?} {:?} {model:?}", server.names(), server.functions())
}

fn run(ranks: &Ranks, own: &[u64], name: &str) -> Result<Known, Box<dyn std::error::Error>> {
    let mut lockstep = Lockstep::new(ranks, Server::params())?;
    let mut all = Vec::new();
    for client in own {
        all.push(Watched::new(*client, lockstep.mailbox(), detector(name)?)?);
    }
    for step in 0..STEPS {
        for one in &mut all {
            one.step(step)?;
        }
        let deltas = lockstep.round()?;
        equal("deltas", &deltas, &CLIENTS)?;
    }
    equal("rounds", &lockstep.rounds(), &STEPS)?;
    for one in &mut all {
        one.finish()?;
    }
    let finished = lockstep.finish()?;
    equal("all deltas", &finished.deltas, &(CLIENTS * (STEPS + 1)))?;
    equal("refused", &finished.refused, &0)?;
    let labels = all.into_iter().map(|one| (one.number, one.labels));
    Ok(Known {
        labels: labels.collect(),
        bytes: finished.server.encode(),
        functions: functions(&finished.server),
    })
}

fn run_alone(name: &str) -> Result<Known, Box<dyn std::error::Error>> {
    run(&alone(), &(0..CLIENTS).collect::<Vec<_>>(), name)
}

fn labels(ranks: &Ranks) -> Outcome {
    for name in DETECTORS {
        let own = run(ranks, &mine(ranks), name)?.labels;
        let whole = run_alone(name)?.labels;
        let mut all = ranks.all_gather(&own)?.concat();
        all.sort();
        equal("labels", &all, &whole)?;
        let found = whole.iter().flat_map(|(_, labels)| labels);
        let count = found.filter(|label| **label == 2).count();
        equal("some are abnormal", &(count > 0), &true)?;
    }
    Ok(())
}

/// Tests the merged knowledge, also with detectors whose merging rounds or moves counts between
/// bins.
fn knowledge(ranks: &Ranks) -> Outcome {
    for name in DETECTORS {
        let known = run(ranks, &mine(ranks), name)?;
        ranks.same("what they know", &known.functions)?;
        let whole = run_alone(name)?;
        equal("of functions", &known.functions, &whole.functions)?;
        if ranks.is_root() {
            equal("all of it", &known.bytes, &whole.bytes)?;
        }
    }
    Ok(())
}

/// Tests distributions of clients: blocks, all on the last rank, and in reverse order.
fn anywhere(ranks: &Ranks) -> Outcome {
    let (rank, size) = (ranks.rank(), ranks.size());
    let all = || 0..CLIENTS;
    let block = ranks.block(CLIENTS as usize);
    let block: Vec<u64> = block.map(|client| client as u64).collect();
    let last: Vec<u64> = all().filter(|_| rank + 1 == size).collect();
    let from_last = |client: &u64| (size - 1) as u64 - client % size as u64 == rank as u64;
    let dealt: Vec<u64> = all().rev().filter(from_last).collect();
    let whole = run_alone("sstd")?;
    for own in [block, last, dealt] {
        let known = run(ranks, &own, "sstd")?;
        equal("of functions", &known.functions, &whole.functions)?;
    }
    Ok(())
}

/// Server that all clients call in turn, and that answers in the next step.
#[derive(Debug)]
struct Late {
    local: Local,
    view: Option<View>,
}

impl Exchange for Late {
    fn send(&mut self, delta: &Delta) -> Result<(), perf_anomaly::Error> {
        self.local.send(delta)
    }

    fn receive(&mut self) -> Result<Option<View>, perf_anomaly::Error> {
        let view = self.local.receive()?;
        Ok(std::mem::replace(&mut self.view, view))
    }
}

fn served(ranks: &Ranks) -> Outcome {
    let known = run(ranks, &mine(ranks), "tail")?;
    let local = Local::new(Server::default());
    let mut all = Vec::new();
    for client in 0..CLIENTS {
        let (local, view) = (local.clone(), None);
        all.push(Watched::new(
            client,
            Late { local, view },
            detector("tail")?,
        )?);
    }
    for step in 0..STEPS {
        for one in &mut all {
            one.step(step)?;
        }
    }
    for one in &mut all {
        one.finish()?;
    }
    let model = |server: &Server| {
        (
            server.names().to_vec(),
            server.model().map(|it| it.encode()),
        )
    };
    let served = local.server(|server| model(server))?;
    let known = if ranks.is_root() {
        model(&Server::decode(Default::default(), &known.bytes)?)
    } else {
        served.clone()
    };
    equal("names and models", &known, &served)
}

/// Returns the merged knowledge after a run in the background.
fn in_background(
    ranks: &Ranks,
    has_work: bool,
) -> Result<perf_mpi::Finished, Box<dyn std::error::Error>> {
    let pace = Pace::default()
        .period(Duration::from_millis(3))
        .poll(Duration::from_micros(300));
    let background = Background::start(Server::params(), pace)?;
    let mut all = Vec::new();
    for client in mine(ranks).into_iter().filter(|_| has_work) {
        all.push(Watched::new(
            client,
            background.mailbox(),
            detector("tail")?,
        )?);
    }
    for step in 0..STEPS {
        for one in &mut all {
            one.step(step)?;
        }
        // Leave time for some rounds during the run.
        std::thread::sleep(Duration::from_millis(1));
    }
    for one in &mut all {
        one.finish()?;
    }
    let finished = background.finish()?;
    if let Some(one) = all.first_mut() {
        // After the end of the exchange, sending is an error.
        equal("all is over", &one.step(STEPS).is_err(), &true)?;
    }
    Ok(finished)
}

fn background(ranks: &Ranks) -> Outcome {
    let finished = in_background(ranks, true)?;
    complete(ranks, &finished)
}

/// Checks that all calls of all clients, and their statistics, are known.
pub(crate) fn complete(ranks: &Ranks, finished: &perf_mpi::Finished) -> Outcome {
    let server = &finished.server;
    let model = server.model().map(perf_anomaly::Model::encode);
    ranks.same("what they know", &model)?;
    let clients = CLIENTS as usize;
    if ranks.is_root() {
        equal("ranks of the program", &server.clients(), &clients)?;
        let calls: u64 = server
            .ranking(perf_anomaly::server::Ranking::Total)
            .iter()
            .map(|rank| rank.loss.calls)
            .sum();
        equal("calls of ranks", &calls, &(CLIENTS * STEPS * 60))?;
    }
    let calls: u64 = server
        .functions()
        .iter()
        .map(|(_, stats)| stats.loss.calls)
        .sum();
    equal("calls", &calls, &(CLIENTS * STEPS * 60))?;
    // The arrival of views changes the labels, but not the final knowledge.
    let whole = Server::decode(Default::default(), &run_alone("tail")?.bytes)?;
    let named = |server: &Server| {
        let mut names: Vec<_> = server.names().iter().enumerate().collect();
        names.sort_by_key(|(_, name)| (*name).clone());
        let place = |id: perf_anomaly::FunctionId| {
            let place = names.iter().position(|(at, _)| *at == id.0 as usize)?;
            Some(perf_anomaly::FunctionId(place as u32))
        };
        server.model().map(|model| model.renumbered(place).encode())
    };
    equal("one process knows", &named(server), &named(&whole))
}

fn silent(ranks: &Ranks) -> Outcome {
    let finished = in_background(ranks, ranks.is_root())?;
    if ranks.is_root() {
        equal("clients", &finished.server.clients(), &mine(ranks).len())?;
    }
    equal("functions", &finished.server.names().len(), &3)
}

fn groups(ranks: &Ranks) -> Outcome {
    let group = (ranks.rank() % 2) as u32;
    let pace = Pace::default().period(Duration::from_millis(2));
    let background = Background::start_in(group, Server::params(), pace)?;
    let mut one = Watched::new(ranks.rank() as u64, background.mailbox(), detector("tail")?)?;
    one.step(0)?;
    one.finish()?;
    let finished = background.finish()?;
    let expected = (0..ranks.size()).filter(|rank| rank % 2 == group as usize);
    if ranks.rank() < 2 {
        // The first client of a group.
        equal(
            "clients",
            &finished.server.clients(),
            &expected.clone().count(),
        )?;
    }
    let calls = |server: &Server| {
        let functions = server.functions();
        functions
            .iter()
            .map(|(_, stats)| stats.loss.calls)
            .sum::<u64>()
    };
    equal(
        "calls",
        &calls(&finished.server),
        &(60 * expected.count() as u64),
    )
}
