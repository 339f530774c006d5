//! [`checks`]: verifies that work under test stops at whichever cancellation check its job is
//! cancelled, and counts the checks.

use crate::repeats;
use perf_core::Job;
use std::fmt::Display;

/// Number of places at which [`checks`] cancels in the gate and elsewhere, in addition to the last cancellation check.
const PLACES: [u64; 2] = [16, 4];

/// Returns the result of work on one thread, and the number of its cancellation checks.
///
/// Runs the work several times, and verifies that it stops at whichever check its job is cancelled.
///
/// # Panics
///
/// Panics if the work fails, or goes on after a check that failed.
pub fn checks<T: Send, E: Display + Send>(
    name: impl Display,
    work: impl Fn(&Job) -> Result<T, E> + Sync,
) -> (T, u64) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.expect("a pool of one thread");
    let after = |checks| {
        let job = Job::stopping_after(checks);
        let given = pool.install(|| work(&job).map_err(|error| error.to_string()));
        (given, job.checks_made().expect("it counts"))
    };
    let (given, all) = after(u64::MAX);
    let count = repeats(PLACES[0], PLACES[1]);
    let places = (0..count).map(|place| all * place / count);
    for most in places.chain([all.saturating_sub(1)]) {
        let (stopped, seen) = after(most);
        let error = stopped.err();
        assert_eq!(
            error.as_deref(),
            Some("cancelled"),
            "{name}, {most} of {all}"
        );
        assert!(seen > most, "{name}: {seen}, {most} of {all}");
    }
    match given {
        Ok(given) => (given, all),
        Err(error) => panic!("{name}: {error}"),
    }
}
