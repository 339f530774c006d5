//! Time lost at the server by cause, rank, step and function: that of the report of a monitor, also if the
//! detector and the server are stopped and started again.

use super::slow::Twice;
use super::*;
use perf_anomaly::lost_time::Accepted;
use perf_anomaly::server::Comparison;
use perf_anomaly::{Monitor, Report};
use std::collections::BTreeMap;

const CLIENT: u64 = 5;
const RANKS: u32 = 4;
const STEPS: u64 = 40;

/// Starts a detector of all ranks, as a client of a server that may know it.
fn start(local: &Local) -> Monitor {
    let known = |server: &mut Server| (server.sequence(CLIENT), server.positions(CLIENT).to_vec());
    let (sequence, positions) = local.server(known).expect("nobody panicked");
    let client = Client::new(CLIENT, Twice(local.clone())).resume(sequence, &positions);
    Monitor::default()
        .share(client)
        .compare_steps(5)
        .accept("usual", "two sizes")
}

/// Pushes the calls of a step. From step 10 on, a call of `solve` in 20 takes twice as long on ranks 1 and
/// 2; from step 12 on, so does one of `usual`. In every second call of `half` from step 2 on a mode
/// becomes normal. Rank 3 is slow, `pack` has a slow phase, and single calls are slow.
fn step(monitor: &mut Monitor, number: u64, begin: i64) {
    for rank in 0..RANKS {
        let stream = monitor.stream(StreamKey {
            program: 0,
            rank,
            thread: 0,
        });
        let mut random = Random::new(1 + number * 31 + u64::from(rank));
        let mut at = begin + number as i64 * 1_000_000_000 + i64::from(rank);
        for call in 0..80 {
            for (name, usual) in [("solve", 400), ("usual", 300), ("half", 200), ("pack", 100)] {
                let region = monitor.region(0, name);
                let is_slow = match name {
                    "solve" => number >= 10 && call % 20 == 7 && (1..3).contains(&rank),
                    "usual" => number >= 12 && call % 20 == 9,
                    "half" => number >= 2 && call % 5 < 3,
                    _ => false,
                };
                let mut time = usual as f64 * 1000.0 * (1.0 + 0.03 * random.normal());
                if is_slow {
                    time *= 2.0;
                }
                if rank == 3 && name != "pack" {
                    time *= 1.3;
                }
                if name == "pack" && (20..30).contains(&number) {
                    time *= 1.5;
                }
                if name == "solve" && number % 16 == 15 && call == 40 {
                    time *= 20.0 + f64::from(rank) + number as f64;
                }
                monitor.push(stream, Nanos(at), StreamEvent::Enter(region));
                at += time as i64;
                monitor.push(stream, Nanos(at), StreamEvent::Exit(region));
            }
        }
    }
    monitor.end_step(number);
}

/// Runs to the end, or stops without notice after some steps.
fn run(local: &Local, stop: Option<u64>, begin: i64) -> Option<Report> {
    let mut monitor = start(local);
    for number in 0..STEPS {
        step(&mut monitor, number, begin);
        if stop == Some(number) {
            assert!(monitor.error().is_none());
            return None;
        }
    }
    Some(monitor.finish().expect("nothing fails"))
}

/// Time lost in modes by rank, step and function, without zeros.
type Modes = BTreeMap<(u32, u64, String), i64>;

fn modes_at(local: &Local) -> (Modes, Comparison) {
    local
        .server(|server| {
            let comparison = server.comparison();
            let mut all = Modes::new();
            for one in comparison.mode_steps() {
                assert_eq!(one.first, one.last);
                let name = server.names()[one.function.0 as usize].name.to_string();
                *all.entry((one.rank, one.first, name)).or_default() += one.lost.0;
            }
            all.retain(|_, lost| *lost != 0);
            (all, comparison)
        })
        .expect("nobody panicked")
}

fn modes_of(report: &Report) -> Modes {
    let mut all = Modes::new();
    for one in report.lasting.modes().steps() {
        let name = report.calls.function_name(one.function);
        *all.entry((one.rank, one.first, name)).or_default() += one.lost.0;
    }
    all.retain(|_, lost| *lost != 0);
    all
}

