//! [`MatrixPicture`]: messages between rows as a picture, a cell for each sender and receiver,
//! coloured by a [`Measure`] such as their number or bytes.

use crate::glyphs::{self, ADVANCE};
use crate::{Anchor, ColourMap, Mark, Scene, Theme, number, shortened};
use perf_fold::{MessageMatrix, Pair};

/// Quantity that the cells of a [`MatrixPicture`] show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Measure {
    /// Number of messages.
    Count,
    /// Sum of their bytes.
    #[default]
    Bytes,
    /// Mean time from sending to receipt.
    Time,
}

impl Measure {
    /// Returns the value of a pair of rows, or `None` if it is not known.
    fn of(self, matrix: &MessageMatrix, pair: &Pair) -> Option<f64> {
        match self {
            Measure::Count => Some(pair.traffic.count as f64),
            Measure::Bytes => Some(pair.traffic.bytes as f64),
            Measure::Time => matrix.mean_time(pair).map(|time| time.0 as f64),
        }
    }

    fn write(self, value: f64) -> String {
        match self {
            Measure::Count => number::count(value as u64),
            Measure::Bytes => number::bytes(value),
            Measure::Time => number::time(value),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Measure::Count => "number of messages",
            Measure::Bytes => "bytes",
            Measure::Time => "mean time from sending to receipt",
        }
    }
}

/// Messages between rows as PNG or SVG. Senders are rows, receivers are columns.
///
/// More than 128 rows are joined to blocks of neighbours. If values differ by more than a factor of
/// 100, colours are on a logarithmic scale.
///
/// ```
/// use perf_core::{Job, LocationId, Ticks};
/// use perf_fold::{Folder, GroupBy, Groups, Line, RegionMap, Timelines};
/// use perf_view::timeline::{MatrixPicture, Measure};
/// let trace = perf_core::samples::cosmo::trace();
/// let map = RegionMap::by_name(trace.definitions())?;
/// let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
/// let folder = Folder::new(&timelines, Groups::by(&timelines, GroupBy::Process), Default::default())?;
/// let (from, to) = (LocationId(0), LocationId(1));
/// let message = Line { from, sent: Ticks(5), to, received: Ticks(9), bytes: 2048 };
/// let matrix = folder.messages(timelines.range(), [message]);
/// let scene = MatrixPicture::new(&matrix, Measure::Bytes).titled("Neighbours").scene();
/// assert!(scene.svg().contains("2.00 KiB"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MatrixPicture {
    matrix: MessageMatrix,
    measure: Measure,
    title: String,
    theme: Theme,
}

const MARGIN: f64 = 16.0;
const TITLE: f64 = 28.0;
/// Longest label of a row in characters.
const LABEL: usize = 30;
/// Largest number of rows without blocks.
const MOST_ROWS: usize = 128;
/// Side of the matrix in pixels, if its cells have a size between the limits.
const SIDE: f64 = 640.0;
/// Factor between least and largest value from which colours are logarithmic.
const LOGARITHMIC: f64 = 100.0;

impl MatrixPicture {
    /// Creates a picture of a matrix.
    pub fn new(matrix: &MessageMatrix, measure: Measure) -> Self {
        MatrixPicture {
            matrix: matrix.in_blocks(MOST_ROWS),
            measure,
            title: String::new(),
            theme: Theme::light(),
        }
    }

    /// Sets the title above the picture. Default: none.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets the theme, default [`Theme::light`].
    pub fn theme(mut self, theme: Theme) -> Self {
        self.theme = theme;
        self
    }

