//! [`Rules`]: functions that a user excluded from detection, and thresholds of single functions;
//! judgements of calls that are ignored or too few.

use super::Functions;
use crate::{FunctionId, Label};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Rule {
    /// `true` if the function is ignored.
    ignored: bool,
    /// Threshold that replaces the threshold of the parameters; `None` for no replacement.
    threshold: Option<f64>,
}

/// Ignored functions, and functions with a threshold of their own.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rules(Functions<Rule>);

impl Rules {
    pub(crate) fn ignore(&mut self, function: FunctionId, ignored: bool) {
        self.0.entry(function, Rule::default).ignored = ignored;
    }

    pub(crate) fn set_threshold(&mut self, function: FunctionId, threshold: Option<f64>) {
        self.0.entry(function, Rule::default).threshold = threshold;
    }

    #[inline]
    pub(crate) fn ignored(&self, function: FunctionId) -> bool {
        !self.0.is_empty() && self.0.get(function).is_some_and(|rule| rule.ignored)
    }

    /// Returns the threshold that was set for a function; `None` if it has the threshold of the
    /// parameters.
    #[inline]
    pub(crate) fn threshold(&self, function: FunctionId) -> Option<f64> {
        if self.0.is_empty() {
            None
        } else {
            self.0.get(function).and_then(|rule| rule.threshold)
        }
    }
}

/// Judgement of an ignored call.
pub(crate) const IGNORED: crate::Judgement = crate::Judgement {
    label: Label::Ignored,
    score: 0.0,
    expected: None,
};

/// Judgement of a call whose function has too few calls.
pub(crate) const TOO_FEW: crate::Judgement = crate::Judgement {
    label: Label::NotEnoughData,
    score: 0.0,
    expected: None,
};
