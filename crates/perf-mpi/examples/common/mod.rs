//! Starts MPI, and lets rank 0 print.

use mpi::environment::Universe;
use perf_mpi::{Ranks, mpi};
use std::process::ExitCode;

/// The text of an example, or why there is none.
pub(crate) type Outcome = Result<String, Box<dyn std::error::Error>>;

/// An example: it is run by all ranks.
pub(crate) type Example = fn(&Ranks, &mut Universe, lexopt::Parser) -> Outcome;

/// Runs an example on all ranks, where MPI is called as that kind of threads is allowed to.
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
    // Before MPI ends.
    drop(ranks);
    match outcome {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
