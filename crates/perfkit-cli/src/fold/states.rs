//! [`States`]: option `--states`, and the timelines that it makes from a trace with functions,
//! event types, callers or ranges of a counter as states.

use crate::failure::{Failure, input};
use crate::recording::Recording;
use crate::suggest::hint;
use perfkit::core::{Job, KindId, Paradigm, Region, RegionId, RegionRole};
use perfkit::fold::{ClassId, Classes, Counters, RegionMap, StateMap, Timelines};
use perfkit::formats::paraver::Pcf;
use std::path::Path;

/// Source of the states of a timeline.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum States {
    /// Latest value of an event type, given by name or number.
    Events(String),
    /// Function of the latest sampled call path, 0 for the innermost.
    Caller(usize),
    /// Range of a counter, with the bounds of the ranges.
    Counter(String, Vec<f64>),
}

impl States {
    /// Parses the value of the option.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = "expected event=TYPE, caller=LEVEL or counter=NAME:BOUND[,BOUND...]";
        match text.split_once('=').ok_or(wrong)? {
            ("event", name) if !name.is_empty() => Ok(States::Events(name.into())),
            ("caller", level) => level.parse().map(States::Caller).map_err(|_| {
                "caller=LEVEL: LEVEL is a whole number, 0 for the innermost function".into()
            }),
            ("counter", rest) => {
                let (name, bounds) = rest.rsplit_once(':').ok_or(
                    "counter=NAME:BOUND[,BOUND...] needs a bound, such as counter=power:250",
                )?;
                let bound = |text: &str| {
                    let value = text.trim().parse().ok().filter(|it: &f64| it.is_finite());
                    value.ok_or_else(|| format!("counter={rest}: `{text}` is not a number"))
                };
                let bounds = bounds.split(',').map(bound).collect::<Result<_, _>>()?;
                Ok(States::Counter(name.into(), bounds))
            }
            _ => Err(wrong.into()),
        }
    }

    /// Builds timelines with these states. `map` has the classes of functions. `file` is the recording; a
    /// companion file next to it may have names of values.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] if the recording does not have the event type or counter.
    pub(crate) fn timelines(
        &self,
        (recording, file): (&Recording, Option<&Path>),
        map: &RegionMap,
        job: &Job,
    ) -> Result<Timelines, Failure> {
        let view = recording.trace.view();
        let found = match self {
            States::Events(name) => return events((recording, file), name, map, job),
            States::Caller(level) => Timelines::of_samples(view, *level, map, job),
            States::Counter(name, bounds) => {
                let counters = Counters::new(view, job).map_err(input)?;
                let counter = counters
                    .find(name)
                    .ok_or_else(|| unknown(&counters, "--states", name))?;
                Timelines::of_counter(view, &counter, bounds, job)
            }
        };
        found.map_err(input)
    }
}

/// Returns the message about a counter that does not exist.
pub(crate) fn unknown(counters: &Counters, option: &str, name: &str) -> Failure {
    let hint = hint(name, counters.all.iter().map(|of| of.name.as_str()));
    Failure::Usage(format!("{option}: no such counter `{name}`{hint}"))
}

/// Event type, paradigm of its regions, and a test of their role.
type Regions = (u32, Paradigm, fn(RegionRole) -> bool);

/// Event types of Paraver whose events are regions of the trace.
const REGIONS: [Regions; 8] = [
    (50_000_001, Paradigm::Mpi, |role| {
        role == RegionRole::PointToPoint
    }),
    (50_000_002, Paradigm::Mpi, |role| {
        matches!(role, RegionRole::Collective | RegionRole::Barrier)
    }),
    (50_000_003, Paradigm::Mpi, |role| {
        use RegionRole::{Barrier, Collective, FileIo, PointToPoint, Rma};
        !matches!(role, PointToPoint | Collective | Barrier | Rma | FileIo)
    }),
    (50_000_004, Paradigm::Mpi, |role| role == RegionRole::Rma),
    (50_000_005, Paradigm::Mpi, |role| role == RegionRole::FileIo),
    (60_000_018, Paradigm::OpenMp, |role| {
        role == RegionRole::Function
    }),
    (60_000_019, Paradigm::User, |role| {
        role == RegionRole::Function
    }),
    (60_000_023, Paradigm::OpenMp, |role| {
        role == RegionRole::Task
    }),
];

/// Number of the type of callers at level 0 and of sampled functions, and of the levels of each.
const CALLERS: [u32; 2] = [70_000_000, 30_000_000];
const LEVELS: u32 = 99;

