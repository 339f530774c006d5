//! [`Scene`]: picture as a list of [`Mark`]s such as rectangles, paths and text, which is written
//! as SVG or PNG.

use super::svg;
use crate::canvas::Canvas;
use crate::{Colour, Result};

/// Horizontal alignment of text relative to its position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anchor {
    /// The text begins at its position.
    #[default]
    Start,
    /// The text is centred at its position.
    Middle,
    /// The text ends at its position.
    End,
}

/// Drawable element. All lengths are in pixels, relative to the upper left corner of the paper.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Mark {
    /// Filled rectangle: left, top, width, height.
    Rect([f64; 4], Colour),
    /// Adjacent rectangles: left, top, width of one rectangle, height, and a colour for each
    /// rectangle.
    Cells([f64; 4], Vec<Colour>),
    /// Filled circle: centre and radius.
    Circle([f64; 3], Colour),
    /// Filled polygon.
    Polygon(Vec<[f64; 2]>, Colour),
    /// Polyline: points, line width and colour.
    Path(Vec<[f64; 2]>, f64, Colour),
    /// Line of text. The position is the start, middle or end of the line, according to the anchor,
    /// at half of its height.
    Text([f64; 2], Anchor, Colour, String),
    /// Line of bold text, positioned like [`Mark::Text`].
    Title([f64; 2], Anchor, Colour, String),
    /// Marks that are visible during one of several steps, which repeat: step, number of steps,
    /// marks. Only SVG files show these marks.
    During(usize, usize, Vec<Mark>),
    /// Moving circle. Each step has the centre and radius, and `true` if the circle is visible.
    /// Only SVG files show this mark.
    Moving(Vec<([f64; 3], bool)>, Colour),
}

impl Mark {
    /// Returns the mark moved by an offset.
    fn moved(&self, [dx, dy]: [f64; 2]) -> Mark {
        let point = |[x, y]: [f64; 2]| [x + dx, y + dy];
        let points = |all: &[[f64; 2]]| all.iter().copied().map(point).collect();
        match self {
            Mark::Rect([x, y, w, h], colour) => Mark::Rect([x + dx, y + dy, *w, *h], *colour),
            Mark::Cells([x, y, w, h], colours) => {
                Mark::Cells([x + dx, y + dy, *w, *h], colours.clone())
            }
            Mark::Circle([x, y, r], colour) => Mark::Circle([x + dx, y + dy, *r], *colour),
            Mark::Polygon(corners, colour) => Mark::Polygon(points(corners), *colour),
            Mark::Path(corners, width, colour) => Mark::Path(points(corners), *width, *colour),
            Mark::Text(at, to, colour, text) => Mark::Text(point(*at), *to, *colour, text.clone()),
            Mark::Title(at, to, colour, text) => {
                Mark::Title(point(*at), *to, *colour, text.clone())
            }
            Mark::During(step, steps, marks) => {
                let marks = marks.iter().map(|mark| mark.moved([dx, dy]));
                Mark::During(*step, *steps, marks.collect())
            }
            Mark::Moving(places, colour) => {
                let places = places.iter();
                let places = places.map(|([x, y, r], seen)| ([x + dx, y + dy, *r], *seen));
                Mark::Moving(places.collect(), *colour)
            }
        }
    }
}

/// Picture as a list of marks. Later marks cover earlier marks.
///
/// ```
/// use perf_view::{Anchor, Colour, Mark, Scene};
/// let mut scene = Scene::new(120, 30, Colour::hex(0xffffff)).titled("one <name>");
/// scene.push(Mark::Rect([10.0, 10.0, 50.0, 10.0], Colour::hex(0x2f7d4f)));
/// scene.push(Mark::Text([64.0, 15.0], Anchor::Start, Colour::hex(0x000000), "a < b".into()));
/// assert!(scene.svg().contains("a &lt; b"));
/// let canvas = scene.canvas()?;
/// assert_eq!(canvas.pixel(30, 15), Some(Colour::hex(0x2f7d4f)));
/// assert!(canvas.png()?.starts_with(b"\x89PNG"));
/// # Ok::<(), perf_view::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Width of the paper in pixels.
    pub width: u32,
    /// Height of the paper in pixels.
    pub height: u32,
    /// Colour of the paper.
    pub paper: Colour,
    /// Description of the picture for readers who cannot see it.
    pub title: String,
    /// Marks, the lowest mark first.
    pub marks: Vec<Mark>,
}

impl Scene {
    /// Creates a scene without marks.
    pub fn new(width: u32, height: u32, paper: Colour) -> Self {
        Scene {
            width,
            height,
            paper,
            title: String::new(),
            marks: Vec::new(),
        }
    }

    /// Sets the description of the picture.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Adds a mark on top of the other marks.
    pub fn push(&mut self, mark: Mark) {
        self.marks.push(mark);
    }

    /// Adds the marks of another scene. Its upper left corner is placed at `at` in this scene.
    ///
    /// ```
    /// use perf_view::{Colour, Mark, Scene};
    /// let (paper, ink) = (Colour::hex(0xffffff), Colour::hex(0x000000));
    /// let mut small = Scene::new(4, 4, paper);
    /// small.push(Mark::Rect([0.0, 0.0, 2.0, 2.0], ink));
    /// let mut large = Scene::new(20, 20, paper);
    /// large.place(&small, [10.0, 12.0]);
    /// assert_eq!(large.canvas()?.pixel(11, 13), Some(ink));
    /// # Ok::<(), perf_view::Error>(())
    /// ```
    pub fn place(&mut self, other: &Scene, at: [f64; 2]) {
        self.marks
            .extend(other.marks.iter().map(|mark| mark.moved(at)));
    }

    /// Draws a thin line between two points, given as `[x1, y1, x2, y2]`.
    pub fn line(&mut self, [x1, y1, x2, y2]: [f64; 4], colour: Colour) {
        self.push(Mark::Path(vec![[x1, y1], [x2, y2]], 1.0, colour));
    }

    /// Draws a line of text. `at` is at half of its height, and horizontally at the anchor.
    pub fn text(&mut self, at: [f64; 2], to: Anchor, colour: Colour, text: &str) {
        self.push(Mark::Text(at, to, colour, text.to_string()));
    }

    /// Returns the scene as an SVG file. Equal scenes give equal bytes.
    pub fn svg(&self) -> String {
        svg::write(self)
    }

    /// Draws the scene into a raster image.
    ///
    /// # Errors
    ///
    /// Returns [`Error::TooLarge`](crate::Error::TooLarge) if the scene has more than
    /// [`MOST_PIXELS`](crate::MOST_PIXELS) pixels.
    pub fn canvas(&self) -> Result<Canvas> {
        let mut canvas = Canvas::new(self.width, self.height, self.paper)?;
        for mark in &self.marks {
            canvas.draw(mark);
        }
        Ok(canvas)
    }

    /// Returns the scene as a PNG file.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::TooLarge`](crate::Error::TooLarge) if the scene has more than
    ///   [`MOST_PIXELS`](crate::MOST_PIXELS) pixels.
    /// - Returns [`Error::Io`](crate::Error::Io) if the scene has no pixels.
    pub fn png(&self) -> Result<Vec<u8>> {
        self.canvas()?.png()
    }
}
