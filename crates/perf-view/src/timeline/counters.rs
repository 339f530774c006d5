//! [`Tracks`]: counters below the rows of a timeline in pictures and pages: a line for all
//! locations, and a heat map of the locations.

use crate::encoding::base64;
use crate::glyphs::ADVANCE;
use crate::{Anchor, ColourMap, Mark, Scene, Theme, number, shortened};
use perf_core::TimeRange;
use perf_fold::{Across, Counter, CounterCell};
use serde::Serialize;

/// Largest number of rows of a heat map. More locations are joined to blocks of neighbours.
const MOST_ROWS: usize = 32;
/// Largest number of counters of a picture or page.
pub(super) const MOST_COUNTERS: usize = 12;
/// Combinations in the order in which pages store them.
const ACROSS: [Across; 3] = [Across::Mean, Across::Sum, Across::Max];
/// Height of a line in pixels.
const LINE: f64 = 52.0;
/// Space above each counter in pixels.
const GAP: f64 = 8.0;

/// Values of a counter in the columns of a window.
#[derive(Clone, Debug)]
pub(super) struct Tracks {
    /// Name of the counter.
    name: String,
    /// Unit of the values.
    unit: String,
    /// Number of locations.
    locations: usize,
    /// Values of all locations by combination.
    lines: Vec<Vec<CounterCell>>,
    /// Values over the window by combination.
    over: Vec<CounterCell>,
    /// Label and values of each row of the heat map; empty for a single location.
    rows: Vec<(String, Vec<f64>)>,
}

impl Tracks {
    /// Computes the values of a window.
    pub(super) fn of(counter: &Counter, window: TimeRange, columns: usize) -> Self {
        let cells = counter.series.iter().map(|of| of.cells(window, columns));
        let cells: Vec<Vec<CounterCell>> = cells.collect();
        let column = |of: &[Vec<CounterCell>], across: Across, at: usize| {
            across.of(of.iter().filter_map(|cells| cells.get(at)))
        };
        let line = |across| (0..columns).map(|at| column(&cells, across, at)).collect();
        let over: Vec<CounterCell> = counter.series.iter().map(|of| of.over(window)).collect();
        let size = cells.len().div_ceil(MOST_ROWS).max(1);
        let blocks = cells.chunks(size).zip(counter.series.chunks(size));
        let rows = blocks.map(|(cells, series)| {
            let mean = |at| column(cells, Across::Mean, at).mean;
            let label = match series {
                [first, .., last] => format!("{} to {}", first.label, last.label),
                series => series.iter().map(|of| of.label.clone()).collect(),
            };
            (label, (0..columns).map(mean).collect())
        });
        Tracks {
            name: counter.name.clone(),
            // A prefix before such a unit would read as `mcount`.
            unit: match counter.unit.as_str() {
                "count" | "counts" | "#" => String::new(),
                unit => unit.to_owned(),
            },
            locations: cells.len(),
            lines: ACROSS.map(line).to_vec(),
            over: ACROSS.map(|across| across.of(&over)).to_vec(),
            rows: if cells.len() > 1 {
                rows.collect()
            } else {
                Vec::new()
            },
        }
    }

    /// Returns the least and the largest value of the rows of the heat map.
    fn range(&self) -> (f64, f64) {
        let values = self.rows.iter().flat_map(|(_, values)| values);
        let known = values.copied().filter(|value| value.is_finite());
        known.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    }

    /// Returns the values for the script of a page, which shows them from `start` nanoseconds of the
    /// page for `span` nanoseconds.
    pub(super) fn data(&self, start: i64, span: i64) -> TracksData {
        let floats = |values: Vec<f64>| {
            let bytes = values
                .iter()
                .flat_map(|value| (*value as f32).to_le_bytes());
            base64(&bytes.collect::<Vec<u8>>())
        };
        let of = |line: usize, value: fn(&CounterCell) -> f64| {
            let cells = self.lines.get(line);
            floats(cells.into_iter().flatten().map(value).collect())
        };
        let (low, high) = self.range();
        // 0 stands for no value.
        let code = |value: f64| match (value - low) / (high - low) {
            _ if value.is_nan() => 0,
            share if share.is_finite() => (1.0 + 254.0 * share).round() as u8,
            _ => 128,
        };
        let row = |values: &Vec<f64>| {
            base64(&values.iter().map(|value| code(*value)).collect::<Vec<u8>>())
        };
        TracksData {
            from: start,
            span,
            columns: self.lines.first().map_or(0, Vec::len),
            lines: [0, 1, 2].map(|line| of(line, |cell| cell.mean)),
            band: [of(0, |cell| cell.min), of(0, |cell| cell.max)],
            over: self.over.iter().map(|cell| finite(cell.mean)).collect(),
            range: finite(low).zip(finite(high)),
            rows: self.rows.iter().map(|(_, values)| row(values)).collect(),
        }
    }

    /// Returns name, unit, number of locations and labels of the rows, for the script of a page.
    pub(super) fn names(&self) -> CounterNames {
        CounterNames {
            name: self.name.clone(),
            unit: self.unit.clone(),
            locations: self.locations,
            rows: self.rows.iter().map(|(label, _)| label.clone()).collect(),
        }
    }

    /// Height of a row of the heat map in pixels.
    fn row_height(&self) -> f64 {
        (128.0 / self.rows.len().max(1) as f64)
            .clamp(4.0, 14.0)
            .floor()
    }

    /// Height in a picture.
    pub(super) fn height(&self) -> f64 {
        GAP + LINE + self.rows.len() as f64 * self.row_height()
    }

