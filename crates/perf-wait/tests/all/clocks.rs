//! Clock offsets of recordings and of planted ones.

use crate::common::{facts, shifts, trace};
use crate::findings::find;
use crate::findings::planted::{self, Fault, Pattern, Planted};
use crate::synthetic::Rank;
use perf_core::{CollectiveOp, Event, Events, Job, Ticks, Trace};
use perf_wait::clocks::{ClockEstimate, ClockModel, Repair};

fn estimate(trace: &Trace, model: ClockModel) -> ClockEstimate {
    ClockEstimate::of(trace.view(), model, &Job::default()).expect("it can be estimated")
}

#[test]
fn offsets_of_eztrace_are_the_published_ones() {
    let Some(facts) = facts("waits/facts.json") else {
        return;
    };
    for name in ["jacobi-4", "jacobi-9", "jacobi-16", "nwchem-md-4"] {
        let trace = trace(&perf_testdata::bundled::recording(name));
        let found = estimate(&trace, ClockModel::Offset);
        let automatic = estimate(&trace, ClockModel::Auto);
        let notes = facts["traces"][format!("{name}@shift")]["notes"].as_array();
        let mut notes = notes
            .expect("notes")
            .iter()
            .filter_map(|note| note.as_str());
        let note = notes
            .find(|note| note.starts_with("clock shift"))
            .expect("a note");
        let half: f64 = note
            .split("half width max ")
            .nth(1)
            .unwrap()
            .parse()
            .expect("a number");
        assert_eq!(automatic.model, ClockModel::Offset, "{name}");
        for (own, wide) in found.locations.iter().zip(&automatic.locations) {
            assert!(own.offset == wide.offset && own.uncertainty <= wide.uncertainty);
        }
        for (own, published) in found.locations.iter().zip(shifts(note)) {
            println!("{name} {} {published} +- {:?}", own.offset, own.uncertainty);
            let uncertainty = own.uncertainty.expect("bounded from both sides");
            assert!((own.offset - published).abs() <= half + 1.0, "{name}");
            assert!(
                uncertainty <= 2.0 * half * 1.001 + 1.0,
                "{name}: {uncertainty} > {half}"
            );
        }
    }
}

#[test]
fn corrected_recordings_have_no_violations() {
    for name in ["jacobi-4", "jacobi-9", "jacobi-16", "jacobi-64"] {
        let trace = trace(&perf_testdata::bundled::recording(name));
        let found = estimate(&trace, ClockModel::Auto);
        assert!(found.violations.is_any());
        let corrected = found
            .correct(&trace, Repair::Logical, &Job::default())
            .expect("it can");
        println!(
            "{name} {:?} {} messages, {} collectives violated; {} and {} after, {} moved by up to {}",
            found.model,
            found.violations.messages.violated,
            found.violations.collectives.violated,
            corrected.remaining.messages.violated,
            corrected.remaining.collectives.violated,
            corrected.moved,
            corrected.farthest,
        );
        assert!(!corrected.violations.is_any(), "{name}");
        assert_eq!(corrected.trace.len(), trace.len());
    }
}

/// Random numbers in `0.0..1.0`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn between(&mut self, from: u64, to: u64) -> u64 {
        from + (self.next() * (to - from) as f64) as u64
    }
}

