//! [`TrainingJob::of_trace`]: finds the operations of a training job in a trace, with steps and
//! numbers from attributes of calls, and stages and data-parallel ranks from locations.

use super::{Operation, OperationKind, TrainingJob};
use crate::Result;
use perf_core::{
    AttributeId, Definitions, Interval, Job, LocationId, LocationView, Nanos, TraceView, Value,
    intervals,
};
use std::collections::BTreeMap;

/// Attributes of operations.
struct Names {
    step: AttributeId,
    sequence: AttributeId,
    chunk: Option<AttributeId>,
    duration: Option<AttributeId>,
}

impl Names {
    /// Returns the attributes; `None` if the trace has no operations with a step and a number.
    fn of(definitions: &Definitions) -> Option<Self> {
        let find = |name: &str| {
            let mut attributes = definitions.attributes.iter();
            AttributeId::from_index(attributes.position(|it| it.name == name)?)
        };
        Some(Names {
            step: find("step")?,
            sequence: find("seq_id")?,
            chunk: find("model_chunk"),
            duration: find("duration"),
        })
    }
}

impl TrainingJob {
    /// Finds the training job in a trace; `None` if it has no operations of one.
    ///
    /// An operation is a call with the name of an [`OperationKind`] and the attributes `step` and `seq_id`. Its stage is
    /// the number after `PP rank` in the name of the location, its data-parallel rank the number of the process. A
    /// negative attribute `duration` in nanoseconds takes the place of the length of the call.
    ///
    /// Operations that begin outside of the window are skipped. Of tensor-parallel ranks, the first one counts.
    ///
    /// # Errors
    ///
    /// As [`TrainingJob::of`].
    pub fn of_trace(view: TraceView<'_>, job: &Job) -> Result<Option<Self>> {
        let found = operations(view, job)?;
        if found.is_empty() {
            return Ok(None);
        }
        let mut locations: BTreeMap<LocationId, Vec<usize>> = BTreeMap::new();
        for (at, (_, location)) in found.iter().enumerate() {
            locations.entry(*location).or_default().push(at);
        }
        for own in locations.values_mut() {
            own.sort_by_key(|at| found[*at].0.start);
        }
        let operations = found.into_iter().map(|(operation, _)| operation).collect();
        Ok(Some(TrainingJob {
            locations,
            ..Self::of(operations, job)?
        }))
    }
}

/// Returns the operations of a trace with their locations, in order of location and end.
fn operations(view: TraceView<'_>, job: &Job) -> Result<Vec<(Operation, LocationId)>> {
    let definitions = view.definitions();
    let Some(names) = Names::of(definitions) else {
        return Ok(Vec::new());
    };
    let kinds: Vec<Option<OperationKind>> = definitions
        .regions
        .iter()
        .map(|region| OperationKind::of(&region.name))
        .collect();
    let mut operations = Vec::new();
    for (location, stage, data_rank) in workers(view) {
        let add = |call: Interval| {
            let kind = kinds.get(call.region.index()).copied().flatten();
            let found = kind.and_then(|kind| {
                let begin = Operation {
                    kind,
                    stage,
                    data_rank,
                    ..operation(location, call, &names)?
                };
                Some(with_times(begin, call, definitions))
            });
            operations.extend(found.flatten().map(|it| (it, location.id())));
        };
        intervals(location, add, job)?;
    }
    Ok(operations)
}

/// Returns the locations of stages with the stage and the data-parallel rank.
fn workers<'a>(view: TraceView<'a>) -> Vec<(LocationView<'a>, u32, u32)> {
    let system = &view.definitions().system;
    let mut found: BTreeMap<LocationId, (u32, u32, u32)> = BTreeMap::new();
    let mut groups = Vec::new();
    for id in view.ids() {
        let (Some(location), group) = (system.location(id), system.process(id)) else {
            continue;
        };
        let Some(stage) = number_after(&location.name, "PP rank ") else {
            continue;
        };
        if !groups.contains(&group) {
            groups.push(group);
        }
        let tensor = number_after(&location.name, "TP rank ").unwrap_or_default();
        let properties = group
            .and_then(|group| system.group(group))
            .map(|group| &group.properties);
        let number = |name| properties.and_then(|it| it.get(name)?.parse::<u32>().ok());
        let place = groups.iter().position(|it| *it == group);
        let rank = number("process").or_else(|| number("rank"));
        let rank = rank.or(place.and_then(|place| u32::try_from(place).ok()));
        found.insert(id, (stage, rank.unwrap_or_default(), tensor));
    }
    let first = found.values().map(|it| it.2).min();
    let own = found.into_iter().filter(|it| Some(it.1.2) == first);
    own.filter_map(|(id, (stage, rank, _))| Some((view.location(id)?, stage, rank)))
        .collect()
}

/// Returns the number that follows a word.
fn number_after(text: &str, word: &str) -> Option<u32> {
    let (_, rest) = text.split_once(word)?;
    let end = rest.find(|it: char| !it.is_ascii_digit());
    rest.get(..end.unwrap_or(rest.len()))?.parse().ok()
}

/// Returns the attributes of a call; `None` without step or number.
fn operation(location: LocationView<'_>, call: Interval, names: &Names) -> Option<Operation> {
    let (mut step, mut sequence, mut chunk, mut duration) = (None, None, None, None);
    for value in location.all().attributes(call.enter) {
        let number = match value.value {
            Value::U64(number) => i64::try_from(number).ok(),
            Value::I64(number) => Some(number),
            Value::F64(_) => None,
        };
        let Some(number) = number else { continue };
        match Some(value.attribute) {
            id if id == Some(names.step) => step = u64::try_from(number).ok(),
            id if id == Some(names.sequence) => sequence = u32::try_from(number).ok(),
            id if id == names.chunk => chunk = u32::try_from(number).ok(),
            id if id == names.duration => duration = Some(Nanos(number)),
            _ => {}
        }
    }
    Some(Operation {
        kind: OperationKind::ForwardCompute,
        step: step?,
        data_rank: 0,
        stage: 0,
        sequence: sequence?,
        chunk,
        start: Nanos(0),
        duration: duration.filter(|it| it.0 < 0).unwrap_or_default(),
    })
}

/// Returns an operation with its begin, and its length unless that is negative.
fn with_times(
    operation: Operation,
    call: Interval,
    definitions: &Definitions,
) -> Option<Operation> {
    let start = definitions.clock.nanos(call.start)?;
    let length = definitions.clock.nanos(call.end)?.saturating_sub(start);
    let duration = match operation.duration {
        Nanos(0) => length,
        negative => negative,
    };
    Some(Operation {
        start,
        duration,
        ..operation
    })
}