    /// Width of the labels in a picture with labels of at most `most` characters.
    pub(super) fn label_width(&self, most: usize) -> f64 {
        let labels = std::iter::once(&self.name).chain(self.rows.iter().map(|(label, _)| label));
        let longest = labels.map(|label| label.chars().count().min(most)).max();
        // The range of values takes up to 24 characters.
        longest.unwrap_or(0).max(24) as f64 * ADVANCE
    }

    /// Draws the counter with its upper edge at `top`, and labels of at most `most` characters.
    pub(super) fn draw(
        &self,
        (left, top): (f64, f64),
        across: Across,
        (theme, most): (&Theme, usize),
        scene: &mut Scene,
    ) {
        let line = ACROSS.iter().position(|one| *one == across).unwrap_or(0);
        let cells = self.lines.get(line).map_or(&[][..], Vec::as_slice);
        let known = || cells.iter().filter(|cell| !cell.mean.is_nan());
        let least = known().map(|cell| cell.min).fold(0.0, f64::min);
        let largest = known().map(|cell| cell.max).fold(0.0, f64::max);
        let size = if largest > least {
            largest - least
        } else {
            1.0
        };
        let (top, bottom) = (top + GAP, top + GAP + LINE);
        let y = |value: f64| bottom - 1.0 - (value - least) / size * (LINE - 4.0);
        let width = cells.len() as f64;
        scene.line([left, bottom, left + width, bottom], theme.grid);
        scene.line([left, top, left + width, top], theme.grid);
        let mut path: Vec<[f64; 2]> = Vec::new();
        let ink = super::cell_colour::MEASURE.mix(theme.ink, 0.5);
        let draw = |path: &mut Vec<[f64; 2]>, scene: &mut Scene| {
            if !path.is_empty() {
                scene.push(Mark::Path(std::mem::take(path), 1.2, ink));
            }
        };
        for (at, cell) in cells.iter().enumerate() {
            if cell.mean.is_nan() {
                draw(&mut path, scene);
                continue;
            }
            let x = left + at as f64;
            if cell.max > cell.min {
                let band = [x, y(cell.max), 1.0, y(cell.min) - y(cell.max)];
                scene.push(Mark::Rect(band, ink.opacity(0.2)));
            }
            path.extend([[x, y(cell.mean)], [x + 1.0, y(cell.mean)]]);
        }
        draw(&mut path, scene);
        let middle = (top + bottom) / 2.0;
        let name = shortened(&self.name, most);
        scene.text([left - 7.0, middle - 9.0], Anchor::End, theme.ink, &name);
        let write = |value: f64| number::short(value, &self.unit);
        let range = if known().next().is_some() {
            format!("{} to {}", write(least), write(largest))
        } else {
            "no samples here".into()
        };
        scene.text([left - 7.0, middle + 9.0], Anchor::End, theme.quiet, &range);
        if let Some(over) = self.over.get(line).filter(|cell| !cell.mean.is_nan()) {
            let words = match self.locations {
                1 => write(over.mean),
                _ => format!("{} {}", across.name(), write(over.mean)),
            };
            scene.text(
                [left + width + 7.0, middle],
                Anchor::Start,
                theme.ink,
                &words,
            );
        }
        let (low, high) = self.range();
        let height = self.row_height();
        for (at, (label, values)) in self.rows.iter().enumerate() {
            let top = bottom + at as f64 * height;
            let colour = |value: &f64| match (value - low) / (high - low) {
                _ if value.is_nan() => theme.absent,
                share => ColourMap::BlueYellow.at(if share.is_finite() { share } else { 0.5 }),
            };
            let gap = if height > 6.0 { 1.0 } else { 0.0 };
            let place = [left, top, 1.0, height - gap];
            scene.push(Mark::Cells(place, values.iter().map(colour).collect()));
            if height >= 12.0 {
                let at = [left - 7.0, top + height / 2.0];
                scene.text(at, Anchor::End, theme.quiet, &shortened(label, most));
            }
        }
    }

    /// Returns the explanation of the marks, for the legend of a picture.
    pub(super) fn remark(all: &[Tracks], across: Across) -> Option<String> {
        let most = all.iter().map(|of| of.locations).max()?;
        let line = match (most, across) {
            (1, _) => "counters: mean of each pixel, and its range",
            (_, Across::Sum) => "counters: sum over the locations",
            (_, Across::Max) => "counters: largest location, and the range of all",
            (_, _) => "counters: mean over the locations, and their range",
        };
        let rows = if most > 1 {
            "; below it the locations, dark blue low, yellow high"
        } else {
            ""
        };
        Some(format!("{line}{rows}"))
    }
}

fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

/// Counter of a page.
#[derive(Debug, Serialize)]
pub(super) struct CounterNames {
    /// Name.
    name: String,
    /// Unit of the values.
    unit: String,
    /// Number of locations.
    locations: usize,
    /// Labels of the rows of the heat map.
    rows: Vec<String>,
}

/// Values of a counter in a window for the script of a page, in columns of equal width.
#[derive(Debug, Serialize)]
pub(super) struct TracksData {
    /// Begin in nanoseconds since the start of the page.
    from: i64,
    /// Length in nanoseconds.
    span: i64,
    /// Number of columns.
    columns: usize,
    /// Mean, sum and maximum over the locations as 32-bit floats.
    lines: [String; 3],
    /// Least and largest value as 32-bit floats.
    band: [String; 2],
    /// Mean, sum and maximum over the window.
    over: Vec<Option<f64>>,
    /// Values of the codes 1 and 255 of the rows.
    range: Option<(f64, f64)>,
    /// Codes of each row, a byte for each column; 0 stands for no value.
    rows: Vec<String>,
}
