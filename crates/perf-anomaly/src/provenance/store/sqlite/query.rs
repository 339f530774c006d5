//! Conversion of a [`Query`] for records to SQL.

use crate::provenance::record::Kind;
use crate::provenance::store::{Order, Query};
use rusqlite::types::Value;

pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Anomaly => "anomaly",
        Kind::Normal => "normal",
    }
}

/// Converts a number to an integer of SQLite, which is signed with 64 bits. Larger numbers are
/// clamped.
pub(super) fn bound(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a query to a statement with placeholders, and the values of the placeholders.
pub(super) fn sql(query: &Query) -> (String, Vec<Value>) {
    let mut conditions = vec!["1"];
    let mut values: Vec<Value> = Vec::new();
    let mut and = |condition: &'static str, value: Option<Value>| {
        if let Some(value) = value {
            conditions.push(condition);
            values.push(value);
        }
    };
    let number = |number: u32| Value::from(i64::from(number));
    and(
        "kind = ?",
        query.kind.map(|one| kind(one).to_string().into()),
    );
    let label = query.label.map(|one| one.name().to_string().into());
    and("label = ?", label);
    and("program = ?", query.program.map(number));
    and("rank = ?", query.rank.map(number));
    and("thread = ?", query.thread.map(number));
    and("function = ?", query.function.clone().map(Value::from));
    let steps = query.steps.as_ref();
    and("step >= ?", steps.map(|steps| bound(*steps.start()).into()));
    and("step <= ?", steps.map(|steps| bound(*steps.end()).into()));
    and("score >= ?", query.score.map(Value::from));
    and("severity >= ?", query.severity.map(|least| least.0.into()));
    let order = match query.order {
        // A plus sign keeps the planner from scanning all rows only because they are in this order.
        Order::Stored if conditions.len() > 1 => "+id",
        Order::Stored => "id",
        Order::Severity => "severity desc, score desc, id",
        Order::Score => "score desc, severity desc, id",
        Order::Entry => "call.entry, id",
    };
    let limit = query.limit.map_or(-1, |limit| bound(limit as u64));
    let conditions = conditions.join(" and ");
    // A cross join makes SQLite read the table with the indices first.
    let sql = format!(
        "select id, body from call cross join entry using (id) where {conditions} order by {order} limit {limit}"
    );
    (sql, values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::Sqlite;
    use perf_core::Nanos;
    use rusqlite::params_from_iter;

    /// Returns the query plan of SQLite.
    fn plan(store: &Sqlite, query: &Query) -> String {
        let (sql, values) = sql(query);
        let explained = format!("explain query plan {sql}");
        let mut statement = store.connection.prepare(&explained).expect("it is SQL");
        let rows = statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3));
        let rows: rusqlite::Result<Vec<_>> = rows.expect("values fit").collect();
        rows.expect("a text").join("; ")
    }

    #[test]
    fn each_query_uses_an_index() {
        let path = std::env::temp_dir().join(format!("perf-anomaly-{}.sqlite", std::process::id()));
        let store = Sqlite::create(&path).expect("tests may write here");
        let all = Query::default;
        let anomaly = Some(Kind::Anomaly);
        let queries = [
            (
                Query {
                    program: Some(1),
                    ..all()
                },
                "call_place (program=?)",
            ),
            (
                Query {
                    rank: Some(1),
                    ..all()
                },
                "call_rank (rank=?)",
            ),
            (
                Query {
                    thread: Some(1),
                    ..all()
                },
                "call_thread (thread=?)",
            ),
            (
                Query {
                    function: Some("f".into()),
                    ..all()
                },
                "call_function (function=?)",
            ),
            (
                Query {
                    steps: Some(3..=4),
                    ..all()
                },
                "call_step (step>? AND step<?)",
            ),
            (
                Query {
                    score: Some(3.0),
                    kind: anomaly,
                    ..all()
                },
                "call_score (score>?)",
            ),
            (
                Query {
                    severity: Some(Nanos(9)),
                    kind: anomaly,
                    ..all()
                },
                "call_severity (severity>?)",
            ),
            (
                Query {
                    program: Some(0),
                    rank: Some(1),
                    thread: Some(2),
                    ..all()
                },
                "call_place (program=? AND rank=? AND thread=?)",
            ),
        ];
        for (query, index) in queries {
            let plan = plan(&store, &query);
            let is_used = plan.starts_with("SEARCH call USING ") && plan.contains(index);
            assert!(is_used, "{query:?}: {plan}");
        }
        // The worst come from the index in order, without sorting.
        for (order, index) in [
            (Order::Severity, "call_severity"),
            (Order::Score, "call_score"),
        ] {
            let worst = Query {
                kind: anomaly,
                order,
                limit: Some(5),
                ..all()
            };
            let plan = plan(&store, &worst);
            assert!(
                plan.starts_with("SCAN call USING ") && plan.contains(index),
                "{plan}"
            );
            assert!(!plan.contains("TEMP B-TREE"), "{plan}");
        }
        // It is in the temporary folder, so a failure to remove it is harmless.
        let _ = std::fs::remove_file(&path);
    }
}
