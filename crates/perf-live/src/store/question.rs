//! What a database can be asked: which records, in which order, laid out by what.

use super::schema::bound;
use rusqlite::types::Value;
use serde_json::Value as Json;
use std::ops::RangeInclusive;

/// Rows with the names of their columns.
#[derive(Debug, PartialEq, serde::Serialize)]
pub(crate) struct Table {
    pub(crate) columns: &'static [&'static str],
    pub(crate) rows: Vec<Vec<Json>>,
}

/// Which records are wanted. What is not set does not matter.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Filter {
    pub(crate) kind: Option<&'static str>,
    pub(crate) label: Option<&'static str>,
    pub(crate) program: Option<u32>,
    pub(crate) rank: Option<u32>,
    pub(crate) thread: Option<u32>,
    pub(crate) function: Option<String>,
    pub(crate) steps: Option<RangeInclusive<u64>>,
    pub(crate) score: Option<f64>,
    pub(crate) severity: Option<i64>,
}

impl Filter {
    /// The condition and its values.
    pub(super) fn sql(&self) -> (String, Vec<Value>) {
        let mut conditions = vec!["1"];
        let mut values = Vec::new();
        let mut and = |condition: &'static str, value: Option<Value>| {
            if let Some(value) = value {
                conditions.push(condition);
                values.push(value);
            }
        };
        let number = |number: u32| Value::from(i64::from(number));
        let text = |text: &'static str| Value::from(text.to_string());
        and("kind = ?", self.kind.map(text));
        and("label = ?", self.label.map(text));
        and("program = ?", self.program.map(number));
        and("rank = ?", self.rank.map(number));
        and("thread = ?", self.thread.map(number));
        and("function = ?", self.function.clone().map(Value::from));
        let steps = self.steps.as_ref();
        and("step >= ?", steps.map(|steps| bound(*steps.start()).into()));
        and("step <= ?", steps.map(|steps| bound(*steps.end()).into()));
        and("score >= ?", self.score.map(Value::from));
        and("severity >= ?", self.severity.map(Value::from));
        (conditions.join(" and "), values)
    }
}

/// In which order records come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Order {
    /// The latest first.
    #[default]
    Latest,
    Severity,
    Score,
    Entry,
}

impl Order {
    pub(crate) const ALL: [(&'static str, Order); 4] = [
        ("latest", Order::Latest),
        ("severity", Order::Severity),
        ("score", Order::Score),
        ("entry", Order::Entry),
    ];

    pub(super) fn sql(self) -> &'static str {
        match self {
            Order::Latest => "id desc",
            Order::Severity => "severity desc, score desc, id",
            Order::Score => "score desc, severity desc, id",
            Order::Entry => "call.entry, id",
        }
    }
}

/// What samples of a function can be laid out by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis(&'static str, &'static str);

impl Axis {
    const ALL: [Axis; 13] = [
        Axis("entry", "call.entry"),
        Axis("step", "step"),
        Axis("rank", "rank"),
        Axis("thread", "thread"),
        Axis("runtime", "runtime"),
        Axis("severity", "severity"),
        Axis("score", "score"),
        Axis("exclusive", "json_extract(body, '$.exclusive')"),
        Axis(
            "inclusive",
            "json_extract(body, '$.call.exit') - call.entry",
        ),
        Axis("expected", "json_extract(body, '$.expected')"),
        Axis("depth", "json_array_length(body, '$.stack')"),
        Axis("messages", "json_array_length(body, '$.messages')"),
        Axis(
            "bytes",
            "(select sum(json_extract(value, '$.bytes')) from json_each(body, '$.messages'))",
        ),
    ];

    /// The axis of a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|axis| axis.0 == name)
    }

    /// What SQL calls it.
    pub(super) fn sql(self) -> &'static str {
        self.1
    }

    /// The names of all.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(|axis| axis.0)
    }
}
