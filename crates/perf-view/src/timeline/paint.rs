//! The colour of a cell.

use crate::{Colour, Palette, Theme};
use perf_core::LocationKind;
use perf_fold::{Cell, Checked, Classes, Op, Value};

/// The colour of numbers, at their largest.
pub(super) const MEASURE: Colour = Colour::hex(0x2b5c9e);

/// How cells are painted.
#[derive(Debug)]
pub(super) struct Paint<'a> {
    pub(super) palette: &'a Palette,
    pub(super) theme: Theme,
    /// The largest number of a cell, for operations that give numbers.
    pub(super) largest: f32,
}

impl Paint<'_> {
    pub(super) fn cell(&self, cell: &Cell, classes: &Classes, by_agreement: bool) -> Colour {
        match (cell.picture(), cell.value) {
            (Some(class), _) => {
                let full = self.palette.of(classes.name(class));
                let share = if by_agreement { cell.agreement() } else { 1.0 };
                self.shaded(full, share)
            }
            (None, Value::Number(number)) => {
                let share = number / self.largest.max(f32::MIN_POSITIVE);
                self.shaded(MEASURE, f64::from(share))
            }
            (None, Value::Uniform) => self.theme.equal,
            _ if is_absent(cell) => self.theme.absent,
            _ => self.theme.idle,
        }
    }

    /// Full at `share` 1, mostly paper at 0.
    pub(super) fn shaded(&self, colour: Colour, share: f64) -> Colour {
        self.theme
            .paper
            .mix(colour, 0.35 + 0.65 * share.clamp(0.0, 1.0))
    }
}

/// Whether nobody of a cell is there.
pub(super) fn is_absent(cell: &Cell) -> bool {
    cell.total == 0 || cell.absent == cell.total
}

/// Whether the operation of a row selects what most streams do, so that the share of those that do is
/// worth showing; the rarest state is rare by definition, and of what those do that do something the others,
/// which do nothing, say little.
pub(super) fn is_majority(checked: &Checked, kind: LocationKind) -> bool {
    matches!(checked.op(kind), Some(Op::Max | Op::Share))
}
