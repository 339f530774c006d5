//! [`condense`]: selects, for each other rank, the MPI calls of a location that it needs, as
//! [`Condensed`] calls, which the receiver converts back to events.

use super::partners::Partners;
use super::record::{Record, Recorded, TIME_MARK, communication};
use super::windows::WindowRecord;
use crate::{Reader, Result, Wire};
use perf_core::{
    Close, Definitions, Event, Events, Job, KindId, LocationId, LocationView, RegionId, Ticks,
    Visitor, replay,
};
use perf_wait::activity::CallKind;
use std::collections::{BTreeSet, HashMap};

/// MPI calls of a location that another rank needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Condensed {
    /// Location.
    pub(super) location: LocationId,
    /// Index of each call among all MPI calls of the location.
    pub(super) numbers: Vec<u32>,
    /// Events of the calls.
    records: Vec<Record>,
}

impl Condensed {
    /// Converts the calls to events. No stack frame encloses the calls. `kinds` has the kinds of window records.
    pub(super) fn events(&self, kinds: &[KindId]) -> Result<Events> {
        let mut events = Events::default();
        for record in &self.records {
            record.push(&mut events, kinds)?;
        }
        Ok(events)
    }
}

impl Wire for Condensed {
    const LEAST: usize = 4 + 8 + 8;

    fn write(&self, to: &mut Vec<u8>) {
        self.location.0.write(to);
        self.numbers.write(to);
        self.records.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok(Condensed {
            location: LocationId(Wire::read(from)?),
            numbers: Wire::read(from)?,
            records: Wire::read(from)?,
        })
    }
}

/// Returns for each of `size` ranks the calls of a location that the rank needs. These are the calls with a message
/// or collective of the rank's processes, calls that start or end MPI, calls that synchronise or access windows of the
/// rank's processes, and the times of the first and last event.
/// Without `partners`, returns all calls once, for rank 0.
pub(super) fn condense(
    location: LocationView<'_>,
    definitions: &Definitions,
    partners: Option<&Partners<'_>>,
    size: usize,
    job: &Job,
) -> Result<Vec<Condensed>> {
    let id = location.id();
    let empty = Condensed {
        location: id,
        ..Condensed::default()
    };
    let mut condense = Condense {
        definitions,
        partners,
        location: id,
        completions: match partners {
            Some(_) => completions(location, job)?,
            None => HashMap::new(),
        },
        open: None,
        accessing: BTreeSet::new(),
        call: Call::default(),
        count: 0,
        ranks: vec![empty; if partners.is_some() { size } else { 1 }],
    };
    let range = location.times();
    let range = range.first().copied().zip(range.last().copied());
    if let Some((first, _)) = range {
        condense.mark(first);
    }
    replay(location, &mut condense, job).map_err(perf_core::Error::from)?;
    if let Some((_, last)) = range {
        condense.mark(last);
    }
    Ok(condense.ranks)
}

