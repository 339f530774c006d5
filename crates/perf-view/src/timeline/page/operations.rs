//! Fold operations that a page offers: their order, and their names and descriptions for the
//! script.

use super::View;
use super::data::OpData;
use super::pyramid::{Node, most};
use crate::{Error, Result};
use perf_core::LocationKind;
use perf_fold::{FoldOp, Op};

impl View<'_> {
    pub(super) fn operations(&self, nodes: &[Node]) -> Result<Vec<Option<Op>>> {
        let accelerated = nodes.iter().any(|node| {
            let group = self.groups.get(node.group);
            group.is_some_and(|group| group.kind == LocationKind::AcceleratorStream)
        });
        let (states, numbers): (Vec<Op>, Vec<Op>) = self.ops.iter().partition(|op| op.selects());
        let is_nested = self.rules.clone().op(Op::Entropy).check().is_err();
        let numbers = numbers.into_iter().filter(|_| !is_nested);
        let chosen = states.into_iter().chain(numbers).map(Some);
        let all: Vec<Option<Op>> = accelerated
            .then_some(None)
            .into_iter()
            .chain(chosen)
            .collect();
        if all.is_empty() {
            Err(Error::Empty {
                what: "no operation",
            })
        } else {
            Ok(all)
        }
    }

    /// Returns name, description, and `true` if agreement is shown. For operations that return
    /// numbers it also returns the largest number and its unit; 0 stands for the number of streams.
    pub(super) fn operation(&self, op: Option<Op>) -> OpData {
        let (name, words) = match op {
            None => ("usual".into(), "by kind of row".into()),
            Some(Op::Max) => ("max".into(), "state of most streams".into()),
            Some(Op::Min) => ("min".into(), "state of the fewest streams".into()),
            Some(Op::Diff) => (
                "diff".into(),
                "state of the fewest, where streams differ".into(),
            ),
            Some(Op::Idle) => ("idle".into(), "state of the active streams".into()),
            Some(Op::Share) => ("share".into(), "state with the most time".into()),
            Some(Op::Outliers(_)) => (
                "outliers".into(),
                "states of a few streams that differ".into(),
            ),
            Some(Op::Entropy) => ("entropy".into(), "entropy of the states".into()),
            Some(Op::Any(class)) => {
                let name = self.timelines.classes().name(class);
                (
                    format!("any-{}", class.0),
                    format!("cells with any stream in {name}"),
                )
            }
            Some(Op::Count(class)) => {
                let name = self.timelines.classes().name(class);
                (
                    format!("count-{}", class.0),
                    format!("number of streams in {name}"),
                )
            }
            Some(_) => ("other".to_string(), "another operation".to_string()),
        };
        // The default operation of threads is `max`. That of accelerator streams is `idle`; their
        // rows are marked, because agreement is not informative for them.
        let shaded = op.is_none_or(|op| matches!(op, Op::Max | Op::Share));
        let number = op.filter(|op| !op.selects());
        let number = number.map(|op| match most(op, self.timelines) {
            Some(most) => (most, "nats"),
            None => (0.0, "streams"),
        });
        (name, words, shaded, number)
    }
}
