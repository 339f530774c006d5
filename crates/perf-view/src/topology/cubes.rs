//! [`Picture`]: grid of three axes as shaded cubes, drawn from back to front without a graphics card, or of up to two
//! axes as a map.

use super::merged_cells::{Coarse, MOST_CUBES, range};
use crate::{
    Anchor, Axis, Colour, ColourMap, Error, Mark, Result, Scene, Theme, Unit, glyphs, shortened,
};
use perf_topology::Grid;

/// Grid of three axes as shaded cubes, seen from above one of its corners. A grid of one or two axes is
/// a flat map.
///
/// ```
/// use perf_topology::{Grid, Shape};
/// use perf_view::topology::Picture;
/// let values: Vec<f64> = (0..64).map(f64::from).collect();
/// let grid = Grid::new(Shape::of(&[4, 4, 4])?, values, vec![true; 64])?;
/// let scene = Picture::new(&grid)?.titled("time").scene();
/// assert!(scene.png()?.starts_with(b"\x89PNG"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Picture<'a> {
    grid: &'a Grid,
    title: String,
    unit: Unit,
    map: ColourMap,
    theme: Theme,
    scale: Option<[f64; 2]>,
    side: f64,
}

const MARGIN: f64 = 16.0;
const TITLE: f64 = 28.0;
const SCALE: f64 = 46.0;
/// Fraction of a cell that its cube fills along each axis.
const CUBE: f64 = 0.86;
/// Brightness of the top, left and right side of a cube.
const LIGHT: [f64; 3] = [1.08, 0.86, 0.66];

impl<'a> Picture<'a> {
    /// Creates a picture of a grid.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Mismatch`] if more than three axes are longer than 1. Slice or aggregate
    ///   the other axes.
    /// - Returns [`Error::Empty`] if no cell holds a location.
    pub fn new(grid: &'a Grid) -> Result<Self> {
        let long = grid.shape().lens().iter().filter(|len| **len > 1).count();
        if long > 3 {
            return Err(Error::Mismatch {
                what: "axes of a picture of cubes, at most",
                expected: 3,
                got: long,
            });
        }
        if !grid.mask().contains(&true) {
            return Err(Error::Empty {
                what: "no cell holds a location",
            });
        }
        Ok(Picture {
            grid,
            title: String::new(),
            unit: Unit::Number,
            map: ColourMap::default(),
            theme: Theme::light(),
            scale: None,
            side: 420.0,
        })
    }

