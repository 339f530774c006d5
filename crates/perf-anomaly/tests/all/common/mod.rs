//! Random run times, and samples of the event streams of the corpus.

#![allow(dead_code, reason = "each test uses a part")]

use flate2::read::GzDecoder;
use perf_anomaly::calls::{Calls, Repair};
use perf_anomaly::{FunctionId, Sample};
use perf_core::{EventSource, Job, Nanos};
use perf_formats::OpenOptions;
use perf_formats::streams::Streams;
use perf_testdata::corpus::corpus;
use std::io::Read;

pub(crate) use perf_testdata::run_times::Random;

/// Returns the text of a compressed file of the corpus.
pub(crate) fn read(relative: &str) -> Option<String> {
    let file = std::fs::File::open(corpus(relative)?).expect("it exists");
    let mut text = String::new();
    GzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("it is gzip of text");
    Some(text)
}

/// Completed call of a stream of the corpus, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    /// Thread.
    pub(crate) thread: u32,
    /// Time of entry.
    pub(crate) entry: u64,
    /// Time of exit.
    pub(crate) exit: u64,
    /// Exclusive time.
    pub(crate) exclusive: u64,
}

/// Calls completed in a step.
#[derive(Debug, Default)]
pub(crate) struct Step {
    /// The calls.
    pub(crate) calls: Vec<Call>,
    /// Samples with their exclusive times.
    pub(crate) samples: Vec<Sample>,
}

/// Returns the steps of a stream of the corpus, repaired like the original; calls still open at the
/// end are dropped.
pub(crate) fn steps(relative: &str) -> Option<Vec<Step>> {
    let path = corpus(relative)?;
    let mut streams = Streams::open(&[path], &OpenOptions::new()).expect("a stream");
    let params = Calls::params().repair(Repair::Strict).check();
    let mut calls = Calls::new(params.expect("defaults"));
    let mut steps = Vec::new();
    let whole = |time: Nanos| (time.0 / 1000) as u64;
    while streams
        .next_step(&mut calls, &Job::default())
        .expect("it can be read")
    {
        let batch = calls.batch();
        let call = |call: &perf_anomaly::calls::Call| Call {
            thread: calls.stream_key(call.stream).expect("it has one").thread,
            entry: whole(call.entry),
            exit: whole(call.exit),
            exclusive: whole(call.exclusive),
        };
        steps.push(Step {
            calls: batch.calls().iter().map(call).collect(),
            samples: batch.samples().to_vec(),
        });
    }
    Some(steps)
}

/// Returns a call of one function, not the first, with a run time in nanoseconds.
pub(crate) fn call(function: u32, runtime: f64) -> Sample {
    Sample {
        function: FunctionId(function),
        runtime: Nanos(runtime.max(0.0) as i64),
        first: false,
    }
}
