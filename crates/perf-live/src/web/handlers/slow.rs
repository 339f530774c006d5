//! Handlers of the queries for ranks and phases that are slower than their peers, for all causes of lost time, and
//! for changes of functions.

use super::page_queries::{MAX_ROWS, answer, json};
use super::query_string::Fields;
use crate::web::app::App;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use perf_anomaly::lost_time::{PhaseStep, SlowPhase};
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
    /// `true` if the rank is slow in all of its steps, as far as noise tells, and may have more work; only of ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    always: Option<bool>,
    /// Factor by which calls of the rank take longer in its other steps, with which it is compared then; otherwise `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    usual: Option<f64>,
    /// Factor by which calls take longer than those of the median rank, or than in other steps for a phase.
    factor: f64,
    /// Factor by which the calls of the function take longer; only of ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    function_factor: Option<f64>,
    /// Time lost, on all ranks for a phase.
    lost: Nanos,
    /// Time lost in the function; only of ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    function_lost: Option<Nanos>,
    /// First step, last step and time lost of the steps of a phase.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<(u64, u64, Nanos)>,
}

/// Largest number of phases whose steps are listed. Of the others, only the sum is.
const PHASES_WITH_STEPS: usize = 50;

#[derive(Serialize)]
struct SlowData<'a> {
    /// Slow ranks.
    ranks: Vec<SlowRow<'a>>,
    /// Slow phases.
    phases: Vec<SlowRow<'a>>,
    /// Number of calls that arrived too late to be compared.
    late: u64,
}

/// Returns the slow ranks and slow phases, those with the most time lost first.
pub(crate) async fn slow(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| fields.within("limit", 100, MAX_ROWS);
    answer(app, query, ask, |app, limit| {
        let slow = app.source.slow();
        let ranks = slow.ranks.iter().take(limit);
        let phases = slow.phases.iter().take(limit).enumerate();
        let steps = |phase: &SlowPhase| {
            let of_phase = |one: &&PhaseStep| {
                one.function == phase.function && (phase.first..=phase.last).contains(&one.first)
            };
            let steps = slow.phase_steps.iter().filter(of_phase);
            steps.map(|one| (one.first, one.last, one.lost)).collect()
        };
        json(&SlowData {
            ranks: ranks
                .map(|(slow, name)| SlowRow {
                    program: slow.program,
                    rank: Some(slow.rank),
                    function: &name.name,
                    first: slow.first,
                    last: slow.last,
                    lasts: slow.lasts,
                    always: Some(slow.always),
                    usual: slow.usual,
                    factor: slow.factor,
                    function_factor: Some(slow.function_factor),
                    lost: slow.lost,
                    function_lost: Some(slow.function_lost),
                    steps: Vec::new(),
                })
                .collect(),
            phases: phases
                .map(|(at, (slow, name))| SlowRow {
                    program: name.program,
                    rank: None,
                    function: &name.name,
                    first: slow.first,
                    last: slow.last,
                    lasts: slow.lasts,
                    always: None,
                    usual: None,
                    factor: slow.factor,
                    function_factor: None,
                    lost: slow.lost,
                    function_lost: None,
                    steps: if at < PHASES_WITH_STEPS {
                        steps(slow)
                    } else {
                        vec![(slow.first, slow.last, slow.lost)]
                    },
                })
                .collect(),
            late: slow.late,
        })
    })
    .await
}

/// Cause of lost time.
#[derive(Serialize)]
struct CauseRow<'a> {
    /// `slow rank`, `slow ranks`, `slow phase`, `slow phases`, `new mode` or `single calls`.
    kind: &'static str,
    /// Sentence about it.
    sentence: &'a str,
    /// Time lost, or the time of waiting.
    lost: Nanos,
    /// `true` for calls that wait for others, whose time is not part of the sums.
    waits: bool,
    /// Program.
    program: u32,
    /// Slow ranks, the one with the most time lost first; empty for other causes.
    ranks: Vec<u32>,
    /// Function, on a slow rank the one with the most time lost.
    function: &'a str,
    /// All functions, which are several for `slow phases`.
    functions: Vec<&'a str>,
    /// First and last step; `None` for single calls.
    steps: Option<(u64, u64)>,
    /// `true` for ranks and functions that are still slow in their last step.
    lasts: bool,
    /// `true` for ranks that are slow in all of their steps, as far as noise tells, and may have more work.
    always: bool,
    /// Factor by which calls of a slow rank take longer in its other steps, with which it is compared then; otherwise
    /// `None`.
    usual: Option<f64>,
    /// Factor by which calls take longer; `None` for single calls.
    factor: Option<f64>,
    /// Rank and step of the longest single call, if known; `None` for other causes.
    longest: Option<(u32, u64)>,
}

