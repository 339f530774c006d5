//! Where the corpus of real recordings is.

use std::path::PathBuf;

/// The file or folder `relative` of the corpus, or `None` where the corpus is absent.
///
/// The corpus lies where `PERFKIT_CORPUS` says, or beside the workspace in `../shared/corpus`. A test
/// that gets `None` prints `skipped: corpus absent` and passes.
///
/// # Panics
/// If the corpus is absent and `CI` is `true`: where everything is tested, nothing is skipped.
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
