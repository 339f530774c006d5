//! Sentences about lost time: its sum, slow ranks, slow phases, new modes, and places of calls.

use super::causes::Found;
use super::groups::{FACTORS, numbers};
use super::{Beginning, LostTime, NewMode, SlowPhase, SlowRank};
use crate::{FunctionId, Loss};
use perf_core::Nanos;
use perf_core::text::{counted, grouped, shortened};

/// Longest name of a function in a sentence.
const NAME: usize = 60;
/// Largest number of functions of a group that are named.
const NAMES: usize = 4;
/// Factor from which on a mode is described by its mean time.
const FAR: f64 = 100.0;
/// Share of the time lost from which on it is nearly all of it.
const NEARLY_ALL: f64 = 0.9;
/// Largest difference of two factors that are about the same, relative to the excess.
const ABOUT: f64 = 0.1;

/// Smallest ratio of the log factor of a counter to that of slow ranks which it explains.
const LEAST_EXPLAINED: f64 = 0.5;
/// Parts of names of counters that measure time.
const TIMES: [&str; 7] = ["time", "clock", "cyc", "second", "stall", "stl", "energy"];

/// Returns what the time of a cause is.
pub(super) fn lost(waits: bool) -> &'static str {
    if waits {
        "of waiting for others"
    } else {
        "lost"
    }
}

/// Returns a factor as the excess in per cent, or from 2 on as the factor, and the word that compares it.
fn slower(factor: f64) -> (String, &'static str) {
    if factor < 1.995 {
        (format!("{:.0} % slower", 100.0 * (factor - 1.0)), "than")
    } else {
        (format!("{} times as slow", times(factor)), "as")
    }
}

/// Returns a factor with one decimal, and from 100 on without.
fn times(factor: f64) -> String {
    match factor {
        large if large >= 100.0 => grouped(large.round() as u64),
        small => format!("{small:.1}"),
    }
}

/// Returns steps in words.
fn steps(first: u64, last: u64, lasts: bool) -> String {
    match (first == last, lasts) {
        (_, true) => format!("since step {first}"),
        (true, false) => format!("in step {first}"),
        (false, false) => format!("in steps {first} to {last}"),
    }
}

