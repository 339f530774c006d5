//! [`Slots`]: list of numbers below a limit, each in as few bytes as the limit allows.

/// A list of numbers. Most programs have fewer than 2^16 call paths, and there are as many numbers as calls.
#[derive(Debug)]
pub(crate) enum Slots {
    /// Numbers below 2^16.
    Narrow(Vec<u16>),
    /// Any numbers.
    Wide(Vec<u32>),
}

impl Default for Slots {
    fn default() -> Self {
        Slots::below(0)
    }
}

impl Slots {
    /// Creates an empty list of numbers below `limit`.
    pub(crate) fn below(limit: usize) -> Self {
        if limit <= 1 << 16 {
            Slots::Narrow(Vec::new())
        } else {
            Slots::Wide(Vec::new())
        }
    }

    /// Appends a number, which is below the limit.
    pub(crate) fn push(&mut self, slot: u32) {
        match self {
            Slots::Narrow(slots) => slots.push(slot as u16),
            Slots::Wide(slots) => slots.push(slot),
        }
    }

    /// Replaces the last number, if there is one.
    pub(crate) fn set_last(&mut self, slot: u32) {
        match self {
            Slots::Narrow(slots) => slots
                .last_mut()
                .into_iter()
                .for_each(|it| *it = slot as u16),
            Slots::Wide(slots) => slots.last_mut().into_iter().for_each(|it| *it = slot),
        }
    }

    /// Returns a number; `None` past the end.
    pub(crate) fn get(&self, at: usize) -> Option<usize> {
        match self {
            Slots::Narrow(slots) => slots.get(at).map(|it| usize::from(*it)),
            Slots::Wide(slots) => slots.get(at).map(|it| *it as usize),
        }
    }

    /// Returns the number of elements.
    pub(crate) fn len(&self) -> usize {
        match self {
            Slots::Narrow(slots) => slots.len(),
            Slots::Wide(slots) => slots.len(),
        }
    }

    /// Frees memory without elements.
    pub(crate) fn shrink_to_fit(&mut self) {
        match self {
            Slots::Narrow(slots) => slots.shrink_to_fit(),
            Slots::Wide(slots) => slots.shrink_to_fit(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_and_wide_lists_hold_the_same() {
        for limit in [1 << 16, 1 << 17] {
            let mut slots = Slots::below(limit);
            for slot in [1, 65_535, 7] {
                slots.push(slot);
            }
            slots.set_last(9);
            slots.shrink_to_fit();
            let all: Vec<_> = (0..4).map(|at| slots.get(at)).collect();
            assert_eq!(all, [Some(1), Some(65_535), Some(9), None]);
            assert_eq!(slots.len(), 3);
        }
    }
}
