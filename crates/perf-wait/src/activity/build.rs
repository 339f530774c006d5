//! [`Activities::of`]: collects the calls of a trace with their messages, collectives and links.

use super::annotated_collectives;
use super::arrow_messages;
use super::collective_attributes;
use super::devices::{Stream, Streams};
use super::epochs;
use super::fences;
use super::regions::Regions;
use super::scan::{Scanned, scan};
use super::threads;
use super::{Activities, CallCollective, CallId, CallMember, CallMessage, LocationCalls, UNKNOWN};
use crate::{Error, Result};
use perf_core::{
    CallPathId, CallTree, CollectiveInstance, Definitions, Endpoint, Job, LocationId, LocationKind,
    LocationView, Members, Merge, Message, ReplayCounts, Ticks, TimeRange, TraceView,
    match_messages, parallel,
};

/// Messages whose calls are found at once.
const BATCH: usize = 1 << 17;
/// Messages of a task.
const TASK: usize = 1 << 12;

/// Calls and requests of all locations, by location.
struct Found<'a> {
    definitions: &'a Definitions,
    scanned: Vec<Scanned>,
}

/// Calls of one location.
#[derive(Default)]
struct Read {
    scanned: Scanned,
    stream: Option<Stream>,
    /// Call paths of the location alone.
    paths: CallTree,
    range: Option<(Ticks, Ticks)>,
}

/// Returns the calls of a location.
fn read(
    location: LocationView<'_>,
    begin: Ticks,
    definitions: &Definitions,
    regions: &Regions,
    streams: &Streams,
    job: &Job,
) -> Result<Read> {
    let times = location.times();
    let mut found = Read {
        range: times.first().copied().zip(times.last().copied()),
        ..Read::default()
    };
    let paths = &mut found.paths;
    let known = definitions.system.location(location.id());
    match known.map(|it| it.kind) {
        Some(LocationKind::CpuThread | LocationKind::Unknown) => {
            found.scanned = scan(location, begin, definitions, regions, paths, job)?;
        }
        Some(LocationKind::AcceleratorStream) if regions.is_hybrid => {
            let (scanned, stream) = streams.scan(location, begin, regions, paths, job)?;
            (found.scanned, found.stream) = (scanned, Some(stream));
        }
        _ => {}
    }
    found.scanned.calls.shrink_to_fit();
    found.scanned.records.shrink_to_fit();
    Ok(found)
}

impl Read {
    /// Adds the call paths to those of all locations, and renumbers the call paths of the calls.
    fn use_paths_of(&mut self, all: &mut CallTree) -> Result<()> {
        let mut numbers: Vec<CallPathId> = Vec::with_capacity(self.paths.paths().len());
        for path in self.paths.paths() {
            // Parents come before their children.
            let parent = path.parent.and_then(|it| numbers.get(it.index()).copied());
            numbers.push(all.child(parent, path.region)?);
        }
        for call in &mut self.scanned.calls {
            call.set_path(call.path().and_then(|it| numbers.get(it.index()).copied()));
        }
        Ok(())
    }
}

impl Activities {
    /// Finds the calls of a view with their messages and collectives: those of MPI, of teams of threads and of
    /// accelerators.
    ///
    /// Takes O(n log n) time for n events. Progress is reported by location in the phases `messages` and `calls`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Window`] if the view does not contain all time of the trace,
    /// [`Error::Cancelled`] if the job is cancelled, and an error of `perf-core` if there are
    /// too many call paths.
    pub fn of(view: TraceView<'_>, job: &Job) -> Result<Self> {
        Self::find(view, true, job)
    }

    /// Finds only the MPI calls of a view, as Scalasca and the POP methodology do.
    ///
    /// # Errors
    ///
    /// As [`of`](Self::of).
    pub fn of_mpi(view: TraceView<'_>, job: &Job) -> Result<Self> {
        Self::find(view, false, job)
    }

