//! Finds abnormal calls of a service while it runs.

use perfkit::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut watch = Watch::new(Monitor::default(), 0, 0);
    let (request, query) = (watch.region("request"), watch.region("query"));
    for number in 0..5_000_i64 {
        // In a service these are `Instant::elapsed` and the number of the thread. One query is slow.
        let (begin, thread) = (Nanos(2_000_000 * number), 0);
        let slow = if number == 4_200 {
            1_500_000
        } else {
            number * 7919 % 20_000
        };
        let step = watch.step();
        watch.enter(thread, request, begin);
        watch.enter(thread, query, Nanos(begin.0 + 30_000));
        watch.exit(thread, query, Nanos(begin.0 + 130_000 + slow));
        watch.exit(thread, request, Nanos(begin.0 + 180_000 + slow));
        if watch.step() > step {
            report(watch.sink());
        }
    }
    Ok(())
}

/// Prints the abnormal calls of the last step.
fn report(monitor: &Monitor) {
    for (call, sample, judgement) in monitor.anomalies() {
        let name = monitor
            .calls()
            .region_name(call.region)
            .map_or("", |(_, name)| name);
        let lost = judgement.severity(sample);
        println!(
            "{name} at {} took {}, {lost} too long",
            call.entry, sample.runtime
        );
    }
}
