//! [`Canvas`]: raster image with anti-aliased drawing, and its output as PNG.
//!
//! Scenes have a few kinds of marks and one bitmap font. A general rasteriser would add
//! dependencies for curves, gradients and clipping, which no scene uses. It would also need another
//! library for text, and the expected pictures of tests would change with its version. It would not
//! be faster either: for 200,000 rectangles with fractional edges and 20,000 lines, tiny-skia 0.11
//! with its 8 packages took 1.06 times as long as this module (one core, both in one run; 0.74 to
//! 1.22 times on a busy machine).

use crate::{Anchor, Colour, Error, Mark, Result, glyphs};
use std::io::Write;

/// Maximum number of pixels of a picture: 2^26, which take 256 MiB.
pub const MOST_PIXELS: u64 = 1 << 26;

/// Raster picture in memory.
///
/// ```
/// use perf_view::{Canvas, Colour, Mark};
/// let (white, red) = (Colour::hex(0xffffff), Colour::hex(0xff0000));
/// let mut canvas = Canvas::new(8, 4, white)?;
/// canvas.draw(&Mark::Rect([2.0, 1.0, 3.0, 2.0], red));
/// assert_eq!((canvas.pixel(2, 1), canvas.pixel(5, 1)), (Some(red), Some(white)));
/// assert!(canvas.png()?.starts_with(b"\x89PNG"));
/// # Ok::<(), perf_view::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canvas {
    width: u32,
    height: u32,
    pixels: Vec<Colour>,
}

/// Number of sample lines in each row of pixels. Along a sample line, coverage is exact.
const LINES: u32 = 4;

impl Canvas {
    /// Creates a picture of `width` x `height` pixels, filled with the colour `paper`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::TooLarge`] if there are more than [`MOST_PIXELS`] pixels.
    pub fn new(width: u32, height: u32, paper: Colour) -> Result<Self> {
        let pixels = u64::from(width) * u64::from(height);
        if pixels > MOST_PIXELS {
            return Err(Error::TooLarge { width, height });
        }
        Ok(Canvas {
            width,
            height,
            pixels: vec![paper; pixels as usize],
        })
    }

    /// Returns the width in pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Returns the height in pixels.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Returns the colour of a pixel, or `None` outside of the picture.
    pub fn pixel(&self, x: u32, y: u32) -> Option<Colour> {
        if x >= self.width {
            return None;
        }
        let at = u64::from(y) * u64::from(self.width) + u64::from(x);
        self.pixels.get(usize::try_from(at).ok()?).copied()
    }