    /// Sets the title above the picture. Default: none.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets the unit of the values, default [`Unit::Number`].
    pub fn unit(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    /// Sets the colour map, default [`ColourMap::GreenYellowRed`].
    pub fn map(mut self, map: ColourMap) -> Self {
        self.map = map;
        self
    }

    /// Sets the theme, default [`Theme::light`].
    pub fn theme(mut self, theme: Theme) -> Self {
        self.theme = theme;
        self
    }

    /// Sets the values at the ends of the colour map, for pictures with a common scale. Default:
    /// the range of the grid.
    pub fn scale(mut self, ends: [f64; 2]) -> Self {
        self.scale = Some(ends);
        self
    }

    /// Sets the width and height of the area for cubes in pixels, which is clamped to `32..=8192`.
    /// Default 420.
    pub fn side(mut self, pixels: u32) -> Self {
        self.side = f64::from(pixels.clamp(32, 8192));
        self
    }

    /// Draws the picture.
    pub fn scene(&self) -> Scene {
        let coarse = Coarse::of(self.grid, MOST_CUBES);
        let [low, high] = self.scale.unwrap_or_else(|| range(&coarse.mean));
        let axis = Axis::over([low, high], self.unit.clone());
        let note = note(&coarse);
        let below = SCALE + if note.is_empty() { 0.0 } else { 20.0 };
        let width = self.side + 2.0 * MARGIN;
        let height = MARGIN + TITLE + self.side + below;
        let mut scene = Scene::new(width as u32, height as u32, self.theme.paper);
        let most = ((width - 2.0 * MARGIN) / glyphs::ADVANCE) as usize;
        let title = shortened(&self.title, most);
        let at = [MARGIN, MARGIN + TITLE / 2.0 - 4.0];
        scene.push(Mark::Title(at, Anchor::Start, self.theme.ink, title));
        let (from, mut to) = (self.unit.write(low), self.unit.write(high));
        // Values that differ little have a spread rather than two equal ends.
        if from == to && low < high {
            to = format!("{from} + {}", self.unit.write(high - low));
        }
        scene.title = format!("{}: cubes from {from} to {to}", self.title);
        if coarse.lens.iter().filter(|len| **len > 1).count() < 3 {
            self.flat(&coarse, &axis, low < high, &mut scene);
        } else {
            self.cubes(&coarse, &axis, low < high, &mut scene);
        }
        self.legend(MARGIN + TITLE + self.side + 8.0, [from, to], &mut scene);
        let at = [MARGIN, height - 10.0];
        scene.text(at, Anchor::Start, self.theme.quiet, &shortened(&note, most));
        scene
    }

    /// Draws a grid of at most two axes as a map, seen from above as on pages: the first axis runs to
    /// the right, the second one upwards.
    fn flat(&self, coarse: &Coarse, axis: &Axis, varies: bool, scene: &mut Scene) {
        let [width, height, _] = three(&coarse.lens);
        let unit = self.side / width.max(height) as f64;
        let left = MARGIN + 0.5 * (self.side - unit * width as f64);
        let bottom = MARGIN + TITLE + 0.5 * (self.side + unit * height as f64);
        let gap = 0.5 * (1.0 - CUBE) * unit;
        for (cell, value) in coarse.mean.iter().enumerate() {
            if value.is_finite() {
                let share = if varies { axis.share(*value) } else { 0.0 };
                let x = left + unit * (cell / height) as f64 + gap;
                let y = bottom - unit * (cell % height + 1) as f64 + gap;
                let colour = self.map.at(share);
                scene.push(Mark::Rect([x, y, CUBE * unit, CUBE * unit], colour));
            }
        }
    }

    /// Draws the cubes from back to front. Three sides of a cube face the reader. A cube is skipped
    /// if all three are hidden by neighbouring cubes.
    fn cubes(&self, coarse: &Coarse, axis: &Axis, varies: bool, scene: &mut Scene) {
        let dims = three(&coarse.lens);
        let place = Projection::of(dims, self.side);
        let value = |at: [usize; 3]| {
            let inside = at.iter().zip(dims).all(|(at, len)| *at < len);
            let cell = (at[0] * dims[1] + at[1]) * dims[2] + at[2];
            let found = inside.then(|| coarse.mean.get(cell).copied()).flatten();
            found.filter(|value| value.is_finite())
        };
        for x in 0..dims[0] {
            for y in 0..dims[1] {
                for z in 0..dims[2] {
                    let Some(found) = value([x, y, z]) else {
                        continue;
                    };
                    let share = if varies { axis.share(found) } else { 0.0 };
                    let colour = self.map.at(share);
                    let open = [
                        value([x, y, z + 1]).is_none(),
                        value([x, y + 1, z]).is_none(),
                        value([x + 1, y, z]).is_none(),
                    ];
                    if open.contains(&true) {
                        let at = [x, y, z].map(|at| at as f64);
                        place.cube(at, colour, scene);
                    }
                }
            }
        }
    }

    fn legend(&self, top: f64, [low, high]: [String; 2], scene: &mut Scene) {
        let width = self.side / 256.0;
        scene.push(Mark::Cells([MARGIN, top, width, 10.0], self.map.table()));
        let y = top + 21.0;
        scene.text([MARGIN, y], Anchor::Start, self.theme.ink, &low);
        let right = [MARGIN + self.side, y];
        scene.text(right, Anchor::End, self.theme.ink, &high);
    }
}

/// Returns the remark about cubes that represent several cells; empty if each cube is one cell.
pub(super) fn note(coarse: &Coarse) -> String {
    if !coarse.is_coarser() {
        return String::new();
    }
    let blocks: Vec<String> = coarse.blocks.iter().map(usize::to_string).collect();
    format!("a cube is the mean of {} cells", blocks.join(" x "))
}

/// Returns the lengths of the axes longer than 1, padded with 1 to three lengths.
fn three(lens: &[usize]) -> [usize; 3] {
    let mut long = lens.iter().copied().filter(|len| *len > 1);
    std::array::from_fn(|_| long.next().unwrap_or(1))
}

/// Isometric projection: x runs to the lower left, y to the lower right, z upwards.
struct Projection {
    /// Size of a cell in pixels.
    unit: f64,
    /// Position of the corner with coordinates 0, in pixels.
    origin: [f64; 2],
}

/// Cosine and sine of 30 degrees.
const TILT: [f64; 2] = [0.866_025_403_784_438_6, 0.5];

impl Projection {
    fn of([x, y, z]: [usize; 3], side: f64) -> Self {
        let [x, y, z] = [x, y, z].map(|len| len as f64);
        let (width, height) = ((x + y) * TILT[0], (x + y) * TILT[1] + z);
        let unit = (side / width).min(side / height);
        let left = (side - unit * width) / 2.0 + unit * x * TILT[0];
        let top = (side - unit * height) / 2.0 + unit * z;
        Projection {
            unit,
            origin: [MARGIN + left, MARGIN + TITLE + top],
        }
    }

    fn at(&self, [x, y, z]: [f64; 3]) -> [f64; 2] {
        [
            self.origin[0] + self.unit * (y - x) * TILT[0],
            self.origin[1] + self.unit * ((x + y) * TILT[1] - z),
        ]
    }

    fn cube(&self, [x, y, z]: [f64; 3], colour: Colour, scene: &mut Scene) {
        let gap = (1.0 - CUBE) / 2.0;
        let [a, b] = [gap, 1.0 - gap];
        let corner = |dx: f64, dy: f64, dz: f64| self.at([x + dx, y + dy, z + dz]);
        let sides = [
            vec![
                corner(a, a, b),
                corner(b, a, b),
                corner(b, b, b),
                corner(a, b, b),
            ],
            vec![
                corner(b, a, a),
                corner(b, b, a),
                corner(b, b, b),
                corner(b, a, b),
            ],
            vec![
                corner(a, b, a),
                corner(b, b, a),
                corner(b, b, b),
                corner(a, b, b),
            ],
        ];
        for (corners, light) in sides.into_iter().zip(LIGHT) {
            scene.push(Mark::Polygon(corners.clone(), colour.lit(light)));
            // The bevel is a lighter edge, drawn if the cube is large enough.
            if self.unit > 9.0 {
                let edge = corners[..2].to_vec();
                scene.push(Mark::Path(edge, 1.0, colour.lit(light * 1.22).opacity(0.8)));
            }
        }
    }
}
