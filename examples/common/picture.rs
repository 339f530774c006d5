//! Timelines as PNG pictures: direct pixels, a bitmap font, no window system.

use crate::plot::Anchor;
use crate::table::shortened;
use embedded_graphics::mono_font::{MonoFont, MonoTextStyle, iso_8859_1};
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::*;
use embedded_graphics::primitives::{Circle, Line, PrimitiveStyle, Rectangle};
use embedded_graphics::text::{Alignment, Baseline, Text, TextStyleBuilder};
use perfkit::core::Nanos;
use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{self, BufWriter};
use std::path::Path;

const SMALL: MonoFont<'_> = iso_8859_1::FONT_6X12;
const LARGE: MonoFont<'_> = iso_8859_1::FONT_7X13_BOLD;
const INK: Rgb888 = Rgb888::new(0x22, 0x22, 0x2a);
const FAINT: Rgb888 = Rgb888::new(0x77, 0x77, 0x80);
const PAPER: Rgb888 = Rgb888::WHITE;
/// No region is open.
pub const IDLE: Rgb888 = Rgb888::new(0xec, 0xec, 0xf0);
/// The stream does not exist at that time.
pub const ABSENT: Rgb888 = Rgb888::new(0xfa, 0xfa, 0xfc);

/// The colour of all states that are too rare for one of their own.
pub const OTHER: Rgb888 = Rgb888::new(0x9a, 0x9a, 0xa2);
/// All streams are in the same state, whichever it is.
pub const EQUAL: Rgb888 = Rgb888::new(0xdf, 0xe9, 0xf4);

/// Most pixels of a picture: 2^26, which take 256 MiB.
pub const MOST_PIXELS: u64 = 1 << 26;

/// A picture would have more than [`MOST_PIXELS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// Its width in pixels.
    pub width: u32,
    /// Its height in pixels.
    pub height: u32,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let TooLarge { width, height } = self;
        write!(
            f,
            "a picture of {width} x {height} pixels is too large, {MOST_PIXELS} are allowed"
        )
    }
}

/// A picture in memory.
#[derive(Debug)]
pub struct Canvas {
    size: Size,
    pixels: Vec<Rgb888>,
}

impl Canvas {
    /// White paper of `width` x `height` pixels.
    ///
    /// # Errors
    /// [`TooLarge`] past [`MOST_PIXELS`].
    pub fn new(width: u32, height: u32) -> Result<Self, TooLarge> {
        let pixels = u64::from(width) * u64::from(height);
        if pixels > MOST_PIXELS {
            return Err(TooLarge { width, height });
        }
        Ok(Canvas {
            size: Size::new(width, height),
            pixels: vec![PAPER; pixels as usize],
        })
    }

    /// Writes a PNG file.
    ///
    /// # Errors
    /// What creating or writing the file fails with.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let file = BufWriter::new(std::fs::File::create(path)?);
        let mut encoder = png::Encoder::new(file, self.size.width, self.size.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let bytes: Vec<u8> = self
            .pixels
            .iter()
            .flat_map(|c| [c.r(), c.g(), c.b()])
            .collect();
        encoder.write_header()?.write_image_data(&bytes)?;
        Ok(())
    }

    /// A filled rectangle: left, top, width, height.
    pub fn rect(&mut self, [x, y, width, height]: [f64; 4], colour: Rgb888) {
        let size = |length: f64| length.round().max(1.0) as u32;
        self.fill(
            x.round() as i32,
            y.round() as i32,
            size(width),
            size(height),
            colour,
        );
    }

    /// A filled circle.
    pub fn disc(&mut self, [x, y]: [f64; 2], radius: f64, colour: Rgb888) {
        let diameter = (2.0 * radius).round().max(1.0) as u32;
        let corner = Point::new((x - radius).round() as i32, (y - radius).round() as i32);
        let circle = Circle::new(corner, diameter).into_styled(PrimitiveStyle::with_fill(colour));
        let Ok(()) = circle.draw(self);
    }

    /// A line, one pixel wide.
    pub fn line(&mut self, from: [f64; 2], to: [f64; 2], colour: Rgb888) {
        let point = |[x, y]: [f64; 2]| Point::new(x.round() as i32, y.round() as i32);
        let line = Line::new(point(from), point(to));
        let Ok(()) = line
            .into_styled(PrimitiveStyle::with_stroke(colour, 1))
            .draw(self);
    }

