//! [`check`]: compares the output of a program with a golden file; [`look`]: measures the size and
//! the coloured pixels of a drawn PNG file.

use crate::bundled;
use snapbox::Data;
use snapbox::data::DataFormat;
use std::path::Path;

/// Returns the text without the paths of the checkout and of the folder for temporary files.
fn neutral(text: &str, scratch: &str) -> String {
    let devices = bundled::devices().display().to_string();
    let text = text.replace(&devices, "data/gpu/planted-6x14.json.gz");
    let recordings = bundled::recording("").display().to_string();
    let text = text.replace(&recordings, "data/recordings/");
    text.replace(scratch, "target/tmp")
}

/// Compares a text with a golden file, without the paths of the checkout and of the folder `scratch`. With the environment
/// variable `PERFKIT_GOLDEN=overwrite` the file is written.
///
/// # Panics
/// Panics if the text differs from the file.
pub fn check(file: &Path, printed: &str, scratch: &str) {
    let expected = Data::read_from(file, Some(DataFormat::Text)).raw();
    let assert = snapbox::Assert::new().action_env("PERFKIT_GOLDEN");
    assert.eq(neutral(printed, scratch), expected);
}

/// Returns the width and height of a PNG file, and its number of coloured pixels: background, text,
/// axes and the marks of empty cells are grey or nearly grey.
///
/// # Panics
/// Panics if the file is no PNG.
pub fn look(file: &Path) -> (u32, u32, usize) {
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
