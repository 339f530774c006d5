//! [`RunTime`]: run time that a replay of a recording without the lost time would save.
//!
//! Lost time is a sum over ranks. It delays the run only where other ranks wait for it.

use super::replayed::Replayed;
use crate::clocks;
use crate::failure::Failure;
use crate::progress::Bar;
use crate::wait::NO_PARTNERS;
use perfkit::anomaly::lost_time::LostTime;
use perfkit::anomaly::provenance::{Entry, Kind, Store};
use perfkit::anomaly::{Replay, Report};
use perfkit::core::{LocationId, Nanos, StreamKey, Ticks, Trace};
use perfkit::wait::activity::{Activities, CallKind};
use perfkit::wait::training::TrainingJob;
use perfkit::wait::whatif::{Dependency, Excess, WhatIf, WithoutExcess};
use serde::Serialize;
use std::collections::BTreeMap;

/// Run times of replays with and without the time that a run lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RunTime {
    /// Run time of the replay with the recorded durations.
    replayed_ns: Nanos,
    /// Run time of the replay without the lost time.
    without_ns: Nanos,
    /// Difference of the two.
    saved_ns: Nanos,
    /// Run time saved by the replay without the time lost by single calls alone.
    saved_without_calls_ns: Nanos,
    /// Run time saved by the replay without new modes alone.
    saved_without_modes_ns: Nanos,
    /// Run time saved by the replay without slow ranks alone.
    saved_without_ranks_ns: Nanos,
    /// Run time saved by the replay without slow phases alone.
    saved_without_phases_ns: Nanos,
    /// Time lost, summed over ranks.
    lost_ns: Nanos,
    /// Part of the lost time that is computation and does not delay the run.
    hidden_ns: Nanos,
    /// Part of the lost time in calls of MPI, of teams of threads and of accelerators, which the replay
    /// does not shorten.
    in_waits_ns: Nanos,
    /// Part of the lost time in calls that began before the steps to which they count.
    before_steps_ns: Nanos,
    /// Calls in which the recording waits.
    #[serde(skip)]
    waits: Waits,
    /// Part of the lost time in calls that were not recorded.
    not_recorded_ns: Nanos,
}

/// Kinds of calls of a recording that may wait for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Waits {
    /// Calls of MPI.
    of_ranks: bool,
    /// Barriers, forks and locks of threads.
    of_threads: bool,
    /// Calls that launch work on an accelerator or wait for it.
    of_accelerators: bool,
}

impl Waits {
    fn of(activities: &Activities) -> Self {
        let mut found = Waits::default();
        for (_, call) in activities.calls() {
            match call.kind {
                CallKind::TeamBarrier
                | CallKind::Fork
                | CallKind::Idle
                | CallKind::ProcessEnd
                | CallKind::Acquire
                | CallKind::Release => found.of_threads = true,
                CallKind::Launch
                | CallKind::Synchronise
                | CallKind::DeviceGap
                | CallKind::DeviceCollective => found.of_accelerators = true,
                _ => found.of_ranks = true,
            }
        }
        found
    }

    /// Describes the calls.
    fn sentence(self) -> String {
        let kinds = [
            (self.of_ranks, "MPI calls"),
            (self.of_threads, "barriers and locks of threads"),
            (self.of_accelerators, "calls of accelerators"),
        ];
        let kinds = kinds.iter().filter(|(is_present, _)| *is_present);
        let kinds: Vec<&str> = kinds.map(|(_, name)| *name).collect();
        if kinds.is_empty() {
            return "while operations of a training job wait for others, or in other calls".into();
        }
        format!("in {}, which mostly wait for others", kinds.join(", "))
    }
}

/// Returns `true` if several locations call functions that wait for others, but messages, collectives and launches are not
/// recorded: a replay would not let them wait.
fn waits_for_unknown(activities: &Activities, report: &Report) -> bool {
    let is_linked = !activities.messages().is_empty()
        || !activities.collectives().is_empty()
        || !activities.links().is_empty();
    let functions = report.losses.worst_functions().into_iter();
    let mut waiting = functions.filter(|(function, _)| report.calls.waits(*function));
    !is_linked && activities.locations().len() > 1 && waiting.next().is_some()
}

/// Lost time of each cause, in the order of the fields of [`LostTime`].
type Causes = [Vec<Excess>; 4];

