//! Tests of rounds that the thread of the program polls.

use crate::exchanges::{STEPS, Watched, complete, detector, mine};
use crate::{Outcome, equal};
use mpi::environment::Universe;
use perf_anomaly::server::Server;
use perf_core::Job;
use perf_mpi::{Pace, Polled, Ranks};
use std::time::Duration;

/// Test that starts exchanges itself.
pub(crate) type Test = fn(&Ranks, &mut Universe) -> Outcome;

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("polled_nothing_is_lost", polled),
    ("a_rank_that_leaves_is_waited_for_by_nobody", leaving),
    ("what_is_long_goes_on_poll_by_poll", long),
];

fn pace() -> Pace {
    let pace = Pace::default().period(Duration::from_micros(500));
    pace.poll(Duration::from_micros(100))
}

fn polled(ranks: &Ranks, universe: &mut Universe) -> Outcome {
    let mut polled = Polled::start(universe, Server::params(), pace())?;
    let mut all = Vec::new();
    for client in mine(ranks) {
        all.push(Watched::new(client, polled.mailbox(), detector("tail")?)?);
    }
    for step in 0..STEPS {
        for one in &mut all {
            one.step(step)?;
            // Some ranks poll more often than others.
            (0..ranks.rank()).try_for_each(|_| polled.poll())?;
        }
        polled.poll()?;
        std::thread::sleep(Duration::from_millis(1));
    }
    for one in &mut all {
        one.finish()?;
    }
    let finished = polled.finish()?;
    complete(ranks, &finished)?;
    if let Some(one) = all.first_mut() {
        equal("all is over", &one.step(STEPS).is_err(), &true)?;
    }
    Ok(())
}

/// Tests a rank that drops its exchange because of an error of its own. The other ranks continue to
/// their end.
fn leaving(ranks: &Ranks, universe: &mut Universe) -> Outcome {
    let mut polled = Polled::start(universe, Server::params(), pace())?;
    let leaves = ranks.rank() + 1 == ranks.size() && ranks.size() > 1;
    let mut one = Watched::new(ranks.rank() as u64, polled.mailbox(), detector("tail")?)?;
    one.step(0)?;
    if leaves {
        drop(polled);
        return Ok(());
    }
    for step in 1..STEPS {
        one.step(step)?;
        polled.poll()?;
    }
    one.finish()?;
    let finished = polled.finish()?;
    let calls: u64 = finished
        .server
        .functions()
        .iter()
        .map(|(_, stats)| stats.loss.calls)
        .sum();
    let stay = (ranks.size() - usize::from(ranks.size() > 1)) as u64;
    let left = u64::from(ranks.size() > 1);
    equal("calls", &calls, &(60 * (STEPS * stay + left)))
}

/// Tests names that are long enough for many chunks.
fn long(ranks: &Ranks, universe: &mut Universe) -> Outcome {
    use perf_anomaly::calls::Calls;
    use perf_anomaly::server::Client;
    use perf_anomaly::{Detector, Tail, Watch};
    use perf_core::Nanos;
    let mut polled = Polled::start(universe, Server::params(), pace())?;
    let calls = Calls::default();
    let mut watch = Watch::new(calls, 0, ranks.rank() as u32).period(Nanos(0));
    for function in 0..40 {
        let name = format!("{} of {} {}", function, ranks.rank(), "x".repeat(9000));
        let region = watch.region(&name);
        watch.enter(0, region, Nanos(1000 * function));
        watch.exit(0, region, Nanos(1000 * function + 500));
    }
    watch.end_step();
    let mut detector = Tail::new(Tail::params().learn_first(true).check()?);
    let mut judgements = Vec::new();
    detector
        .detect(
            watch.sink().batch().samples(),
            &mut judgements,
            &Job::default(),
        )
        .expect("nothing cancels the job");
    let mut client = Client::new(ranks.rank() as u64, polled.mailbox());
    client.step(watch.sink(), &judgements, &mut detector)?;
    for _ in 0..50 {
        polled.poll()?;
        std::thread::sleep(Duration::from_micros(200));
    }
    let finished = polled.finish()?;
    equal(
        "functions",
        &finished.server.names().len(),
        &(40 * ranks.size()),
    )?;
    let moved = finished.sent + finished.received;
    equal("some went", &(moved > 300_000), &(ranks.size() > 1))
}
