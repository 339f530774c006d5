//! Aligns the sequences of many threads and prints one line: answers, then costs.
//!
//! `perfkit-bench-spmd THREADS BURSTS EDITS`: all threads have one random sequence of this many
//! bursts. On each of them EDITS in a thousand bursts are different.

use perfkit::core::Job;
use perfkit::track::Align;
use perfkit_benches::{Meter, inputs};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}\n\nusage: perfkit-bench-spmd THREADS BURSTS EDITS");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<String, Box<dyn std::error::Error>> {
    let args: Vec<usize> = std::env::args()
        .skip(1)
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
