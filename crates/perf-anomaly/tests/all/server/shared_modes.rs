//! New modes of which each client has too few calls: the server finds them in the slow calls of all clients.

use super::*;
use perf_anomaly::Monitor;
use perf_anomaly::lost_time::{LostTime, NewMode};
use perf_anomaly::server::{Comparison, Sum};
use std::sync::{Arc, Mutex};

const RANKS: u32 = 8;
const STEPS: u64 = 20;
const CALLS: u64 = 25;

/// Exchange that keeps the deltas of all clients.
#[derive(Clone, Debug, Default)]
struct Sent(Arc<Mutex<Vec<Delta>>>);

impl Exchange for Sent {
    fn send(&mut self, delta: &Delta) -> Result<()> {
        let mut all = self.0.lock().expect("no test panicked");
        all.push(Delta::decode(&delta.encode())?);
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<View>> {
        Ok(None)
    }
}

/// Calls of a rank: its number, the step, and a random number of the call in `0.0..1.0`, to a factor of the run time.
type Factor = fn(u32, u64, f64) -> f64;

/// Between 2 and 6 times as long in 3 % of the calls.
const WIDE: Factor = |_, _, chance| {
    if chance < 0.03 {
        2.0 + 4.0 * chance / 0.03
    } else {
        1.0
    }
};
/// Three times as long in 3 % of the calls from step 8 on.
const NARROW: Factor = |_, step, chance| if step >= 8 && chance < 0.03 { 3.0 } else { 1.0 };
/// Three times as long in 1 % of the calls.
const RARE: Factor = |_, _, chance| if chance < 0.01 { 3.0 } else { 1.0 };
/// 1.4 times as long in 3 % of the calls.
const NEAR: Factor = |_, _, chance| if chance < 0.03 { 1.4 } else { 1.0 };

/// Runs ranks with `ranks` of them for each client. Returns the deltas, and the planted time in nanoseconds.
fn run(seed: u64, ranks: u32, noise: f64, factor: Factor) -> (Vec<Delta>, f64) {
    let (sent, mut planted) = (Sent::default(), 0.0);
    let mut monitors: Vec<Monitor> = (0..RANKS / ranks)
        .map(|client| {
            let client = Client::new(u64::from(client), sent.clone());
            Monitor::default().share(client).compare_steps(1)
        })
        .collect();
    for step in 0..STEPS {
        for rank in 0..RANKS {
            let monitor = &mut monitors[(rank / ranks) as usize];
            let stream = monitor.stream(StreamKey {
                program: 0,
                rank,
                thread: 0,
            });
            let region = monitor.region(0, "solve");
            let mut random = Random::new(1 + seed * 10_007 + step * 31 + u64::from(rank));
            let mut at = step as i64 * 1_000_000_000;
            for _ in 0..CALLS {
                let usual = 5e6 * (noise * random.normal()).exp();
                let factor = factor(rank, step, random.below(1 << 20) as f64 / (1 << 20) as f64);
                planted += usual * (factor - 1.0);
                monitor.push(stream, Nanos(at), StreamEvent::Enter(region));
                at += (usual * factor) as i64;
                monitor.push(stream, Nanos(at), StreamEvent::Exit(region));
            }
        }
        monitors.iter_mut().for_each(|one| one.end_step(step));
    }
    for monitor in monitors {
        monitor.finish().expect("nothing fails");
    }
    let deltas = std::mem::take(&mut *sent.0.lock().expect("no test panicked"));
    (deltas, planted)
}

fn taken<'a>(deltas: impl Iterator<Item = &'a Delta>) -> Server {
    let mut server = server(Server::params());
    for delta in deltas {
        server.take(delta).expect("sound");
        server.take(delta).expect("a repeated delta counts once");
    }
    server
}

/// Returns the time lost at a server and its modes.
fn lost(server: &Server) -> (LostTime, Vec<NewMode>, Comparison) {
    let comparison = server.comparison();
    let modes = comparison.modes();
    let loss = server.functions()[0].1.loss;
    let slowness = comparison.slowness();
    let lost = LostTime::new((Nanos(1), &loss), &slowness, &modes, |_| false);
    (lost, modes, comparison)
}

