//! Pages of abnormal ranks, steps, functions and calls.

use super::{HOSTILE, Outcome, noise, save};
use perf_anomaly::provenance::Recorder;
use perf_anomaly::server::{Ranks, StepStats};
use perf_anomaly::{Loss, Monitor};
use perf_core::{EventSink, Job, Nanos, Peer, StreamEvent, StreamKey};
use perf_view::{Page, Theme, anomaly};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

/// Returns the anomalies of 12 ranks with 100 steps. One rank sometimes waits for two others, and
/// one has a slow function towards the end.
fn found() -> Result<anomaly::Anomalies, Box<dyn Error>> {
    let recorder = Recorder::default();
    let mut sink = Monitor::default().record(recorder);
    let regions = [
        "main",
        "solve",
        "assemble",
        HOSTILE[2],
        "MPI_Wait",
        "MPI_Allreduce",
    ];
    let [main, solve, assemble, hostile, wait, reduce] = regions.map(|name| sink.region(0, name));
    let streams: Vec<_> = (0..12)
        .map(|rank| {
            sink.stream(StreamKey {
                rank,
                ..StreamKey::default()
            })
        })
        .collect();
    for stream in &streams {
        sink.push(*stream, Nanos(0), StreamEvent::Enter(main));
    }
    for step in 0..100_i64 {
        for (rank, stream) in streams.iter().enumerate() {
            for at in 0..8 {
                let seed = (step * 8 + at) as usize * 12 + rank;
                let mut now = step * 8_000_000 + at * 1_000_000 + 1_000;
                let mut push = |after: f64, event| {
                    now += after as i64;
                    sink.push(*stream, Nanos(now), event);
                };
                let late = rank == 7 && step % 9 == 4 && at == 3;
                let grown = rank == 3 && step > 80 && (step + at) % 6 == 0;
                push(0.0, StreamEvent::Enter(solve));
                push(2e3, StreamEvent::Enter(assemble));
                push(
                    4e4 * (0.3 * noise(seed, 1)).exp(),
                    StreamEvent::Enter(hostile),
                );
                push(
                    6e3 * (0.2 * noise(seed, 2)).exp(),
                    StreamEvent::Exit(hostile),
                );
                let slow = if grown { 2.5e5 } else { 0.0 };
                push(
                    slow + 2e4 * (0.3 * noise(seed, 3)).exp(),
                    StreamEvent::Exit(assemble),
                );
                push(1e3, StreamEvent::Enter(wait));
                let peer = |rank, bytes| Peer {
                    rank,
                    tag: 1,
                    bytes,
                };
                push(500.0, StreamEvent::Send(peer(rank as u32 + 1, 65_536)));
                let slow = if late { 4e5 } else { 0.0 };
                push(
                    slow + 2e4 * (0.5 * noise(seed, 4)).exp(),
                    StreamEvent::Receive(peer(rank as u32 / 2, 512)),
                );
                push(500.0, StreamEvent::Exit(wait));
                push(1e3, StreamEvent::Enter(reduce));
                push(
                    3e4 * (0.6 * noise(seed, 5)).exp(),
                    StreamEvent::Exit(reduce),
                );
                push(1e3, StreamEvent::Exit(solve));
            }
        }
        sink.end_step(step as u64);
    }
    Ok(anomaly::Anomalies::of(&mut sink.finish()?)?)
}

/// Writes pages of anomalies of 12 ranks, and of the counts of 2,048 ranks.
pub(super) fn abnormal(out: &Path) -> Outcome {
    let found = found()?;
    let begin = Instant::now();
    let section = anomaly::View::new(&found).section(&Job::default())?;
    let page = Page::new("Two ranks that are not as the others, synthetic").with(section);
    save(
        out,
        "anomaly.html",
        begin,
        page.html(&Job::default())?.as_bytes(),
    )?;
    for (name, theme) in [
        ("anomaly.png", Theme::light()),
        ("anomaly-dark.png", Theme::dark()),
    ] {
        let begin = Instant::now();
        let picture = anomaly::Picture::new(&found)
            .titled("Two ranks of twelve are abnormal")
            .theme(theme);
        save(out, name, begin, &picture.scene().png()?)?;
        if theme == Theme::light() {
            save(out, "anomaly.svg", begin, picture.scene().svg().as_bytes())?;
            let stack = picture.stack(0).ok_or("a call")?;
            save(out, "anomaly-stack.png", begin, &stack.png()?)?;
        }
    }
    let mut ranks = Ranks::default();
    for rank in 0..2048_u32 {
        for step in 0..128 {
            let cell = rank as usize * 128 + step as usize;
            let high = if rank == 1234 { 40.0 } else { 3.0 };
            let too_slow = (high * (noise(cell, 1) + 0.5).powi(3)) as u64;
            let mut stats = StepStats::default();
            (stats.rank, stats.step) = (rank, step);
            let time = Nanos(too_slow as i64 * 1_000_000);
            stats.loss = Loss {
                calls: 1000,
                too_slow,
                time,
                ..Loss::default()
            };
            ranks.add(&stats, 128, 4096);
        }
    }
    let found = anomaly::Anomalies::new().with_ranks(&ranks);
    let begin = Instant::now();
    let section = anomaly::View::new(&found).section(&Job::default())?;
    let page = Page::new("2,048 ranks of 128 steps").with(section);
    save(
        out,
        "anomaly-many.html",
        begin,
        page.html(&Job::default())?.as_bytes(),
    )
}
