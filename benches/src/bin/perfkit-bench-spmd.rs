//! Aligns generated burst sequences of many threads and prints one line: size and score of the
//! alignment, then time and memory.
//!
//! `perfkit-bench-spmd THREADS BURSTS EDITS`: all threads have one random sequence of this many
//! bursts. On each of them EDITS in a thousand bursts are different.

use perfkit::core::Job;
use perfkit::track::Align;
use perfkit_benches::{Meter, Outcome, inputs};
use std::process::ExitCode;

fn main() -> ExitCode {
    perfkit_benches::main("usage: perfkit-bench-spmd THREADS BURSTS EDITS", run)
}

fn run(words: &[String]) -> Outcome<String> {
    let args: Vec<usize> = words
        .iter()
        .map(|word| word.parse())
        .collect::<Result<_, _>>()?;
    let [threads, bursts, edits] = args[..] else {
        return Err("three numbers, please".into());
    };
    let (sequences, shares) = inputs::sequences(threads, bursts, edits);
    let meter = Meter::start();
    let align = Align::default();
    let alignment = align.align(&sequences, &shares, &Job::default())?;
    let costs = meter.costs();
    let score = alignment.score(&shares).global;
    let (distinct, columns) = (sequences.distinct(), alignment.columns());
    Ok(format!(
        "distinct={distinct} columns={columns} score={score:.4} {costs}"
    ))
}
