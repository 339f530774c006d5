//! [`Picture`]: one folded timeline as PNG or SVG, with legend, messages, markers, counters and an
//! [`Overlay`].

use super::cell_colour::{self, Paint};
use super::counters::{MOST_COUNTERS, Tracks};
use super::legend::{self, Entry};
use super::overlay::Rows;
use super::{Marker, Overlay, message_bundles};
use crate::glyphs::{self, ADVANCE};
use crate::{
    Anchor, Axis, Colour, Error, Mark, Palette, Result, Scene, Theme, Unit, number, shortened,
};
use perf_core::{Job, LocationKind};
use perf_fold::{
    Across, Cell, Column, Counter, Ends, Fold, Folder, Lines, Op, State, Traffic, Usage, Value,
};
use std::collections::HashMap;

/// One fold as PNG or SVG, with one row for each group and one pixel for each column.
///
/// ```
/// use perf_core::Job;
/// use perf_fold::{Folder, GroupBy, Groups, Op, RegionMap, Timelines};
/// use perf_view::timeline::Picture;
/// let trace = perf_core::samples::cosmo::trace();
/// let map = RegionMap::by_name(trace.definitions())?;
/// let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
/// let groups = Groups::by(&timelines, GroupBy::Node);
/// let params = Folder::params().columns(600).op(Op::Diff).check()?;
/// let folder = Folder::new(&timelines, groups, params)?;
/// let fold = folder.fold(timelines.range(), &Job::default())?;
/// let scene = Picture::new(&folder, &fold)?.titled("Where ranks differ").scene();
/// assert!(scene.svg().contains("Where ranks differ"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Picture<'a> {
    folder: &'a Folder,
    fold: &'a Fold,
    usage: Vec<Usage>,
    palette: Palette,
    title: String,
    theme: Theme,
    lines: Option<&'a Lines>,
    markers: &'a [Marker],
    overlay: Option<&'a Overlay>,
    has_legend: bool,
    has_own_spans: bool,
    tracks: Vec<Tracks>,
    across: Across,
}

const MARGIN: f64 = 16.0;
const TITLE: f64 = 28.0;
const AXIS: f64 = 34.0;
const LEGEND_LINE: f64 = 20.0;
/// Longest label of a row and of the legend, in characters.
const LABEL: usize = 36;
/// Largest difference between the painted share and the busy share of a row without a remark in the
/// legend.
const MAX_SAMPLING_ERROR: f64 = 0.05;
/// Largest number of rows that are all high enough for a label.
const LABELLED: usize = 64;
/// Number of message bundles that are labelled with their count. The bundles with the most messages
/// have a label.
const COUNTED: usize = 12;