    fn find(view: TraceView<'_>, is_hybrid: bool, job: &Job) -> Result<Self> {
        let window = view.window();
        let is_inside = |all: TimeRange| window.start <= all.start && all.end <= window.end;
        if !view.trace().range().is_none_or(is_inside) {
            return Err(crate::Error::Window);
        }
        let definitions = view.definitions();
        let mut matched = match_messages(view, job)?;
        let count = definitions.system.locations().len();
        let regions = Regions::new(view, is_hybrid);
        let mut streams = Streams::new(definitions);
        let begin = view.range().map_or(Ticks(0), |range| range.start);
        let mut ids: Vec<LocationId> = view.ids().collect();
        ids.sort_unstable();
        ids.dedup();
        let read = parallel::try_map(ids.len(), |number| {
            job.check()?;
            let location = view.location(ids[number]);
            let read = location.map(|it| read(it, begin, definitions, &regions, &streams, job));
            job.advance("calls", 1, ids.len() as u64);
            read.transpose()
        })?;
        let mut found = Found {
            definitions,
            scanned: Vec::with_capacity(count),
        };
        found.scanned.resize_with(count, Scanned::default);
        let (mut paths, mut repairs) = (CallTree::default(), ReplayCounts::default());
        let mut ranges = vec![None; count];
        for (id, own) in ids.iter().zip(read) {
            let Some(mut own) = own else { continue };
            own.use_paths_of(&mut paths)?;
            repairs.merge(&own.scanned.repairs);
            if let Some(stream) = own.stream {
                streams.streams.insert(*id, stream);
            }
            let id = id.index();
            if let (Some(scanned), Some(range)) = (found.scanned.get_mut(id), ranges.get_mut(id)) {
                (*scanned, *range) = (own.scanned, own.range);
            }
        }
        if regions.is_extrae {
            threads::joins(definitions, &mut found.scanned);
        }
        let mut links = threads::idle(definitions, &mut found.scanned);
        if regions.is_extrae {
            let scanned = &mut found.scanned;
            links.extend(threads::idle_at_end(definitions, scanned, &mut ranges));
        }
        links.extend(threads::locks(definitions, &found.scanned));
        links.extend(epochs::links(definitions, &found.scanned));
        links.extend(streams.links(view, &found.scanned, &paths));
        let mut messages = Vec::with_capacity(matched.messages.len());
        for batch in matched.messages.chunks(BATCH) {
            let parts = parallel::try_map(parallel::chunk_count(batch.len(), TASK), |number| {
                job.check()?;
                let own = &batch[parallel::chunk(batch.len(), TASK, number)];
                let own = own.iter().filter_map(|message| found.message(message));
                Ok::<Vec<CallMessage>, Error>(own.collect())
            })?;
            messages.extend(parts.into_iter().flatten());
        }
        drop(std::mem::take(&mut matched.messages));
        if messages.is_empty() {
            messages = arrow_messages::messages(view, &found.scanned, job)?;
        }
        let mut checks = job.checks();
        let mut collectives = Vec::with_capacity(matched.collectives.len());
        for instance in &matched.collectives {
            checks.next(instance.members.len())?;
            collectives.push(found.collective(instance));
        }
        if collectives.is_empty() {
            collectives = annotated_collectives::find(view, &found.scanned, job)?;
        }
        let mut teams = threads::barriers(definitions, &paths, &found.scanned);
        links.extend(threads::idle_in_barriers(
            definitions,
            &found.scanned,
            &teams,
        ));
        links.sort_unstable_by_key(|link| (link.call, link.on));
        teams.append(&mut fences::fences(definitions, &found.scanned));
        teams.append(&mut collective_attributes::find(
            view,
            &streams,
            &found.scanned,
            job,
        )?);
        if !teams.is_empty() {
            collectives.append(&mut teams);
            collectives.sort_by_key(|it| it.members.iter().map(|member| member.begin).min());
        }
        let own = found.scanned.into_iter().zip(ranges);
        Ok(Activities {
            definitions: definitions.clone(),
            paths,
            locations: own
                .map(|(scanned, range)| LocationCalls {
                    calls: scanned.calls,
                    range,
                })
                .collect(),
            messages,
            collectives,
            links,
            unmatched: matched.unmatched,
            repairs,
        })
    }
}

impl Found<'_> {
    /// Returns the call that contains a communication record.
    fn call(&self, location: LocationId, record: usize) -> Option<CallId> {
        let index = self.scanned.get(location.index())?.call_of(record)?;
        Some(CallId { location, index })
    }

    fn at(&self, end: Endpoint) -> Option<CallId> {
        self.call(end.location, end.index)
    }

    fn kind(&self, id: CallId) -> Option<super::CallKind> {
        let calls = &self.scanned.get(id.location.index())?.calls;
        calls.get(id.index as usize).map(|call| call.kind)
    }

    fn message(&self, message: &Message) -> Option<CallMessage> {
        let (sender, receiver) = (message.sender, message.receiver);
        let send = self.at(sender)?;
        let sending = &self.scanned.get(sender.location.index())?.requests;
        let receiving = &self.scanned.get(receiver.location.index())?.requests;
        let post = receiving.post(receiver.index);
        let post = post.map_or_else(
            || self.at(receiver),
            |record| self.call(receiver.location, record),
        )?;
        let receive = if self.kind(post)?.is_blocking_receive() {
            post
        } else {
            self.at(receiver)?
        };
        let completion = sending.completion(sender.index);
        let completed = completion.and_then(|record| self.call(sender.location, record));
        let sent = if self.kind(send)?.is_blocking_send() {
            Some(send)
        } else {
            completed.or_else(|| self.next_wait(send))
        };
        // The calls of an end are all on its location.
        Some(CallMessage {
            sender: send.location,
            receiver: post.location,
            send: send.index,
            sent: sent.map_or(UNKNOWN, |sent| sent.index),
            post: post.index,
            receive: receive.index,
            send_time: sender.time,
            comm: message.comm,
            tag: message.tag,
            bytes: message.bytes,
        })
    }

    /// Returns the next call after `from` that waits for requests.
    fn next_wait(&self, from: CallId) -> Option<CallId> {
        let waits = &self.scanned.get(from.location.index())?.waits;
        let after = waits.partition_point(|wait| *wait <= from.index);
        let index = waits.get(after).copied()?;
        Some(CallId { index, ..from })
    }

    fn collective(&self, instance: &CollectiveInstance) -> CallCollective {
        let members = instance.members.iter().filter_map(|member| {
            Some(CallMember {
                call: self.at(member.end)?,
                begin: member.begin.time,
                end: member.end.time,
                sent: member.sent,
                received: member.received,
            })
        });
        let members: Vec<CallMember> = members.collect();
        let comm = self.definitions.comms.get(instance.comm.index());
        let system = &self.definitions.system;
        let is_root = |root: LocationId, location: LocationId| {
            let process = system.process(root);
            root == location || (process.is_some() && process == system.process(location))
        };
        let ranks = match comm.map(|comm| &comm.members) {
            Some(Members::Ranks(ranks)) => Some(ranks.as_slice()),
            _ => None,
        };
        let root = instance.root.and_then(|root| {
            let root = ranks?.get(root as usize).copied().flatten()?;
            let mut calls = members.iter().map(|member| member.call.location);
            calls.position(|location| is_root(root, location))
        });
        CallCollective {
            op: instance.op,
            comm: instance.comm,
            root,
            members,
            size: ranks.map(<[_]>::len),
        }
    }
}
