//! Folds as panels of a picture.

use crate::picture::{self, Colours, Panel, Row};
use embedded_graphics::pixelcolor::Rgb888;
use perfkit::core::Nanos;
use perfkit::fold::{Cell, Fold, FoldRow, Folder, Op, Usage, Value as Shown};
use std::collections::BTreeMap;

/// The cells of a fold as a picture: the colour of the state. Where the operation selects what most
/// streams do, it is lighter where fewer agree; the rarest state is rare by definition.
pub fn panel(
    folder: &Folder,
    fold: &Fold,
    usage: &[Usage],
    title: String,
    (start, end): (Nanos, Nanos),
    colours: &mut Colours,
) -> Panel {
    let rows = fold.rows().count() as u32;
    let numbers = fold.cells().iter().filter_map(|cell| cell.value.number());
    let largest = numbers.fold(f32::MIN_POSITIVE, f32::max);
    let mut colour = |cell: &Cell, by_agreement: bool| match (cell.picture(), cell.value) {
        (Some(class), _) => {
            let full = colours.of(fold.classes().name(class));
            let share = if by_agreement { cell.agreement() } else { 1.0 };
            picture::shaded(full, share)
        }
        (None, Shown::Number(number)) => {
            picture::shaded(colours.of("measure"), f64::from(number / largest))
        }
        _ if cell.total > 0 && cell.absent == cell.total => picture::ABSENT,
        _ => picture::IDLE,
    };
    let mut row = |row: FoldRow<'_>, usage: &Usage| {
        let op = folder.checked().op(row.group().kind);
        let by_agreement = matches!(op, Some(Op::Max | Op::Share | Op::Idle));
        let cells = row.cells().iter();
        Row {
            label: row.label().to_string(),
            remark: format!("{:.0} %", 100.0 * usage.utilisation.utilisation()),
            cells: cells.map(|cell| colour(cell, by_agreement)).collect(),
        }
    };
    Panel {
        title,
        row_height: (360 / rows.max(1)).clamp(3, 48),
        rows: fold
            .rows()
            .zip(usage)
            .map(|(cells, usage)| row(cells, usage))
            .collect(),
        start,
        end,
    }
}

/// The states that several folds of the same classes paint, most first, with their colours.
pub fn legend(folds: &[&Fold], colours: &mut Colours) -> Vec<(Rgb888, String)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for fold in folds {
        for class in fold.cells().iter().filter_map(Cell::picture) {
            *counts
                .entry(fold.classes().name(class).to_string())
                .or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut entries: Vec<_> = counts
        .into_iter()
        .map(|(name, _)| (colours.of(&name), name))
        .collect();
    entries.push((picture::IDLE, "idle, or all equal".into()));
    entries
}