impl<'a> Picture<'a> {
    /// Creates a picture of a fold that `folder` has computed, and computes the busy share of its
    /// rows.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Empty`] if the fold has no rows or columns.
    /// - Returns [`Error::Fold`] if [`Folder::usage`] fails.
    pub fn new(folder: &'a Folder, fold: &'a Fold) -> Result<Self> {
        if fold.cells().is_empty() {
            return Err(Error::Empty {
                what: "a fold without rows or columns",
            });
        }
        let (window, job) = (fold.window(), Job::default());
        // The remark about sampling compares the busy time of rows with the operation `idle`. No other row of threads
        // needs the union of its busy intervals, which takes longer than all else.
        let is_compared = |kind| folder.checked().op(kind) == Some(Op::Idle);
        let has_unions = fold.rows().any(|row| is_compared(row.group().kind));
        let usage = if has_unions {
            folder.usage(window, &job)?
        } else {
            folder.busy_shares(window, &job)?
        };
        let streams = fold.rows().map(|row| row.streams()).sum();
        let totals = legend::totals(&usage);
        let palette = legend::palette(folder.timelines(), (&totals, streams, window), &job)?;
        Ok(Picture {
            folder,
            fold,
            usage,
            palette,
            title: String::new(),
            theme: Theme::light(),
            lines: None,
            markers: &[],
            overlay: None,
            has_legend: true,
            has_own_spans: false,
            tracks: Vec::new(),
            across: Across::default(),
        })
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

    /// Adds messages between rows. [`Folder::lines`] must have bundled them for the window of the
    /// fold.
    pub fn lines(mut self, lines: &'a Lines) -> Self {
        self.lines = Some(lines);
        self
    }

    /// Adds markers of abnormal calls. Markers outside of the window or the rows are skipped.
    pub fn markers(mut self, markers: &'a [Marker]) -> Self {
        self.markers = markers;
        self
    }

    /// Adds hatched waits, arrows from their causes, and a path through the rows. Default: none.
    pub fn overlay(mut self, overlay: &'a Overlay) -> Self {
        self.overlay = Some(overlay);
        self
    }

    /// Sets whether the picture has a legend. Default `true`. Several pictures of one recording
    /// need only one legend.
    pub fn legend(mut self, has_legend: bool) -> Self {
        self.has_legend = has_legend;
        self
    }

    /// Sets the reference span of the busy share of a row.
    ///
    /// If `true`, the reference is the span of the row, from its first begin of work in the window
    /// to its last end, as in [`Usage::own`]. If `false`, the default, it is the window.
    pub fn own_spans(mut self, has_own_spans: bool) -> Self {
        self.has_own_spans = has_own_spans;
        self
    }

    /// Adds counters below the rows, at most 12: the values of all locations combined by `across` as a
    /// line, and those of each location as a heat map. Default: none.
    pub fn counters(mut self, counters: &[Counter], across: Across) -> Self {
        let (window, columns) = (self.fold.window(), self.fold.columns());
        let whole = self.folder.timelines().range();
        let tracks = |of| Tracks::of(of, window, columns).coloured(of, whole);
        self.tracks = counters.iter().take(MOST_COUNTERS).map(tracks).collect();
        self.across = across;
        self
    }

    /// Draws the picture.
    pub fn scene(&self) -> Scene {
        let layout = Layout::of(self);
        let numbers = self
            .fold
            .cells()
            .iter()
            .filter_map(|cell| cell.value.number());
        let paint = Paint {
            palette: &self.palette,
            theme: self.theme,
            largest: numbers.fold(0.0, f32::max),
        };
        let is_theme = |colour| [self.theme.idle, self.theme.absent].contains(&colour);
        let mut entries = self.states(is_theme);
        entries.extend(self.remarks(&paint));
        if layout.every > 1 {
            entries.push(Entry::remark(&format!(
                "labels of one row in {} of {}",
                layout.every,
                number::count(self.usage.len() as u64)
            )));
        }
        if !self.has_legend {
            entries.clear();
        }
        let texts = legend::texts(&entries, LABEL);
        let places = legend_places(&entries, &texts, layout.width);
        let below = places.last().map_or(0.0, |place| place[1] + LEGEND_LINE);
        let (width, height) = (layout.width, layout.bottom + AXIS + below + MARGIN);
        let mut scene = Scene::new(width as u32, height.ceil() as u32, self.theme.paper);
        scene.title = self.words();
        let title = self.title.clone();
        let at = [MARGIN, MARGIN + TITLE / 2.0 - 4.0];
        if !title.is_empty() {
            scene.push(Mark::Title(at, Anchor::Start, self.theme.ink, title));
        }
        self.rows(&layout, &paint, &mut scene);
        let mut top = layout.rows_end;
        for tracks in &self.tracks {
            tracks.draw(
                (layout.left, top),
                self.across,
                (&self.theme, LABEL),
                &mut scene,
            );
            top += tracks.height();
        }
        self.axis(&layout, &mut scene);
        self.messages(&layout, &mut scene);
        if let Some(overlay) = self.overlay {
            let rows = Rows {
                of: message_bundles::rows(self.folder),
                window: self.fold.window(),
                left: layout.left,
                top: layout.top,
                width: self.fold.columns() as f64,
                height: layout.row,
                theme: &self.theme,
            };
            rows.draw(overlay, &mut scene);
        }
        self.marks(&layout, &mut scene);
        for ((entry, text), [x, y]) in entries.iter().zip(&texts).zip(places) {
            let y = layout.bottom + AXIS + y + LEGEND_LINE / 2.0;
            if let Some(colour) = entry.colour {
                // Colours of the theme hardly differ from the paper.
                if is_theme(colour) {
                    let frame = [x - 1.0, y - 7.0, 14.0, 14.0];
                    scene.push(Mark::Rect(frame, self.theme.quiet));
                }
                scene.push(Mark::Rect([x, y - 6.0, 12.0, 12.0], colour));
            }
            let indent = if entry.colour.is_some() { 17.0 } else { 0.0 };
            scene.text([x + indent, y], Anchor::Start, self.theme.ink, text);
        }
        scene
    }

    /// Returns the entries of the states, those of each kind of row together, and of the hues.
    fn states(&self, is_theme: impl Fn(Colour) -> bool) -> Vec<Entry> {
        let (palette, classes) = (&self.palette, self.fold.classes());
        let clock = self.folder.timelines().clock();
        let nanos = |ticks| clock.total(ticks).0 as f64;
        let groups: Vec<_> = self.fold.rows().map(|row| row.group()).collect();
        let has_numbers = self
            .fold
            .cells()
            .iter()
            .any(|cell| cell.value.number().is_some());
        let (mut entries, mut painted) = (Vec::new(), Vec::new());
        for part in legend::parts(&groups, &self.usage) {
            let mut areas: HashMap<_, usize> = HashMap::new();
            let rows = part.rows.iter().filter_map(|row| self.fold.row(*row));
            for class in rows.flat_map(|row| row.cells()).filter_map(Cell::picture) {
                *areas.entry(palette.of(classes.name(class))).or_default() += 1;
            }
            let usage = part.rows.iter().filter_map(|row| self.usage.get(*row));
            let totals = legend::totals(usage);
            let of_part = legend::entries(&totals, classes, palette, &self.theme, nanos);
            entries.extend(part.heading.as_deref().map(Entry::heading));
            entries.extend(legend::by_area(of_part, (&areas, has_numbers), &is_theme));
            let is_painted = |state: &State| {
                let class = state.class();
                class.is_some_and(|class| areas.contains_key(&palette.of(classes.name(class))))
            };
            painted.extend(totals.into_iter().filter(|it| is_painted(&it.0)));
        }
        let hues = legend::hues(&painted, classes, palette);
        entries.extend(hues.iter().map(|text| Entry::remark(text)));
        entries
    }

    /// Returns a description of the picture in one sentence.
    fn words(&self) -> String {
        let streams: usize = self.fold.rows().map(|row| row.streams()).sum();
        let (start, end) = self.span();
        let rows = self.usage.len();
        let title = match self.title.as_str() {
            "" => String::new(),
            title => format!("{title}: "),
        };
        let [start, end] = number::window([start, end]);
        format!("{title}{streams} streams in {rows} rows from {start} to {end}")
    }

    fn span(&self) -> (f64, f64) {
        let (clock, window) = (self.folder.timelines().clock(), self.fold.window());
        let nanos = |at| clock.nanos(at).unwrap_or_default().0 as f64;
        (nanos(window.start), nanos(window.end))
    }

    fn remarks(&self, paint: &Paint<'_>) -> Vec<Entry> {
        let mut remarks = Vec::new();
        let mut add = |colour, name: String| {
            remarks.push(Entry {
                colour,
                ..Entry::remark(&name)
            });
        };
        let cells = self.fold.cells();
        if cells.iter().any(|cell| cell.value.number().is_some()) {
            add(Some(paint.shaded(cell_colour::MEASURE, 0.0)), "0".into());
            let largest = match f64::from(paint.largest) {
                share @ 0.01..1.0 => format!("{share:.2}"),
                other => number::short(other, ""),
            };
            add(
                Some(cell_colour::MEASURE),
                format!("{largest}, the largest"),
            );
        }
        let uniform = cells.iter().filter(|cell| cell.value == Value::Uniform);
        let uniform = uniform.count();
        if uniform > 0 {
            let share = number::percent(uniform as f64 / cells.len() as f64);
            add(
                Some(self.theme.equal),
                format!("all equal, {share} of the picture"),
            );
        }
        let majorities = self
            .fold
            .rows()
            .filter(|row| cell_colour::is_majority(self.folder.checked(), row.group().kind));
        let (mut is_fainter, mut is_stronger) = (false, false);
        for cell in majorities.flat_map(|row| row.cells()) {
            let has_shade = cell.winning < cell.total;
            is_fainter |= has_shade && cell.picture().is_some();
            is_stronger |= has_shade && cell.value == Value::Idle;
        }
        if is_fainter {
            remarks.push(Entry::remark(cell_colour::FAINTER));
        }
        if is_stronger {
            remarks.push(Entry::remark(cell_colour::STRONGER));
        }
        let streams = self.fold.rows().map(|row| row.streams()).sum();
        let without_states = legend::without_states(streams, &self.usage);
        remarks.extend(without_states.map(|text| Entry::remark(&text)));
        let error = self.sampling_error();
        if error > MAX_SAMPLING_ERROR {
            let points = (100.0 * error).round();
            remarks.push(Entry::remark(&format!(
                "colour covers up to {points} points more or less of a row than its busy share"
            )));
        }
        remarks.extend(Tracks::remark(&self.tracks, self.across).map(|text| Entry::remark(&text)));
        remarks.extend(self.overlay.map(Overlay::remarks).unwrap_or_default());
        if let Some(lines) = self.lines.filter(|lines| lines.inside.count > 0) {
            let inside = number::count(lines.inside.count);
            remarks.push(Entry::remark(&format!("{inside} messages inside of rows")));
        }
        remarks
    }

    /// Returns the largest difference between the painted share of a row and its busy share.
    ///
    /// Only rows with the operation `idle` are compared, because they paint busy time. The
    /// difference is large if the period of repeated work matches the pixels.
    fn sampling_error(&self) -> f64 {
        let checked = self.folder.checked();
        let rows = self.fold.rows().zip(&self.usage);
        let busy = rows.filter(|(row, _)| checked.op(row.group().kind) == Some(Op::Idle));
        let errors =
            busy.map(|(row, usage)| (row.painted_share() - usage.utilisation.utilisation()).abs());
        errors.fold(0.0, f64::max)
    }

    fn rows(&self, layout: &Layout, paint: &Paint<'_>, scene: &mut Scene) {
        let gap = if layout.row > 5.0 { 1.0 } else { 0.0 };
        for (at, (row, usage)) in self.fold.rows().zip(&self.usage).enumerate() {
            let majority = cell_colour::is_majority(self.folder.checked(), row.group().kind);
            let classes = self.fold.classes();
            let cells = row.cells().iter();
            let colours = cells
                .map(|cell| paint.cell(cell, classes, majority))
                .collect();
            let top = layout.top + at as f64 * layout.row;
            let place = [layout.left, top, 1.0, layout.row - gap];
            scene.push(Mark::Cells(place, colours));
            // Labels that would overlap are skipped.
            if at % layout.every == 0 {
                let middle = top + layout.row / 2.0;
                let label = shortened(row.label(), LABEL);
                scene.text(
                    [layout.left - 7.0, middle],
                    Anchor::End,
                    self.theme.ink,
                    &label,
                );
                let right = layout.left + self.fold.columns() as f64 + 7.0;
                let busy = busy(usage, row.group().kind, self.has_own_spans);
                scene.text([right, middle], Anchor::Start, self.theme.ink, &busy);
            }
        }
    }

    fn axis(&self, layout: &Layout, scene: &mut Scene) {
        let (start, end) = self.span();
        let width = self.fold.columns() as f64;
        let axis = Axis::over([start, end], Unit::Nanos);
        let line = [
            layout.left,
            layout.bottom,
            layout.left + width,
            layout.bottom,
        ];
        scene.line(line, self.theme.quiet);
        for (value, label) in axis.ticks((width / 110.0) as usize + 1) {
            let x = layout.left + width * axis.share(value);
            let tick = [x, layout.bottom, x, layout.bottom + 5.0];
            scene.line(tick, self.theme.quiet);
            let place = [x, layout.bottom + 14.0];
            scene.text(place, Anchor::Middle, self.theme.quiet, &label);
        }
    }

    fn messages(&self, layout: &Layout, scene: &mut Scene) {
        let Some(lines) = self.lines else { return };
        let width = self.fold.columns() as f64;
        let x = |column| match column {
            Column::Before => layout.left,
            Column::At(pixel) => layout.left + f64::from(pixel) + 0.5,
            Column::After => layout.left + width,
        };
        let y = |row: u32| layout.top + (f64::from(row) + 0.5) * layout.row;
        let mut bundles: Vec<(&Ends, &Traffic)> = lines.bundles.iter().collect();
        bundles.sort_by_key(|(ends, traffic)| (traffic.count, *ends));
        let most = bundles
            .last()
            .map_or(1, |(_, traffic)| traffic.count)
            .max(1);
        let told = bundles.len().saturating_sub(COUNTED);
        for (at, (ends, traffic)) in bundles.into_iter().enumerate() {
            let from = [x(ends.from), y(ends.from_row)];
            let to = [x(ends.to), y(ends.to_row)];
            let share = traffic.count as f64 / most as f64;
            let colour = self.theme.ink.opacity(0.25 + 0.5 * share);
            scene.push(Mark::Path(vec![from, to], 1.0 + share, colour));
            if at >= told && traffic.count > 1 {
                let middle = [(from[0] + to[0]) / 2.0 + 4.0, (from[1] + to[1]) / 2.0];
                let count = number::count(traffic.count);
                scene.text(middle, Anchor::Start, self.theme.ink, &count);
            }
        }
    }

    fn marks(&self, layout: &Layout, scene: &mut Scene) {
        let rows = message_bundles::rows(self.folder);
        let window = self.fold.window();
        for marker in self
            .markers
            .iter()
            .filter(|marker| window.contains(marker.at))
        {
            let Some(row) = rows.get(&marker.location) else {
                continue;
            };
            let offset = (marker.at.0 - window.start.0) as f64 / window.len() as f64;
            let x = layout.left + offset * self.fold.columns() as f64;
            let y = layout.top + f64::from(*row) * layout.row;
            let corners = vec![[x - 5.0, y - 1.0], [x + 5.0, y - 1.0], [x, y + 8.0]];
            scene.push(Mark::Polygon(corners, self.theme.alarm));
        }
    }
}

/// Returns the text to the right of a row.
fn busy(usage: &Usage, kind: LocationKind, has_own_spans: bool) -> String {
    if usage.times.is_empty() && usage.without_states > 0 {
        return "no states".into();
    }
    let share = number::percent(busy_share(usage, kind, has_own_spans));
    format!("{share} {}", busy_words(has_own_spans))
}

/// Returns the busy share of a row, relative to its own span or to the window.
pub(super) fn busy_share(usage: &Usage, kind: LocationKind, has_own_spans: bool) -> f64 {
    if has_own_spans {
        usage.own_busy_share(kind)
    } else {
        usage.busy_share(kind)
    }
}

/// Returns the text after a busy share.
pub(super) fn busy_words(has_own_spans: bool) -> &'static str {
    if has_own_spans {
        "busy of its span"
    } else {
        "busy"
    }
}

