//! [`repeats`]: number of repetitions of a test case, larger in continuous integration (environment
//! variable `CI`) than elsewhere.

/// Returns `all` in the gate, where `CI` is `true`, and `few` elsewhere.
///
/// Tests with random seeds, numbers of threads or places of cancellation take a quarter of the CPU time of `cargo test`.
/// A few repetitions show that the code works; the others find rare errors and verify rates.
///
/// ```
/// let seeds = perf_testdata::repeats(20, 6);
/// assert!(seeds == 20 || seeds == 6);
/// ```
pub fn repeats<T>(all: T, few: T) -> T {
    if is_gate() { all } else { few }
}

/// Returns `true` in the gate, which sets the environment variable `CI`.
pub(crate) fn is_gate() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}