    /// Draws the picture.
    pub fn scene(&self) -> Scene {
        let (matrix, theme) = (&self.matrix, &self.theme);
        let labels = matrix.labels();
        let count = labels.len().max(1);
        let side = (SIDE / count as f64).clamp(4.0, 36.0).floor();
        let longest = labels
            .iter()
            .map(|label| label.chars().count().min(LABEL))
            .max();
        let left = MARGIN + longest.unwrap_or(0).max(8) as f64 * ADVANCE + 10.0;
        let top = MARGIN + TITLE + 36.0;
        let length = side * count as f64;
        let values: Vec<((u32, u32), f64)> = matrix
            .pairs
            .iter()
            .filter_map(|(ends, pair)| Some((*ends, self.measure.of(matrix, pair)?)))
            .collect();
        let positive = || {
            values
                .iter()
                .map(|(_, value)| *value)
                .filter(|value| *value > 0.0)
        };
        let (least, largest) = (
            positive().fold(f64::INFINITY, f64::min),
            positive().fold(0.0, f64::max),
        );
        let is_log = largest > LOGARITHMIC * least;
        let share = |value: f64| match (value > 0.0, is_log) {
            (false, _) => 0.0,
            (_, true) => (value / least).ln() / (largest / least).ln(),
            (_, false) => value / largest,
        };
        let words = self.measure.words();
        let mut notes = vec![format!(
            "{} messages between {} rows; rows send, columns receive, in one order; colour: {words}",
            number::count(matrix.pairs.values().map(|pair| pair.traffic.count).sum()),
            number::count(count as u64),
        )];
        let silent = count * count - matrix.pairs.len();
        if silent > 0 {
            let pairs = (count * count) as f64;
            notes.push(format!(
                "grey: no messages, {} of the cells",
                number::percent(silent as f64 / pairs)
            ));
        }
        if matrix.elsewhere.count > 0 {
            let elsewhere = number::count(matrix.elsewhere.count);
            notes.push(format!("{elsewhere} more messages have an end in no row"));
        }
        let scale = 160.0;
        let widest = notes
            .iter()
            .map(|note| glyphs::width(note))
            .fold(glyphs::width(&self.title) * 1.1, f64::max);
        let width = (left + length + MARGIN)
            .max(MARGIN * 2.0 + widest)
            .max(420.0);
        let bottom = top + length;
        let height = bottom + 40.0 + 20.0 * notes.len() as f64 + MARGIN;
        let mut scene = Scene::new(width.ceil() as u32, height.ceil() as u32, theme.paper);
        scene.title = format!("{}: {}", self.title, notes.join("; "));
        let at = [MARGIN, MARGIN + TITLE / 2.0 - 4.0];
        scene.push(Mark::Title(
            at,
            Anchor::Start,
            theme.ink,
            self.title.clone(),
        ));
        scene.push(Mark::Rect([left, top, length, length], theme.idle));
        let gap = if side > 8.0 { 1.0 } else { 0.0 };
        for ((from, to), value) in &values {
            let colour = ColourMap::BlueYellow.at(share(*value));
            let (x, y) = (left + f64::from(*to) * side, top + f64::from(*from) * side);
            scene.push(Mark::Rect([x, y, side - gap, side - gap], colour));
        }
        self.labels((left, top), side, &mut scene);
        let y = bottom + 22.0;
        let (low, high) = match (is_log, largest > 0.0) {
            (true, _) => (least, largest),
            (false, true) => (0.0, largest),
            (false, false) => (0.0, 0.0),
        };
        let low = self.measure.write(low);
        scene.text([MARGIN, y], Anchor::Start, theme.ink, &low);
        let start = MARGIN + glyphs::width(&low) + 8.0;
        let colours = (0..scale as usize).map(|at| ColourMap::BlueYellow.at(at as f64 / scale));
        scene.push(Mark::Cells([start, y - 6.0, 1.0, 12.0], colours.collect()));
        let high = format!(
            "{}{}",
            self.measure.write(high),
            if is_log { ", logarithmic" } else { "" }
        );
        scene.text([start + scale + 8.0, y], Anchor::Start, theme.ink, &high);
        for (at, note) in notes.iter().enumerate() {
            let y = y + 22.0 + 20.0 * at as f64;
            scene.text([MARGIN, y], Anchor::Start, theme.quiet, note);
        }
        scene
    }

    /// Draws the labels of senders at the left, and those of receivers above as far as they fit.
    fn labels(&self, (left, top): (f64, f64), side: f64, scene: &mut Scene) {
        let labels = self.matrix.labels();
        let every = (14.0 / side).ceil().max(1.0) as usize;
        for (at, label) in labels.iter().enumerate().step_by(every) {
            let place = [left - 7.0, top + (at as f64 + 0.5) * side];
            scene.text(place, Anchor::End, self.theme.ink, &shortened(label, LABEL));
        }
        let (sender, receiver) = ([left - 7.0, top - 27.0], [left, top - 27.0]);
        scene.text(sender, Anchor::End, self.theme.ink, "sender");
        scene.text(receiver, Anchor::Start, self.theme.ink, "receiver");
        let mut free = f64::NEG_INFINITY;
        let right = f64::from(scene.width) - 4.0;
        for (at, label) in labels.iter().enumerate() {
            let label = shortened(label, LABEL);
            let (middle, half) = (left + (at as f64 + 0.5) * side, glyphs::width(&label) / 2.0);
            if middle - half > free && middle + half < right {
                let place = [middle, top - 9.0];
                scene.text(place, Anchor::Middle, self.theme.quiet, &label);
                free = middle + half + 4.0;
            }
        }
    }
}
