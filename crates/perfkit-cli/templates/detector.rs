//! Find abnormal calls by a rule of your own.
//!
//! `cargo run --release -- RECORDING`

use perfkit::anomaly::{Detector, FunctionId, Judgement, Label, Sample, calls::Calls};
use perfkit::core::Cancelled;
use perfkit::prelude::*;

/// Finds calls that take longer than a limit. The rule is in `rejudge`.
#[derive(Debug)]
struct Limit(Nanos);

impl Detector for Limit {
    fn name(&self) -> &'static str {
        "limit"
    }

    /// Judges the calls of a step, one judgement for each, and may learn from them.
    fn detect(
        &mut self,
        samples: &[Sample],
        judgements: &mut Vec<Judgement>,
        job: &Job,
    ) -> Result<(), Cancelled> {
        self.rejudge(samples, judgements);
        job.check()
    }

    /// Judges calls without learning from them.
    fn rejudge(&self, samples: &[Sample], judgements: &mut Vec<Judgement>) {
        judgements.extend(samples.iter().map(|sample| Judgement {
            label: if sample.runtime > self.0 { Label::TooSlow } else { Label::Normal },
            score: sample.runtime.0 as f64 / self.0.0 as f64,
            expected: Some(self.0),
        }));
    }

    fn ignore(&mut self, _: FunctionId, _: bool) {}
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("the first argument is a recording")?;
    let (trace, job) = (open_trace(path)?, Job::default());
    let limit = Limit(Nanos(1_000_000));
    let mut monitor = Monitor::new(Calls::default(), Box::new(limit));
    let mut replay = Replay::in_steps(trace.view(), 10);
    while replay.next_step(&mut monitor, &job)? {}
    let report = monitor.finish()?;
    for (function, loss) in report.losses.worst_functions() {
        let name = report.calls.function_name(function);
        println!("{name}: {} of {} calls too slow", loss.too_slow, loss.calls);
    }
    Ok(())
}
