//! Sentences about changes of functions; several changes of one function are one sentence.

use super::Change;
use crate::FunctionId;
use perf_core::Nanos;
use perf_core::text::{grouped, shortened};
use std::collections::HashMap;

/// Longest name of a function in a sentence.
const NAME: usize = 60;

impl Change {
    /// Returns a sentence about the change of a function with a name. The step is that in which a window of calls began,
    /// so that the change may be some steps from it.
    ///
    /// ```
    /// use perf_anomaly::Change;
    /// use perf_core::Nanos;
    /// let mut change = Change::default();
    /// (change.step, change.from, change.to) = (700, Nanos(1_500_000), Nanos(1_000_000));
    /// assert_eq!(change.sentence("solve"), "solve sped up from 1.50 ms to 1.00 ms at about step 700");
    /// ```
    pub fn sentence(&self, name: &str) -> String {
        let (name, how) = (shortened(name, NAME), how(self.is_slower()));
        let (from, to, step) = (self.from, self.to, self.step);
        format!("{name} {how} from {from} to {to} at about step {step}")
    }
}

/// Returns what a function did.
fn how(is_slower: bool) -> &'static str {
    if is_slower { "slowed" } else { "sped up" }
}

/// Describes several changes of a function in the order of their steps.
fn repeated(name: &str, first: &Change, changes: &[&Change], last: &Change) -> String {
    let name = shortened(name, NAME);
    let times = match changes.len() {
        2 => "twice".into(),
        count => format!("{} times", grouped(count as u64)),
    };
    let steps = match (first.step, last.step) {
        (first, last) if first == last => format!("at about step {first}"),
        (first, last) if changes.len() == 2 => format!("at about steps {first} and {last}"),
        (first, last) => format!("at about steps {first} to {last}"),
    };
    let is_slower = first.is_slower();
    if changes.iter().all(|one| one.is_slower() == is_slower) {
        let (how, from, to) = (how(is_slower), first.from, last.to);
        return format!("{name} {how} {times}, from {from} to {to}, {steps}");
    }
    let usual = || changes.iter().flat_map(|one| [one.from, one.to]);
    let (least, most) = usual().fold((first.from, first.from), |(least, most), one| {
        (Nanos::min(least, one), Nanos::max(most, one))
    });
    let now = last.to;
    format!(
        "{name} changed {times} between {least} and {most}, {steps}, and takes {now} since then"
    )
}

/// Returns a sentence about the changes of each function, with the places of the changes in `changes`, which are in the
/// order of steps: first those of functions that work, then those of functions that wait for others, which `waits`
/// returns `true` for. `name` returns the name of a function, and `sentence` the sentence about a single change of a
/// function with a name.
///
/// ```
/// use perf_anomaly::{Change, FunctionId, describe_changes};
/// use perf_core::Nanos;
/// let change = |function, step, from, to| {
///     let mut change = Change::default();
///     (change.function, change.step) = (FunctionId(function), step);
///     (change.from, change.to) = (Nanos(from), Nanos(to));
///     change
/// };
/// let changes = [change(0, 6, 200, 500), change(1, 7, 900, 300), change(0, 12, 500, 800), change(0, 20, 800, 100)];
/// let describe = |changes: &[Change]| {
///     describe_changes(changes, |function| function.0 == 0, |function| format!("f{}", function.0), Change::sentence)
/// };
/// let found = describe(&changes);
/// assert_eq!(found[0], (vec![1], "f1 sped up from 900 ns to 300 ns at about step 7".to_string()));
/// let back = "f0 changed 3 times between 100 ns and 800 ns, at about steps 6 to 20, and takes 100 ns since then, \
///             waiting for others";
/// assert_eq!(found[1], (vec![0, 2, 3], back.to_string()));
/// let slower = "f0 slowed twice, from 200 ns to 800 ns, at about steps 6 and 12, waiting for others";
/// assert_eq!(describe(&changes[..3])[1].1, slower);
/// ```
pub fn describe_changes<T: AsRef<Change>>(
    changes: &[T],
    waits: impl Fn(FunctionId) -> bool,
    name: impl Fn(FunctionId) -> String,
    sentence: impl Fn(&T, &str) -> String,
) -> Vec<(Vec<usize>, String)> {
    let mut functions: Vec<Vec<usize>> = Vec::new();
    let mut places: HashMap<FunctionId, usize> = HashMap::new();
    for (at, one) in changes.iter().enumerate() {
        let place = *places
            .entry(one.as_ref().function)
            .or_insert(functions.len());
        match functions.get_mut(place) {
            Some(all) => all.push(at),
            None => functions.push(vec![at]),
        }
    }
    let described = functions.into_iter().map(|all| {
        let own: Vec<&Change> = all.iter().map(|at| changes[*at].as_ref()).collect();
        let function = own[0].function;
        let about = match own[..] {
            [first, .., last] => repeated(&name(function), first, &own, last),
            _ => sentence(&changes[all[0]], &name(function)),
        };
        (waits(function), all, about)
    });
    let (waiting, work): (Vec<_>, Vec<_>) = described.partition(|(waits, ..)| *waits);
    let work = work.into_iter().map(|(_, all, about)| (all, about));
    let waiting = waiting.into_iter();
    let waiting = waiting.map(|(_, all, about)| (all, about + ", waiting for others"));
    work.chain(waiting).collect()
}
