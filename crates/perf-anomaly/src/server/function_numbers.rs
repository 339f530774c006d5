//! [`Numbers`]: translation between the function numbers of a server and those of a detector.

use super::FunctionName;
use super::names::{NameTable, cut};
use crate::FunctionId;
use crate::calls::Calls;
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
