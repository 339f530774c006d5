//! Tests that the output of the tour and of the paper experiments equals the golden files. `cargo
//! xtask golden` rewrites the files.
//!
//! The input is bundled, so that the output is the same in each run.

#[allow(
    dead_code,
    clippy::duplicate_mod,
    reason = "each experiment brings a `main`, and the module that all of them use"
)]
#[path = "golden/papers.rs"]
mod papers;
#[path = "../../tour/main.rs"]
#[allow(dead_code, reason = "the example brings a `main` that no test calls")]
mod tour;

use perf_testdata::golden::{check, look};
use perfkit_cli::failure::{Failure, Run};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

fn print(run: Run, words: &[&str]) -> Result<String, Failure> {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let mut out = Vec::new();
    run(&words, &mut out)?;
    Ok(String::from_utf8(out).expect("examples print UTF-8"))
}

fn golden(name: &str, run: Run, words: &[&str]) {
    let printed = match print(run, words) {
        Ok(text) => text,
        Err(failure) => panic!("{name}: {failure:?}"),
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    check(&folder.join(name), &printed, env!("CARGO_TARGET_TMPDIR"));
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn tour() {
    let folder = scratch("tour");
    golden(
        "tour.txt",
        tour::run,
        &["--out", &folder.display().to_string()],
    );
    for name in ["nwchem-md-4", "jacobi-16"] {
        let (width, height, coloured) = look(&folder.join(format!("{name}.png")));
        assert!(width > 1400 && height > 300, "{name}: {width} x {height}");
        assert!(coloured > 150_000, "{name}: {coloured} pixels");
    }
}

#[test]
fn wrong_arguments_are_usage() {
    let wrong = print(tour::run, &["somewhere"]);
    assert!(matches!(wrong, Err(Failure::Usage(_))), "{wrong:?}");
}
