//! Detection on many ranks.

use crate::{Outcome, Test, alone, equal};
use perf_anomaly::calls::Calls;
use perf_anomaly::server::{Client, Server};
use perf_anomaly::{Detector, Judgement, Label, Sstd, Tail, Watch};
use perf_core::Nanos;
use perf_mpi::{Background, Lockstep, Pace, Post, Ranks};
use std::time::Duration;

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("labels_in_step_do_not_depend_on_ranks", labels),
    ("in_step_all_ranks_know_the_same", knowledge),
    ("in_the_background_nothing_is_lost", background),
    ("a_rank_with_nothing_to_tell_holds_nobody_up", silent),
    ("groups_of_a_job_keep_to_themselves", groups),
];

/// Ranks of the program that is watched, however many processes watch it.
const CLIENTS: u64 = 8;
const STEPS: u64 = 12;

/// A rank of the program: what it does depends on its number alone.
struct Watched {
    client: Client<Post>,
    watch: Watch<Calls>,
    detector: Box<dyn Detector>,
    number: u64,
    labels: Vec<u8>,
    state: u64,
}

impl Watched {
    fn new(
        number: u64,
        post: Post,
        detector: Box<dyn Detector>,
    ) -> Result<Self, perf_anomaly::Error> {
        let calls = Calls::new(Calls::params().check()?);
        Ok(Watched {
            client: Client::new(number, post),
            watch: Watch::new(calls, 0, number as u32).period(Nanos(0)),
            detector,
            number,
            labels: Vec::new(),
            state: number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        })
    }

    /// A step of calls of three functions, of which one in a hundred is slow.
    fn step(&mut self, step: u64) -> Result<(), perf_anomaly::Error> {
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
            .detect(calls.batch().samples(), &mut judgements);
        self.client.step(calls, &judgements, &mut *self.detector)?;
        self.labels
            .extend(judgements.iter().map(|judged| match judged.label {
                Label::NotEnoughData => 0,
                label if label.is_anomaly() => 2,
                _ => 1,
            }));
        Ok(())
    }

    fn finish(&mut self) -> Result<(), perf_anomaly::Error> {
        let calls = self.watch.sink();
        self.client.finish(calls, &mut *self.detector)?;
        Ok(())
    }
}

fn detector(is_tail: bool) -> Result<Box<dyn Detector>, perf_anomaly::Error> {
    Ok(match is_tail {
        true => Box::new(Tail::new(Tail::params().check()?)),
        false => Box::new(Sstd::new(Sstd::params().check()?)),
    })
}

/// The numbers of the watched ranks that a process has.
fn mine(ranks: &Ranks) -> impl Iterator<Item = u64> {
    let (rank, size) = (ranks.rank() as u64, ranks.size() as u64);
    (0..CLIENTS).filter(move |client| client % size == rank)
}

/// Labels by client, and the bytes of what is known.
type Known = (Vec<(u64, Vec<u8>)>, Vec<u8>);

fn run(ranks: &Ranks, is_tail: bool) -> Result<Known, Box<dyn std::error::Error>> {
    let mut lockstep = Lockstep::new(ranks, Server::params())?;
    let mut all = Vec::new();
    for client in mine(ranks) {
        all.push(Watched::new(client, lockstep.post(), detector(is_tail)?)?);
    }
    for step in 0..STEPS {
        for one in &mut all {
            one.step(step)?;
        }
        let deltas = lockstep.round()?;
        equal("deltas", &deltas, &CLIENTS)?;
    }
    for one in &mut all {
        one.finish()?;
    }
    lockstep.round()?;
    equal("rounds", &lockstep.rounds(), &(STEPS + 1))?;
    let labels = all
        .into_iter()
        .map(|one| (one.number, one.labels))
        .collect();
    Ok((labels, lockstep.server().encode()))
}

fn labels(ranks: &Ranks) -> Outcome {
    for is_tail in [true, false] {
        let (own, _) = run(ranks, is_tail)?;
        let (whole, _) = run(&alone(), is_tail)?;
        let mut all = ranks.all_gather(&own)?.concat();
        all.sort();
        equal("labels", &all, &whole)?;
        let found = whole.iter().flat_map(|(_, labels)| labels);
        let count = found.filter(|label| **label == 2).count();
        equal("some are abnormal", &(count > 0), &true)?;
    }
    Ok(())
}

fn knowledge(ranks: &Ranks) -> Outcome {
    let (_, bytes) = run(ranks, true)?;
    ranks.same("what they know", &bytes)?;
    let (_, whole) = run(&alone(), true)?;
    equal("one process knows", &bytes, &whole)
}

/// What all know after a run in the background.
fn in_background(
    ranks: &Ranks,
    has_work: bool,
) -> Result<perf_mpi::Finished, Box<dyn std::error::Error>> {
    let pace = Pace::default()
        .period(Duration::from_millis(3))
        .poll(Duration::from_micros(300));
    let background = Background::start(Server::params(), pace)?;
    let mut all = Vec::new();
    for client in mine(ranks).filter(|_| has_work) {
        all.push(Watched::new(client, background.post(), detector(true)?)?);
    }
    for step in 0..STEPS {
        for one in &mut all {
            one.step(step)?;
        }
        // Some rounds fall into the run.
        std::thread::sleep(Duration::from_millis(1));
    }
    for one in &mut all {
        one.finish()?;
    }
    let finished = background.finish()?;
    if let Some(one) = all.first_mut() {
        // Nothing goes out any more, and it says so.
        equal("all is over", &one.step(STEPS).is_err(), &true)?;
    }
    Ok(finished)
}

fn background(ranks: &Ranks) -> Outcome {
    let finished = in_background(ranks, true)?;
    let server = &finished.server;
    ranks.same("what they know", &server.encode())?;
    equal(
        "ranks of the program",
        &server.clients(),
        &(CLIENTS as usize),
    )?;
    let calls: u64 = server
        .functions()
        .iter()
        .map(|(_, stats)| stats.loss.calls)
        .sum();
    equal("calls", &calls, &(CLIENTS * STEPS * 60))?;
    // When views came changes labels, not what is known in the end.
    let (_, whole) = run(&alone(), true)?;
    let whole = Server::decode(Server::params().check()?, &whole)?;
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
    let expected = mine(ranks).count();
    let expected = ranks.broadcast(0, ranks.is_root().then_some(&expected))?;
    equal("clients", &finished.server.clients(), &expected)
}

fn groups(ranks: &Ranks) -> Outcome {
    let group = (ranks.rank() % 2) as u32;
    let pace = Pace::default().period(Duration::from_millis(2));
    let background = Background::start_in(group, Server::params(), pace)?;
    let mut one = Watched::new(ranks.rank() as u64, background.post(), detector(true)?)?;
    one.step(0)?;
    one.finish()?;
    let finished = background.finish()?;
    let expected = (0..ranks.size()).filter(|rank| rank % 2 == group as usize);
    equal("clients", &finished.server.clients(), &expected.count())
}