/// Geometry of the picture in pixels.
struct Layout {
    /// Left edge of the rows.
    left: f64,
    /// Upper edge of the rows.
    top: f64,
    /// Lower edge of the rows.
    rows_end: f64,
    /// Lower edge of the rows and counters.
    bottom: f64,
    /// Width of the picture.
    width: f64,
    /// Height of a row.
    row: f64,
    /// Distance between labelled rows: one of `every` rows has a label.
    every: usize,
}

impl Layout {
    fn of(picture: &Picture<'_>) -> Self {
        let rows = picture.usage.len().max(1);
        // Up to this many rows, all have a label.
        let least = if rows <= LABELLED { 14 } else { 3 };
        let row = (360 / rows).clamp(least, 48) as f64;
        let labels = picture
            .fold
            .rows()
            .map(|row| row.label().chars().count().min(LABEL));
        let labels = labels.max().unwrap_or_default() as f64 * ADVANCE;
        let counters = picture.tracks.iter().map(|of| of.label_width(LABEL));
        let labels = counters.fold(labels, f64::max) + 10.0;
        let rows_of = picture.fold.rows().zip(&picture.usage);
        let busy = rows_of.map(|(row, usage)| {
            glyphs::width(&busy(usage, row.group().kind, picture.has_own_spans)) + 10.0
        });
        // The mean of a counter takes up to 18 characters.
        let least = if picture.tracks.is_empty() {
            0.0
        } else {
            18.0 * ADVANCE
        };
        let busy = busy.fold(least, f64::max);
        let left = MARGIN + labels;
        let title = if picture.title.is_empty() { 0.0 } else { TITLE };
        let top = MARGIN + title;
        let rows_end = top + row * rows as f64;
        let counters: f64 = picture.tracks.iter().map(Tracks::height).sum();
        let width = left + picture.fold.columns() as f64 + busy + MARGIN;
        Layout {
            left,
            top,
            rows_end,
            bottom: rows_end + counters,
            width: width.max(360.0),
            row,
            every: (14.0 / row).ceil().max(1.0) as usize,
        }
    }
}

/// Returns the position of each legend entry. Entries wrap at the width of the picture, and before the
/// heading of a kind of row.
fn legend_places(entries: &[Entry], texts: &[String], width: f64) -> Vec<[f64; 2]> {
    let (mut x, mut y) = (MARGIN, 0.0);
    let mut places = Vec::with_capacity(entries.len());
    for (entry, text) in entries.iter().zip(texts) {
        let needed = glyphs::width(text) + 38.0;
        if (x + needed > width || entry.is_heading) && x > MARGIN {
            x = MARGIN;
            y += LEGEND_LINE;
        }
        places.push([x, y]);
        x += needed;
    }
    places
}