    /// A line of text, at the middle of its height.
    pub fn label(&mut self, [x, y]: [f64; 2], to: Anchor, colour: Rgb888, text: &str) {
        let to = match to {
            Anchor::Start => Alignment::Left,
            Anchor::Middle => Alignment::Center,
            Anchor::End => Alignment::Right,
        };
        self.text(x.round() as i32, y.round() as i32, text, colour, &SMALL, to);
    }

    fn fill(&mut self, x: i32, y: i32, width: u32, height: u32, colour: Rgb888) {
        let area = Rectangle::new(Point::new(x, y), Size::new(width, height));
        let Ok(()) = area
            .into_styled(PrimitiveStyle::with_fill(colour))
            .draw(self);
    }

    fn text(
        &mut self,
        x: i32,
        y: i32,
        text: &str,
        colour: Rgb888,
        font: &MonoFont<'_>,
        to: Alignment,
    ) {
        let style = MonoTextStyle::new(font, colour);
        let place = TextStyleBuilder::new()
            .alignment(to)
            .baseline(Baseline::Middle)
            .build();
        let Ok(_) = Text::with_text_style(text, Point::new(x, y), style, place).draw(self);
    }
}

impl OriginDimensions for Canvas {
    fn size(&self) -> Size {
        self.size
    }
}

impl DrawTarget for Canvas {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(
        &mut self,
        pixels: I,
    ) -> Result<(), Infallible> {
        for Pixel(at, colour) in pixels {
            let (Ok(x), Ok(y)) = (u32::try_from(at.x), u32::try_from(at.y)) else {
                continue;
            };
            if x < self.size.width
                && let Some(pixel) = self.pixels.get_mut((y * self.size.width + x) as usize)
            {
                *pixel = colour;
            }
        }
        Ok(())
    }
}

/// A row of cells, one pixel column a cell.
#[derive(Debug)]
pub struct Row {
    /// What the row shows, written to its left.
    pub label: String,
    /// A short remark, written to its right: its utilisation.
    pub remark: String,
    /// The colours of its cells.
    pub cells: Vec<Rgb888>,
}

/// Rows over one time axis.
#[derive(Debug)]
pub struct Panel {
    /// What the panel shows.
    pub title: String,
    /// Height of a row in pixels.
    pub row_height: u32,
    /// The rows, from above.
    pub rows: Vec<Row>,
    /// Time of the left edge.
    pub start: Nanos,
    /// Time of the right edge.
    pub end: Nanos,
}

const TITLE: u32 = 24;
const AXIS: u32 = 30;
const MARGIN: u32 = 16;
const LEGEND_LINE: u32 = 18;
/// Longest label of a row and of the legend, in characters.
const LABEL: usize = 40;
/// Width of a character of the small font, in pixels.
const CHARACTER: u32 = 6;

impl Panel {
    fn label_width(&self) -> u32 {
        let longest = self
            .rows
            .iter()
            .map(|row| row.label.chars().count().min(LABEL));
        longest
            .max()
            .map_or(0, |count| count as u32 * CHARACTER + 8)
    }

    fn remark_width(&self) -> u32 {
        let longest = self.rows.iter().map(|row| row.remark.chars().count());
        longest
            .max()
            .map_or(0, |count| count as u32 * CHARACTER + 8)
    }

    fn cells(&self) -> u32 {
        let widest = self.rows.iter().map(|row| row.cells.len()).max();
        widest.unwrap_or_default() as u32
    }

    fn size(&self) -> Size {
        let width = self.label_width() + self.cells() + self.remark_width();
        Size::new(
            width,
            TITLE + self.rows.len() as u32 * self.row_height + AXIS,
        )
    }

