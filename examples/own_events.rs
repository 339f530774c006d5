//! Sends events of your own to the detector.

use perfkit::core::{EventSink, StreamEvent, StreamKey};
use perfkit::prelude::*;

/// Jobs in batches of 300, each as worker, begin and end in microseconds. One job is slow.
fn batches() -> impl Iterator<Item = Vec<(u32, u64, u64)>> {
    (0..20).map(|batch| {
        let job = |number: u64| {
            let (worker, begin) = (number % 3, 1_000 * (number / 3));
            let slow = if number == 4_501 {
                700
            } else {
                number * 7919 % 20
            };
            (worker as u32, begin, begin + 100 + slow)
        };
        (300 * batch..300 * (batch + 1)).map(job).collect()
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut monitor = Monitor::default();
    // Names are defined first, because events refer to them by number.
    let region = monitor.region(0, "job");
    let workers = [0, 1, 2].map(|thread| {
        let key = StreamKey {
            program: 0,
            rank: 0,
            thread,
        };
        monitor.stream(key)
    });
    for (step, batch) in batches().enumerate() {
        for (worker, begin, end) in batch {
            let (stream, time) = (workers[worker as usize], |us: u64| Nanos(1_000 * us as i64));
            monitor.push(stream, time(begin), StreamEvent::Enter(region));
            monitor.push(stream, time(end), StreamEvent::Exit(region));
        }
        monitor.end_step(step as u64);
        for (call, sample, judgement) in monitor.anomalies() {
            let lost = judgement.severity(sample);
            println!(
                "a job at {} took {}, {lost} too long",
                call.entry, sample.runtime
            );
        }
    }
    let total = monitor.finish()?.losses.total();
    println!("{} jobs, {} too slow", total.calls, total.too_slow);
    Ok(())
}
