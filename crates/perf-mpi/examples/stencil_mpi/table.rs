//! Overhead of monitoring, together with published values.

use crate::common::Outcome;
use crate::{EACH, Plan, slow_rank};
use perf_mpi::Finished;
use std::fmt::Write;

/// Returns the table from times in seconds: without monitoring, with recorded calls, and with
/// detection, of which `ending` is after the last step.
pub(crate) fn table(
    plan: &Plan,
    size: usize,
    times: [f64; 3],
    ending: f64,
    finished: &Finished,
) -> Outcome {
    let mut text = String::new();
    let Plan {
        rows,
        columns,
        steps,
        ..
    } = plan;
    let [bare, events, detection] = times;
    let over = |time: f64| 100.0 * (time / bare - 1.0);
    writeln!(
        text,
        "{size} ranks of {rows} x {columns} cells, {steps} steps; the fastest of {} runs",
        plan.repeat
    )?;
    writeln!(
        text,
        "\n            program alone  with calls recorded  with detection"
    )?;
    writeln!(
        text,
        "time s      {bare:13.3}  {events:20.3}  {detection:14.3}"
    )?;
    writeln!(
        text,
        "overhead %              -  {:20.2}  {:14.2}",
        over(events),
        over(detection)
    )?;
    let (during, ending) = (over(detection - ending), 100.0 * ending / bare);
    writeln!(
        text,
        "    of it while it runs {during:.2}, after the last step {ending:.2}"
    )?;
    if over(events).min(over(detection)) < 0.0 {
        writeln!(
            text,
            "a negative overhead is less than the scatter of the runs: use a quiet machine, more --steps, more --repeat"
        )?;
    }
    writeln!(
        text,
        "\npublished for NWChem with Chimbuko, overhead in % of the run time"
    )?;
    writeln!(
        text,
        "ranks                80    160    320    640   1280   2560"
    )?;
    writeln!(
        text,
        "instrumented       1.85   2.60   5.13   6.92   8.54  18.27"
    )?;
    writeln!(
        text,
        "with detection     1.31   2.13   5.53   6.85  16.67  24.56"
    )?;
    let server = &finished.server;
    let planted = (0..*steps).filter(|step| slow_rank(plan, *step, size).is_some());
    writeln!(text, "\n{} slow sweeps were planted", planted.count())?;
    writeln!(text, "\nfunction           calls  too slow  time lost ms")?;
    let mut calls = 0;
    for (id, stats) in server.functions() {
        let name = server
            .names()
            .get(id.0 as usize)
            .map_or("", |name| &name.name);
        let loss = stats.loss;
        let lost = loss.time.0 as f64 / 1e6;
        calls += loss.calls;
        writeln!(
            text,
            "{name:<15} {:8}  {:8}  {lost:12.1}",
            loss.calls, loss.too_slow
        )?;
    }
    let told = (size * (3 * steps + steps / EACH)) as u64;
    if calls != told {
        return Err(format!("{told} calls were made, {calls} are known").into());
    }
    let (rounds, deltas) = (finished.rounds, finished.deltas);
    let bytes = finished.sent as f64 / 1e3;
    let merging = finished.merging.as_secs_f64() * 1e3;
    let by = if plan.is_polled {
        "the program"
    } else {
        "a thread"
    };
    writeln!(
        text,
        "\n{rounds} exchanges of {deltas} deltas by {by}: rank 0 sent {bytes:.1} KB, and merged for {merging:.1} ms"
    )?;
    Ok(text)
}
