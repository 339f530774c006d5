//! [`Tracks`]: counters below the rows of a timeline in pictures and pages: a line for all
//! locations, and a heat map of the locations.

use crate::encoding::base64;
use crate::glyphs::{self, ADVANCE};
use crate::{Anchor, ColourMap, Mark, Scene, Theme, number, shortened};
use perf_core::TimeRange;
use perf_fold::{Across, Counter, CounterCell};
use serde::Serialize;

/// Largest number of rows of a heat map. More locations are joined to blocks of neighbours.
const MOST_ROWS: usize = 32;
/// Number of columns of the whole recording whose values give the range of the colours. Single samples
/// of a rate may be many times as large as all else, so the extremes of the samples would leave one colour.
const COLOUR_COLUMNS: usize = 1024;
/// Largest code of a value in a row of a page.
const LARGEST_CODE: f64 = 65_535.0;
/// Length of the colours in the key of a heat map, in pixels.
const KEY_LENGTH: f64 = 120.0;
/// Height of the key of a heat map, in pixels.
const KEY: f64 = 22.0;
/// Largest number of counters of a picture or page.
pub(super) const MOST_COUNTERS: usize = 12;
/// Colours of the heat map from the least to the largest value.
const COLOURS: ColourMap = ColourMap::BlueYellow;
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
    /// Values of the first and the last colour of the heat map; `None` without values.
    colours: Option<(f64, f64)>,
}

impl Tracks {
    /// Computes the values of a window.
    pub(super) fn of(counter: &Counter, window: TimeRange, columns: usize) -> Self {
        let cells = cells_of(counter, window, columns);
        let line = |across| (0..columns).map(|at| column(&cells, across, at)).collect();
        let over: Vec<CounterCell> = counter.series.iter().map(|of| of.over(window)).collect();
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
            rows: rows_of(counter, &cells),
            colours: None,
        }
    }

    /// Sets the colours of the heat map by the values of the whole recording, so that a value has the
    /// same colour in each window, in each page and in pictures.
    pub(super) fn coloured(self, counter: &Counter, whole: TimeRange) -> Self {
        let cells = cells_of(counter, whole, COLOUR_COLUMNS);
        Tracks {
            colours: range(&rows_of(counter, &cells)),
            ..self
        }
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
        let range = range(&self.rows);
        let (low, high) = range.unwrap_or_default();
        // 0 stands for no value.
        let code = |value: f64| match (value - low) / (high - low) {
            _ if value.is_nan() => 0,
            share if share.is_finite() => (1.0 + (LARGEST_CODE - 1.0) * share).round() as u16,
            _ => 1,
        };
        let row = |values: &Vec<f64>| {
            let bytes = values.iter().flat_map(|value| code(*value).to_le_bytes());
            base64(&bytes.collect::<Vec<u8>>())
        };
        TracksData {
            from: start,
            span,
            columns: self.lines.first().map_or(0, Vec::len),
            lines: [0, 1, 2].map(|line| of(line, |cell| cell.mean)),
            band: [of(0, |cell| cell.min), of(0, |cell| cell.max)],
            over: self.over.iter().map(|cell| finite(cell.mean)).collect(),
            range,
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
            colours: self.colours,
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
        let key = if self.rows.is_empty() { 0.0 } else { KEY };
        GAP + LINE + self.rows.len() as f64 * self.row_height() + key
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
        let write = |value: f64| self.write(value);
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
        self.draw_rows((left, bottom), (theme, most), scene);
    }

    /// Formats a value with its unit.
    fn write(&self, value: f64) -> String {
        match self.unit.as_str() {
            // A prefix before it would read as a unit.
            "%" => format!("{} %", number::short(value, "")),
            unit => number::short(value, unit),
        }
    }

    /// Draws the heat map below `top`, and its key.
    fn draw_rows(
        &self,
        (left, top): (f64, f64),
        (theme, most): (&Theme, usize),
        scene: &mut Scene,
    ) {
        let Some((low, high)) = self.colours.filter(|_| !self.rows.is_empty()) else {
            return;
        };
        let height = self.row_height();
        let colour = |value: &f64| match (value - low) / (high - low) {
            _ if value.is_nan() => theme.absent,
            share => COLOURS.at(if share.is_nan() { 0.5 } else { share }),
        };
        for (at, (label, values)) in self.rows.iter().enumerate() {
            let top = top + at as f64 * height;
            let gap = if height > 6.0 { 1.0 } else { 0.0 };
            let place = [left, top, 1.0, height - gap];
            scene.push(Mark::Cells(place, values.iter().map(colour).collect()));
            if height >= 12.0 {
                let at = [left - 7.0, top + height / 2.0];
                scene.text(at, Anchor::End, theme.quiet, &shortened(label, most));
            }
        }
        let middle = top + height * self.rows.len() as f64 + KEY / 2.0 + 1.0;
        let values = self.rows.iter().flat_map(|(_, values)| values);
        // A smaller excess than that of the next colour is not seen.
        let least = (high - low) / 128.0;
        let [below, above] = values.fold([false; 2], |[below, above], value| {
            [
                below || *value < low - least,
                above || *value > high + least,
            ]
        });
        let write = |value: f64| self.write(value);
        let low = format!("{}{}", write(low), if below { " or less" } else { "" });
        scene.text([left, middle], Anchor::Start, theme.ink, &low);
        let start = left + glyphs::width(&low) + 8.0;
        let colours = (0..KEY_LENGTH as usize).map(|at| COLOURS.at(at as f64 / KEY_LENGTH));
        let place = [start, middle - 5.0, 1.0, 10.0];
        scene.push(Mark::Cells(place, colours.collect()));
        let high = format!("{}{}", write(high), if above { " or more" } else { "" });
        let place = [start + KEY_LENGTH + 8.0, middle];
        scene.text(place, Anchor::Start, theme.ink, &high);
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
            "; below it the mean of each location and pixel, in colours of the range of the whole recording"
        } else {
            ""
        };
        Some(format!("{line}{rows}"))
    }
}