#[test]
fn time_lost_in_modes_of_all_clients_is_found() {
    for (name, factor) in [
        ("wide", WIDE),
        ("narrow", NARROW),
        ("rare", RARE),
        ("near", NEAR),
    ] {
        for seed in 1..6 {
            for ranks in [1, 2] {
                let (deltas, planted) = run(seed, ranks, 0.03, factor);
                let server = taken(deltas.iter());
                let (lost, modes, comparison) = lost(&server);
                let share = lost.total().0 as f64 / planted;
                let place = (name, seed, ranks, share);
                // At 1.4 times, detectors of single ranks know some of the calls as usual ones.
                let least = if name == "near" { 0.85 } else { 0.94 };
                assert!(
                    (least..1.06).contains(&share),
                    "{place:?} {lost:?} {modes:?}"
                );
                assert_eq!(modes.len(), 1, "{place:?} {modes:?}");
                // Ranks and steps have the time too, apart from alarms, which are single calls there.
                let steps = comparison.mode_steps();
                let of_steps: i64 = steps.iter().map(|one| one.lost.0).sum();
                assert_eq!(of_steps, modes[0].lost.0 - modes[0].alarmed.0, "{place:?}");
                // The order of messages has no influence, and neither has a restart of the server.
                let late = deltas.iter().filter(|delta| delta.client % 2 == 0);
                let order = deltas
                    .iter()
                    .filter(|delta| delta.client % 2 == 1)
                    .chain(late);
                let mut other = taken(order);
                assert_eq!(lost_of(&other), lost_of(&server), "{place:?}");
                let params = Server::params().check().expect("defaults");
                let bytes = server.encode();
                other = Server::decode(params, &bytes).expect("written");
                assert_eq!(other.encode(), bytes);
                assert_eq!(lost_of(&other), lost_of(&server), "{place:?}");
                assert!(server.memory() > 0);
            }
        }
    }
}

/// Returns the modes and steps, whose functions have numbers in the order of messages.
fn lost_of(server: &Server) -> (Vec<NewMode>, i64) {
    let (lost, modes, _) = lost(server);
    (modes, lost.total().0)
}

#[test]
fn without_modes_clients_have_none_together() {
    for noise in [0.05, 0.3, 1.0] {
        for seed in 0..20 {
            let (deltas, _) = run(seed, 1, noise, |_, _, _| 1.0);
            let (_, modes, _) = lost(&taken(deltas.iter()));
            assert_eq!(modes, [], "{noise} {seed}");
        }
    }
    // A phase in which all calls are slow is no mode of those that clients noticed first.
    let (deltas, planted) = run(
        1,
        1,
        0.03,
        |_, step, _| {
            if (10..14).contains(&step) { 2.0 } else { 1.0 }
        },
    );
    let (lost, modes, _) = lost(&taken(deltas.iter()));
    assert_eq!(modes, [], "{lost:?}");
    assert!(lost.phases.0 as f64 > 0.95 * planted, "{lost:?}");
}

#[test]
fn messages_contain_slow_calls_and_those_of_earlier_versions_none() {
    let (deltas, planted) = run(1, 1, 0.03, WIDE);
    let last = deltas.last().expect("a delta");
    let bytes = last.encode();
    assert_eq!(
        (bytes[4], Delta::decode(&bytes).expect("written")),
        (10, last.clone())
    );
    for end in 0..bytes.len() {
        assert!(Delta::decode(&bytes[..end]).is_err());
    }
    // Slow calls of a sum are those of its deltas.
    let mut server = Server::default();
    for delta in &deltas {
        let sum = server.sum(delta).expect("sound");
        let sum = Sum::decode(&sum.encode()).expect("written");
        server.add(&sum).expect("sound");
    }
    let (lost, modes, _) = lost(&server);
    assert_eq!(modes.len(), 1);
    assert!(lost.total().0 as f64 > 0.94 * planted, "{lost:?}");
    // A message with damaged bytes at its end is refused, or taken without a panic.
    for at in bytes.len() - 400..bytes.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            if let Ok(delta) = Delta::decode(&damaged) {
                let others = deltas.iter().take(deltas.len() - 1);
                let mut server = Server::default();
                others.chain([&delta]).for_each(|delta| {
                    let _ = server.take(delta);
                });
                let comparison = server.comparison();
                comparison.modes();
                comparison.slowness();
            }
        }
    }
}
