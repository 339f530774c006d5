//! [`HeatMap`]: rows of named values as coloured cells, drawn as a [`Scene`], which can be written as PNG or SVG.

use crate::{Anchor, ColourMap, Mark, Scene, Theme, Unit, glyphs, shortened};

/// Heat map as PNG or SVG: a row of coloured cells for each name, with its total, and a column for
/// each place, such as a rank. Colours are relative to the mean of the row, from 0 to twice the mean, so that short
/// rows show their imbalance as well as long ones. If any value is negative, colours reach from minus to plus the
/// largest magnitude of the row.
///
/// ```
/// use perf_view::{HeatMap, Unit};
/// let ranks = (0..4).map(|rank| rank.to_string());
/// let mut map = HeatMap::new(Unit::Nanos, "rank", ranks).titled("Where the time goes");
/// map.push("main > solve", vec![3e9, 1e9, 1e9, 1e9]);
/// map.push("main > MPI_Wait", vec![0.0, 2e9, 2e9, 2e9]);
/// let svg = map.scene().svg();
/// assert!(svg.contains("main &gt; solve") && svg.contains("6.00 s"), "{svg}");
/// ```
#[derive(Clone, Debug)]
pub struct HeatMap {
    unit: Unit,
    noun: String,
    columns: Vec<String>,
    title: String,
    theme: Theme,
    rows: Vec<(String, Vec<f64>)>,
}

const MARGIN: f64 = 16.0;
const ROW: f64 = 24.0;
/// Width of all cells of a row in pixels.
const CELLS: f64 = 512.0;
/// Largest width of a cell in pixels.
const MAX_CELL: f64 = 48.0;
/// Longest name in characters.
const NAME: usize = 48;
/// Height of the colour scale with its values.
const SCALE: f64 = 44.0;

impl HeatMap {
    /// Creates an empty map for values of a unit, with a column for each of these names. `noun` says
    /// what a column is.
    pub fn new(
        unit: Unit,
        noun: impl Into<String>,
        columns: impl IntoIterator<Item = String>,
    ) -> Self {
        HeatMap {
            unit,
            noun: noun.into(),
            columns: columns.into_iter().collect(),
            title: String::new(),
            theme: Theme::light(),
            rows: Vec::new(),
        }
    }

    /// Sets the title above the map. Default: none.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets the theme, default [`Theme::light`].
    pub fn theme(mut self, theme: Theme) -> Self {
        self.theme = theme;
        self
    }

    /// Adds a row with a value for each column. Values that are not numbers, and missing ones, leave
    /// their cells empty.
    pub fn push(&mut self, name: impl Into<String>, values: Vec<f64>) {
        self.rows.push((name.into(), values));
    }

    /// Returns the number of neighbouring columns that share a cell.
    fn block(&self) -> usize {
        self.columns.len().div_ceil(CELLS as usize).max(1)
    }

    /// Returns the values of the cells of a row: means over blocks of columns.
    fn cells(&self, values: &[f64]) -> Vec<f64> {
        let mean = |block: &[f64]| block.iter().sum::<f64>() / block.len() as f64;
        let mut cells: Vec<f64> = values.chunks(self.block()).map(mean).collect();
        cells.resize(self.columns.len().div_ceil(self.block()), f64::NAN);
        cells
    }