impl Found<'_> {
    pub(super) fn short_name(&self, function: FunctionId) -> String {
        shortened(&(self.name)(function), NAME)
    }

    /// Describes the place of the longest of some calls.
    pub(super) fn place(&self, count: u64, (program, rank, step): (u32, u32, u64)) -> String {
        let which = match count {
            1 => "",
            _ => ", the longest",
        };
        let program = if self.has_programs {
            format!(" of program {program}")
        } else {
            String::new()
        };
        format!("{which} on rank {rank}{program} in step {step}")
    }

    /// Describes a slow rank, or a group with its sums, and the time lost in its abnormal calls that take longer than its
    /// other calls and count as single calls. Also returns that time.
    pub(super) fn slow_ranks(
        &self,
        group: &[&SlowRank],
        sums: &SlowRank,
        counter: Option<&(String, f64)>,
    ) -> (String, Nanos) {
        let program = if self.has_programs {
            format!(" of program {}", sums.program)
        } else {
            String::new()
        };
        let own = group.iter().map(|slow| {
            let own = (self.in_steps)((slow.program, slow.rank), slow.first..=slow.last);
            own.time.0.saturating_sub(slow.alarmed.0).max(0)
        });
        let time = Nanos(own.fold(0, i64::saturating_add));
        let (who, whose) = match group {
            [slow] => (format!("rank {}{program} is", slow.rank), "its"),
            all => {
                let count = grouped(all.len() as u64);
                let numbers = numbers(all.iter().map(|slow| slow.rank).collect(), self.ranks);
                (format!("{count} ranks{program} ({numbers}) are"), "their")
            }
        };
        let own = match time {
            Nanos(0) => String::new(),
            time => format!(", and {time} in {whose} slow calls, which count as single calls"),
        };
        let (slower, than) = slower(sums.factor);
        let steps = steps(sums.first, sums.last, sums.lasts);
        let compared = match (sums.usual, sums.peer) {
            (Some(_), _) => format!("{steps} {than} in {whose} other steps"),
            (None, Some(peer)) => format!("{than} rank {peer} {steps}"),
            (None, None) => format!("{than} {whose} peers {steps}"),
        };
        let more = counter.map(|(name, ratio)| {
            let it = if group.len() == 1 {
                "it also has"
            } else {
                "they also have"
            };
            let name = shortened(name, NAME);
            format!("; {it} {ratio:.1} times the {name} of other ranks, which may explain that")
        });
        let unless = match (sums.always, group.len()) {
            (false, _) => String::new(),
            (true, 1) => ", unless it has more work".into(),
            (true, _) => ", unless they have more work".into(),
        };
        let sentence = format!(
            "{who} {slower} {compared}, {}: {} lost{own}{}",
            self.worst_function(sums),
            sums.lost,
            more.unwrap_or(unless)
        );
        (sentence, time)
    }

    /// Returns the counter that differs between a group of slow ranks and the ranks that are not slow by about the factor
    /// of the ranks or of their worst function, or at least by half of it, all in log values. Counters of time and cycles
    /// explain nothing, because they are larger on a rank that is slower.
    pub(super) fn larger_counter(
        &self,
        group: &[&SlowRank],
        sums: &SlowRank,
    ) -> Option<(String, f64)> {
        let of_program = self.slowness.ranks.iter();
        let of_program = of_program.filter(|slow| slow.program == sums.program);
        let mut slow: Vec<u32> = of_program.map(|slow| slow.rank).collect();
        slow.sort_unstable();
        slow.dedup();
        let ranks: Vec<u32> = group.iter().map(|slow| slow.rank).collect();
        let log = sums.factor.ln();
        let largest = (1.0 + FACTORS) * log.max(sums.function_factor.ln());
        let all = (self.larger_counters)(sums.program, &ranks, &slow).into_iter();
        let about = all.filter(|(name, ratio)| {
            let name = name.to_lowercase();
            let is_time = TIMES.iter().any(|part| name.contains(part));
            !is_time && (LEAST_EXPLAINED * log..=largest).contains(&ratio.ln())
        });
        let apart = |ratio: f64| (ratio.ln() - log).abs();
        about.min_by(|one, other| apart(one.1).total_cmp(&apart(other.1)))
    }

    /// Describes the function in which a slow rank lost the most time, with its factor unless the rank has about the same.
    fn worst_function(&self, slow: &SlowRank) -> String {
        let part = match slow.function_lost.0 as f64 / slow.lost.0.max(1) as f64 {
            share if share >= NEARLY_ALL => "nearly all",
            share if share >= 0.5 => "most",
            _ => "the largest part",
        };
        let difference = (slow.function_factor - slow.factor).abs();
        let factor = if difference > ABOUT * (slow.factor - 1.0) {
            format!(" ({})", slower(slow.function_factor).0)
        } else {
            String::new()
        };
        format!("{part} of it in {}{factor}", self.short_name(slow.function))
    }

    /// Describes a slow phase of a function, or a group with its sums.
    pub(super) fn slow_phases(&self, group: &[&SlowPhase], sums: &SlowPhase) -> String {
        let (slower, than) = slower(sums.factor);
        let steps = match sums.steps {
            Some(count) => {
                let count = grouped(count);
                format!("in {count} of the steps {} to {}", sums.first, sums.last)
            }
            None => steps(sums.first, sums.last, sums.lasts),
        };
        let names = group.iter().take(NAMES);
        let names: Vec<String> = names.map(|one| self.short_name(one.function)).collect();
        let (names, more) = (names.join(", "), group.len().saturating_sub(NAMES));
        let what = match (group.len(), more) {
            (1, _) => format!("{names} is"),
            (count, 0) => format!("{count} functions ({names}) are"),
            (count, more) => format!(
                "{} functions ({names} and {more} more) are",
                grouped(count as u64)
            ),
        };
        format!(
            "{what} {slower} {steps} {than} in other steps: {} lost",
            sums.lost
        )
    }
}

impl NewMode {
    /// Returns a sentence about the mode of a function with a name, such as `a mode at 2.0x of solve appeared in step 3:
    /// 16 calls on 8 ranks, 320.00 ms lost so far`. The time of a function that `waits` for others is not lost, but
    /// waiting; that of an [accepted](Self::accepted) mode is not counted.
    pub fn sentence(&self, name: &str, waits: bool) -> String {
        let name = shortened(name, NAME);
        let what = if self.is_wide() {
            self.of_range(&name)
        } else {
            self.of_one_time(&name)
        };
        let calls = counted(self.calls as usize, "call");
        let ranks = counted(self.ranks, "rank");
        let time = match self.accepted {
            None => format!(", {} {} so far", self.lost, lost(waits)),
            Some(_) => String::new(),
        };
        format!("{what}: {calls} on {ranks}{time}")
    }

    /// Describes a mode whose calls take about the same time.
    fn of_one_time(&self, name: &str) -> String {
        let beginning = match self.beginning() {
            Beginning::Start => "since the start".into(),
            Beginning::Appeared => format!("appeared in step {}", self.first),
            _ => format!("first seen in step {}", self.first),
        };
        // A factor to a usual time of a tick or less says nothing.
        let at = match self.factor() {
            factor if factor < FAR => format!("{}x", times(factor)),
            _ => {
                let calls = i64::try_from(self.calls.max(1)).unwrap_or(i64::MAX);
                format!("{} (usually {})", Nanos(self.time.0 / calls), self.usual)
            }
        };
        format!("a mode at {at} of {name} {beginning}")
    }

