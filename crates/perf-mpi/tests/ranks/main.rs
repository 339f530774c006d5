//! Tests that distributed results equal those of a single rank. `mpirun -n 4 --oversubscribe TEST`
//! runs them; without `mpirun` there is one rank.

mod archives;
mod clusters;
mod exchanges;
mod failures;
mod messages;
mod polled;
mod reductions;
mod views;
mod waits;

use perf_mpi::{Ranks, mpi};

/// Test that runs on all ranks. It fails if it fails on any of them.
type Test = fn(&Ranks) -> Outcome;
type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Kind of a test; some need access to MPI itself.
enum Kind {
    Plain(Test),
    Polled(polled::Test),
}

/// Returns ranks that consist of this process alone.
fn alone() -> Ranks {
    Ranks::new(&mpi::topology::SimpleCommunicator::self_comm())
}

fn main() {
    let (mut universe, _) =
        mpi::initialize_with_threading(mpi::Threading::Multiple).expect("MPI starts once");
    let ranks = Ranks::new(&universe.world());
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let all = [
        messages::TESTS,
        reductions::TESTS,
        failures::TESTS,
        exchanges::TESTS,
        views::TESTS,
        archives::TESTS,
        clusters::TESTS,
        waits::TESTS,
    ]
    .concat();
    let (mut passed, mut failed) = (0, 0);
    let all = all
        .into_iter()
        .map(|(name, test)| (name, Kind::Plain(test)));
    let polled = polled::TESTS.iter();
    let polled = polled.map(|(name, test)| (*name, Kind::Polled(*test)));
    for (name, test) in all.chain(polled) {
        if !wanted.is_empty() && !wanted.iter().any(|word| name.contains(word)) {
            continue;
        }
        let outcome = match test {
            Kind::Plain(test) => test(&ranks),
            Kind::Polled(test) => test(&ranks, &mut universe),
        };
        let outcome = outcome.map_err(|error| error.to_string());
        let outcomes = ranks
            .all_gather(&outcome.err())
            .expect("short texts are no problem");
        let wrong: Vec<_> = outcomes.into_iter().enumerate().collect();
        let wrong: Vec<_> = wrong
            .into_iter()
            .filter_map(|(rank, error)| Some((rank, error?)))
            .collect();
        let is_ok = wrong.is_empty();
        (passed, failed) = (passed + usize::from(is_ok), failed + usize::from(!is_ok));
        if ranks.is_root() {
            println!("test {name} ... {}", if is_ok { "ok" } else { "FAILED" });
            for (rank, error) in wrong {
                println!("  rank {rank}: {error}");
            }
        }
    }
    if ranks.is_root() {
        let verdict = if failed == 0 { "ok" } else { "FAILED" };
        let size = ranks.size();
        println!("\ntest result: {verdict}. {passed} passed; {failed} failed; {size} ranks");
    }
    ranks.barrier();
    drop(ranks);
    drop(universe);
    if failed > 0 {
        std::process::exit(1);
    }
}

/// Returns an error unless two values are equal.
fn equal<T: PartialEq + std::fmt::Debug>(what: &str, one: &T, other: &T) -> Outcome {
    if one == other {
        return Ok(());
    }
    let short = |value: &T| format!("{value:?}").chars().take(300).collect::<String>();
    Err(format!("{what}: {} is not {}", short(one), short(other)).into())
}
