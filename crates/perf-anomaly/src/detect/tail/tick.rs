//! [`Tick`]: tick of the clock of a stream, estimated from run times.
//!
//! Run times are differences of clock readings, and so multiples of the tick of the clock. The tick
//! is a power of ten of nanoseconds of which most of [`WINDOW`] recent run times are multiples.
//! Recorders may change it: in one real stream times are microseconds in the first second, and
//! multiples of 10 us later.

/// Number of run times of an estimate.
const WINDOW: usize = 64;
/// Number of run times of the first estimates, so that the tick is known when calls are first judged. With 64,
/// exponential times of 5 us on a tick of 10 us had 512 instead of 10 false alarms in a million in their first 200 calls.
const FIRST_WINDOW: usize = 16;
/// Share of them that must be multiples of the tick.
const MULTIPLES: f64 = 0.875;
/// Number of different ones that is needed, because equal run times have a divisor that is no tick.
/// Run times of three adjacent multiples, or of no and one tick, suffice too: only a coarse clock
/// measures no time in between.
const DIFFERENT: usize = 6;
/// Number of run times between two windows if the tick did not change, which makes its cost small.
const SKIPPED: u32 = 512;
/// Candidates in nanoseconds, in descending order.
const TICKS: [u64; 7] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];

/// Estimate of the tick of a clock.
#[derive(Clone, Debug, Default)]
pub(super) struct Tick {
    /// Tick in nanoseconds; 0 if it is not known yet.
    nanos: u64,
    /// Run times of the current window, in nanoseconds.
    window: Vec<u64>,
    /// `true` if there were run times of 0 since the last estimate.
    has_zero: bool,
    /// Number of run times before the next window.
    skip: u32,
}

impl Tick {
    /// Returns the tick in nanoseconds; 0 if it is not known yet.
    pub(super) fn nanos(&self) -> u64 {
        self.nanos
    }

    /// Adds a run time in nanoseconds.
    #[inline]
    pub(super) fn add(&mut self, runtime: u64) {
        if self.skip > 0 {
            self.skip -= 1;
        } else if runtime == 0 {
            self.has_zero = true;
        } else {
            self.window.push(runtime);
            let is_first = self.nanos == 0 && self.window.len() == FIRST_WINDOW;
            if is_first || self.window.len() == WINDOW {
                self.estimate();
            }
        }
    }

    #[cold]
    fn estimate(&mut self) {
        let before = self.nanos;
        let multiples = |tick: &u64| {
            let are = self.window.iter().filter(|one| **one % tick == 0);
            are.count() as f64 >= MULTIPLES * self.window.len() as f64
        };
        let found = TICKS.into_iter().find(multiples);
        self.window.sort_unstable();
        self.window.dedup();
        let (has_zero, window) = (self.has_zero, &self.window);
        let are_adjacent = |tick: &u64| {
            let has = |one: u64| window.binary_search(&one).is_ok();
            let mut middle = window.iter();
            (has_zero && has(*tick))
                || middle.any(|one| one > tick && has(one - tick) && has(one.saturating_add(*tick)))
        };
        if window.len() >= DIFFERENT || found.as_ref().is_some_and(are_adjacent) {
            self.nanos = found.unwrap_or(1);
        }
        if self.nanos == before && before > 0 {
            self.skip = SKIPPED;
        }
        self.window.clear();
        self.has_zero = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tick_is_that_of_the_last_run_times() {
        let mut tick = Tick::default();
        for at in 0..16 {
            assert_eq!(tick.nanos(), 0);
            tick.add(1000 * (1 + at * 7 % 13));
        }
        assert_eq!(tick.nanos(), 1000);
        (0..64).for_each(|at| tick.add(10_000 * (1 + at % 7)));
        assert_eq!(tick.nanos(), 10_000);
        // Equal times and zeros do not change it.
        (0..200).for_each(|at| tick.add([0, 50_000][at % 2]));
        assert_eq!(tick.nanos(), 10_000);
        (0..1000).for_each(|at| tick.add(12_345 + at * at));
        assert_eq!(tick.nanos(), 1);
        // Short times have few different values.
        (0..700).for_each(|at| tick.add(10_000 * (at % 3)));
        assert_eq!(tick.nanos(), 10_000);
        // A function narrower than a tick.
        (0..700).for_each(|at| tick.add(100_000 * (9 + at % 3)));
        assert_eq!(tick.nanos(), 100_000);
        (0..700).for_each(|at| tick.add(10_000 * (at % 2)));
        assert_eq!(tick.nanos(), 10_000);
        let mut modes = Tick::default();
        (0..200).for_each(|at| modes.add(100_000 * (1 + at % 2)));
        assert_eq!(modes.nanos(), 0);
    }
}