impl Replayed<'_> {
    /// Replays the run without the time that it lost. `None` if no time was lost.
    ///
    /// # Errors
    /// Returns the reason if the trace cannot be replayed.
    pub(crate) fn run_time(
        &self,
        report: &Report,
        store: &mut dyn Store,
    ) -> Option<Result<RunTime, String>> {
        let lost = report.lost_time();
        (lost.total().0 > 0).then(|| self.ask(report, &lost, store))
    }

    fn ask(
        &self,
        report: &Report,
        lost: &LostTime,
        store: &mut dyn Store,
    ) -> Result<RunTime, String> {
        let job = Bar::job();
        let reason = |error: perfkit::wait::Error| error.to_string();
        let fault = |failure: Failure| match failure {
            Failure::Input(reason) | Failure::Usage(reason) => reason,
            _ => "the clocks cannot be corrected".into(),
        };
        // A replay follows messages, so that it needs clocks that agree with them.
        let violations = clocks::violations(self.trace).map_err(fault)?;
        let corrected = if clocks::are_many(&violations) {
            clocks::correct(self.trace).map_err(fault)?
        } else {
            None
        };
        let trace = corrected.as_ref().map_or(self.trace, |it| &it.trace);
        let training = TrainingJob::of_trace(trace.view(), &job).map_err(reason)?;
        let mut causes = self.causes(report, store, training.as_ref())?;
        if corrected.is_some() {
            for excess in causes.iter_mut().flatten() {
                excess.from = self.shifted(trace, excess.location, excess.from);
                excess.to = self.shifted(trace, excess.location, excess.to);
            }
        }
        let all: Vec<Excess> = causes.iter().flatten().copied().collect();
        let (without, alone, waits) = if let Some(training) = training {
            let (without, alone) =
                replays(&all, &causes, |lost| training.without(lost, &job)).map_err(reason)?;
            (without, alone, Waits::default())
        } else {
            let activities = Activities::of(trace.view(), &job).map_err(reason)?;
            if waits_for_unknown(&activities, report) {
                return Err(NO_PARTNERS.into());
            }
            let none: &[Dependency] = &[];
            let whatif = WhatIf::of(trace.view(), &activities, none, &job).map_err(reason)?;
            let (without, alone) =
                replays(&all, &causes, |lost| whatif.without(lost, &job)).map_err(reason)?;
            (without, alone, Waits::of(&activities))
        };
        let located = all
            .iter()
            .fold(0_i64, |sum, one| sum.saturating_add(one.time.0));
        // The calls of a step end in it; the step may be shorter than the time that they lost.
        let before = all.iter().fold(0_i64, |sum, one| {
            let window = one.to.0.saturating_sub(one.from.0).max(0);
            sum.saturating_add(one.time.0.saturating_sub(window).max(0))
        });
        let (answer, total) = (without.answer, lost.total());
        let [calls, modes, ranks, phases] = alone;
        Ok(RunTime {
            replayed_ns: answer.identity,
            without_ns: answer.runtime,
            saved_ns: answer.saved(),
            saved_without_calls_ns: calls,
            saved_without_modes_ns: modes,
            saved_without_ranks_ns: ranks,
            saved_without_phases_ns: phases,
            lost_ns: total,
            hidden_ns: Nanos((without.computed.0 - answer.saved().0).max(0)),
            in_waits_ns: Nanos((located - before - without.computed.0).max(0)),
            before_steps_ns: Nanos(before),
            waits,
            not_recorded_ns: Nanos((total.0 - located).max(0)),
        })
    }

    /// Returns the time of the next event of a location after a correction of clocks.
    fn shifted(&self, corrected: &Trace, location: LocationId, at: Nanos) -> Nanos {
        let clock = self.trace.definitions().clock;
        let nanos = |ticks: Ticks| clock.nanos(ticks).unwrap_or(at);
        let before = self.trace.location(location);
        let before = before.as_ref().map_or(&[][..], |it| it.times());
        let index = before.partition_point(|ticks| nanos(*ticks) < at);
        let after = corrected.location(location);
        let after = after.as_ref().map_or(&[][..], |it| it.times());
        let next = after.get(index).or(after.last());
        next.map_or(at, |ticks| nanos(*ticks))
    }

    /// Returns the windows in which each cause lost time. What a rank lost is divided equally among its locations, and in
    /// a training job by the excess of their operations.
    fn causes(
        &self,
        report: &Report,
        store: &mut dyn Store,
        training: Option<&TrainingJob>,
    ) -> Result<Causes, String> {
        let replay = self.replay();
        let streams: BTreeMap<StreamKey, LocationId> = replay.streams().collect();
        let mut ranks: BTreeMap<(u32, u32), Vec<Located>> = BTreeMap::new();
        for (key, location) in &streams {
            let rank = (key.program, key.rank);
            ranks.entry(rank).or_default().push((rank, *location));
        }
        let [mut calls, mut modes, mut slow, mut phases] = Causes::default();
        let found: Vec<_> = report.lasting.modes().found().collect();
        let names = found
            .iter()
            .map(|mode| report.calls.function_name(mode.function));
        let names: Vec<String> = names.collect();
        let kept = store.each(&mut |entry| {
            let Entry::Call(record) = entry else {
                return Ok(());
            };
            // Calls of a new mode are part of its lost time.
            let is_of_mode = found.iter().zip(&names).any(|(mode, name)| {
                let range = mode.from.0..mode.to.0;
                *name == record.function && range.contains(&record.runtime.0)
            });
            let key = StreamKey {
                program: record.program,
                rank: record.rank,
                thread: record.thread,
            };
            let is_slow = record.kind == Kind::Anomaly && record.time_lost().0 > 0;
            if let (true, false, Some(location)) = (is_slow, is_of_mode, streams.get(&key)) {
                let (from, runtime) = (record.call.entry, record.runtime);
                let end = Nanos(from.0.saturating_add(runtime.0));
                calls.push(Excess {
                    location: *location,
                    from,
                    to: record.call.exit.unwrap_or(end),
                    time: record.severity,
                });
            }
            Ok(())
        });
        kept.map_err(|error| error.to_string())?;
        let modes_of_ranks = report.lasting.modes().found_by_rank();
        let modes_of_ranks = modes_of_ranks.filter(|(mode, ..)| !report.calls.waits(mode.function));
        for (mode, rank, lost) in modes_of_ranks {
            let own = ranks.get(&rank).map_or(&[][..], Vec::as_slice);
            spread(
                (&replay, training),
                (mode.first, mode.last),
                own,
                lost,
                &mut modes,
            );
        }
        let slowness = report.lasting.peers().slowness();
        for step in slowness.rank_steps {
            let own = ranks.get(&(step.program, step.rank));
            let own = own.map_or(&[][..], Vec::as_slice);
            spread(
                (&replay, training),
                (step.first, step.last),
                own,
                step.lost,
                &mut slow,
            );
        }
        for step in slowness.phase_steps {
            let program = report.calls.function_program(step.function);
            let all = ranks.iter().filter(|(rank, _)| Some(rank.0) == program);
            let all: Vec<Located> = all.flat_map(|(_, own)| own).copied().collect();
            let steps = (step.first, step.last);
            spread((&replay, training), steps, &all, step.lost, &mut phases);
        }
        Ok([calls, modes, slow, phases])
    }
}

