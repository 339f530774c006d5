//! [`Filter`], [`Order`] and [`Axis`]: selection, order and quantities of records as SQL for
//! queries on the database; [`Table`]: the resulting rows.

use super::schema::bound;
use rusqlite::types::Value;
use serde_json::Value as Json;
use std::ops::RangeInclusive;

/// Rows with the names of their columns.
#[derive(Debug, PartialEq, serde::Serialize)]
pub(crate) struct Table {
    /// Names of the columns.
    pub(crate) columns: &'static [&'static str],
    /// Rows.
    pub(crate) rows: Vec<Vec<Json>>,
}

/// Selection of records. A field that is `None` matches all records.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Filter {
    /// Kind of record: anomaly or normal call.
    pub(crate) kind: Option<&'static str>,
    /// Label.
    pub(crate) label: Option<&'static str>,
    /// Program.
    pub(crate) program: Option<u32>,
    /// Rank.
    pub(crate) rank: Option<u32>,
    /// Thread.
    pub(crate) thread: Option<u32>,
    /// Name of the function.
    pub(crate) function: Option<String>,
    /// Range of steps.
    pub(crate) steps: Option<RangeInclusive<u64>>,
    /// Smallest score.
    pub(crate) score: Option<f64>,
    /// Smallest time lost, in nanoseconds.
    pub(crate) severity: Option<i64>,
}

impl Filter {
    /// Returns the SQL condition and its values.
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

/// Order of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Order {
    /// Latest first.
    #[default]
    Latest,
    /// Descending time lost.
    Severity,
    /// Descending score.
    Score,
    /// Ascending time of entry.
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

/// Quantity for an axis of the samples of a function, with its name and SQL expression.
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

    /// Returns the axis with a name, or `None` if there is no such axis.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|axis| axis.0 == name)
    }

    /// Returns the SQL expression of the axis.
    pub(super) fn sql(self) -> &'static str {
        self.1
    }

    /// Returns the names of all axes.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(|axis| axis.0)
    }
}