/// State of the innermost region of a kind; idle outside of them.
struct Innermost<'a> {
    /// Classes of functions.
    map: &'a RegionMap,
    /// `true` for each region of the kind.
    is_wanted: Vec<bool>,
}

impl StateMap for Innermost<'_> {
    fn classes(&self) -> &Classes {
        self.map.classes()
    }

    fn class(&self, stack: &[RegionId]) -> Option<ClassId> {
        let is_wanted = |region: &&RegionId| self.is_wanted.get(region.index()) == Some(&true);
        self.map.of(*stack.iter().rev().find(is_wanted)?)
    }
}

/// Builds timelines of an event type, which is the name of a kind of events, its label, or its number in
/// Paraver.
fn events(
    (recording, file): (&Recording, Option<&Path>),
    name: &str,
    map: &RegionMap,
    job: &Job,
) -> Result<Timelines, Failure> {
    let view = recording.trace.view();
    let definitions = view.definitions();
    let number: Option<u32> = name.parse().ok();
    let suffix = format!(" ({name})");
    let is_kind = |kind: &String| {
        let label = kind.rsplit_once(" (").map(|(label, _)| label);
        kind == name || (number.is_some() && kind.ends_with(&suffix)) || label == Some(name)
    };
    if let Some(at) = definitions.kinds.iter().position(is_kind) {
        let kind = definitions.kinds.get(at).map_or("", String::as_str);
        let number = number.or_else(|| kind.rsplit_once(" (")?.1.strip_suffix(')')?.parse().ok());
        let pcf = file.and_then(names_of);
        let of = |value| Some(pcf.as_ref()?.value(number?, value)?.to_owned());
        let kind = KindId(at as u32);
        return Timelines::of_events(view, kind, of, job).map_err(input);
    }
    if let Some(number) = number.filter(|_| recording.format == "paraver") {
        for first in CALLERS {
            if let Some(level) = number.checked_sub(first).filter(|it| *it <= LEVELS) {
                // Callers begin at level 1, sampled functions at depth 0.
                let level = level.saturating_sub(u32::from(first == CALLERS[0])) as usize;
                return Timelines::of_samples(view, level, map, job).map_err(input);
            }
        }
        if let Some((_, paradigm, is_role)) = REGIONS.iter().find(|(kind, ..)| *kind == number) {
            let is_wanted = |of: &Region| of.paradigm == *paradigm && is_role(of.role);
            let is_wanted = definitions.regions.iter().map(is_wanted).collect();
            return Timelines::new(view, &Innermost { map, is_wanted }, job).map_err(input);
        }
        let counter = file.and_then(names_of).map(|pcf| pcf.counter(number));
        let is_counter = |of: &String| definitions.metrics.iter().any(|it| it.name == *of);
        if let Some(counter) = counter.filter(is_counter) {
            return Err(Failure::Usage(format!(
                "--states: type {name} is the counter {counter}; use --states counter={counter}:BOUND"
            )));
        }
    }
    let hint = hint(name, definitions.kinds.iter().map(String::as_str));
    Err(Failure::Usage(format!(
        "--states: no such event type `{name}`{hint}"
    )))
}

/// Returns the names in the `.pcf` next to a Paraver trace, or `None` if there is no such file.
fn names_of(file: &Path) -> Option<Pcf> {
    /// Largest size of the file in bytes.
    const MAX_BYTES: u64 = 64 << 20;
    let name = file.to_str()?;
    let stem = name.strip_suffix(".gz").unwrap_or(name);
    let path = format!("{}.pcf", stem.strip_suffix(".prv")?);
    let size = std::fs::metadata(&path).ok()?.len();
    let text = (size <= MAX_BYTES).then(|| std::fs::read(path).ok())?;
    Some(Pcf::parse(&text?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_events_callers_or_ranges() {
        let events = States::Events("Iteration (4000)".into());
        assert_eq!(States::parse("event=Iteration (4000)"), Ok(events));
        assert_eq!(States::parse("caller=2"), Ok(States::Caller(2)));
        let ranges = States::Counter("a:b".into(), vec![1.0, 2e3]);
        assert_eq!(States::parse("counter=a:b:1,2e3"), Ok(ranges));
        for wrong in [
            "",
            "event=",
            "caller=x",
            "counter=a",
            "counter=a:",
            "counter=a:1,x",
            "counter=a:inf",
            "depth=1",
        ] {
            assert!(States::parse(wrong).is_err(), "{wrong}");
        }
    }
}
