//! Paths of the recordings in the folder `data` of the repository.

use std::path::{Path, PathBuf};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data")
}

/// Returns the path of a recording in `data/recordings`.
pub fn recording(name: &str) -> PathBuf {
    data().join("recordings").join(name)
}

/// Returns the path of the recording of six devices with planted utilisation.
pub fn devices() -> PathBuf {
    data().join("gpu/planted-6x14.json.gz")
}
