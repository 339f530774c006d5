//! [`corpus()`]: paths in the corpus of real recordings, and the names of the tests that were
//! skipped because the corpus is absent.

use crate::repeats::is_gate;
use std::collections::BTreeSet;
use std::io::Result;
use std::path::{Path, PathBuf};

/// Returns the path of the file or folder `relative` of the corpus, or `None` if the corpus is
/// absent.
///
/// The corpus is in the folder `PERFKIT_CORPUS`, or next to the workspace in `../shared/corpus`. If
/// the corpus is absent, the function prints `skipped: corpus absent` and marks the running test as
/// skipped (see [`take_skipped`]). A test that gets `None` returns.
///
/// # Panics
/// Panics if the corpus is absent and `CI` is `true`, so that no test is skipped there.
pub fn corpus(relative: &str) -> Option<PathBuf> {
    let root = match std::env::var_os("PERFKIT_CORPUS") {
        Some(root) => PathBuf::from(root),
        None => PathBuf::from(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../../shared/corpus"
        )),
    };
    let path = root.join(relative);
    if path.exists() {
        return Some(path);
    }
    assert!(!is_gate(), "{} of the corpus is absent", path.display());
    println!("skipped: corpus absent");
    let test = std::thread::current();
    if let (Some(marks), Some(test)) = (marks(), test.name()) {
        // A missing mark only makes the count at the end of `cargo test` too small.
        let _ = mark(&marks, test);
    }
    None
}

/// Returns the folder with one empty file for each skipped test, or `None` outside of a folder of
/// built tests.
fn marks() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let folder = program.parent()?;
    folder
        .ends_with("deps")
        .then(|| folder.with_file_name("skipped-tests"))
}

/// Adds the mark of a test to the folder.
fn mark(marks: &Path, test: &str) -> Result<()> {
    std::fs::create_dir_all(marks)?;
    std::fs::write(marks.join(test.replace("::", ".")), "")
}

/// Returns the names of the tests that were skipped since the last call, with a dot between module
/// and test. Tests of equal names count once.
///
/// # Errors
/// Returns the error of the file system if the folder of the marks cannot be listed or emptied.
pub fn take_skipped() -> Result<BTreeSet<String>> {
    marks().map_or_else(|| Ok(BTreeSet::new()), |marks| take(&marks))
}

/// Returns the marks of the folder and removes the folder.
fn take(marks: &Path) -> Result<BTreeSet<String>> {
    if !marks.exists() {
        return Ok(BTreeSet::new());
    }
    let mut tests = BTreeSet::new();
    for entry in std::fs::read_dir(marks)? {
        tests.insert(entry?.file_name().to_string_lossy().into_owned());
    }
    std::fs::remove_dir_all(marks)?;
    Ok(tests)
}

#[cfg(test)]
mod tests {
    use super::{mark, marks, take};

    #[test]
    fn marks_of_skipped_tests_are_taken_once() {
        let folder = marks().expect("tests are built in `deps`");
        let folder = folder.with_file_name("skipped-tests-of-this-test");
        mark(&folder, "otf2::one").expect("tests may write here");
        mark(&folder, "otf2::one").expect("tests may write here");
        mark(&folder, "two").expect("tests may write here");
        let taken = take(&folder).expect("the marks are there");
        assert_eq!(Vec::from_iter(taken), ["otf2.one", "two"]);
        assert!(take(&folder).expect("no marks are left").is_empty());
    }
}
