//! [`Paint`]: colour of a cell of a folded timeline, by its state, number or agreement of streams,
//! mixed with the paper.

use crate::{Colour, Palette, Theme};
use perf_core::LocationKind;
use perf_fold::{Cell, Checked, Classes, Op, Value};

/// Colour of the largest number.
pub(super) const MEASURE: Colour = Colour::hex(0x2b5c9e);

/// Legend of cells with colours mixed with the paper, which is light or dark.
pub(super) const FAINTER: &str = "fainter: fewer streams agree";

/// Legend of idle cells in which some streams work.
pub(super) const STRONGER: &str =
    "stronger grey: more streams work, but idle is more frequent than each function";

/// Parameters for painting cells.
#[derive(Debug)]
pub(super) struct Paint<'a> {
    /// Colours of states.
    pub(super) palette: &'a Palette,
    /// Colours of idle, absent and uniform cells.
    pub(super) theme: Theme,
    /// Largest number of a cell, for operations that return numbers.
    pub(super) largest: f32,
}

impl Paint<'_> {
    /// Returns the colour of a cell. If `by_agreement` is set, the colour is fainter if fewer
    /// streams agree, and an idle cell is a stronger grey by the share of streams that work: these may be
    /// many, in functions of which none has as many streams as idle has.
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
            (_, Value::Idle) if by_agreement => {
                let working = 1.0 - cell.agreement();
                self.theme.idle.mix(self.theme.quiet, working)
            }
            _ => self.theme.idle,
        }
    }

    /// Mixes a colour with the paper. The result is the full colour for a `share` of 1, and mostly
    /// paper for 0.
    pub(super) fn shaded(&self, colour: Colour, share: f64) -> Colour {
        self.theme
            .paper
            .mix(colour, 0.35 + 0.65 * share.clamp(0.0, 1.0))
    }
}

/// Returns `true` if all streams of the cell are absent.
pub(super) fn is_absent(cell: &Cell) -> bool {
    cell.total == 0 || cell.absent == cell.total
}

/// Returns `true` if the operation of a row selects the most frequent state, so that the share of
/// agreeing streams is worth showing.
///
/// For other operations the share is not informative. The rarest state is rare by definition, and
/// `idle` selects among the streams that are not idle, so a share of all streams means little.
pub(super) fn is_majority(checked: &Checked, kind: LocationKind) -> bool {
    matches!(checked.op(kind), Some(Op::Max | Op::Share))
}
