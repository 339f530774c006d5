//! Handler of the server-sent events of a page: changed state, ranking and new steps of chosen
//! ranks, at a limited rate.

use super::page_queries::{RANKS, Ranked, RankingData, StateData, json};
use super::query_string::{Fields, Parsed};
use crate::Result;
use crate::hub::Overview;
use crate::web::app::{App, Source, aside, refusal};
use crate::web::body::Streamed;
use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use perf_core::Nanos;
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{Sender, channel};
use tokio::time::MissedTickBehavior;

/// Subscription of a page.
#[derive(Clone, Debug)]
struct Wanted {
    /// Ranking to report.
    ranked: Ranked,
    /// Chosen ranks as `(program, rank)`, with the last step that was sent for each.
    ranks: Vec<((u32, u32), u64)>,
    /// State at the last event; `None` before the first event.
    last: Option<Last>,
}

/// State at the last event: the revision of the state, and the number of active clients of each
/// program.
#[derive(Clone, Debug, PartialEq)]
struct Last(u64, Vec<usize>);

/// Time after which a comment is sent if there was no event, because proxies may close silent
/// connections.
const SILENCE: Duration = Duration::from_secs(10);

/// Returns the stream of events for a page.
pub(crate) async fn events(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let wanted = match wanted(query.as_deref()) {
        Ok(wanted) => wanted,
        Err(what) => return refusal(StatusCode::BAD_REQUEST, what),
    };
    let Ok(place) = Arc::clone(&app.pages).try_acquire_owned() else {
        return refusal(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many pages are open; close one of them and try again",
        );
    };
    // At most one message waits for a slow page. Later changes are part of the next message.
    let (sender, receiver) = channel(1);
    tokio::spawn(send_updates(app, wanted, sender, place));
    let mut response = Response::new(Body::new(Streamed(receiver)));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn wanted(query: Option<&str>) -> Parsed<Wanted> {
    let mut fields = Fields::parse(query)?;
    let ranked = Ranked::parse(&mut fields)?;
    let ranks = fields.ranks(RANKS)?;
    fields.end()?;
    Ok(Wanted {
        ranked,
        ranks: ranks.into_iter().map(|rank| (rank, 0)).collect(),
        last: None,
    })
}

/// Sends changes to a page until the page closes the connection.
async fn send_updates(
    app: Arc<App>,
    wanted: Wanted,
    to: Sender<Bytes>,
    _place: OwnedSemaphorePermit,
) {
    let mut tick = tokio::time::interval(app.params.tick);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut wanted = wanted;
    let mut said = Instant::now();
    if to
        .send(Bytes::from_static(b"retry: 1000\n\n"))
        .await
        .is_err()
    {
        return;
    }
    loop {
        tick.tick().await;
        if to.is_closed() {
            return;
        }
        let (all, mut own) = (Arc::clone(&app), wanted.clone());
        let found = aside(&app, move || Ok((news(&all, &mut own)?, own))).await;
        let Ok((news, own)) = found else {
            return;
        };
        wanted = own;
        let message = match news {
            Some(news) => format!("data: {news}\n\n").into(),
            None if said.elapsed() >= SILENCE => Bytes::from_static(b": still there\n\n"),
            None => continue,
        };
        said = Instant::now();
        if to.send(message).await.is_err() {
            return;
        }
    }
}

/// Step of a rank: program, rank, step, number of calls that were too slow, number of calls that
/// were too fast, time lost, start, and end.
type Step = (u32, u32, u64, u64, u64, Nanos, Nanos, Nanos);

#[derive(Serialize)]
struct News<'a> {
    /// State of all programs.
    #[serde(flatten)]
    state: StateData<'a>,
    /// Ranking of the ranks.
    ranking: RankingData,
    /// New steps with anomalies of the chosen ranks.
    steps: Vec<Step>,
}

/// Returns the state, the ranking and the new steps as JSON, or `None` if nothing has changed since
/// the last event.
fn news(app: &App, wanted: &mut Wanted) -> Result<Option<String>> {
    let overview = app.source.overview();
    let active = overview.programs.iter().map(|one| one.active).collect();
    let now = Last(overview.revision, active);
    if wanted.last.as_ref() == Some(&now) {
        return Ok(None);
    }
    wanted.last = Some(now);
    let news = News {
        state: StateData::of(&overview),
        ranking: wanted.ranked.of(&overview, &app.source.slow()),
        steps: steps(app, &overview, wanted),
    };
    json(&news)
}

/// Returns the new steps with anomalies of the chosen ranks. The last step of the previous event is
/// included again, because calls may have been added to it. The result is empty for a finished run.
fn steps(app: &App, overview: &Overview, wanted: &mut Wanted) -> Vec<Step> {
    let Source::Live(hub) = &app.source else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for ((program, rank), last) in &mut wanted.ranks {
        let is_there = |one: &perf_anomaly::server::RankSummary| (one.program, one.rank);
        if overview
            .ranks
            .binary_search_by_key(&(*program, *rank), is_there)
            .is_err()
        {
            continue;
        }
        for step in hub.steps(*program, *rank, *last) {
            *last = step.step.max(*last);
            let loss = &step.loss;
            if loss.anomalies() > 0 {
                all.push((
                    step.program,
                    step.rank,
                    step.step,
                    loss.too_slow,
                    loss.too_fast,
                    loss.time,
                    step.start,
                    step.end,
                ));
            }
        }
    }
    all
}