/// Returns the events that decide which ranks need the start of an operation, by the index of the start. These are the
/// ends of non-blocking receives and of collectives. A cancelled send maps to its cancellation, which no rank needs.
fn completions(location: LocationView<'_>, job: &Job) -> Result<HashMap<usize, Event<'static>>> {
    let (mut found, mut sends) = (HashMap::new(), HashMap::new());
    let (mut receives, mut collectives) = (HashMap::new(), HashMap::new());
    let mut begun = None;
    let mut checks = job.checks();
    for (index, (_, event)) in location.iter().enumerate() {
        checks.next(1)?;
        match event {
            Event::RecvPost { request } => {
                receives.insert(request, index);
            }
            Event::Send(transfer) => {
                sends.extend(transfer.request.map(|request| (request, index)));
            }
            Event::SendComplete { request } => {
                sends.remove(&request);
            }
            Event::RequestCancelled { request } => {
                let receive = receives.remove(&request);
                let send = receive.map_or_else(|| sends.remove(&request), |_| None);
                found.extend(send.map(|send| (send, Event::RequestCancelled { request })));
            }
            Event::Recv(transfer) => {
                let post = transfer.request.and_then(|it| receives.remove(&it));
                found.extend(post.map(|post| (post, Event::Recv(transfer))));
            }
            Event::CollectiveBegin => begun = Some(index),
            Event::CollectivePost { request } => {
                collectives.insert(request, index);
            }
            Event::CollectiveEnd(collective) => {
                let start = match collective.request {
                    Some(request) => collectives.remove(&request),
                    None => begun.take(),
                };
                found.extend(start.map(|start| (start, Event::CollectiveEnd(collective))));
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The open MPI call.
#[derive(Default)]
struct Call {
    /// Region.
    region: RegionId,
    /// Role.
    kind: CallKind,
    /// Time at which it was entered.
    enter: Ticks,
    /// `true` if all ranks need the call: each process waits for all others when MPI starts and ends.
    is_for_all: bool,
    /// Ranks that need the call even without a record, ascending.
    ranks: Vec<u32>,
    /// Records, each with the ranks that need it, ascending.
    records: Vec<(Record, Vec<u32>)>,
}

/// Visitor that collects the calls of one location.
struct Condense<'a> {
    definitions: &'a Definitions,
    partners: Option<&'a Partners<'a>>,
    location: LocationId,
    /// Events that decide which ranks need the start of an operation, by the index of the start.
    completions: HashMap<usize, Event<'static>>,
    /// Depth of the open call; `None` outside of MPI calls.
    open: Option<usize>,
    /// Windows between the start and the completion of accesses.
    accessing: BTreeSet<u32>,
    call: Call,
    /// Number of calls so far.
    count: u32,
    ranks: Vec<Condensed>,
}

impl Condense<'_> {
    /// Marks the first or last time of the location for all ranks.
    fn mark(&mut self, at: Ticks) {
        let event = TIME_MARK.into();
        for rank in &mut self.ranks {
            rank.records.push(Record { at, event });
        }
    }

    /// Returns the ranks that need an event, ascending.
    fn needed_by(&self, event: Event<'static>, index: usize) -> Vec<u32> {
        let Some(partners) = self.partners else {
            return vec![0];
        };
        // The start of an operation goes to the same ranks as its end, because only the end names the communicator.
        let event = self.completions.get(&index).copied().unwrap_or(event);
        partners.of(self.location, event)
    }

    /// Returns the ranks that need the window records of the location, ascending.
    fn needed_for_windows(&self) -> Vec<u32> {
        self.partners.map_or(vec![0], |partners| {
            partners.of_windows(self.location).to_vec()
        })
    }

    /// Adds a window record of the open call. Ranks do not wait for accesses outside of start and complete.
    fn window(&mut self, at: Ticks, record: WindowRecord) {
        if let Some(window) = record.accessed() {
            if !self.accessing.contains(&window) {
                return;
            }
        } else if let Some(window) = record.synchronised() {
            match self.call.kind {
                CallKind::WindowStart => {
                    self.accessing.insert(window);
                }
                CallKind::WindowComplete => {
                    self.accessing.remove(&window);
                }
                _ => {}
            }
        }
        let event = Recorded::Window(record);
        let ranks = self.needed_for_windows();
        self.call.records.push((Record { at, event }, ranks));
    }

    /// Adds the call that ends now to the ranks that need it. `has_frame` is `false` for an event outside of MPI calls.
    fn finish(&mut self, leave: Ticks, has_frame: bool) {
        let call = std::mem::take(&mut self.call);
        let number = self.count;
        self.count += 1;
        for (rank, own) in (0..).zip(&mut self.ranks) {
            let is_needed = |it: &&(Record, Vec<u32>)| it.1.binary_search(&rank).is_ok();
            let is_for_rank = call.is_for_all || call.ranks.binary_search(&rank).is_ok();
            if !is_for_rank && !call.records.iter().any(|it| is_needed(&it)) {
                continue;
            }
            own.numbers.push(number);
            let region = call.region;
            if has_frame {
                let (at, event) = (call.enter, Event::Enter { region }.into());
                own.records.push(Record { at, event });
            }
            let records = call.records.iter().filter(is_needed);
            own.records.extend(records.map(|it| it.0));
            if has_frame {
                let (at, event) = (leave, Event::Leave { region }.into());
                own.records.push(Record { at, event });
            }
        }
    }
}

impl Visitor for Condense<'_> {
    fn enter(&mut self, at: Ticks, region: RegionId, depth: usize) {
        let entered = self.definitions.regions.get(region.index());
        let kind = entered
            .filter(|_| self.open.is_none())
            .and_then(CallKind::of_region);
        let Some(kind) = kind else {
            return;
        };
        self.open = Some(depth);
        // The part of a wait after the last access depends on accesses without a record as well.
        let is_of_epoch = matches!(
            kind,
            CallKind::WindowStart | CallKind::WindowComplete | CallKind::WindowAccess
        );
        self.call = Call {
            region,
            kind,
            enter: at,
            is_for_all: self.partners.is_none()
                || matches!(kind, CallKind::Init | CallKind::Finalize),
            ranks: if is_of_epoch {
                self.needed_for_windows()
            } else {
                Vec::new()
            },
            records: Vec::new(),
        };
    }

    fn leave(&mut self, at: Ticks, _: RegionId, depth: usize, _: Close) {
        if self.open == Some(depth) {
            self.open = None;
            self.finish(at, true);
        }
    }

    fn event(&mut self, at: Ticks, event: Event<'_>, index: usize) {
        if let (Some(record), true) = (
            WindowRecord::of(event, self.definitions),
            self.open.is_some(),
        ) {
            return self.window(at, record);
        }
        let Some(event) = communication(event) else {
            return;
        };
        let is_cancelled = matches!(event, Event::RequestCancelled { .. });
        if self.open.is_none() && is_cancelled {
            return;
        }
        let ranks = self.needed_by(event, index);
        let event = event.into();
        self.call.records.push((Record { at, event }, ranks));
        if self.open.is_none() {
            // A record outside of MPI calls is a call of no length.
            self.finish(at, false);
        }
    }
}
