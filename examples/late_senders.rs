//! Which messages are late?

use perfkit::core::{Event, Messages, match_messages};
use perfkit::prelude::*;

/// Returns the lead of the clock of each rank over that of rank 0 in ticks, each with its uncertainty.
///
/// No rank leaves a collective before all have entered it.
fn lead(found: &Messages, ranks: usize) -> Vec<(i64, i64)> {
    let mut bounds = vec![(i64::MIN, i64::MAX); ranks];
    let signed = |time: Ticks| time.0 as i64;
    for collective in &found.collectives {
        let (begin_0, end_0) = match collective.members.first() {
            Some(first) => (signed(first.begin.time), signed(first.end.time)),
            None => continue,
        };
        for member in &collective.members {
            let (begin, end) = (signed(member.begin.time), signed(member.end.time));
            let (low, high) = &mut bounds[member.begin.location.index()];
            (*low, *high) = ((*low).max(begin - end_0), (*high).min(end - begin_0));
        }
    }
    let middle = |(low, high): (i64, i64)| (i64::midpoint(low, high), (high - low) / 2);
    bounds.into_iter().map(middle).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trace = open_trace("data/recordings/jacobi-16")?;
    let found = match_messages(trace.view(), &Job::default())?;
    let checked = found.clock_violations().messages;
    let (wrong, all) = (checked.violated, checked.checked);
    println!("{wrong} of {all} messages arrive before they are sent");
    let system = &trace.definitions().system;
    let lead = lead(&found, system.locations().len());
    let (ahead, uncertain) = (lead[5].0 / 1_000, lead[5].1 / 1_000);
    println!("rank 5 is {ahead} us ahead of rank 0, give or take {uncertain}");

    let mut waited = vec![(0_i64, 0_u32); lead.len()];
    for message in &found.messages {
        let (sent, received) = (message.sender, message.receiver);
        let events = &trace.events()[received.location.index()];
        let is_enter = |at: &usize| matches!(events.event(*at), Some(Event::Enter { .. }));
        let entered = (0..received.index).rev().find(is_enter);
        let entered = entered
            .and_then(|at| events.time(at))
            .unwrap_or(received.time);
        let (from, to) = (sent.location.index(), received.location.index());
        let at = |time: Ticks, rank: usize| time.0 as i64 - lead[rank].0;
        // It waits at most until it has the message.
        let late = at(sent.time, from).min(at(received.time, to)) - at(entered, to);
        if late > lead[from].1 + lead[to].1 {
            waited[from] = (waited[from].0 + late, waited[from].1 + 1);
        }
    }
    let mut worst: Vec<_> = waited.iter().zip(system.location_ids()).collect();
    worst.sort_by_key(|((ticks, _), _)| std::cmp::Reverse(*ticks));
    for ((ticks, count), rank) in worst.into_iter().take(3) {
        let (rank, time) = (
            system.label(rank),
            trace.definitions().clock.total(*ticks as u128),
        );
        println!("{rank}: {count} messages late, {time} waited for");
    }
    Ok(())
}