/// A ring of ranks that exchange messages for a second, and its true clocks as offset and drift.
fn ring(seed: u64, has_drift: bool) -> (Trace, Vec<(f64, f64)>) {
    let mut random = Random(seed);
    let ranks = 4 + (seed % 3) as u32;
    let mut clocks = Vec::new();
    for rank in 0..ranks {
        let offset = (random.next() - 0.5) * 2e7;
        let drift = if has_drift {
            (random.next() - 0.5) * 2e-4
        } else {
            0.0
        };
        clocks.push(if rank == 0 {
            (0.0, 0.0)
        } else {
            (offset.round(), drift)
        });
    }
    let mut made: Vec<Rank> = (0..ranks).map(|_| Rank::default()).collect();
    let mut at = 50_000_000;
    for round in 0..100 {
        at += 10_000_000;
        let to = |rank: u32| {
            if round % 2 == 0 {
                (rank + 1) % ranks
            } else {
                (rank + ranks - 1) % ranks
            }
        };
        let arrivals: Vec<u64> = (0..ranks)
            .map(|_| at + random.between(2_000, 60_000))
            .collect();
        for rank in 0..ranks {
            let from = (0..ranks).find(|from| to(*from) == rank).expect("a ring");
            let own = std::mem::take(&mut made[rank as usize]);
            let own = own.send(at, at + 1_000, to(rank), 8);
            made[rank as usize] = own.recv(at + 1_500, arrivals[rank as usize], from, 8);
        }
        if round % 10 == 9 {
            at += 1_000_000;
            let begins: Vec<u64> = (0..ranks)
                .map(|_| at + random.between(0, 100_000))
                .collect();
            let last = begins.iter().copied().max().expect("there are ranks");
            for rank in 0..ranks as usize {
                let own = std::mem::take(&mut made[rank]);
                let end = last + random.between(1_000, 9_000);
                made[rank] = own.collective(
                    "MPI_Barrier",
                    begins[rank],
                    end,
                    CollectiveOp::Barrier,
                    None,
                    0,
                );
            }
        }
    }
    (recorded(crate::synthetic::trace(&made), &clocks), clocks)
}

/// Time at which planted offsets hold.
const ORIGIN: f64 = 60_000_000.0;

/// Returns a trace as recorded by clocks with an offset and a drift.
fn recorded(trace: Trace, clocks: &[(f64, f64)]) -> Trace {
    let (definitions, events, _) = trace.into_parts();
    // What is recorded at true time t is (t + d origin - o) / (1 + d): adding o + d (r - origin) gives t again.
    let recorded = events.iter().zip(clocks).map(|(events, (offset, drift))| {
        let mut moved = Events::default();
        for index in 0..events.len() {
            let time = events.time(index).expect("it exists").0 as f64;
            let time = (time + drift * ORIGIN - offset) / (1.0 + drift);
            let event: Event<'_> = events.event(index).expect("it exists");
            moved
                .push(Ticks(time.round() as u64), event)
                .expect("in order");
        }
        moved
    });
    let recorded = recorded.collect();
    Trace::new(definitions, recorded).expect("one list a location")
}

/// Corrects a run with a slow rank whose clocks have planted offsets and drifts up to a limit, and returns the error of the
/// run time that fixing the rank saves, relative to that with the true clocks. `None` without a finding on either.
fn error_of_saving(planted: &Planted, seed: u64, drift: f64) -> Option<f64> {
    let mut random = Random(seed);
    let mut clock = |_: usize| {
        let offset = ((random.next() - 0.5) * 2e7).round() - 1e8;
        (offset, (random.next() - 0.5) * 2.0 * drift)
    };
    let clocks: Vec<(f64, f64)> = (0..planted.trace.events().len()).map(&mut clock).collect();
    let trace = recorded(planted.trace.clone(), &clocks);
    let is_constant = drift == 0.0;
    let model = if is_constant {
        ClockModel::Auto
    } else {
        ClockModel::Drift
    };
    let estimate = estimate(&trace, model);
    for (own, (offset, _)) in estimate.locations.iter().zip(&clocks) {
        let off = (own.offset - (offset - clocks[0].0)).abs();
        let is_certain = own.uncertainty.is_some_and(|it| off <= it + 3.0);
        assert!(
            !is_constant || is_certain,
            "{}: {off} {own:?}",
            planted.text
        );
    }
    let corrected = estimate.correct(&trace, Repair::Logical, &Job::default());
    let found = find(&corrected.expect("it can").trace).1;
    let truth = find(&planted.trace).1;
    let truth = truth.findings.first()?;
    let found = found.findings.iter().find(|it| it.kind == truth.kind)?;
    Some((found.saved.0 as f64 / truth.saved.0 as f64 - 1.0).abs())
}

