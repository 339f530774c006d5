//! Handlers of the queries for the time lost by rank and step, and by function and step.

use super::page_queries::{MAX_ROWS, answer, json};
use super::query_string::Fields;
use crate::hub::LostCell;
use crate::store::STACKED;
use crate::web::app::App;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use serde::Serialize;
use std::sync::Arc;

/// Cell: index of its row, first step of its column, anomalies, nanoseconds lost in abnormal calls and in
/// others of slow ranks, the rank and step in it that lost the most, and nanoseconds lost in others of new modes.
type CellData = (usize, u64, u64, i64, i64, u32, u64, i64);

/// Time lost by rank and step.
#[derive(Serialize)]
struct LostData {
    /// Number of steps of a column.
    steps: u64,
    /// Program, first rank and last rank of each row.
    rows: Vec<(u32, u32, u32)>,
    /// Cells with lost time.
    cells: Vec<CellData>,
    /// Time lost in abnormal calls that is in no cell, in nanoseconds.
    missing: i64,
    /// `true` if no time was lost, so that the times are those of calls that wait for others.
    waiting: bool,
}

/// Time lost in abnormal calls by function and step.
#[derive(Serialize)]
struct Stacked<'a> {
    /// Names of the columns.
    columns: [&'static str; 4],
    /// Program, function, first step of the group and nanoseconds lost.
    rows: Vec<(u32, &'a str, u64, i64)>,
}

/// Returns the matrix of the time lost by rank and step.
pub(crate) async fn lost(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    answer(
        app,
        query,
        |_| Ok(()),
        |app, ()| {
            let lost = app.source.lost_time();
            let cells = lost
                .cells()
                .filter(|(.., cell)| cell.calls > 0 || cell.slow > 0 || cell.modes != 0);
            json(&LostData {
                steps: lost.steps_per_column(),
                rows: lost.rows().collect(),
                cells: cells
                    .map(|(row, step, cell)| {
                        let LostCell {
                            anomalies,
                            calls,
                            slow,
                            modes,
                            rank,
                            step: worst,
                            ..
                        } = *cell;
                        (row, step, anomalies, calls, slow, rank, worst, modes)
                    })
                    .collect(),
                missing: lost.missing(),
                waiting: lost.waits(),
            })
        },
    )
    .await
}

/// Returns the time lost in abnormal calls by function and step. A database without a server has the recorded
/// calls only.
pub(crate) async fn stacked(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| {
        let group = fields.get("group")?.unwrap_or(1);
        if group == 0 {
            return Err("`group` cannot be 0".to_string());
        }
        Ok((group, fields.within("limit", 1_000, MAX_ROWS)?))
    };
    answer(app, query, ask, |app, (group, limit)| {
        let lost = app.source.lost_time();
        let Some(sums) = lost.functions(group) else {
            return json(&app.read(|reader| reader.stacked(group, lost.waits(), limit))?);
        };
        let rows = sums.into_iter().take(limit);
        json(&Stacked {
            columns: STACKED,
            rows: rows
                .map(|(name, step, lost)| (name.program, &*name.name, step, lost))
                .collect(),
        })
    })
    .await
}