/// Returns the cells of each location of a counter.
fn cells_of(counter: &Counter, window: TimeRange, columns: usize) -> Vec<Vec<CounterCell>> {
    let cells = counter.series.iter().map(|of| of.cells(window, columns));
    cells.collect()
}

/// Returns the combination of a column of several locations.
fn column(of: &[Vec<CounterCell>], across: Across, at: usize) -> CounterCell {
    across.of(of.iter().filter_map(|cells| cells.get(at)))
}

/// Returns the label and the values of each row of the heat map: a location, or the mean of a block of
/// neighbours. There are no rows for a single location.
fn rows_of(counter: &Counter, cells: &[Vec<CounterCell>]) -> Vec<(String, Vec<f64>)> {
    if cells.len() < 2 {
        return Vec::new();
    }
    let size = cells.len().div_ceil(MOST_ROWS);
    let blocks = cells.chunks(size).zip(counter.series.chunks(size));
    let rows = blocks.map(|(cells, series)| {
        let label = match series {
            [first, .., last] => format!("{} to {}", first.label, last.label),
            series => series.iter().map(|of| of.label.clone()).collect(),
        };
        let columns = 0..cells.first().map_or(0, Vec::len);
        let values = columns.map(|at| column(cells, Across::Mean, at).mean);
        (label, values.collect())
    });
    rows.collect()
}

/// Returns the least and the largest value of the rows of a heat map; `None` without values.
fn range(rows: &[(String, Vec<f64>)]) -> Option<(f64, f64)> {
    let values = rows.iter().flat_map(|(_, values)| values).copied();
    let known = values.filter(|value| value.is_finite());
    known.fold(None, |range, value| {
        let (low, high) = range.unwrap_or((value, value));
        Some((value.min(low), value.max(high)))
    })
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
    /// Values of the first and the last colour of the heat map.
    colours: Option<(f64, f64)>,
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
    /// Values of the codes 1 and 65,535 of the rows.
    range: Option<(f64, f64)>,
    /// Codes of each row, two bytes for each column, the low byte first; 0 stands for no value.
    rows: Vec<String>,
}
