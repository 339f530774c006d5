//! Report of the tests that `cargo test` skipped because the corpus is absent.

use std::io::Write;

use perf_testdata::corpus;

/// Prints the number of skipped tests. A test prints directly to the standard error, because the
/// test harness hides the printed text of tests that pass.
#[test]
fn skipped_tests_are_counted() {
    let before = corpus::take_skipped().expect("marks of skipped tests can be read");
    if !before.is_empty() {
        let count = before.len();
        writeln!(
            std::io::stderr(),
            "{count} tests were skipped: corpus absent (PERFKIT_CORPUS)"
        )
        .expect("the standard error is open");
    }
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    if !is_ci && corpus::corpus("no recording of this name").is_none() {
        let skipped = corpus::take_skipped().expect("marks of skipped tests can be read");
        assert!(skipped.contains("skipped.skipped_tests_are_counted"));
    }
}
