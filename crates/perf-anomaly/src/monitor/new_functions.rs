//! Size classes and rules of functions that are new in a step.

use super::Monitor;
use crate::FunctionId;
use perf_core::fits;

impl Monitor {
    /// Gives the detector the size classes and rules of the functions that are new since the last call.
    pub(super) fn add_functions(&mut self) {
        let count = self.calls.function_count();
        for at in std::mem::replace(&mut self.functions, count)..count {
            let function = FunctionId(at as u32);
            if let Some((all_sizes, bytes)) = self.calls.size_class(function) {
                self.detector.add_size_class(function, all_sizes, bytes);
            }
            if !self.rules.is_empty() {
                self.rule(function);
            }
        }
    }

    /// Applies the rules to a function.
    fn rule(&mut self, function: FunctionId) {
        let whole = self.calls.function_name(function);
        let region = self.calls.function_region(function);
        let last = region.and_then(|region| self.calls.region_name(region));
        for (pattern, threshold) in &self.rules {
            let is_last = last.is_some_and(|(_, name)| fits(pattern, name));
            if !is_last && !fits(pattern, &whole) {
                continue;
            }
            self.detector.ignore(function, threshold.is_none());
            let set = self.detector.set_threshold(function, *threshold);
            self.error = self.error.take().or(set.err());
        }
    }
}