    /// Describes a wide mode by the range of its run times.
    fn of_range(&self, name: &str) -> String {
        let steps = match self.beginning() {
            Beginning::Start => "since the start".into(),
            _ => steps(self.first, self.last, false),
        };
        let usual = self.usual.0.max(1) as f64;
        let factors = [self.from, self.to].map(|time| times(time.0 as f64 / usual));
        let times = if self.factor() >= FAR {
            format!("{} to {} (usually {})", self.from, self.to, self.usual)
        } else if self.from < self.usual {
            // A mean as the usual time may exceed the shortest slow call.
            let mean = times(self.factor());
            format!(
                "{mean} times as long as usual on average, at most {} times,",
                factors[1]
            )
        } else {
            format!("{} to {} times as long as usual", factors[0], factors[1])
        };
        // Calls that are doubtful at first may precede the first slow one.
        let of = self.of.saturating_sub(self.before).max(self.calls).max(1);
        let share = 100.0 * self.calls as f64 / of as f64;
        let decimals = match share {
            large if large >= 9.95 => 0,
            small if small >= 0.0995 => 1,
            _ => 2,
        };
        format!("{share:.decimals$} % of the calls of {name} took {times} {steps}")
    }
}

impl LostTime {
    /// Returns a sentence with the sum of the lost time, its share and its causes, and with the time of waiting. `all`
    /// counts the calls that were not judged, so that a result without lost time is not taken for a healthy program.
    ///
    /// ```
    /// use perf_anomaly::Loss;
    /// use perf_anomaly::lost_time::LostTime;
    /// let sentence = LostTime::default().sentence(&Loss::default());
    /// assert_eq!(sentence, "nothing is known about lost time: there are no complete calls");
    /// ```
    pub fn sentence(&self, all: &Loss) -> String {
        let is_found = self.total().0 > 0 || self.waiting.0 > 0;
        let least = if is_found { 2 } else { 10 };
        let unjudged = match all.not_enough_data {
            few if few <= all.calls / least => String::new(),
            many => format!(
                ", but {} of {} calls could not be judged",
                grouped(many),
                grouped(all.calls)
            ),
        };
        let share = |time| {
            let share = match self.share_of(time).map(|share| 100.0 * share) {
                Some(share) if share >= 0.05 => format!("{share:.1} %"),
                _ => "less than 0.1 %".into(),
            };
            format!("{share} of {} in the calls of all ranks", self.of)
        };
        match self.total() {
            lost if lost.0 > 0 => format!(
                "{lost} lost, {}: {}{unjudged}{}",
                share(lost),
                self.parts(),
                match self.waiting {
                    Nanos(0) => String::new(),
                    waiting => format!("; waiting for others took {waiting} longer than usual"),
                }
            ),
            _ if self.waiting.0 > 0 => format!(
                "calls that wait for others took {} longer than usual, {}; no time lost in other calls{unjudged}",
                self.waiting,
                share(self.waiting)
            ),
            _ if all.calls == 0 => {
                "nothing is known about lost time: there are no complete calls".into()
            }
            _ if all.not_enough_data >= all.calls => format!(
                "nothing is known about lost time: no call could be judged, because there are too few calls of each \
                 function in {}",
                self.of
            ),
            _ => format!(
                "no time lost of {} in the calls of all ranks: no slow calls, slow modes, slow ranks or slow phases{unjudged}",
                self.of
            ),
        }
    }

    /// Returns the times with their causes, the largest first, such as `9.00 ms in single calls`. Most of all time that ranks
    /// with more work may lose is no proven loss.
    fn parts(&self) -> String {
        let on_ranks = match self.always {
            some if some.0 <= self.total().0 / 2 => "on slow ranks",
            all if all == self.ranks => "on slow ranks, unless they have more work",
            _ => "on slow ranks, most of it unless they have more work",
        };
        let all = [
            (self.calls, "in single calls"),
            (self.modes, "in slow modes"),
            (self.ranks, on_ranks),
            (self.phases, "in slow phases"),
        ];
        let mut all: Vec<_> = all.into_iter().filter(|(time, _)| time.0 > 0).collect();
        all.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        let all: Vec<_> = all
            .iter()
            .map(|(time, at)| format!("{time} {at}"))
            .collect();
        all.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a detector whose usual time is a mean, a mode may begin below it. No factor is then below 1.
    #[test]
    fn a_mode_that_begins_below_the_usual_time_is_described_by_its_mean() {
        let mode = NewMode {
            function: FunctionId(0),
            from: Nanos(12_000),
            to: Nanos(372_000),
            usual: Nanos(30_000),
            first: 0,
            before: 0,
            of: 650,
            last: 9,
            calls: 65,
            time: Nanos(65 * 48_000),
            alarms: 0,
            lost: Nanos(65 * 18_000),
            alarmed: Nanos(0),
            ranks: 4,
            accepted: None,
        };
        let sentence = mode.sentence("MPI_Bcast", true);
        let expected = "10 % of the calls of MPI_Bcast took 1.6 times as long as usual on average, at most 12.4 times, \
                        since the start: 65 calls on 4 ranks, 1.17 ms of waiting for others so far";
        assert_eq!(sentence, expected);
    }
}
