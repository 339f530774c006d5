//! Glyphs of a bitmap font as coverage values, and text widths.

use noto_sans_mono_bitmap::{
    FontWeight, RasterHeight, RasterizedChar, get_raster, get_raster_width,
};

/// Height of a line of text in pixels.
pub(crate) const HEIGHT: usize = 16;
/// Width of a character in pixels: exact in PNG, approximate in SVG.
pub(crate) const ADVANCE: f64 = get_raster_width(FontWeight::Regular, RasterHeight::Size16) as f64;

/// Returns the width of a line of text in pixels.
pub(crate) fn width(text: &str) -> f64 {
    text.chars().count() as f64 * ADVANCE
}

/// Returns the glyph of a character. Characters that the font does not contain become a question
/// mark.
pub(crate) fn glyph(letter: char, bold: bool) -> Option<RasterizedChar> {
    let weight = if bold {
        FontWeight::Bold
    } else {
        FontWeight::Regular
    };
    let height = RasterHeight::Size16;
    get_raster(letter, weight, height).or_else(|| get_raster('?', weight, height))
}