#[test]
fn the_server_has_the_time_lost_of_the_report() {
    let local = Local::new(server(Server::params()));
    let report = run(&local, None, 0).expect("it ended");
    let (modes, comparison) = modes_at(&local);
    assert_eq!(modes, modes_of(&report));
    let of = |name: &str| modes.keys().filter(|key| key.2 == name).count();
    let sum = |name: &str| -> i64 {
        let own = modes.iter().filter(|(key, _)| key.2 == name);
        own.map(|(_, lost)| lost).sum()
    };
    // Nothing of a mode that became normal remains, and of one that a rule accepts only its alarms, which are
    // subtracted from the single calls.
    let accepted = report.lasting.modes().all();
    let accepted = accepted.filter(|mode| matches!(mode.accepted, Some(Accepted::Rule(_))));
    let of_accepted: i64 = accepted.map(|mode| mode.alarmed.0).sum();
    assert!(of_accepted > 0);
    assert_eq!((sum("usual"), of("half")), (-of_accepted, 0), "{modes:?}");
    assert!(of("solve") >= 2 * 28, "{modes:?}");
    let lost = sum("solve");
    let planted = 2 * 28 * 4 * 400_000;
    assert!(
        (planted * 9 / 10..planted * 21 / 20).contains(&lost),
        "{lost}"
    );
    // Single calls and modes add up to those of the report.
    let (time, found) = (report.losses.total().time.0, report.lost_time());
    let alarms = report.lasting.peers().slowness().alarms;
    let of_ranks: i64 = alarms.iter().map(|one| one.lost.0).sum();
    let all: i64 = modes.values().sum();
    assert_eq!(time + all, found.calls.0 + found.modes.0 + of_ranks);
    // Slow ranks and phases are compared in the same groups of steps.
    let (here, there) = (report.lasting.peers().slowness(), comparison.slowness());
    assert_eq!(here.rank_steps, there.rank_steps);
    let steps = |of: &[perf_anomaly::lost_time::PhaseStep]| {
        of.iter()
            .map(|one| (one.first, one.last, one.lost))
            .collect::<Vec<_>>()
    };
    assert_eq!(steps(&here.phase_steps), steps(&there.phase_steps));
    assert!(here.ranks.len() == 1 && here.phases.len() == 1, "{here:?}");
    // Functions and steps add up to the time lost in single calls.
    let functions = comparison.function_steps().iter();
    let of_functions: i64 = functions.map(|(_, _, _, lost)| lost.0).sum();
    assert_eq!(of_functions, time);
}

#[test]
fn time_lost_in_modes_counts_once_after_restarts() {
    let whole = Local::new(server(Server::params()));
    run(&whole, None, 0);
    // A restarted detector may report other alarms in the accepted mode of `usual`.
    let modes_at = |local: &Local| {
        let mut all = modes_at(local).0;
        all.retain(|key, _| key.2 != "usual");
        all
    };
    let expected = modes_at(&whole);
    for seed in 0..8 {
        let mut random = Random::new(seed + 1);
        let mut killed = Local::new(server(Server::params()));
        for _ in 0..=random.below(3) {
            run(&killed, Some(random.below(STEPS)), 0);
            let bytes = killed.server(|server| server.encode()).expect("no panic");
            let params = Server::params().check().expect("defaults");
            let again = Server::decode(params, &bytes).expect("it was just written");
            assert_eq!(again.encode(), bytes);
            killed = Local::new(again);
        }
        run(&killed, None, 0);
        assert_eq!(modes_at(&killed), expected, "{seed}");
        run(&killed, None, 0);
        assert_eq!(modes_at(&killed), expected, "{seed}");
        // Another run of the same client is added, and its restart replaces its own modes only.
        run(&killed, Some(20), 5_000_000);
        run(&killed, None, 5_000_000);
        let twice = expected.iter().map(|(key, lost)| (key.clone(), 2 * lost));
        assert_eq!(modes_at(&killed), twice.collect(), "{seed}");
    }
}
