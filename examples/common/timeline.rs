//! Folds as panels of a picture.

use crate::picture::{self, Colours, Panel, Row};
use embedded_graphics::pixelcolor::Rgb888;
use perfkit::core::Nanos;
use perfkit::fold::{Cell, Fold, FoldRow, Folder, Op, Usage, Value as Shown};
use std::collections::BTreeMap;

/// How the states of some folds are painted: colours, and what the legend says.
#[derive(Debug)]
pub struct Paint {
    colours: Colours,
    /// The largest number of a cell, for operations that give numbers.
    largest: f32,
    /// Colour and text; a remark has no colour.
    pub legend: Vec<(Option<Rgb888>, String)>,
}

impl Paint {
    /// Plans colours for folds that share a picture, the most frequent state first.
    pub fn plan(folds: &[(&Folder, &Fold)]) -> Self {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let cells = || folds.iter().flat_map(|(_, fold)| fold.cells());
        for (_, fold) in folds {
            for class in fold.cells().iter().filter_map(Cell::picture) {
                *counts.entry(fold.classes().name(class)).or_default() += 1;
            }
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let colours = Colours::plan(counts.iter().map(|(name, _)| *name));
        let numbers = cells().filter_map(|cell| cell.value.number());
        let largest = numbers.clone().fold(0.0, f32::max);
        let mut legend = Vec::new();
        let mut others = 0;
        for (name, _) in &counts {
            match colours.of(name) {
                picture::OTHER => others += 1,
                colour => legend.push((Some(colour), (*name).to_string())),
            }
        }
        if others > 0 {
            legend.push((Some(picture::OTHER), format!("{others} other states")));
        }
        if numbers.count() > 0 {
            legend.push((Some(picture::shaded(MEASURE, 0.0)), "0".into()));
            legend.push((Some(MEASURE), format!("{largest:.2}, the largest")));
        }
        let shows = |is: fn(&Cell) -> bool| cells().any(is);
        if shows(|cell| cell.value == Shown::Uniform) {
            legend.push((Some(picture::EQUAL), "all equal".into()));
        }
        if shows(|cell| is_blank(cell) && !is_absent(cell)) {
            legend.push((Some(picture::IDLE), "in no region".into()));
        }
        if shows(|cell| is_blank(cell) && is_absent(cell)) {
            legend.push((Some(picture::ABSENT), "not recorded".into()));
        }
        let shaded = folds.iter().any(|(folder, fold)| {
            let by_agreement = |row: FoldRow<'_>| row.streams() > 1 && is_majority(folder, row);
            fold.rows().any(by_agreement)
        });
        if shaded {
            legend.push((None, "lighter: fewer streams agree".into()));
        }
        Paint {
            colours,
            largest,
            legend,
        }
    }

    fn cell(&self, cell: &Cell, fold: &Fold, by_agreement: bool) -> Rgb888 {
        match (cell.picture(), cell.value) {
            (Some(class), _) => {
                let full = self.colours.of(fold.classes().name(class));
                picture::shaded(full, if by_agreement { cell.agreement() } else { 1.0 })
            }
            (None, Shown::Number(number)) => {
                let share = number / self.largest.max(f32::MIN_POSITIVE);
                picture::shaded(MEASURE, f64::from(share))
            }
            (None, Shown::Uniform) => picture::EQUAL,
            _ if is_absent(cell) => picture::ABSENT,
            _ => picture::IDLE,
        }
    }
}

/// The colour of numbers, at their largest.
const MEASURE: Rgb888 = Rgb888::new(0x2b, 0x5c, 0x9e);

fn is_absent(cell: &Cell) -> bool {
    cell.total == 0 || cell.absent == cell.total
}

fn is_blank(cell: &Cell) -> bool {
    matches!(cell.value, Shown::Idle | Shown::DiffersIdle)
}

/// Whether the operation of a row selects what most streams do, so that the share of those that do
/// is worth showing; the rarest state is rare by definition.
fn is_majority(folder: &Folder, row: FoldRow<'_>) -> bool {
    let op = folder.checked().op(row.group().kind);
    matches!(op, Some(Op::Max | Op::Share | Op::Idle))
}

/// The cells of a fold as a picture: the colour of the state, lighter where fewer streams agree if
/// the operation selects what most of them do.
pub fn panel(
    folder: &Folder,
    fold: &Fold,
    usage: &[Usage],
    title: impl Into<String>,
    (start, end): (Nanos, Nanos),
    paint: &Paint,
) -> Panel {
    let rows = fold.rows().count() as u32;
    let row = |(row, usage): (FoldRow<'_>, &Usage)| {
        let by_agreement = is_majority(folder, row);
        let cells = row.cells().iter();
        Row {
            label: row.label().to_string(),
            remark: format!("{:.0} % busy", 100.0 * usage.utilisation.utilisation()),
            cells: cells
                .map(|cell| paint.cell(cell, fold, by_agreement))
                .collect(),
        }
    };
    Panel {
        title: title.into(),
        row_height: (360 / rows.max(1)).clamp(3, 48),
        rows: fold.rows().zip(usage).map(row).collect(),
        start,
        end,
    }
}
