//! Where cancelled work stops.

use perf_core::CancelToken;
use std::fmt::Display;

/// Places at which [`looks`] cancels, the last look beside them.
const PLACES: u64 = 16;

/// What work gives, and how often it looks at its token, on one thread; and it stops at whichever look it is
/// told to.
///
/// # Panics
/// If it fails, or goes on once it has seen that it was cancelled.
pub fn looks<T: Send, E: Display + Send>(
    name: impl Display,
    work: impl Fn(&CancelToken) -> Result<T, E> + Sync,
) -> (T, u64) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.expect("a pool of one thread");
    let after = |looks| {
        let token = CancelToken::after(looks);
        let given = pool.install(|| work(&token).map_err(|error| error.to_string()));
        (given, token.looks().expect("it counts"))
    };
    let (given, all) = after(u64::MAX);
    let places = (0..PLACES).map(|place| all * place / PLACES);
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
