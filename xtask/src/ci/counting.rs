//! [`run_tests`]: runs `cargo test`, and adds up the tests of all test programs, which it counts
//! separately, to a [`TestCount`].

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// Numbers of tests, summed over all test programs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TestCount {
    pub(super) passed: u64,
    failed: u64,
    ignored: u64,
}

impl std::fmt::Display for TestCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            passed,
            failed,
            ignored,
        } = self;
        write!(f, "tests: {passed} passed, {failed} failed")?;
        if *ignored > 0 {
            write!(f, ", {ignored} skipped")?;
        }
        Ok(())
    }
}

impl TestCount {
    /// Adds a line such as `test result: ok. 12 passed; 0 failed; 1 ignored; ...`.
    fn add_line(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else {
            return;
        };
        let result = result.split_once(". ").map_or(result, |(_, counts)| counts);
        for part in result.split("; ") {
            match part.split_once(' ') {
                Some((count, "passed")) => self.passed += count.parse().unwrap_or(0),
                Some((count, "failed")) => self.failed += count.parse().unwrap_or(0),
                Some((count, "ignored")) => self.ignored += count.parse().unwrap_or(0),
                _ => {}
            }
        }
    }
}

/// Runs `cargo test`, forwards its output and counts the tests.
pub(super) fn run_tests(command: &mut Command) -> Result<TestCount, String> {
    let broken = |error: std::io::Error| format!("cargo test: {error}");
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(broken)?;
    let mut count = TestCount::default();
    if let Some(pipe) = child.stdout.take() {
        let mut out = std::io::stdout().lock();
        // Split bytes instead of text, because tests may print invalid UTF-8.
        for line in BufReader::new(pipe).split(b'\n') {
            let line = line.map_err(broken)?;
            count.add_line(&String::from_utf8_lossy(&line));
            out.write_all(&line).map_err(broken)?;
            out.write_all(b"\n").map_err(broken)?;
        }
    }
    let status = child.wait().map_err(broken)?;
    if status.success() {
        Ok(count)
    } else {
        Err(format!("cargo test: {status}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_all_binaries_add_up() {
        let mut count = TestCount::default();
        for line in [
            "running 3 tests",
            "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured; 9 filtered out",
        ] {
            count.add_line(line);
        }
        assert_eq!(count.to_string(), "tests: 6 passed, 1 failed, 1 skipped");
    }
}
