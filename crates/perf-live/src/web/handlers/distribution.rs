//! Handler of the query for the run times of a function that the model of all ranks knows.

use super::page_queries::{answer, json};
use super::query_string::Fields;
use crate::web::app::App;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use perf_anomaly::server::FunctionName;
use perf_view::anomaly::RunTimes;
use serde::Serialize;
use std::sync::Arc;

/// Run times of a function.
#[derive(Serialize)]
struct DistributionAnswer {
    /// Bins, and ranges of normal run times; `None` if the model does not know the function.
    distribution: Option<RunTimes>,
}

/// Returns the run times of a function on all ranks, with the ranges that are normal.
pub(crate) async fn distribution(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
) -> Response {
    let ask = |fields: &mut Fields| {
        let name: Option<String> = fields.get("function")?;
        let name = name.ok_or("`function` is missing")?;
        Ok(FunctionName {
            program: fields.get("program")?.unwrap_or(0),
            name: name.into(),
        })
    };
    answer(app, query, ask, |app, name| {
        let known = app.source.model_of(&name);
        json(&DistributionAnswer {
            distribution: known.and_then(|(function, model)| RunTimes::of(&model, function)),
        })
    })
    .await
}
