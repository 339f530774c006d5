//! Tables agree with the results that they are built from.

use crate::planted;

use perf_core::{Cell, Table};
use perf_track::tracking::{TrackParams, Tracking};
use planted::{Planted, alone, moved, order, track, twelve};

fn float(table: &Table, row: usize, column: &str) -> f64 {
    match table.cell(row, column) {
        Some(Cell::Float(value)) => value,
        other => panic!("{other:?} in {column}"),
    }
}

/// Returns twelve phases, the last of which is missing from the second experiment.
fn tracking() -> Tracking {
    let phases = twelve();
    let all = order(phases.len(), 3);
    let first = Planted::new(1, &alone(&phases, &all));
    let mut later = alone(&moved(&phases, [0.02, 0.01]), &all);
    later.pop();
    let second = Planted::new(2, &later);
    track(&[first, second], TrackParams::default())
}

#[test]
fn regions_links_and_events() {
    let tracking = tracking();
    let [regions, clusters, events, links, experiments, balance] = tracking.tables();
    assert_eq!(regions.rows(), tracking.regions.len());
    for (row, region) in tracking.regions.iter().enumerate() {
        let id = Some(Cell::Unsigned(region.id.0.into()));
        assert_eq!(regions.cell(row, "tracked region"), id);
        assert_eq!(
            float(&regions, row, "confidence"),
            100.0 * region.confidence
        );
        assert_eq!(
            regions.cell(row, "experiments"),
            Some(Cell::Unsigned(region.experiments() as u64))
        );
    }
    let seen: usize = tracking
        .regions
        .iter()
        .map(|region| region.experiments())
        .sum();
    assert_eq!(clusters.rows(), seen);
    let all: usize = tracking.regions.iter().map(|it| it.events.len()).sum();
    assert_eq!(events.rows(), all);
    let names = (0..events.rows()).map(|row| events.text_of(row, "event"));
    assert!(
        names.clone().any(|name| name == "death"),
        "{:?}",
        names.collect::<Vec<_>>()
    );
    let mut row = 0;
    for link in tracking.regions.iter().flat_map(|region| &region.links) {
        assert_eq!(links.text_of(row, "cluster"), link.from.1.to_string());
        assert_eq!(links.text_of(row, "later cluster"), link.to.1.to_string());
        assert_eq!(float(&links, row, "evidence"), 100.0 * link.evidence);
        for (evaluator, vote) in &link.votes {
            assert_eq!(float(&links, row, evaluator.name()), 100.0 * vote);
        }
        row += 1;
    }
    assert_eq!((row, row > 9), (links.rows(), true));
    assert_eq!(experiments.rows(), 2);
    assert_eq!(
        float(&experiments, 1, "coverage"),
        100.0 * tracking.experiments[1].coverage
    );
    // Points alone have no balance of the time.
    assert_eq!(balance.rows(), 0);
}

#[test]
fn evidence_of_pairs() {
    let tracking = tracking();
    let pair = &tracking.pairs[0];
    let table = pair.table();
    assert!(table.rows() >= 11);
    for row in 0..table.rows() {
        let id = |column| {
            let text = table.text_of(row, column);
            perf_track::ClusterId(text.parse().expect("a number"))
        };
        let (from, to) = (id("cluster"), id("later cluster"));
        let evidence = pair.evidence.get(from, to).expect("both exist");
        assert_eq!(float(&table, row, "evidence"), 100.0 * evidence);
        for vote in &pair.votes {
            let cell = table.cell(row, vote.evaluator.name());
            let expected = vote.matrix.get(from, to);
            let expected = expected.map_or(Cell::Missing, |vote| Cell::Float(100.0 * vote));
            assert_eq!(cell, Some(expected));
        }
    }
}

#[cfg(feature = "serde")]
#[test]
fn results_are_json() {
    use perf_core::Nanos;
    use perf_track::{Amount, Burst, Bursts, Dropped, Thread};
    let tracking = tracking();
    let json = serde_json::to_value(&tracking).unwrap();
    let region = &json["regions"][0];
    assert_eq!(region["confidence"], tracking.regions[0].confidence);
    assert_eq!(region["links"][0]["kind"], "Continues");
    assert_eq!(json["pairs"][0]["evidence"]["rows"], 12);
    let mut bursts = Bursts::new(["instructions"]);
    let name = "rank 0".to_string();
    let thread = bursts
        .add_thread(Thread {
            name,
            ..Thread::default()
        })
        .unwrap();
    let before = Some(bursts.add_chain(&["MPI_Send", "main"]).unwrap());
    let (begin, end) = (Nanos(0), Nanos(5));
    let burst = Burst {
        thread,
        begin,
        end,
        before,
        ..Burst::default()
    };
    bursts.push(burst, &[7.0]).unwrap();
    let json = serde_json::to_value(&bursts).unwrap();
    assert_eq!(json["threads"][0]["name"], "rank 0");
    assert_eq!(json["chains"][0], serde_json::json!(["MPI_Send", "main"]));
    assert_eq!(json["columns"][0]["values"][0], 7.0);
    let mut dropped = Dropped::default();
    let counters = vec!["A".to_string(), "B".to_string()];
    let amount = Amount {
        bursts: 3,
        time: Nanos(9),
    };
    dropped.missing.insert(counters, amount);
    let json = serde_json::to_value(&dropped).unwrap();
    assert_eq!(json["missing"][0]["counters"][1], "B");
    assert_eq!(json["missing"][0]["bursts"], 3);
}
