//! Writes the planted GPU run of `perf_testdata::planted` as Chrome JSON compressed with gzip.
//!
//! `cargo xtask record gpu` runs it.

use flate2::{Compression, GzBuilder};
use perfkit::core::Job;
use perfkit::formats::chrome;
use std::fs::File;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: perfkit-planted FILE");
        return ExitCode::FAILURE;
    };
    let write = || -> Result<u64, Box<dyn std::error::Error>> {
        let trace = perf_testdata::planted::trace();
        // Without a timestamp or a file name the bytes are the same in each run.
        let file = File::create(path)?;
        let mut packed = GzBuilder::new().mtime(0).write(file, Compression::best());
        let written = chrome::write(trace.view(), &mut packed, &Job::default())?;
        packed.finish()?;
        Ok(written.calls)
    };
    match write() {
        Ok(calls) => {
            println!("calls={calls}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
