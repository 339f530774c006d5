//! Wait states of messages: late senders, late receivers and wrong order.

use super::{Pattern, WaitState};
use crate::activity::{Activities, CallId, CallKind, CallMessage};
use crate::{Error, Result};
use perf_core::{Job, LocationId, Ticks, parallel};

/// Messages of a task.
const TASK: usize = 1 << 14;

/// Returns the wait states of all messages.
pub(super) fn wait_states(activities: &Activities, job: &Job) -> Result<Vec<WaitState>> {
    let messages = activities.messages();
    let parts = parallel::try_map(parallel::chunk_count(messages.len(), TASK), |number| {
        job.check()?;
        let range = parallel::chunk(messages.len(), TASK, number);
        let (mut senders, mut receivers) = (Vec::new(), Vec::new());
        for (message, number) in messages[range.clone()].iter().zip(range.start as u32..) {
            senders.extend(late_sender(activities, message, number));
            receivers.extend(late_receiver(activities, message, number));
        }
        Ok::<_, Error>((senders, receivers))
    })?;
    let (mut late_senders, mut late_receivers) = (Vec::new(), Vec::new());
    for (senders, receivers) in parts {
        late_senders.extend(senders);
        late_receivers.extend(receivers);
    }
    let late_senders = longest(late_senders, job)?;
    late_receivers = longest(late_receivers, job)?;
    late_receivers.retain(|state| {
        let is_several = activities.kind(state.call).completes_several();
        !is_several
            || late_senders
                .binary_search_by_key(&state.call, |it| it.call)
                .is_err()
    });
    let mut states = wrong_orders(activities, &late_senders, job)?;
    states.extend(late_senders);
    states.extend(late_receivers);
    Ok(states)
}

fn late_sender(activities: &Activities, message: &CallMessage, number: u32) -> Option<WaitState> {
    if activities.kind(message.receive()) == CallKind::Test {
        return None;
    }
    let receive = activities.call(message.receive())?;
    let until = activities.enter(message.send()).min(receive.leave);
    let ticks = until.since(receive.enter).filter(|ticks| *ticks > 0)?;
    Some(WaitState {
        call: message.receive(),
        pattern: Pattern::LateSender,
        start: receive.enter,
        ticks,
        cause: Some(message.send()),
        message: Some(number),
        collective: None,
    })
}

fn late_receiver(activities: &Activities, message: &CallMessage, number: u32) -> Option<WaitState> {
    use CallKind::{Send, SynchronousSend, Wait, WaitAll, WaitAny};
    let sent = message.sent()?;
    let send = activities.call(sent)?;
    if !matches!(send.kind, Send | SynchronousSend | Wait | WaitAll | WaitAny) {
        return None;
    }
    let post = activities.enter(message.post());
    let ticks = post.since(send.enter).filter(|ticks| *ticks > 0)?;
    (send.leave > post).then_some(WaitState {
        call: sent,
        pattern: Pattern::LateReceiver,
        start: send.enter,
        ticks,
        cause: Some(message.post()),
        message: Some(number),
        collective: None,
    })
}

/// Keeps the longest wait state of each call, the first among equals, in order of the calls.
fn longest(mut states: Vec<WaitState>, job: &Job) -> Result<Vec<WaitState>> {
    let key = |state: &WaitState| (state.call, std::cmp::Reverse(state.ticks), state.message);
    parallel::sort_by(&mut states, |a, b| key(a).cmp(&key(b)), job)?;
    states.dedup_by_key(|state| state.call);
    Ok(states)
}

/// Returns the late senders with a wrong order: a later call of the same location receives a message that was sent
/// earlier. The times are those of the records. Messages of one call have no order among themselves.
fn wrong_orders(
    activities: &Activities,
    late_senders: &[WaitState],
    job: &Job,
) -> Result<Vec<WaitState>> {
    let messages = activities.messages();
    // Messages in order of the calls that received them.
    let mut order: Vec<(CallId, u32)> = messages
        .iter()
        .zip(0..)
        .map(|(it, number)| (it.receive(), number))
        .collect();
    parallel::sort(&mut order, job)?;
    let mut is_wrong = vec![false; messages.len()];
    // Location, and the earliest send among the messages of later calls of that location.
    let mut earliest: Option<(LocationId, Ticks)> = None;
    for together in order.chunk_by(|a, b| a.0 == b.0).rev() {
        let Some((receive, _)) = together.first().copied() else {
            continue;
        };
        let later = earliest.filter(|(location, _)| *location == receive.location);
        let mut first = later.map_or(Ticks(u64::MAX), |(_, time)| time);
        for number in together.iter().map(|it| it.1 as usize) {
            let time = messages.get(number).map_or(first, |it| it.send_time);
            if later.is_some_and(|(_, later)| later < time) {
                is_wrong[number] = true;
            }
            first = first.min(time);
        }
        earliest = Some((receive.location, first));
    }
    let is_wrong = |state: &&WaitState| {
        let number = state.message.map(|number| number as usize);
        number.and_then(|number| is_wrong.get(number)).copied() == Some(true)
    };
    let wrong = late_senders.iter().filter(is_wrong);
    Ok(wrong
        .map(|state| WaitState {
            pattern: Pattern::WrongOrder,
            ..*state
        })
        .collect())
}
