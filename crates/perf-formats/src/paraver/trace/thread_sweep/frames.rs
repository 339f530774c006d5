//! Methods of [`Stream`] that open and close the stack frames of a thread (functions, MPI calls and
//! states) at an instant, and convert its call paths, collectives and flushes.

use super::{BESIDE, Scratch, Shared, Stream};
use crate::Result;
use crate::paraver::names;
use crate::paraver::record::{Object, Pair};
use crate::paraver::rules;
use crate::paraver::trace::deferred_events::DeferredEvent;
use crate::paraver::trace::definitions::Frame;
use perf_core::{CallPathId, Collective, Event, Place, RegionId, Ticks, TimeRange};

impl Stream {
    /// Processes the begin or end of a function.
    pub(super) fn function(
        &mut self,
        pair: Pair,
        line: &[Pair],
        scratch: &mut Scratch,
        shared: &mut Shared<'_, '_>,
    ) -> Result<()> {
        let innermost = |functions: &[(u32, RegionId)]| {
            let mut all = functions.iter();
            all.rposition(|(kind, _)| *kind == pair.kind)
        };
        if pair.bits() == 0 {
            // End the innermost function of this type, with all frames inside it.
            if let Some(at) = innermost(&self.functions) {
                self.cut(at, scratch);
            }
            return Ok(());
        }
        let line_kind = pair.kind + names::TO_LINE;
        let mut beside = line.iter().take(BESIDE);
        let at_line = beside.find(|other| other.kind == line_kind);
        let at_line = at_line.map_or(0, |line| line.bits());
        let region = shared.tables.function(pair.kind, pair.bits(), at_line)?;
        if pair.kind != names::FUNCTION
            && let Some(at) = innermost(&self.functions)
        {
            // Outlined functions and tasks do not nest: a second one replaces the first. A repeated
            // value means that the runtime returned to the function.
            if self.functions.get(at) == Some(&(pair.kind, region)) {
                return Ok(());
            }
            self.cut(at, scratch);
        }
        if self.functions.len() >= shared.depth {
            let place = Place::file(shared.name).record(self.object.to_string());
            shared.found.add(rules::TOO_DEEP, place);
            return Ok(());
        }
        self.functions.push((pair.kind, region));
        Ok(())
    }

    /// Closes the function frames from `at` on. Frames that began at this instant get duration 0.
    pub(super) fn cut(&mut self, at: usize, scratch: &mut Scratch) {
        for (_, region) in self
            .functions
            .drain(at..)
            .skip(self.kept.saturating_sub(at))
        {
            scratch.instant.push(region);
        }
        self.kept = self.kept.min(at);
    }

    pub(super) fn flush(&mut self, pair: Pair, scratch: &mut Scratch, window: TimeRange) {
        match (pair.bits(), self.flush) {
            (0, Some(begin)) => {
                self.flush = None;
                let event = Event::Flush {
                    until: Ticks(self.now),
                };
                let late = DeferredEvent {
                    time: begin,
                    is_end: false,
                    event,
                };
                self.push_late(late, window);
            }
            (1, None) => self.flush = Some(self.now),
            _ => scratch.others.push((pair.kind, pair.bits())),
        }
    }

    /// Returns the call path of the callers or of the sample at this instant.
    pub(super) fn context(
        &mut self,
        is_sampled: bool,
        scratch: &mut Scratch,
        shared: &mut Shared<'_, '_>,
    ) -> Result<Option<CallPathId>> {
        let levels = if is_sampled {
            &mut scratch.sampled
        } else {
            &mut scratch.callers
        };
        // Value 0 ends a call path.
        levels.retain(|(_, frame)| *frame != (0, 0));
        if levels.is_empty() {
            return Ok(None);
        }
        levels.sort_by_key(|(level, _)| std::cmp::Reverse(*level));
        scratch.frames.clear();
        scratch
            .frames
            .extend(levels.iter().map(|(_, frame)| *frame));
        let context = shared.tables.context(is_sampled, &scratch.frames)?;
        Ok(Some(context))
    }

    /// Returns the collective operation that begins, if the events of the instant describe one, and
    /// removes these events.
    pub(super) fn collective(
        &mut self,
        facts: &mut Vec<Pair>,
        shared: &mut Shared<'_, '_>,
    ) -> Option<Collective> {
        let call = self.call.filter(|call| call.kind == names::COLLECTIVE)?;
        let region = shared.tables.regions.get(call.region.index())?;
        let op = names::collective(&region.name)?;
        let fact = |number: u32| {
            let mut all = facts.iter();
            all.find(|pair| pair.kind == 50_100_000 + number)
                .map(|pair| pair.bits())
        };
        let Object {
            application, task, ..
        } = self.object;
        let (comm, rank) = shared.comms.rank(application, fact(4)?, task)?;
        let collective = Collective {
            op,
            comm,
            root: fact(3).filter(|root| *root != 0).map(|_| rank),
            sent: fact(1).unwrap_or_default(),
            received: fact(2).unwrap_or_default(),
            request: None,
        };
        facts.clear();
        Some(collective)
    }

    /// Emits leaves and enters for the difference between the open frames and the frames that should be open. `restart`
    /// means that the innermost frame begins anew, `entered` that an MPI call begins at the instant.
    pub(super) fn frames(
        &mut self,
        restart: bool,
        entered: bool,
        collective: Option<Collective>,
        scratch: &mut Scratch,
        shared: &mut Shared<'_, '_>,
    ) -> Result<()> {
        let wanted = match (self.call, self.state) {
            (Some(call), _) => Some(call.region),
            (None, state) => state.map(|(region, _)| region),
        };
        let is_same = self.kept == self.open.len() && self.kept == self.functions.len();
        let moves = restart || entered || !is_same || wanted != self.inner;
        let moves = moves || !scratch.instant.is_empty();
        if moves && let Some(region) = self.inner.take() {
            self.push(Event::Leave { region }, shared)?;
        }
        while self.open.len() > self.kept {
            if let Some(region) = self.open.pop() {
                self.push(Event::Leave { region }, shared)?;
            }
        }
        let callers = self.context(false, scratch, shared)?;
        let is_instant = callers.is_some() && !entered && !scratch.instant.is_empty();
        if let Some(context) = callers.filter(|_| is_instant) {
            self.push(Event::Sample { context }, shared)?;
        }
        for region in &scratch.instant {
            let region = *region;
            self.push(Event::Enter { region }, shared)?;
            self.push(Event::Leave { region }, shared)?;
        }
        for index in self.open.len()..self.functions.len() {
            if let Some((_, region)) = self.functions.get(index).copied() {
                self.push(Event::Enter { region }, shared)?;
                self.open.push(region);
            }
        }
        if let Some(context) = callers.filter(|_| !is_instant) {
            self.push(Event::Sample { context }, shared)?;
        }
        if moves && let Some(region) = wanted {
            self.push(Event::Enter { region }, shared)?;
            self.inner = wanted;
        }
        if let (Some(call), Some(end)) = (&mut self.call, collective) {
            call.collective = Some(end);
            self.push(Event::CollectiveBegin, shared)?;
        }
        Ok(())
    }
}

/// Stores the value of the function or line of a level.
pub(super) fn note(levels: &mut Vec<(u32, Frame)>, level: u32, is_line: bool, bits: u64) {
    let at = match levels.iter().position(|(known, _)| *known == level) {
        Some(at) => at,
        None => {
            levels.push((level, (0, 0)));
            levels.len() - 1
        }
    };
    if let Some((_, frame)) = levels.get_mut(at) {
        if is_line {
            frame.1 = bits
        } else {
            frame.0 = bits
        }
    }
}