#[derive(Serialize)]
struct CausesData<'a> {
    /// Sentence about the sum.
    sentence: &'a str,
    /// Exclusive time of all calls.
    of: Nanos,
    /// Time lost in single calls.
    calls: Nanos,
    /// Time lost in new modes.
    modes: Nanos,
    /// Time lost on slow ranks.
    ranks: Nanos,
    /// Part of it on ranks that are slow in all of their steps, as far as noise tells, and may have more work.
    always: Nanos,
    /// Time lost in slow phases.
    phases: Nanos,
    /// Time by which calls that wait for others take longer.
    waiting: Nanos,
    /// Number of causes.
    count: usize,
    /// Causes.
    causes: Vec<CauseRow<'a>>,
}

/// Returns the causes of lost time in the order of `detect`.
pub(crate) async fn causes(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| fields.within("limit", 100, MAX_ROWS);
    answer(app, query, ask, |app, limit| {
        let slow = app.source.slow();
        let rows = slow
            .causes
            .iter()
            .take(limit)
            .map(|(cause, names)| (cause, &names[0], names))
            .map(|(cause, name, names)| CauseRow {
                kind: cause.kind,
                sentence: &cause.sentence,
                lost: cause.lost,
                waits: cause.waits,
                program: name.program,
                ranks: cause.ranks.iter().map(|(_, rank)| *rank).collect(),
                function: &name.name,
                functions: names.iter().map(|name| &*name.name).collect(),
                steps: cause.steps,
                lasts: cause.lasts,
                always: cause.always,
                usual: cause.usual,
                factor: cause.factor,
                longest: cause.longest.map(|(_, rank, step)| (rank, step)),
            });
        json(&CausesData {
            sentence: &slow.sentence,
            of: slow.lost.of,
            calls: slow.lost.calls,
            modes: slow.lost.modes,
            ranks: slow.lost.ranks,
            always: slow.lost.always,
            phases: slow.lost.phases,
            waiting: slow.lost.waiting,
            count: slow.causes.len(),
            causes: rows.collect(),
        })
    })
    .await
}

/// Changes of a function.
#[derive(Serialize)]
struct ChangeRow<'a> {
    /// Sentence about them.
    sentence: &'a str,
    /// Program.
    program: u32,
    /// Function.
    function: &'a str,
    /// Number of changes.
    times: usize,
    /// Step in which the first change began.
    step: u64,
    /// Step in which the last change began.
    last: u64,
    /// Step in which the last change was confirmed.
    confirmed: u64,
    /// Usual run time before the first change.
    from: Nanos,
    /// Usual run time since the last change.
    to: Nanos,
    /// Number of ranks that called the function before the first change.
    ranks: u64,
    /// Number of clients that reported the first change.
    clients: u64,
}

#[derive(Serialize)]
struct ChangesData<'a> {
    /// Number of functions.
    count: usize,
    /// Changes of each function.
    changes: Vec<ChangeRow<'a>>,
}

/// Returns the functions that became slower or faster, in the order of `detect`.
pub(crate) async fn changes(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Response {
    let ask = |fields: &mut Fields| fields.within("limit", 100, MAX_ROWS);
    answer(app, query, ask, |app, limit| {
        let slow = app.source.slow();
        let rows = slow.changes.iter().take(limit);
        let rows = rows.filter_map(|(sentence, all, name)| {
            let (first, last) = (all.first()?, all.last()?);
            Some(ChangeRow {
                sentence,
                program: name.program,
                function: &name.name,
                times: all.len(),
                step: first.change.step,
                last: last.change.step,
                confirmed: last.change.until,
                from: first.change.from,
                to: last.change.to,
                ranks: first.change.ranks,
                clients: first.clients,
            })
        });
        json(&ChangesData {
            count: slow.changes.len(),
            changes: rows.collect(),
        })
    })
    .await
}
