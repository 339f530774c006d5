//! Location of the corpus of real recordings.

use std::path::PathBuf;

/// Returns the path of the file or folder `relative` of the corpus, or `None` if the corpus is
/// absent.
///
/// The corpus is in the folder `PERFKIT_CORPUS`, or beside the workspace in `../shared/corpus`. A
/// test that gets `None` prints `skipped: corpus absent` and passes.
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
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!is_ci, "{} of the corpus is absent", path.display());
    None
}
