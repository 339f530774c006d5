//! [`UpdateMessages`]: encoded messages of one update of a tape, adapted to the rank, client and
//! numbers of each simulated rank.

use super::tape::{RecordedMessage, Tape};
use crate::wire::Push;
use perf_anomaly::lost_time::{FunctionSteps, ModeTimes, StepTimes};
use perf_anomaly::provenance::Entry;
use perf_anomaly::server::{Delta, StepStats};
use perf_anomaly::{Counters, Functions};
use perf_core::Nanos;

/// Messages of the ranks of the tape in an update, for all simulated ranks. The parts that differ
/// between ranks are inserted for each rank; the rest is encoded once.
#[derive(Debug)]
pub(super) struct UpdateMessages {
    /// Program.
    program: u32,
    /// Update and message, by rank of the tape.
    latest: Vec<Option<(u64, UpdateMessage)>>,
}

/// Message of a rank in an update.
#[derive(Debug)]
pub(super) struct UpdateMessage {
    /// Encoded delta without its steps and their run times, up to the number of steps.
    delta: Vec<u8>,
    /// Delta that contains only the steps and their run times.
    steps: Delta,
    /// Offset of the number of steps in the encoded `steps`.
    at: usize,
    /// Lines of entries. Each line is split into the parts before and after the number of its rank;
    /// `None` for a line without a rank.
    lines: Vec<(String, Option<String>)>,
    /// Number of calls.
    pub(super) calls: u64,
    /// Number of anomalies.
    pub(super) anomalies: u64,
    /// Time lost in nanoseconds.
    pub(super) time: i64,
}

/// Position of the client number in an encoded delta. It follows a magic number, a version and a
/// session.
const CLIENT: std::ops::Range<usize> = 14..22;

impl UpdateMessages {
    pub(super) fn new(tape: &Tape, program: u32) -> Self {
        let latest = tape.ranks.iter().map(|_| None).collect();
        UpdateMessages { program, latest }
    }

    /// Returns the message of a simulated rank in an update, or `None` if the tape has no message.
    pub(super) fn message(
        &mut self,
        tape: &Tape,
        rank: u32,
        update: u64,
    ) -> Option<&mut UpdateMessage> {
        let at = rank as usize % tape.ranks.len().max(1);
        let slot = self.latest.get_mut(at)?;
        if slot.as_ref().is_none_or(|(of, _)| *of != update) {
            let recorded = later(tape, at, update)?;
            *slot = Some((update, UpdateMessage::new(recorded, self.program)));
        }
        slot.as_mut().map(|(_, message)| message)
    }
}

impl UpdateMessage {
    fn new(mut recorded: RecordedMessage, program: u32) -> Self {
        for entry in &mut recorded.entries {
            match entry {
                Entry::Call(record) => record.program = program,
                Entry::Stream(stream) => stream.program = program,
                Entry::Model(model) => model.program = program,
                _ => {}
            }
        }
        let mut steps = recorded.delta.clone();
        steps.names = Vec::new();
        steps.model = steps.model.emptied();
        steps.functions = Functions::default();
        steps
            .steps
            .iter_mut()
            .for_each(|step| step.program = program);
        let sum = |of: fn(&StepStats) -> u64| recorded.delta.steps.iter().map(of).sum();
        let mut message = UpdateMessage {
            delta: Vec::new(),
            at: 0,
            lines: recorded.entries.iter().map(split).collect(),
            calls: sum(|step| step.loss.calls),
            anomalies: sum(|step| step.loss.anomalies()),
            time: recorded
                .delta
                .steps
                .iter()
                .map(|step| step.loss.time.0)
                .sum(),
            steps,
        };
        recorded.delta.steps.clear();
        recorded.delta.times = StepTimes::default();
        recorded.delta.modes = ModeTimes::default();
        recorded.delta.losses = FunctionSteps::default();
        recorded.delta.changes.clear();
        recorded.delta.counters = Counters::default();
        message.delta = recorded.delta.encode();
        message.delta.truncate(message.delta.len() - NUMBERS);
        let mut empty = message.steps.clone();
        empty.steps.clear();
        empty.times = StepTimes::default();
        empty.modes = ModeTimes::default();
        empty.losses = FunctionSteps::default();
        empty.changes.clear();
        empty.counters = Counters::default();
        message.at = empty.encode().len() - NUMBERS;
        message
    }

