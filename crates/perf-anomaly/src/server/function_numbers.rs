//! [`Numbers`]: translation between the function numbers of a server and those of a detector.

use super::FunctionName;
use super::names::{NameTable, cut};
use crate::FunctionId;
use crate::calls::Calls;
use crate::counters::Counters;
use perf_core::MetricId;
use std::collections::HashMap;

/// Translation between the function numbers of the server and of the detector. Each name is built
/// once, regardless of the number of views.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// Number at the server, by number in the detector.
    theirs: Vec<Option<FunctionId>>,
    /// Number in the detector, by number at the server.
    own: Vec<Option<FunctionId>>,
    /// Functions that the server has not numbered yet.
    unnamed: HashMap<FunctionName, FunctionId>,
}

impl Numbers {
    /// Adds functions that are new in `calls`, and names that are new at the server.
    pub(super) fn update(&mut self, calls: &Calls, names: &NameTable) {
        let new = self.own.len();
        self.own.resize(names.len(), None);
        for (number, name) in names.names().iter().enumerate().skip(new) {
            if let Some(function) = self.unnamed.remove(name) {
                self.pair(function, FunctionId(number as u32));
            }
        }
        for function in self.theirs.len()..calls.function_count() {
            self.theirs.push(None);
            let function = FunctionId(function as u32);
            let name = name(calls, function);
            match names.get(&name) {
                Some(number) => self.pair(function, number),
                None => {
                    self.unnamed.entry(name).or_insert(function);
                }
            }
        }
    }

    fn pair(&mut self, function: FunctionId, number: FunctionId) {
        if let Some(theirs) = self.theirs.get_mut(function.0 as usize) {
            *theirs = Some(number);
        }
        // Of several functions with the same name, such as unnamed ones, the first is used.
        if let Some(own) = self.own.get_mut(number.0 as usize) {
            own.get_or_insert(function);
        }
    }

    pub(super) fn of(&self, function: FunctionId) -> Option<FunctionId> {
        self.theirs.get(function.0 as usize).copied().flatten()
    }

    pub(super) fn own(&self, number: FunctionId) -> Option<FunctionId> {
        self.own.get(number.0 as usize).copied().flatten()
    }
}

/// Returns the name of a function, by which the server knows it.
pub(super) fn name(calls: &Calls, function: FunctionId) -> FunctionName {
    FunctionName {
        program: calls.function_program(function).unwrap_or_default(),
        name: cut(&calls.function_name(function)).into(),
    }
}

/// Returns the number of a name at the server. A name that is not `known` follows these names with its number among `new`
/// ones, to which it is added.
pub(super) fn new_number(
    name: &FunctionName,
    known: &NameTable,
    new: &mut NameTable,
) -> Option<FunctionId> {
    if let Some(known) = known.get(name) {
        return Some(known);
    }
    let number = new.number(name, usize::MAX)?;
    Some(FunctionId(number.0.checked_add(known.len() as u32)?))
}

/// Returns counters with the numbers of their names at the server. Counters share the numbers of functions, because both
/// are sent as names.
pub(super) fn with_numbers(
    counters: &Counters,
    calls: &Calls,
    known: &NameTable,
    new: &mut NameTable,
) -> Counters {
    let mut numbers = HashMap::new();
    for (program, counter) in counters.numbers() {
        if let Some(label) = calls.counter_label(MetricId(counter)) {
            let name = cut(&label).into();
            let number = new_number(&FunctionName { program, name }, known, new);
            numbers.extend(number.map(|number| ((program, counter), number.0)));
        }
    }
    let mut all = Counters::default();
    all.add_all(counters, |program, counter| {
        numbers.get(&(program, counter)).copied()
    });
    all
}
