//! [`Scene`]: marks on paper, drawn as SVG or as PNG from one list.

use crate::canvas::Canvas;
use crate::{Colour, Result, svg};

/// Where text begins or ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anchor {
    /// It begins at its place.
    #[default]
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// Something that is drawn. All lengths are pixels, from the upper left corner of the paper.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Mark {
    /// A filled rectangle: left, top, width, height.
    Rect([f64; 4], Colour),
    /// Rectangles side by side: left, top, width of one, height, and a colour each.
    Cells([f64; 4], Vec<Colour>),
    /// A filled circle: centre and radius.
    Circle([f64; 3], Colour),
    /// A filled polygon.
    Polygon(Vec<[f64; 2]>, Colour),
    /// Lines from point to point, of a width.
    Path(Vec<[f64; 2]>, f64, Colour),
    /// A line of text: the middle of its height.
    Text([f64; 2], Anchor, Colour, String),
    /// The same in bold.
    Title([f64; 2], Anchor, Colour, String),
    /// Marks that are seen during one of some steps, again and again: in SVG files alone.
    During(usize, usize, Vec<Mark>),
    /// A circle that moves: centre and radius, and whether it is seen, one a step; in SVG files alone.
    Moving(Vec<([f64; 3], bool)>, Colour),
}

impl Mark {
    /// The same mark elsewhere.
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

/// Marks on paper, the first ones below.
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
    /// Width of the paper.
    pub width: u32,
    /// Its height.
    pub height: u32,
    /// Its colour.
    pub paper: Colour,
    /// What the picture shows, in words: for those who cannot see it.
    pub title: String,
    /// What is on it.
    pub marks: Vec<Mark>,
}

impl Scene {
    /// Empty paper.
    pub fn new(width: u32, height: u32, paper: Colour) -> Self {
        Scene {
            width,
            height,
            paper,
            title: String::new(),
            marks: Vec::new(),
        }
    }

    /// The same scene with a title.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Draws one more mark on top.
    pub fn push(&mut self, mark: Mark) {
        self.marks.push(mark);
    }

    /// Draws the marks of another scene, its upper left corner at a place of this one.
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

    /// Draws a thin line between two points: x and y of both.
    pub fn line(&mut self, [x1, y1, x2, y2]: [f64; 4], colour: Colour) {
        self.push(Mark::Path(vec![[x1, y1], [x2, y2]], 1.0, colour));
    }

    /// Draws a line of text at the middle of its height.
    pub fn text(&mut self, at: [f64; 2], to: Anchor, colour: Colour, text: &str) {
        self.push(Mark::Text(at, to, colour, text.to_string()));
    }

    /// The scene as an SVG file: the same bytes for the same scene.
    pub fn svg(&self) -> String {
        svg::write(self)
    }

    /// The scene as pixels.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge).
    pub fn canvas(&self) -> Result<Canvas> {
        let mut canvas = Canvas::new(self.width, self.height, self.paper)?;
        for mark in &self.marks {
            canvas.draw(mark);
        }
        Ok(canvas)
    }

    /// The scene as a PNG file.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge).
    pub fn png(&self) -> Result<Vec<u8>> {
        self.canvas()?.png()
    }
}