    fn draw(&self, canvas: &mut Canvas, x: i32, y: i32) {
        canvas.text(
            x,
            y + TITLE as i32 / 2,
            &self.title,
            INK,
            &LARGE,
            Alignment::Left,
        );
        let left = x + self.label_width() as i32;
        let gap = u32::from(self.row_height > 5);
        let mut top = y + TITLE as i32;
        // Labels that would run into one another are left out.
        let every = 11u32.div_ceil(self.row_height.max(1)) as usize;
        for (index, row) in self.rows.iter().enumerate() {
            for (column, colour) in row.cells.iter().enumerate() {
                canvas.fill(left + column as i32, top, 1, self.row_height - gap, *colour);
            }
            if index % every == 0 {
                let middle = top + self.row_height as i32 / 2;
                let label = shortened(&row.label, LABEL);
                canvas.text(left - 6, middle, &label, INK, &SMALL, Alignment::Right);
                let right = left + self.cells() as i32 + 6;
                canvas.text(right, middle, &row.remark, INK, &SMALL, Alignment::Left);
            }
            top += self.row_height as i32;
        }
        self.axis(canvas, left, top);
    }

    fn axis(&self, canvas: &mut Canvas, left: i32, top: i32) {
        let width = self.cells();
        let span = self.end.0.saturating_sub(self.start.0);
        canvas.fill(left, top, width, 1, FAINT);
        if span <= 0 || width == 0 {
            return;
        }
        // The longest label is that of the last tick.
        let mut step = nice_step(span, width / 100 + 1);
        let needed = |step| (axis_label(self.end.0, step).len() as u32 * CHARACTER + 16) as f64;
        while step as f64 / span as f64 * f64::from(width) < needed(step) && step < span {
            step = nice_step(span, (span / step / 2).max(1) as u32);
        }
        let mut next = Some(self.start.0.div_euclid(step).saturating_mul(step));
        while let Some(at) = next.filter(|at| *at <= self.end.0) {
            if at >= self.start.0 {
                let share = (at - self.start.0) as f64 / span as f64;
                let x = left + (share * f64::from(width)) as i32;
                canvas.fill(x, top, 1, 5, FAINT);
                let label = axis_label(at, step);
                canvas.text(x, top + 13, &label, FAINT, &SMALL, Alignment::Center);
            }
            next = at.checked_add(step);
        }
    }
}

/// The smallest of 1, 2, 5 x 10^n nanoseconds that gives at most `most` steps.
fn nice_step(span: i64, most: u32) -> i64 {
    let mut decade = 1i64;
    loop {
        for factor in [1, 2, 5] {
            let step = decade.saturating_mul(factor);
            if span / step <= i64::from(most) {
                return step;
            }
        }
        decade = decade.saturating_mul(10);
    }
}