    /// Builds the message of a client with its delta. `view` has the meaning of [`Push::view`].
    pub(super) fn push(&mut self, rank: u32, client: u64, view: u64) -> Vec<u8> {
        self.steps
            .steps
            .iter_mut()
            .for_each(|step| step.rank = rank);
        let program = self.steps.steps.first().map_or(0, |step| step.program);
        self.steps.times = self.steps.times.moved((program, rank), 0);
        self.steps.modes = self.steps.modes.moved((program, rank), 0);
        self.steps.counters = self.steps.counters.moved((program, rank));
        let mut delta = self.delta.clone();
        if let Some(place) = delta.get_mut(CLIENT) {
            place.copy_from_slice(&client.to_le_bytes());
        }
        let steps = self.steps.encode();
        delta.extend_from_slice(&steps[self.at..]);
        Push::raw((client, view), Some(&delta), None)
    }

    /// Returns the number of entries.
    pub(super) fn entries(&self) -> usize {
        self.lines.len()
    }

    /// Builds the message of a client with its entries, in a bundle of the given number.
    pub(super) fn records(&self, rank: u32, client: u64, sequence: u64) -> Vec<u8> {
        let line = |(before, after): &(String, Option<String>)| match after {
            Some(after) => format!("{before}{rank}{after}"),
            None => before.clone(),
        };
        let lines = self.lines.iter().map(line).collect();
        Push::raw(
            (client, crate::wire::NO_VIEW),
            None,
            Some(&(sequence, lines)),
        )
    }
}

/// Size in bytes of the end of an encoded delta without steps, run times, modes, changes and counters: the numbers of steps and of
/// run times, the number of steps that are compared as one, and the numbers of functions without phases, of
/// ranks with modes, of functions that lost time and of changes, and the flags for counters and slow calls.
const NUMBERS: usize = 4 + 4 + 1 + 4 + 4 + 4 + 4 + 1 + 1;

/// Splits the line of an entry around the number of its rank, if it has one. No text in the line
/// can contain the field name, because quotes in texts are escaped.
fn split(entry: &Entry) -> (String, Option<String>) {
    const NAME: &str = ",\"rank\":";
    let line = entry.to_string();
    let place = match entry {
        Entry::Call(_) | Entry::Stream(_) => line.find(NAME),
        _ => None,
    };
    let Some(place) = place else {
        return (line, None);
    };
    let (before, after) = line.split_at(place + NAME.len());
    let after = after.trim_start_matches(|letter: char| letter.is_ascii_digit());
    (before.to_string(), Some(after.to_string()))
}

/// Returns the message of a rank of the tape in an update. In repetitions of the tape, steps and
/// times are later.
fn later(tape: &Tape, rank: usize, update: u64) -> Option<RecordedMessage> {
    let rank = tape.ranks.get(rank)?;
    let length = (rank.len() as u64).max(1);
    let mut recorded = rank.get((update % length) as usize)?.clone();
    let round = update / length;
    let steps = round * tape.steps;
    let time = tape.span.0.saturating_mul(round as i64);
    let later = |at: Nanos| Nanos(at.0.saturating_add(time));
    recorded.delta.sequence = update + 1;
    recorded.delta.times = recorded.delta.times.moved((0, 0), steps);
    recorded.delta.modes = recorded.delta.modes.moved((0, 0), steps);
    recorded.delta.losses = recorded.delta.losses.moved(steps);
    for change in &mut recorded.delta.changes {
        change.step += steps;
        change.until += steps;
    }
    for step in &mut recorded.delta.steps {
        step.step += steps;
        (step.start, step.end) = (later(step.start), later(step.end));
    }
    if round > 0 {
        // Streams and models were sent in the first round, so only calls are sent.
        recorded
            .entries
            .retain(|entry| matches!(entry, Entry::Call(_)));
    }
    for entry in &mut recorded.entries {
        let Entry::Call(record) = entry else {
            continue;
        };
        record.step += steps;
        let calls = record.before.iter_mut().chain(&mut record.after);
        for call in calls.chain(&mut record.stack).chain([&mut record.call]) {
            call.entry = later(call.entry);
            call.exit = call.exit.map(later);
        }
        for message in &mut record.messages {
            message.at = later(message.at);
        }
    }
    Some(recorded)
}
