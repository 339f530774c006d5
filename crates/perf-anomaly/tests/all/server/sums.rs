//! Sums of the deltas of several clients.

use super::{push, server, sink, tail};
use perf_anomaly::server::{Client, Delta, Exchange, Server, ServerParams, Sum, View};
use perf_anomaly::{Detector, Model, Result};
use perf_core::{EventSink, Job};
use proptest::prelude::*;

/// Exchange that keeps sent deltas.
#[derive(Debug, Default)]
struct Kept(Vec<Delta>);

impl Exchange for Kept {
    fn send(&mut self, delta: &Delta) -> Result<()> {
        self.0.push(delta.clone());
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<View>> {
        Ok(None)
    }
}

/// Returns the delta of a client for some calls.
fn delta(client: u64, calls: &[(&str, i64)]) -> Delta {
    let (mut sink, mut detector, mut judgements) = (sink(), tail(), Vec::new());
    push(&mut sink, client as u32, calls, &mut 0);
    sink.end_step(0);
    detector
        .detect(sink.batch().samples(), &mut judgements, &Job::default())
        .expect("not cancelled");
    let mut client = Client::new(client, Kept::default());
    client
        .step(&sink, &judgements, &mut detector)
        .expect("it is kept");
    client.exchange_mut().0.remove(0)
}

/// Returns deltas with functions that not all clients have, in different orders.
fn deltas(clients: u64) -> Vec<Delta> {
    const NAMES: [&str; 5] = ["solve", "halo", "write", "read", "wait"];
    let one = |client: u64| {
        let calls = (0..40).map(|call| {
            let name = NAMES[(client * 3 + call * (1 + client % 4)) as usize % NAMES.len()];
            (name, (1000 + 37 * call * (client + 1)) as i64)
        });
        delta(client, &calls.collect::<Vec<_>>())
    };
    (0..clients).map(one).collect()
}

fn all(server: &Server) -> (Vec<String>, Option<Vec<u8>>, u64) {
    let names = server.names().iter().map(|name| name.name.to_string());
    let calls = server.functions();
    let calls = calls.iter().map(|(_, stats)| stats.loss.calls).sum();
    (names.collect(), server.model().map(Model::encode), calls)
}

#[test]
fn a_sum_equals_single_deltas() {
    let deltas = deltas(9);
    let mut one_by_one = server(ServerParams::default());
    for delta in &deltas {
        one_by_one.take(delta).expect("it is sound");
    }
    let mut together = server(ServerParams::default());
    // Some now, some later, when names are already known.
    for some in deltas.chunks(4) {
        let mut sum = Sum::default();
        for delta in some {
            let part = together.sum(delta).expect("it is sound");
            sum.merge(&part).expect("of one detector");
        }
        let bytes = sum.encode();
        let sum = Sum::decode(&bytes).expect("it was just written");
        assert_eq!(sum.encode(), bytes);
        assert_eq!(sum.deltas(), some.len() as u64);
        together.add(&sum).expect("it is of this server");
        together.publish();
    }
    assert_eq!(all(&together), all(&one_by_one));
    assert_eq!(together.clients(), one_by_one.clients());
    let both = together.functions().into_iter().zip(one_by_one.functions());
    for ((function, one), (other_function, other)) in both {
        assert_eq!((function, one.loss), (other_function, other.loss));
        let (one, other) = (one.exclusive, other.exclusive);
        assert_eq!(
            (one.count(), one.sum(), one.max()),
            (other.count(), other.sum(), other.max())
        );
        let apart = (one.variance() - other.variance()).abs();
        assert!(apart <= 1e-12 * other.variance(), "{apart}");
    }
    // Merged deltas are not summed again, and their client is answered.
    assert_eq!(
        together.sum(&deltas[0]).expect("it is sound"),
        Sum::default()
    );
    let (one, other) = (together.answer(&deltas[0]), one_by_one.take(&deltas[0]));
    let (one, other) = (one.expect("it is sound"), other.expect("it is sound"));
    assert_eq!((one.merged, &one.names), (other.merged, &other.names));
    assert_eq!(one.model().encode(), other.model().encode());
}

#[test]
fn data_of_ranks_can_be_removed() {
    let deltas = deltas(3);
    let (mut root, mut other) = (
        server(ServerParams::default()),
        server(ServerParams::default()),
    );
    let mut sum = Sum::default();
    for delta in &deltas {
        sum.merge(&root.sum(delta).expect("sound"))
            .expect("of one detector");
    }
    let whole = sum.encode().len();
    let of_ranks = sum.take_ranks();
    assert!(sum.encode().len() < whole);
    for server in [&mut root, &mut other] {
        server.add(&sum).expect("it is of this server");
    }
    root.add(&of_ranks).expect("it is of this server");
    assert_eq!(all(&root), all(&other));
    let ranks = |server: &Server| {
        let ranks = server.ranking(perf_anomaly::server::Ranking::Total);
        (server.clients(), ranks.len())
    };
    assert_eq!((ranks(&root), ranks(&other)), ((3, 3), (0, 0)));
}

#[test]
fn a_sum_for_another_server_is_rejected() {
    let deltas = deltas(4);
    let mut known = server(ServerParams::default());
    known.take(&deltas[0]).expect("it is sound");
    let fresh = server(ServerParams::default());
    let sum = fresh.sum(&deltas[1]).expect("it is sound");
    let before = known.encode();
    assert!(known.add(&sum).is_err());
    assert_eq!(known.encode(), before);
    let mut other = known.sum(&deltas[2]).expect("it is sound");
    let bytes = other.encode();
    assert!(other.merge(&sum).is_err(), "they know other names");
    assert_eq!(other.encode(), bytes);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn bytes_are_a_sum_or_an_error(at in 0_usize..4000, change in 1_u8..=255, cut in 0_usize..4000) {
        let fresh = server(ServerParams::default());
        let mut sum = Sum::default();
        for delta in deltas(3) {
            sum.merge(&fresh.sum(&delta).expect("sound")).expect("of one detector");
        }
        let mut bytes = sum.encode();
        prop_assert!(Sum::decode(&bytes[..cut % bytes.len()]).is_err());
        let at = at % bytes.len();
        bytes[at] ^= change;
        if let Ok(sum) = Sum::decode(&bytes) {
            let mut server = fresh.clone();
            if server.add(&sum).is_err() {
                prop_assert_eq!(server.encode(), fresh.encode());
            }
        }
    }

    /// Models of the default detector do not depend on the grouping of sums; names depend on the
    /// order alone.
    #[test]
    fn sums_of_any_grouping_are_the_same(cut in 1_usize..8) {
        let fresh = server(ServerParams::default());
        let parts: Vec<Sum> = deltas(8).iter().map(|one| fresh.sum(one).expect("sound")).collect();
        let fold = |parts: &[Sum]| {
            let mut sum = Sum::default();
            for part in parts {
                sum.merge(part).expect("of one detector");
            }
            sum
        };
        let (left, right) = parts.split_at(cut);
        let mut grouped = fold(left);
        grouped.merge(&fold(right)).expect("of one detector");
        let known = |sum: &Sum| {
            let mut server = fresh.clone();
            server.add(sum).expect("it is of this server");
            all(&server)
        };
        prop_assert_eq!(known(&grouped), known(&fold(&parts)));
    }
}
