//! [`Undecided`]: calls without an alarm that are judged again at the end of the stream, when all other calls are
//! known.

use super::Monitor;
use crate::calls::Call;
use crate::detect::{Place, Relabelled};
use crate::lost_time::{Withdrawn, at_own_speed};
use crate::provenance::Record;
use crate::{FunctionId, Judgement, Label, Sample};
use perf_core::{CallPathId, Nanos};

/// Largest number of undecided calls of a function; the longest ones are kept.
const OF_FUNCTION: usize = 4;
/// Largest number of undecided calls; the longest ones are kept.
const MOST: usize = 1024;

/// Call that was judged by the calls before it.
#[derive(Debug)]
pub(super) struct Undecided {
    /// Model that judges the call, which is that of a size class for a function with classes.
    class: FunctionId,
    /// Call.
    call: Call,
    /// Function and run time.
    sample: Sample,
    /// First judgement.
    judgement: Judgement,
    /// Rank and step.
    place: Place,
    /// Call path.
    path: CallPathId,
    /// The call in the means of ranks and steps, if it is part of them.
    in_means: Option<Withdrawn>,
    /// Record of the call; `None` without a recorder.
    record: Option<Box<Record>>,
}

impl Monitor {
    /// Keeps the undecided calls of the batch, without those that take as long as the other calls of their rank. `rows`
    /// are their rows with the models that judged them.
    pub(super) fn keep_undecided(&mut self, mut rows: Vec<(usize, FunctionId)>) {
        let usual = self.at_own_speed(&rows);
        rows.retain(|(row, _)| !usual.contains(row));
        for (row, class) in &rows {
            let batch = self.calls.batch();
            let (Some(call), Some(sample), Some(judgement)) = (
                batch.calls().get(*row),
                batch.samples().get(*row),
                self.judgements.get(*row),
            ) else {
                continue;
            };
            let (call, sample, judgement) = (*call, *sample, *judgement);
            if !self.make_room(*class, sample.runtime) {
                continue;
            }
            let key = self.calls.stream_key(call.stream).unwrap_or_default();
            let recorder = self.recorder.as_ref();
            self.undecided.push(Undecided {
                class: *class,
                call,
                sample,
                judgement,
                place: Place {
                    program: key.program,
                    rank: key.rank,
                    step: self.calls.batch().step(),
                },
                path: call.path,
                in_means: self.lasting.in_means(&self.calls, *row, &judgement),
                record: recorder.map(|recorder| {
                    let judged = (&call, &sample, &judgement);
                    Box::new(recorder.prepare(&self.calls, judged))
                }),
            });
        }
    }

    /// Returns the rows of undecided calls that take as long as the other calls of their rank, if they are slow.
    fn at_own_speed(&self, undecided: &[(usize, FunctionId)]) -> Vec<usize> {
        let batch = self.calls.batch();
        let mut found = Vec::new();
        for (_, rows) in batch.streams() {
            let own = undecided.iter().filter(|(row, _)| rows.contains(row));
            let judgements = self.judgements.get(rows.clone());
            let Some(judgements) = judgements.filter(|_| own.clone().count() > 0) else {
                continue;
            };
            let mut judgements = judgements.to_vec();
            for (row, _) in own.clone() {
                judgements[row - rows.start].label = Label::TooSlow;
            }
            let usual = at_own_speed(&batch.samples()[rows.clone()], &judgements);
            let usual = usual.into_iter().map(|at| rows.start + at);
            found.extend(usual.filter(|row| own.clone().any(|(one, _)| one == row)));
        }
        found
    }

    /// Removes a shorter undecided call if there are too many. Returns `false` if there is none.
    fn make_room(&mut self, class: FunctionId, runtime: Nanos) -> bool {
        let all = self.undecided.iter().enumerate();
        let shortest = |of: &dyn Fn(&Undecided) -> bool| {
            let of = all.clone().filter(|(_, one)| of(one));
            of.min_by_key(|(_, one)| one.sample.runtime)
        };
        let own = all.clone().filter(|(_, one)| one.class == class).count();
        let shortest = if own >= OF_FUNCTION {
            shortest(&|one| one.class == class)
        } else if self.undecided.len() >= MOST {
            shortest(&|_| true)
        } else {
            return true;
        };
        let shorter = shortest.filter(|(_, one)| one.sample.runtime < runtime);
        let Some(at) = shorter.map(|(at, _)| at) else {
            return false;
        };
        self.undecided.swap_remove(at);
        true
    }

    /// Judges the undecided calls again by all other calls.
    pub(super) fn decide(&mut self) {
        let mut all = std::mem::take(&mut self.undecided);
        all.sort_by_key(|one| (one.place.step, one.call.exit, one.call.stream, one.class));
        let classes = all.iter().map(|one| Sample {
            function: one.class,
            ..one.sample
        });
        let mut judgements = Vec::new();
        self.detector
            .judge_again(&classes.collect::<Vec<_>>(), &mut judgements);
        for (one, judgement) in all.into_iter().zip(judgements) {
            let function = one.sample.function;
            let is_certain = judgement.label == Label::BeyondExperience;
            if judgement.label.is_slow() && (is_certain || !self.calls.is_unknown(function)) {
                self.correct(one, &judgement);
            }
        }
    }

    /// Counts and records an undecided call that is abnormal.
    fn correct(&mut self, one: Undecided, judgement: &Judgement) {
        let (function, place) = (one.sample.function, one.place);
        let change = Relabelled {
            waits: self.calls.waits(function),
            was: (one.judgement.label, one.judgement.severity(&one.sample)),
            is: (judgement.label, judgement.severity(&one.sample)),
        };
        self.losses
            .relabel(place, (function, Some(one.path)), &change);
        self.ranks
            .relabel((place.program, place.rank, place.step), &change);
        self.lasting.withdraw(one.in_means.as_slice());
        self.unjudged.withdraw(&one.sample, one.call.entry);
        let key = self.calls.stream_key(one.call.stream);
        self.found_at_end
            .push((key.unwrap_or_default(), one.call.entry));
        if let (Some(recorder), Some(mut record)) = (&mut self.recorder, one.record) {
            record.label = judgement.label;
            record.score = judgement.score;
            record.expected = judgement.expected;
            record.severity = judgement.severity(&one.sample);
            let kept = recorder.late(&self.calls, function, *record, &*self.detector);
            self.error = self.error.take().or(kept.err());
        }
    }
}
