//! [`build`]: builds the graph of a trace, in which calls depend on messages, collectives, links
//! and given dependencies, with its recorded durations.

use super::Dependency;
use crate::activity::{Activities, CallCollective, CallId, CallKind};
use crate::graph::{ActivityId, ChainGraph, Durations, Places, ProgramGraph};
use crate::waits::{Flow, meets_without_root};
use crate::{Error, Result};
use perf_core::{Job, Ticks};

/// A graph and its activities.
pub(super) struct Built {
    pub(super) graph: ChainGraph,
    pub(super) places: Places,
    /// Recorded durations.
    pub(super) durations: Durations,
}

pub(super) fn build(
    activities: &Activities,
    dependencies: &[Dependency],
    job: &Job,
) -> Result<Built> {
    let mut program = ProgramGraph::of(activities)?;
    // Activities at which collectives meet, and the time of each.
    let mut meetings = Vec::new();
    let mut checks = job.checks();
    program.wait_for_entries(activities.messages(), job, |message| {
        let receive = activities.kind(message.receive()) != CallKind::Test;
        let waited = message.sent().filter(|sent| {
            let (post, sent) = (activities.enter(message.post()), activities.call(*sent));
            sent.is_some_and(|sent| sent.enter < post && post < sent.leave)
        });
        [
            receive.then_some((message.receive(), message.send())),
            waited.map(|sent| (sent, message.post())),
        ]
    })?;
    for collective in activities.collectives() {
        checks.next(collective.members.len())?;
        depend(&mut program, collective, &mut meetings)?;
    }
    for link in activities.links() {
        checks.next(1)?;
        // The order in which threads get a lock is not that of the recording if their times change.
        if activities.kind(link.call) == CallKind::Acquire {
            continue;
        }
        program.wait_for_entry(link.call, link.on)?;
    }
    for kind in [CallKind::Init, CallKind::Finalize] {
        let calls = activities.calls().filter(|(_, call)| call.kind == kind);
        meet(
            &mut program,
            calls.map(|(id, _)| id).collect(),
            &mut meetings,
        )?;
    }
    for Dependency { call, on } in dependencies {
        for id in [call, on] {
            if activities.call(*id).is_none() {
                let own = activities.locations().get(id.location.index());
                return Err(Error::UnknownActivity {
                    activity: id.index as usize,
                    count: own.map_or(0, |own| own.calls.len()),
                });
            }
        }
        if let (Some(call), Some(on)) = (program.exit(*call), program.exit(*on)) {
            program.depend(call, on)?;
        }
    }
    let durations = program.recorded(&meetings, job)?;
    let (graph, places) = program.build(&durations, job)?;
    Ok(Built {
        graph,
        places,
        durations,
    })
}

/// Lets calls end no earlier than all of them are entered.
fn meet(
    program: &mut ProgramGraph<'_>,
    calls: Vec<CallId>,
    meetings: &mut Vec<(ActivityId, Ticks)>,
) -> Result<()> {
    let latest = calls
        .iter()
        .map(|call| program.activities.enter(*call))
        .max();
    if let Some(latest) = latest {
        meetings.push((program.together(calls.into_iter())?, latest));
    }
    Ok(())
}

/// Adds the dependencies of a collective.
fn depend(
    program: &mut ProgramGraph<'_>,
    collective: &CallCollective,
    meetings: &mut Vec<(ActivityId, Ticks)>,
) -> Result<()> {
    let members = &collective.members;
    let has_data = || members.iter().any(|it| it.sent > 0 || it.received > 0);
    let root = collective.root.and_then(|root| members.get(root));
    match (Flow::of(collective.op), root) {
        (Flow::Barrier, _) => meet(
            program,
            members.iter().map(|it| it.call).collect(),
            meetings,
        ),
        (Flow::All, _) if has_data() => meet(
            program,
            members.iter().map(|it| it.call).collect(),
            meetings,
        ),
        _ if meets_without_root(program.activities, collective) => meet(
            program,
            members.iter().map(|it| it.call).collect(),
            meetings,
        ),
        (Flow::FromRoot, Some(root)) => {
            for member in members
                .iter()
                .filter(|it| it.received > 0 && it.call != root.call)
            {
                program.wait_for_entry(member.call, root.call)?;
            }
            Ok(())
        }
        (Flow::ToRoot, Some(root)) => {
            for member in members
                .iter()
                .filter(|it| it.sent > 0 && it.call != root.call)
            {
                program.wait_for_entry(root.call, member.call)?;
            }
            Ok(())
        }
        (Flow::Prefix, _) => {
            // Each member depends on the one before, and so on all before that one.
            for pair in members.windows(2) {
                program.wait_for_entry(pair[1].call, pair[0].call)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
