//! Judges calls by a detector of your own.

use perfkit::anomaly::{Detector, FunctionId, Judgement, Label, Sample, calls::Calls};
use perfkit::core::Cancelled;
use perfkit::prelude::*;
use std::collections::BTreeSet;

/// Labels calls that take longer than an agreed limit.
#[derive(Debug)]
struct Agreed {
    most: Nanos,
    ignored: BTreeSet<FunctionId>,
}

impl Detector for Agreed {
    fn name(&self) -> &'static str {
        "agreed"
    }

    fn detect(
        &mut self,
        samples: &[Sample],
        judgements: &mut Vec<Judgement>,
        job: &Job,
    ) -> Result<(), Cancelled> {
        self.rejudge(samples, judgements); // This detector does not learn.
        job.check()
    }

    fn rejudge(&self, samples: &[Sample], judgements: &mut Vec<Judgement>) {
        judgements.extend(samples.iter().map(|sample| Judgement {
            label: match sample.runtime > self.most {
                _ if self.ignored.contains(&sample.function) => Label::Ignored,
                true => Label::TooSlow,
                false => Label::Normal,
            },
            score: sample.runtime.0 as f64 / self.most.0 as f64,
            expected: Some(self.most),
        }));
    }

    fn ignore(&mut self, function: FunctionId, ignored: bool) {
        if ignored {
            self.ignored.insert(function)
        } else {
            self.ignored.remove(&function)
        };
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trace = open_trace("data/recordings/nwchem-md-4")?;
    let agreed = Agreed {
        most: Nanos(2_000_000),
        ignored: BTreeSet::new(),
    };
    let monitor = Monitor::new(Calls::default(), Box::new(agreed));
    let mut monitor = monitor.ignore("Working").ignore("MPI_Comm_*");
    let mut replay = Replay::in_steps(trace.view(), 100);
    while replay.next_step(&mut monitor, &Job::default())? {}
    let report = monitor.finish()?;
    for (function, loss) in report.losses.worst_functions().into_iter().take(3) {
        let name = report.calls.function_name(function);
        println!(
            "{name}: {} too slow, {} beyond",
            loss.too_slow,
            loss.in_slow_calls()
        );
    }
    Ok(())
}