/// In the unit of the step, with as many digits as the step needs.
fn axis_label(at: i64, step: i64) -> String {
    let (unit, scale) = match step {
        0..1_000 => ("ns", 1.0),
        1_000..1_000_000 => ("us", 1e3),
        1_000_000..100_000_000 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    let digits = if step as f64 / scale < 1.0 { 1 } else { 0 };
    format!("{:.digits$} {unit}", at as f64 / scale)
}

/// Draws panels: the first ones below one another at full width, the last row of them side by side.
///
/// `beside` says how many of the last panels stand side by side. An entry of the legend without a
/// colour is a remark.
///
/// # Errors
/// [`TooLarge`] if the panels are too wide or too many.
pub fn timeline(
    title: &str,
    panels: &[Panel],
    beside: usize,
    legend: &[(Option<Rgb888>, String)],
) -> Result<Canvas, TooLarge> {
    let (above, beside) = panels.split_at(panels.len().saturating_sub(beside));
    let below_width: u32 = beside.iter().map(|panel| panel.size().width + MARGIN).sum();
    let widest = above.iter().map(|panel| panel.size().width + MARGIN).max();
    let width = widest.unwrap_or_default().max(below_width).max(400) + MARGIN;
    let places = legend_places(legend, width);
    let legend_height = places
        .last()
        .map_or(0, |place| place.1 as u32 + LEGEND_LINE);
    let above_height: u32 = above.iter().map(|panel| panel.size().height).sum();
    let below_height = beside.iter().map(|panel| panel.size().height).max();
    let height = MARGIN + TITLE + above_height + below_height.unwrap_or_default() + legend_height;
    let mut canvas = Canvas::new(width, height + MARGIN)?;
    let left = MARGIN as i32;
    canvas.text(left, MARGIN as i32 + 4, title, INK, &LARGE, Alignment::Left);
    let mut y = (MARGIN + TITLE) as i32;
    for panel in above {
        panel.draw(&mut canvas, left, y);
        y += panel.size().height as i32;
    }
    let mut x = left;
    for panel in beside {
        panel.draw(&mut canvas, x, y);
        x += (panel.size().width + MARGIN) as i32;
    }
    y += below_height.unwrap_or_default() as i32;
    for ((colour, name), (x, line)) in legend.iter().zip(places) {
        if let Some(colour) = colour {
            canvas.fill(x, y + line + 3, 11, 11, *colour);
        }
        let name = shortened(name, LABEL);
        canvas.text(x + 16, y + line + 9, &name, INK, &SMALL, Alignment::Left);
    }
    Ok(canvas)
}

/// Where each entry of a legend goes, line by line.
fn legend_places(legend: &[(Option<Rgb888>, String)], width: u32) -> Vec<(i32, i32)> {
    let (mut x, mut y) = (MARGIN as i32, 0);
    let mut places = Vec::new();
    for (_, name) in legend {
        let needed = (name.chars().count().min(LABEL) as u32 * CHARACTER) as i32 + 36;
        if x + needed > width as i32 && x > MARGIN as i32 {
            x = MARGIN as i32;
            y += LEGEND_LINE as i32;
        }
        places.push((x, y));
        x += needed;
    }
    places
}

/// Colours of states by name: equal in every picture as far as no two of one picture would share
/// one.
///
/// MPI is red, as timelines of parallel programs have had it for thirty years.
#[derive(Debug, Default)]
pub struct Colours {
    given: HashMap<String, Rgb888>,
}

const CODE: [u32; 14] = [
    0x2f7d4f, 0x3b76b0, 0xe3a72f, 0x7a5ca8, 0x4fb3a9, 0x9c6b3f, 0x8fbf4d, 0x5a5f9e, 0xc9b458,
    0x2c9ac7, 0x6b8e23, 0xb07aa1, 0x1f5f5b, 0xa8a03c,
];
const MPI: [u32; 7] = [
    0xc8322d, 0xe8743b, 0xa61c4b, 0xef9473, 0x7d1f1f, 0xd9577f, 0xe59aa6,
];
/// States with a colour of their own: more than an eye can tell apart.
const STATES: usize = 24;

impl Colours {
    /// Gives colours to states, the most frequent ones first; those past 24 share [`OTHER`].
    pub fn plan<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut colours = Colours::default();
        for name in names {
            let colour = match colours.given.len() {
                0..STATES => colours.choose(name),
                _ => OTHER,
            };
            colours.given.insert(name.to_string(), colour);
        }
        colours
    }

    /// The colour of a state.
    pub fn of(&self, name: &str) -> Rgb888 {
        self.given.get(name).copied().unwrap_or(OTHER)
    }

    /// The first free colour from that of the name's hash on; once all are taken, darker ones.
    fn choose(&self, name: &str) -> Rgb888 {
        let palette: &[u32] = if name.starts_with("MPI") { &MPI } else { &CODE };
        // FNV-1a: the same on every machine and in every version.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        let first = (hash % palette.len() as u64) as usize;
        let turns = (0..4).flat_map(|turn| {
            let colours = palette.iter().cycle().skip(first).take(palette.len());
            colours.map(move |value| darker(*value, turn))
        });
        let is_free = |colour: &Rgb888| self.given.values().all(|taken| taken != colour);
        turns.into_iter().find(is_free).unwrap_or(OTHER)
    }
}

/// A colour at a quarter less brightness a turn.
pub fn darker(value: u32, turn: i32) -> Rgb888 {
    let scale = 0.72_f64.powi(turn);
    let channel = |shift: u32| (f64::from(value >> shift & 0xff) * scale) as u8;
    Rgb888::new(channel(16), channel(8), channel(0))
}

/// A colour mixed with white: full at `share` 1, a third of it at 0.
pub fn shaded(colour: Rgb888, share: f64) -> Rgb888 {
    let weight = 0.35 + 0.65 * share.clamp(0.0, 1.0);
    let mix = |channel: u8| (255.0 - weight * (255.0 - f64::from(channel))) as u8;
    Rgb888::new(mix(colour.r()), mix(colour.g()), mix(colour.b()))
}
