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

use perf_testdata::bundled;
use perfkit_cli::failure::{Failure, Run};
use snapbox::Data;
use snapbox::data::DataFormat;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

fn print(run: Run, words: &[&str]) -> Result<String, Failure> {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let mut out = Vec::new();
    run(&words, &mut out)?;
    Ok(String::from_utf8(out).expect("examples print UTF-8"))
}

/// Returns the text without the path of this working copy.
fn neutral(text: &str) -> String {
    let data = bundled::recording("");
    let text = text.replace(
        &bundled::devices().display().to_string(),
        "data/gpu/planted-6x14.json.gz",
    );
    let text = text.replace(&data.display().to_string(), "data/recordings/");
    text.replace(env!("CARGO_TARGET_TMPDIR"), "target/tmp")
}

fn golden(name: &str, run: Run, words: &[&str]) {
    let printed = match print(run, words) {
        Ok(text) => neutral(&text),
        Err(failure) => panic!("{name}: {failure:?}"),
    };
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("golden")
        .join(name);
    let expected = Data::read_from(&file, Some(DataFormat::Text)).raw();
    let assert = snapbox::Assert::new().action_env("PERFKIT_GOLDEN");
    assert.eq(printed, expected);
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Returns width and height of a PNG file, and the number of coloured pixels. Paper, ink, axes and
/// the marks of empty cells are grey or nearly grey.
fn look(file: &Path) -> (u32, u32, usize) {
    let bytes = std::io::BufReader::new(std::fs::File::open(file).expect("a picture was drawn"));
    let mut reader = png::Decoder::new(bytes).read_info().expect("it is a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("it fits")];
    let frame = reader.next_frame(&mut pixels).expect("it is whole");
    let chroma = |pixel: &[u8]| {
        pixel
            .iter()
            .max()
            .zip(pixel.iter().min())
            .map(|(a, b)| a - b)
    };
    let coloured = pixels
        .chunks(3)
        .filter(|pixel| chroma(pixel) > Some(40))
        .count();
    (frame.width, frame.height, coloured)
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
