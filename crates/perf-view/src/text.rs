//! Letters as coverage, from a font that was drawn ahead.

use noto_sans_mono_bitmap::{
    FontWeight, RasterHeight, RasterizedChar, get_raster, get_raster_width,
};

/// Height of a line of text in pixels.
pub(crate) const HEIGHT: usize = 16;
/// Width of a character in pixels, in PNG and (nearly) in SVG.
pub(crate) const ADVANCE: f64 = get_raster_width(FontWeight::Regular, RasterHeight::Size16) as f64;

/// The width of a line of text in pixels.
pub(crate) fn width(text: &str) -> f64 {
    text.chars().count() as f64 * ADVANCE
}

/// How a character looks. What the font lacks looks like a question mark.
pub(crate) fn glyph(letter: char, bold: bool) -> Option<RasterizedChar> {
    let weight = match bold {
        true => FontWeight::Bold,
        false => FontWeight::Regular,
    };
    let height = RasterHeight::Size16;
    get_raster(letter, weight, height).or_else(|| get_raster('?', weight, height))
}
