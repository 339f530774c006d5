//! Times: detection for each rank and step, and the overhead on a program that watches itself.

use super::comparison::Compared;
use super::program::{CALLS, Program};
use super::{Method, STEPS, monitor, shared};
use perfkit::anomaly::Result as Detected;
use perfkit::anomaly::spans::Spans;
use perfkit::core::EventSink;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tracing::info_span;
use tracing_subscriber::prelude::*;

/// Measures the microseconds for each rank and step, from events to labels, including the exchange
/// with the server.
pub(super) fn ranks() -> Detected<Compared> {
    const WHY: &str = "published for Summit with 1280, 2000, 2400, 4000 ranks: 0.31, 15.5, 27.9, 41.6 ms to detect and 1.35, 178, 44, 41 ms \
                       for the exchange, in steps of a second; measured with steps of 24 calls, all ranks and the server on one core";
    let mut table = Compared::new("Time a rank and step against ranks", "published");
    for ranks in [1, 10, 100, 1000] {
        for (about, mut all) in [
            (
                "alone",
                (0..ranks)
                    .map(|_| monitor(Method::Tail))
                    .collect::<Detected<Vec<_>>>()?,
            ),
            ("with a server", shared(Method::Tail, ranks)?),
        ] {
            let (mut program, steps) = (Program::new(ranks), if ranks < 1000 { STEPS } else { 20 });
            let begin = Instant::now();
            for step in 0..steps {
                for (rank, one) in (0..).zip(&mut all) {
                    program.push(rank, one);
                    one.end_step(step);
                }
            }
            let each = begin.elapsed().as_secs_f64() / (steps * u64::from(ranks)) as f64;
            table.row(
                format!("{ranks} ranks, {about}: us a rank and step of {CALLS} calls"),
                "see below",
                (1e6 * each, 1),
                WHY,
            );
        }
    }
    Ok(table)
}

/// Number of spans in a run of the watched program.
const SPANS: usize = 20_000;

/// Runs a program of short calls, with or without spans around them, and returns its time.
fn work(length: usize, is_watched: bool) -> f64 {
    let begin = Instant::now();
    let mut sum = 0.0_f64;
    for step in 0..SPANS {
        let solve = |sum: &mut f64| {
            for k in 0..length {
                *sum = black_box(*sum * 0.999 + (k ^ step) as f64);
            }
        };
        if is_watched {
            info_span!("solve").in_scope(|| solve(&mut sum))
        } else {
            solve(&mut sum)
        }
    }
    black_box(sum);
    begin.elapsed().as_secs_f64()
}

/// Measures the shortest of some runs, with watched spans and without spans.
pub(super) fn overhead() -> Detected<Compared> {
    const WHY: &str = "published for NWChem with TAU and Chimbuko (TAU alone: 1.85 and 18.27); measured with one thread that enters and \
                       leaves a span, and the detecting thread on the other core";
    let mut table = Compared::new(
        "Overhead of being watched, % of the time without",
        "published",
    );
    let (layer, watching) = Spans::new(monitor(Method::Tail)?)
        .period(Duration::from_millis(100))
        .start()?;
    let watched = tracing::Dispatch::new(tracing_subscriber::registry().with(layer));
    for (length, published) in [(20_000, "1.31 at 80 ranks"), (2_000, "24.56 at 2560")] {
        let (mut plain, mut with) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..7 {
            plain = plain.min(work(length, false));
            with = with.min(tracing::dispatcher::with_default(&watched, || {
                work(length, true)
            }));
        }
        let each = 1e6 * plain / SPANS as f64;
        table.row(
            format!("a thread of calls of {each:.1} us"),
            published,
            (100.0 * (with / plain - 1.0), 2),
            WHY,
        );
    }
    drop(watched);
    watching.finish()?;
    Ok(table)
}
