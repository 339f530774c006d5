//! Generates a Paraver trace, or reads one record by record or as a whole, and prints one line:
//! counts and sums of the results, then time and memory.
//!
//! `cargo xtask compare paraver` runs it together with another reader; `data/peers/README.md`
//! describes the line.

use perfkit::core::Job;
use perfkit::formats::OpenOptions;
use perfkit::formats::paraver::{Reader, Record, read_trace};
use perfkit_benches::{Meter, Outcome};
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: perfkit-bench-paraver generate FILE [--tasks N] [--calls M]
       perfkit-bench-paraver records FILE [--threads T]
       perfkit-bench-paraver trace FILE [--threads T]

generate  writes a trace of N tasks with M MPI calls each
records   reads every record and adds up the values of all events
trace     reads it as a trace";

fn main() -> ExitCode {
    perfkit_benches::main(USAGE, run)
}

fn run(args: &[String]) -> Outcome<String> {
    let [mode, path, rest @ ..] = args else {
        return Err("a mode and a path, please".into());
    };
    let number = |name: &str, otherwise: u32| -> Outcome<u32> {
        let at = rest.iter().position(|word| word == name);
        let word = at.and_then(|at| rest.get(at + 1));
        word.map_or(Ok(otherwise), |word| Ok(word.parse()?))
    };
    let path = Path::new(path);
    let options = OpenOptions::new().threads(number("--threads", 1)? as usize);
    let meter = Meter::start();
    match mode.as_str() {
        "generate" => {
            let text =
                perf_testdata::paraver::text(number("--tasks", 16)?, number("--calls", 20_000)?);
            std::fs::write(path, &text)?;
            Ok(format!("bytes={} {}", text.len(), meter.costs()))
        }
        "records" => {
            let mut reader = Reader::open(path, &options, &Job::default())?;
            let (mut records, mut sum) = (0_u64, 0_u64);
            while let Some(batch) = reader.next_batch()? {
                records += batch.len() as u64;
                for record in batch.iter() {
                    if let Record::Events { pairs, .. } = record {
                        for pair in pairs {
                            sum = sum.wrapping_add(pair.bits());
                        }
                    }
                }
            }
            let costs = meter.costs();
            let bytes = std::fs::metadata(path)?.len();
            Ok(format!("records={records} bytes={bytes} sum={sum} {costs}"))
        }
        "trace" => {
            let (trace, _) = read_trace(path, &options, &Job::default())?;
            Ok(format!("events={} {}", trace.len(), meter.costs()))
        }
        _ => Err("no such mode".into()),
    }
}
