//! Labels of one instance for each rank, compared with those of one instance that sees all ranks.

use super::comparison::Compared;
use super::program::Program;
use super::{Method, STEPS, monitor, shared};
use perfkit::anomaly::{Label, Monitor, Result as Detected};
use perfkit::core::EventSink;
use std::collections::HashMap;

/// Labels by rank and number of the call.
type Labels = HashMap<(u32, u64), Label>;

fn note(monitor: &Monitor, labels: &mut Labels) {
    for (call, judgement) in monitor.batch().calls().iter().zip(monitor.judgements()) {
        let rank = monitor
            .calls()
            .stream_key(call.stream)
            .unwrap_or_default()
            .rank;
        labels.insert((rank, call.number), judgement.label);
    }
}

/// Returns the labels of one instance that sees all ranks.
fn single(method: Method, ranks: u32) -> Detected<Labels> {
    let (mut program, mut one, mut labels) = (Program::new(ranks), monitor(method)?, Labels::new());
    for step in 0..STEPS {
        (0..ranks).for_each(|rank| program.push(rank, &mut one));
        one.end_step(step);
        note(&one, &mut labels);
    }
    Ok(labels)
}

/// Returns the labels of one instance for each rank, with or without a server between them.
fn distributed(mut all: Vec<Monitor>) -> Labels {
    let (mut program, mut labels) = (Program::new(all.len() as u32), Labels::new());
    for step in 0..STEPS {
        for (rank, one) in (0..).zip(&mut all) {
            program.push(rank, one);
            one.end_step(step);
            note(one, &mut labels);
        }
    }
    labels
}

/// Returns two percentages: calls with equal classification, of all calls; and anomalies of both,
/// of the anomalies of either.
fn alike(one: &Labels, many: &Labels) -> [f64; 2] {
    let is = |label: Option<&Label>| label.is_some_and(|label| label.is_anomaly());
    let (mut same, mut both, mut either) = (0, 0, 0);
    for (call, label) in one {
        let (own, other) = (is(Some(label)), is(many.get(call)));
        same += usize::from(many.get(call) == Some(label));
        both += usize::from(own && other);
        either += usize::from(own || other);
    }
    let percent = |of: usize, all: usize| 100.0 * of as f64 / all.max(1) as f64;
    [percent(same, one.len()), percent(both, either)]
}

pub(super) fn accuracy() -> Detected<Compared> {
    const QUOTED: &str = "97.6 is often quoted for the distributed analysis; of which program and detector could not be confirmed";
    const EARLY: &str = "of the rest, one or the other could not say anything yet: in its first steps a rank knows of few calls";
    let mut table = Compared::new(
        "Labels of an instance a rank against those of one instance that sees all ranks, %",
        "published",
    );
    for (method, name) in [(Method::Sstd, "SSTD"), (Method::Tail, "default detector")] {
        for ranks in [4, 16, 64] {
            let one = single(method, ranks)?;
            let alone: Detected<Vec<Monitor>> = (0..ranks).map(|_| monitor(method)).collect();
            for (with, many, published) in [
                ("with a server", shared(method, ranks)?, "97.6"),
                ("without", alone?, "not published"),
            ] {
                let [calls, anomalies] = alike(&one, &distributed(many));
                let why = match (method, with) {
                    (Method::Sstd, "with a server") => QUOTED,
                    (Method::Tail, "with a server") => EARLY,
                    _ => "",
                };
                let published = if method == Method::Sstd {
                    published
                } else {
                    "not published"
                };
                table.row(
                    format!("{ranks} ranks, {name}, {with}: calls alike"),
                    published,
                    (calls, 2),
                    why,
                );
                table.row(
                    "  anomalies of both, of those of either",
                    "not published",
                    (anomalies, 1),
                    "",
                );
            }
        }
    }
    Ok(table)
}