#[test]
fn constant_imbalance_is_no_offset() {
    for strength in [0.08, 0.2, 0.4] {
        for (drift, limit) in [(0.0, 0.05), (1e-5, 0.35)] {
            let (mut found, mut largest) = (0, 0.0_f64);
            for seed in 0..20 {
                let planted = planted::run(seed, Fault::SlowRank, strength);
                // Messages in one direction and one collective do not bound a drift from both sides.
                let is_bounded = drift == 0.0 || planted.pattern != Pattern::Ring;
                let error = is_bounded.then(|| error_of_saving(&planted, seed, drift));
                if let Some(error) = error.flatten() {
                    found += 1;
                    largest = largest.max(error);
                    assert!(error <= limit, "{}: off by {error}", planted.text);
                }
            }
            println!("{strength}, drift {drift}: {found} found, saving off by up to {largest:.3}");
            let enough = if drift == 0.0 { 18 } else { 14 };
            assert!(found >= enough, "{strength}, drift {drift}: {found}");
        }
    }
}

#[test]
fn planted_clocks_are_recovered_within_their_uncertainty() {
    for seed in 0..100 {
        for has_drift in [false, true] {
            let (trace, clocks) = ring(seed, has_drift);
            let model = if has_drift {
                ClockModel::Drift
            } else {
                ClockModel::Auto
            };
            let found = estimate(&trace, model);
            let (first, last) = (found.origin, trace.range().expect("it has events").end);
            for (own, (offset, drift)) in found.locations.iter().zip(&clocks) {
                let uncertainty = own.uncertainty.expect("bounded from both sides");
                for at in [first, last] {
                    let planted = offset + drift * (at.0 as f64 - 60_000_000.0);
                    let off = (own.at(at, found.origin) - planted).abs();
                    // Times of the recording are whole ticks.
                    assert!(
                        off <= uncertainty + 3.0,
                        "{seed} {has_drift} {own:?} {planted} {off}"
                    );
                }
            }
            let corrected = found
                .correct(&trace, Repair::Logical, &Job::default())
                .expect("it can");
            assert!(!corrected.violations.is_any(), "{seed}");
        }
    }
}

#[test]
fn drift_is_seen_where_constants_do_not_suffice() {
    // Seeds of the largest drifts.
    let models = (0..20).map(|seed| estimate(&ring(seed * 5, true).0, ClockModel::Auto).model);
    assert!(models.filter(|model| *model == ClockModel::Drift).count() >= 18);
}

#[test]
fn traces_without_violations_stay_as_they_are() {
    let Some(trace) = crate::common::corpus("otf2/casita-4_mpi_ls_barr") else {
        return;
    };
    let corrected = estimate(&trace, ClockModel::Auto)
        .correct(&trace, Repair::Logical, &Job::default())
        .expect("it can");
    assert_eq!(corrected.trace, trace);
}

#[test]
fn remaining_violations_move_forward_and_intervals_stay_positive() {
    // A message that arrives before it is sent, whatever the offset: two messages contradict each other.
    let first = Rank::default()
        .send(100, 110, 1, 8)
        .recv(300, 310, 1, 8)
        .call("work", 320, 5_000);
    let second = Rank::default()
        .recv(10, 50, 0, 8)
        .send(280, 290, 0, 8)
        .call("work", 600, 9_000);
    let first = first.send(6_000, 6_010, 1, 8);
    let second = second.recv(9_001, 9_010, 0, 8).send(9_500, 9_510, 0, 8);
    let trace = crate::synthetic::trace(&[first.recv(6_100, 6_200, 1, 8), second]);
    let found = estimate(&trace, ClockModel::Offset);
    let kept = found
        .correct(&trace, Repair::Keep, &Job::default())
        .expect("it can");
    assert!(kept.violations.is_any());
    let repaired = found
        .correct(&trace, Repair::Logical, &Job::default())
        .expect("it can");
    assert!(!repaired.violations.is_any() && repaired.moved > 0);
    assert_eq!(repaired.trace.len(), trace.len());
}
