//! Handler of the query for ranks and phases that are slower than their peers.

use super::page_queries::{MAX_ROWS, answer, json};
use super::query_string::Fields;
use crate::web::app::App;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use perf_core::Nanos;
use serde::Serialize;
use std::sync::Arc;

/// Slow rank, or slow phase of all ranks.
#[derive(Serialize)]
struct SlowRow<'a> {
    /// Program.
    program: u32,
    /// Slow rank; `None` for a phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u32>,
    /// Function with the most time lost.
    function: &'a str,
    /// First slow step.
    first: u64,
    /// Last slow step.
    last: u64,
    /// `true` if the rank or function is still slow.
    lasts: bool,
    /// Factor by which calls take longer than those of the median rank, or than in other steps for a phase.
    factor: f64,
    /// Time lost, on all ranks for a phase.
    lost: Nanos,
}

#[derive(Serialize)]
struct SlowData<'a> {
    /// Slow ranks.
    ranks: Vec<SlowRow<'a>>,
    /// Slow phases.
    phases: Vec<SlowRow<'a>>,
}

/// Returns the slow ranks and slow phases, those with the most time lost first.
pub(crate) async fn slow(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| fields.within("limit", 100, MAX_ROWS);
    answer(app, query, ask, |app, limit| {
        let slow = app.source.slow();
        let ranks = slow.ranks.iter().take(limit);
        let phases = slow.phases.iter().take(limit);
        json(&SlowData {
            ranks: ranks
                .map(|(slow, name)| SlowRow {
                    program: slow.program,
                    rank: Some(slow.rank),
                    function: &name.name,
                    first: slow.first,
                    last: slow.last,
                    lasts: slow.lasts,
                    factor: slow.factor,
                    lost: slow.lost,
                })
                .collect(),
            phases: phases
                .map(|(slow, name)| SlowRow {
                    program: name.program,
                    rank: None,
                    function: &name.name,
                    first: slow.first,
                    last: slow.last,
                    lasts: slow.lasts,
                    factor: slow.factor,
                    lost: slow.lost,
                })
                .collect(),
        })
    })
    .await
}
