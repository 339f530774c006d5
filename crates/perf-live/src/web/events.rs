//! News for pages, as they come, but never faster than a page can draw.

use super::api::{RANKS, Ranked, RankingData, StateData, json};
use super::app::{App, Source, aside, refusal};
use super::body::Streamed;
use super::query::{Asked, Fields};
use crate::Result;
use crate::hub::Overview;
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

/// What a page wants to hear of.
#[derive(Clone, Debug)]
struct Wanted {
    ranked: Ranked,
    /// Ranks, and the last step of each that it has heard of.
    ranks: Vec<((u32, u32), u64)>,
    last: Option<Last>,
}

/// What it has heard last: the number of the state, and who was there.
#[derive(Clone, Debug, PartialEq)]
struct Last(u64, Vec<usize>);

/// How long nothing may be said: what stands between may close connections that are silent.
const SILENCE: Duration = Duration::from_secs(10);

/// News.
pub(super) async fn events(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let wanted = match wanted(query.as_deref()) {
        Ok(wanted) => wanted,
        Err(what) => return refusal(StatusCode::BAD_REQUEST, what),
    };
    let Ok(place) = Arc::clone(&app.pages).try_acquire_owned() else {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "there are too many pages");
    };
    // One message waits for a page that is slow; what happens meanwhile goes into the next one.
    let (sender, receiver) = channel(1);
    tokio::spawn(tell(app, wanted, sender, place));
    let mut response = Response::new(Body::new(Streamed(receiver)));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn wanted(query: Option<&str>) -> Asked<Wanted> {
    let mut fields = Fields::parse(query)?;
    let ranked = Ranked::asked(&mut fields)?;
    let ranks = fields.ranks(RANKS)?;
    fields.end()?;
    Ok(Wanted {
        ranked,
        ranks: ranks.into_iter().map(|rank| (rank, 0)).collect(),
        last: None,
    })
}

/// Tells a page what is new until it is gone.
async fn tell(app: Arc<App>, wanted: Wanted, to: Sender<Bytes>, _place: OwnedSemaphorePermit) {
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

/// Program, rank, step, calls that are too slow and too fast, time lost, start and end of a step of a rank.
type Step = (u32, u32, u64, u64, u64, Nanos, Nanos, Nanos);

#[derive(Serialize)]
struct News<'a> {
    #[serde(flatten)]
    state: StateData<'a>,
    ranking: RankingData,
    steps: Vec<Step>,
}

/// Returns the news as JSON, `None` if there are none.
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
        ranking: wanted.ranked.of(&overview),
        steps: steps(app, &overview, wanted),
    };
    json(&news)
}

/// New steps of the chosen ranks, and the last one again, since it may have grown.
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