    /// Draws the map.
    pub fn scene(&self) -> Scene {
        let names = self
            .rows
            .iter()
            .map(|(name, _)| name.chars().count().min(NAME));
        let left = MARGIN + names.max().unwrap_or(0) as f64 * glyphs::ADVANCE + 8.0;
        let rows: Vec<Vec<f64>> = self
            .rows
            .iter()
            .map(|(_, values)| self.cells(values))
            .collect();
        let count = self.columns.len().div_ceil(self.block()).max(1);
        let cell = (CELLS / count as f64).min(MAX_CELL);
        let right = left + cell * count as f64;
        let width = right.max(left + 200.0) + 12.0 * glyphs::ADVANCE + MARGIN;
        let top = MARGIN + if self.title.is_empty() { 20.0 } else { 50.0 };
        let bottom = top + self.rows.len() as f64 * ROW;
        let height = bottom + 20.0 + SCALE + MARGIN;
        let mut scene = Scene::new(width as u32, height as u32, self.theme.paper);
        let most = ((width - 2.0 * MARGIN) / glyphs::ADVANCE) as usize;
        let title = shortened(&self.title, most);
        let at = [MARGIN, MARGIN + 8.0];
        scene.push(Mark::Title(at, Anchor::Start, self.theme.ink, title));
        let is_signed = rows.iter().flatten().any(|value| *value < 0.0);
        let (from, middle, to) = if is_signed {
            ("minus most", "0", "most of the row")
        } else {
            ("0", "mean of the row", ">= 2x")
        };
        scene.title = format!("{}: cells from {from} over {middle} to {to}", self.title);
        let map = ColourMap::default();
        for (at, ((name, values), cells)) in self.rows.iter().zip(&rows).enumerate() {
            let y = top + at as f64 * ROW;
            let label = shortened(name, NAME);
            let middle = y + ROW / 2.0;
            scene.text([left - 8.0, middle], Anchor::End, self.theme.ink, &label);
            for (column, share) in shares(cells, is_signed).enumerate() {
                if share.is_finite() {
                    let x = left + column as f64 * cell;
                    scene.push(Mark::Rect([x, y + 1.0, cell, ROW - 2.0], map.at(share)));
                }
            }
            let total = values.iter().filter(|value| value.is_finite()).sum();
            let at = [right + 6.0, middle];
            scene.text(at, Anchor::Start, self.theme.ink, &self.unit.write(total));
        }
        let head = top - 10.0;
        scene.text(
            [right + 6.0, head],
            Anchor::Start,
            self.theme.quiet,
            "total",
        );
        self.label_columns((left, head, cell), &mut scene);
        let scale = bottom + 20.0;
        scene.push(Mark::Cells([left, scale, 1.0, 10.0], map.table()));
        let y = scale + 22.0;
        for (at, anchor, text) in [
            (0.0, Anchor::Start, from),
            (128.0, Anchor::Middle, middle),
            (256.0, Anchor::End, to),
        ] {
            scene.text([left + at, y], anchor, self.theme.ink, text);
        }
        scene
    }

    /// Writes the names of the columns above the cells, as many as have room.
    fn label_columns(&self, (left, y, cell): (f64, f64, f64), scene: &mut Scene) {
        let noun = format!("{} ", self.noun);
        scene.text([left - 8.0, y], Anchor::End, self.theme.quiet, &noun);
        let longest = self.columns.iter().map(|name| name.chars().count()).max();
        let room = (longest.unwrap_or(1) + 2) as f64 * glyphs::ADVANCE;
        let every = (room / cell).ceil().max(1.0) as usize;
        let blocks = self.columns.chunks(self.block());
        for (at, names) in blocks.enumerate().step_by(every) {
            let x = left + (at as f64 + 0.5) * cell;
            let name = names.first().map_or("", String::as_str);
            scene.text([x, y], Anchor::Middle, self.theme.quiet, name);
        }
    }
}

/// Returns the places of the cells of a row on the colour map; cells without a value have none.
fn shares(cells: &[f64], is_signed: bool) -> impl Iterator<Item = f64> {
    let finite = || cells.iter().copied().filter(|value| value.is_finite());
    let (sum, count) = finite().fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    let (low, high) = if is_signed {
        let most = finite().fold(0.0_f64, |most, value| most.max(value.abs()));
        (-most, most)
    } else {
        (0.0, 2.0 * sum / count)
    };
    cells.iter().map(move |value| match high - low {
        width if width > 0.0 => ((value - low) / width).clamp(0.0, 1.0),
        // All cells are 0.
        _ => value * 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_relative_to_their_mean() {
        let of = |cells: &[f64]| shares(cells, false).collect::<Vec<_>>();
        assert_eq!(of(&[3.0, 3.0]), [0.5, 0.5]);
        assert_eq!(of(&[0.0, 1.0, 5.0]), [0.0, 0.25, 1.0]);
        assert!(shares(&[-2.0, 0.0, 1.0], true).eq([0.0, 0.5, 0.75]));
        assert_eq!(of(&[0.0, 0.0]), [0.0, 0.0]);
        let missing = of(&[f64::NAN, 4.0]);
        assert!(missing[0].is_nan() && missing[1] == 0.5, "{missing:?}");
    }
}