/// Replays a run without all lost time, and without that of each cause.
fn replays(
    all: &[Excess],
    causes: &Causes,
    without: impl Fn(&[Excess]) -> perfkit::wait::Result<WithoutExcess>,
) -> perfkit::wait::Result<(WithoutExcess, [Nanos; 4])> {
    let mut alone = [Nanos(0); 4];
    for (saved, cause) in alone.iter_mut().zip(causes) {
        if !cause.is_empty() {
            *saved = without(cause)?.answer.saved();
        }
    }
    Ok((without(all)?, alone))
}

/// Program, number of the rank, and location.
type Located = ((u32, u32), LocationId);

/// Adds time that locations lost in consecutive steps: in equal parts, or as the operations of a training job exceed
/// their ideal durations.
fn spread(
    (replay, training): (&Replay<'_>, Option<&TrainingJob>),
    (first, last): (u64, u64),
    locations: &[Located],
    lost: Nanos,
    to: &mut Vec<Excess>,
) {
    let window = |(rank, location): &Located| {
        let (from, end) = replay.times(*rank, first, last)?;
        let excess = training.map_or(0, |it| it.excess(*location, from, end).0);
        Some((*location, (from, end), excess))
    };
    let mut windows: Vec<_> = locations.iter().filter_map(window).collect();
    if windows.iter().all(|(.., weight)| *weight == 0) {
        windows.iter_mut().for_each(|(.., weight)| *weight = 1);
    }
    let all: i128 = windows.iter().map(|(.., weight)| i128::from(*weight)).sum();
    let (mut before, mut given) = (0, 0);
    for (location, (from, end), weight) in windows {
        before += i128::from(weight);
        // The parts add up to the whole.
        let until = (i128::from(lost.0) * before / all) as i64;
        to.push(Excess {
            location,
            from,
            to: end,
            time: Nanos(until - given),
        });
        given = until;
    }
}

impl RunTime {
    /// Describes the difference between the lost time and the run time that a replay without it saves.
    pub(crate) fn sentence(&self) -> String {
        let share = 100.0 * self.saved_ns.0 as f64 / self.replayed_ns.0.max(1) as f64;
        let saved = match self.saved_ns.0 {
            ..=0 => "a replay without the lost time takes as long".into(),
            _ => format!(
                "a replay without the lost time takes {} less than {}, {}",
                self.saved_ns,
                self.replayed_ns,
                match share {
                    share if share < 0.05 => "less than 0.1 %".into(),
                    share => format!("{share:.1} %"),
                }
            ),
        };
        let waits = self.waits.sentence();
        let parts = [
            (
                self.hidden_ns,
                "where other ranks take as long, or lose time at the same time",
            ),
            (self.in_waits_ns, &waits),
            (
                self.before_steps_ns,
                "in calls that began before the slow steps",
            ),
            (self.not_recorded_ns, "in calls that were not recorded"),
        ];
        let parts = parts.iter().filter(|(time, _)| time.0 > 0);
        let parts: Vec<String> = parts.map(|(time, at)| format!("{time} {at}")).collect();
        if parts.is_empty() {
            return saved;
        }
        let other = Nanos(self.lost_ns.0.saturating_sub(self.saved_ns.0).max(0));
        format!(
            "{saved}; {other} do not add to the run time: {}",
            parts.join("; ")
        )
    }
}
