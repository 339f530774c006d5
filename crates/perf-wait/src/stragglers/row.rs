//! [`Row`]: times of one function on one rank, with a [`Cell`] for each step, in order of step.

/// Times of one function on one rank in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) calls: u64,
    pub(super) time: u64,
}

/// Cells of one function on one rank in order of step. In most of them each step has one call, and follows the one before.
#[derive(Clone, Debug)]
pub(super) enum Row {
    /// Times of single calls in consecutive steps.
    Calls {
        /// Step of the first call.
        first: u64,
        /// Time of each call.
        times: Vec<u64>,
    },
    /// Cells with their steps.
    Cells(Vec<(u64, Cell)>),
}

impl Default for Row {
    fn default() -> Self {
        Row::Calls {
            first: 0,
            times: Vec::new(),
        }
    }
}

/// Rows with the same cells are equal.
impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Row {
    /// Number of cells.
    pub(super) fn len(&self) -> usize {
        match self {
            Row::Calls { times, .. } => times.len(),
            Row::Cells(cells) => cells.len(),
        }
    }

    /// Returns `true` without cells.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the cells with their steps, in order of step.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, Cell)> + '_ {
        (0..self.len()).map_while(|at| match self {
            Row::Calls { first, times } => {
                let (calls, time) = (1, *times.get(at)?);
                Some((first + at as u64, Cell { calls, time }))
            }
            Row::Cells(cells) => cells.get(at).copied(),
        })
    }

    /// Adds a cell. Steps mostly rise.
    pub(super) fn add(&mut self, step: u64, cell: Cell) {
        if let Row::Calls { first, times } = self {
            if times.is_empty() {
                *first = step;
            }
            if cell.calls == 1 && first.checked_add(times.len() as u64) == Some(step) {
                times.push(cell.time);
                return;
            }
            *self = Row::Cells(self.iter().collect());
        }
        let Row::Cells(row) = self else { return };
        let at = match row.last() {
            Some((last, _)) if *last >= step => row.partition_point(|it| it.0 < step),
            _ => row.len(),
        };
        match row.get_mut(at).filter(|it| it.0 == step) {
            Some((_, own)) => {
                own.calls += cell.calls;
                own.time = own.time.saturating_add(cell.time);
            }
            None => row.insert(at, (step, cell)),
        }
    }

    /// Drops the cells of earlier steps.
    pub(super) fn forget_before(&mut self, step: u64) {
        match self {
            Row::Calls { first, times } => {
                let earlier = step.saturating_sub(*first).min(times.len() as u64);
                times.drain(..earlier as usize);
                *first += earlier;
            }
            Row::Cells(cells) => {
                let earlier = cells.partition_point(|it| it.0 < step);
                cells.drain(..earlier);
            }
        }
    }

    /// Frees memory without cells.
    pub(super) fn shrink_to_fit(&mut self) {
        match self {
            Row::Calls { times, .. } => times.shrink_to_fit(),
            Row::Cells(cells) => cells.shrink_to_fit(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn rows_are_those_of_a_map(
            steps in prop::collection::vec((0u64..12, 1u64..3, 0u64..9), 0..40),
            rising in 0u64..12,
            before in 0u64..20,
        ) {
            let rising = (5..5 + rising).map(|step| (step, 1, step));
            let (mut row, mut map) = (Row::default(), BTreeMap::<u64, Cell>::new());
            for (step, calls, time) in rising.chain(steps) {
                row.add(step, Cell { calls, time });
                let own = map.entry(step).or_default();
                (own.calls, own.time) = (own.calls + calls, own.time + time);
            }
            prop_assert_eq!(row.iter().collect::<Vec<_>>(), map.clone().into_iter().collect::<Vec<_>>());
            row.forget_before(before);
            let later = map.into_iter().filter(|it| it.0 >= before);
            prop_assert_eq!(row.iter().collect::<Vec<_>>(), later.collect::<Vec<_>>());
            prop_assert_eq!(row.len(), row.iter().count());
        }
    }
}
