//! Initialisation of MPI, and output on rank 0.

use mpi::environment::Universe;
use perf_mpi::{Ranks, mpi};
use std::process::ExitCode;

/// Output of an example, or its error.
pub(crate) type Outcome = Result<String, Box<dyn std::error::Error>>;

/// Example, which runs on all ranks.
pub(crate) type Example = fn(&Ranks, &mut Universe, lexopt::Parser) -> Outcome;

/// Runs an example on all ranks, with MPI initialised for this level of threading.
pub(crate) fn main(usage: &str, threads: mpi::Threading, run: Example) -> ExitCode {
    if std::env::args().any(|word| word == "--help" || word == "-h") {
        println!("{usage}");
        return ExitCode::SUCCESS;
    }
    let Some((mut universe, _)) = mpi::initialize_with_threading(threads) else {
        eprintln!("MPI runs already");
        return ExitCode::FAILURE;
    };
    let ranks = Ranks::new(&universe.world());
    let outcome = run(&ranks, &mut universe, lexopt::Parser::from_env());
    match &outcome {
        Ok(text) if ranks.is_root() => print!("{text}"),
        Err(error) if ranks.is_root() => eprintln!("{error}\n\n{usage}"),
        _ => {}
    }
    ranks.barrier();
    // The duplicated communicator must be dropped before MPI ends.
    drop(ranks);
    match outcome {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