    /// Writes a PNG file. Equal pictures give equal bytes.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if writing fails, or if the picture has no pixels, which PNG does not
    /// allow.
    pub fn write(&self, out: impl Write) -> Result<()> {
        let mut encoder = png::Encoder::new(out, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        // Pictures consist of flat colours and text. Their rows repeat exactly, and PNG filters
        // would hide the repetition from the compressor.
        encoder.set_compression(png::Compression::High);
        encoder.set_filter(png::Filter::NoFilter);
        let bytes: Vec<u8> = self.pixels.iter().flat_map(|c| [c.r, c.g, c.b]).collect();
        let mut writer = encoder.write_header().map_err(std::io::Error::from)?;
        writer
            .write_image_data(&bytes)
            .map_err(std::io::Error::from)?;
        writer.finish().map_err(std::io::Error::from)?;
        Ok(())
    }

    /// Returns the bytes of a PNG file.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the picture has no pixels, which PNG does not allow.
    pub fn png(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write(&mut bytes)?;
        Ok(bytes)
    }

    /// Draws a mark. Parts outside of the picture and marks with coordinates that are not finite
    /// are skipped.
    pub fn draw(&mut self, mark: &Mark) {
        match mark {
            Mark::Rect(place, colour) => self.rect(*place, *colour),
            Mark::Cells([x, y, width, height], colours) => {
                for (at, colour) in colours.iter().enumerate() {
                    self.rect([x + at as f64 * width, *y, *width, *height], *colour);
                }
            }
            Mark::Circle([x, y, radius], colour) => {
                let corners = (0..48).map(|at| {
                    let angle = f64::from(at) * std::f64::consts::TAU / 48.0;
                    [x + radius * angle.cos(), y + radius * angle.sin()]
                });
                self.polygon(&corners.collect::<Vec<_>>(), *colour);
            }
            Mark::Polygon(corners, colour) => self.polygon(corners, *colour),
            Mark::Path(corners, width, colour) => {
                for pair in corners.windows(2) {
                    self.segment(pair[0], pair[1], *width, *colour);
                }
            }
            Mark::Text(at, to, colour, line) => self.text(*at, *to, *colour, line, false),
            Mark::Title(at, to, colour, line) => self.text(*at, *to, *colour, line, true),
            Mark::During(..) | Mark::Moving(..) => {}
        }
    }

    /// Fills a rectangle, whose edges may cover pixels partially.
    fn rect(&mut self, [x, y, width, height]: [f64; 4], colour: Colour) {
        let (right, bottom) = (x + width, y + height);
        let Some((columns, rows)) = self.pixels_of([x, y, right, bottom]) else {
            return;
        };
        let share = |pixel: u32, from: f64, to: f64| {
            let pixel = f64::from(pixel);
            (to.min(pixel + 1.0) - from.max(pixel)).clamp(0.0, 1.0)
        };
        for row in rows {
            let vertical = share(row, y, bottom);
            for column in columns.clone() {
                self.cover(column, row, colour, vertical * share(column, x, right));
            }
        }
    }

    /// Draws a straight line as a thin rectangle between both points. Horizontal and vertical lines
    /// are snapped to pixels, which keeps axes sharp.
    fn segment(&mut self, from: [f64; 2], to: [f64; 2], width: f64, colour: Colour) {
        let ([x1, y1], [x2, y2]) = (from, to);
        let length = (x2 - x1).hypot(y2 - y1);
        if x1 == x2 {
            let left = (x1 - width / 2.0).round();
            return self.rect([left, y1.min(y2), width, length], colour);
        }
        if y1 == y2 {
            let top = (y1 - width / 2.0).round();
            return self.rect([x1.min(x2), top, length, width], colour);
        }
        let (dx, dy) = (
            width / 2.0 * (y2 - y1) / length,
            width / 2.0 * (x2 - x1) / length,
        );
        let corners = [
            [x1 + dx, y1 - dy],
            [x2 + dx, y2 - dy],
            [x2 - dx, y2 + dy],
            [x1 - dx, y1 + dy],
        ];
        self.polygon(&corners, colour);
    }

    /// Fills a polygon by the even-odd rule.
    fn polygon(&mut self, corners: &[[f64; 2]], colour: Colour) {
        let start = [
            f64::INFINITY,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NEG_INFINITY,
        ];
        let bounds = corners
            .iter()
            .fold(start, |[left, top, right, bottom], [x, y]| {
                [left.min(*x), top.min(*y), right.max(*x), bottom.max(*y)]
            });
        // A polygon with a corner that is not finite is skipped.
        if !corners.iter().flatten().all(|number| number.is_finite()) {
            return;
        }
        let Some((columns, rows)) = self.pixels_of(bounds) else {
            return;
        };
        let left = columns.start;
        let mut covered = vec![0.0_f64; columns.len()];
        let mut crossings = Vec::new();
        for row in rows {
            covered.fill(0.0);
            for line in 0..LINES {
                let y = f64::from(row) + (f64::from(line) + 0.5) / f64::from(LINES);
                crossings_at(corners, y, &mut crossings);
                for pair in crossings.chunks_exact(2) {
                    spread(
                        &mut covered,
                        pair[0] - f64::from(left),
                        pair[1] - f64::from(left),
                    );
                }
            }
            for (column, share) in columns.clone().zip(&covered) {
                self.cover(column, row, colour, share / f64::from(LINES));
            }
        }
    }

    fn text(&mut self, [x, y]: [f64; 2], to: Anchor, colour: Colour, line: &str, bold: bool) {
        let width = glyphs::width(line);
        let left = match to {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        };
        let top = (y - glyphs::HEIGHT as f64 / 2.0).round();
        let around = [left, top, left + width, top + glyphs::HEIGHT as f64];
        if self.pixels_of(around).is_none() {
            return;
        }
        for (at, letter) in line.chars().enumerate() {
            let left = (left.round() + at as f64 * glyphs::ADVANCE) as i64;
            let Some(glyph) = glyphs::glyph(letter, bold) else {
                continue;
            };
            for (row, pixels) in (top as i64..).zip(glyph.rows()) {
                for (column, share) in (left..).zip(pixels) {
                    let place = (u32::try_from(column), u32::try_from(row));
                    if let (true, (Ok(column), Ok(row))) = (*share > 0, place) {
                        self.cover(column, row, colour, f64::from(*share) / 255.0);
                    }
                }
            }
        }
    }

    /// Returns the columns and rows of pixels that a box touches, or `None` if it touches none.
    fn pixels_of(&self, bounds: [f64; 4]) -> Option<(std::ops::Range<u32>, std::ops::Range<u32>)> {
        if !bounds.iter().all(|number| number.is_finite()) {
            return None;
        }
        let [left, top, right, bottom] = bounds;
        let range = |from: f64, to: f64, most: u32| {
            let most = f64::from(most);
            from.floor().clamp(0.0, most) as u32..to.ceil().clamp(0.0, most) as u32
        };
        let (columns, rows) = (
            range(left, right, self.width),
            range(top, bottom, self.height),
        );
        (!columns.is_empty() && !rows.is_empty()).then_some((columns, rows))
    }

    /// Mixes a colour into a pixel in proportion to the covered share.
    fn cover(&mut self, x: u32, y: u32, colour: Colour, share: f64) {
        if x >= self.width || share <= 0.0 {
            return;
        }
        let at = u64::from(y) * u64::from(self.width) + u64::from(x);
        let found = usize::try_from(at)
            .ok()
            .and_then(|at| self.pixels.get_mut(at));
        if let Some(pixel) = found {
            let opaque = Colour { a: 255, ..colour };
            *pixel = pixel.mix(opaque, share.min(1.0) * f64::from(colour.a) / 255.0);
        }
    }
}

/// Computes the x coordinates at which a horizontal line crosses the edges of a polygon, in
/// ascending order.
fn crossings_at(corners: &[[f64; 2]], y: f64, out: &mut Vec<f64>) {
    out.clear();
    let next = corners.iter().cycle().skip(1);
    for ([x1, y1], [x2, y2]) in corners.iter().zip(next) {
        if (*y1 <= y) != (*y2 <= y) {
            out.push(x1 + (y - y1) / (y2 - y1) * (x2 - x1));
        }
    }
    out.sort_by(f64::total_cmp);
}

/// Adds the covered share of each pixel between `from` and `to`.
fn spread(covered: &mut [f64], from: f64, to: f64) {
    let (from, to) = (from.max(0.0), to.min(covered.len() as f64));
    if to <= from {
        return;
    }
    let first = from.floor() as usize;
    for (at, share) in covered.iter_mut().enumerate().skip(first) {
        let pixel = at as f64;
        if pixel >= to {
            return;
        }
        *share += to.min(pixel + 1.0) - from.max(pixel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHITE: Colour = Colour::hex(0xffffff);
    const BLACK: Colour = Colour::hex(0x000000);

    fn ink(canvas: &Canvas) -> f64 {
        let dark = |c: &Colour| 1.0 - f64::from(c.r) / 255.0;
        canvas.pixels.iter().map(dark).sum()
    }

    #[test]
    fn areas_are_kept() {
        let shapes = [
            (Mark::Rect([1.25, 2.5, 4.5, 3.0], BLACK), 13.5),
            (Mark::Circle([20.0, 20.0, 9.0], BLACK), 254.4),
            (
                Mark::Polygon(vec![[2.0, 2.0], [30.0, 2.0], [2.0, 30.0]], BLACK),
                392.0,
            ),
            (Mark::Path(vec![[3.0, 3.0], [33.0, 33.0]], 2.0, BLACK), 84.9),
        ];
        for (mark, area) in shapes {
            let mut canvas = Canvas::new(40, 40, WHITE).expect("it is small");
            canvas.draw(&mark);
            assert!(
                (ink(&canvas) - area).abs() < 0.02 * area,
                "{mark:?}: {}",
                ink(&canvas)
            );
        }
    }

    #[test]
    fn nonsense_is_not_drawn() {
        let mut canvas = Canvas::new(8, 8, WHITE).expect("it is small");
        let blank = canvas.clone();
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        for mark in [
            Mark::Rect([nan, 0.0, 1.0, 1.0], BLACK),
            Mark::Rect([-100.0, 0.0, 50.0, 8.0], BLACK),
            Mark::Polygon(vec![[0.0, 0.0], [inf, 3.0], [0.0, 8.0]], BLACK),
            Mark::Polygon(Vec::new(), BLACK),
            Mark::Circle([4.0, 4.0, nan], BLACK),
            Mark::Path(vec![[nan, 1.0], [3.0, 3.0]], 1.0, BLACK),
            Mark::Text([nan, 4.0], Anchor::Start, BLACK, "x".into()),
            Mark::Text([-900.0, 4.0], Anchor::Start, BLACK, "x".into()),
            Mark::Text([1e300, 4.0], Anchor::Start, BLACK, "x".into()),
        ] {
            canvas.draw(&mark);
            assert_eq!(canvas, blank, "{mark:?}");
        }
    }

    #[test]
    fn text_has_soft_edges() {
        let mut canvas = Canvas::new(60, 16, WHITE).expect("it is small");
        canvas.draw(&Mark::Text(
            [2.0, 8.0],
            Anchor::Start,
            BLACK,
            "Soß¶§".into(),
        ));
        let greys = canvas
            .pixels
            .iter()
            .filter(|c| c.r > 20 && c.r < 235)
            .count();
        assert!(
            ink(&canvas) > 40.0 && greys > 30,
            "{} {greys}",
            ink(&canvas)
        );
    }
}
