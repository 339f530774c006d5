//! [`Threads`]: numbers of the threads of a header, by application and task; [`system`]: system
//! tree with these threads as locations; [`Comms`]: communicators of and between applications.

use crate::paraver::Row;
use crate::paraver::header::{Header, Resources};
use crate::paraver::record::{Object, Record};
use crate::paraver::rules;
use crate::read_context::ReadContext;
use crate::{Error, Result};
use perf_core::{
    CommId, Communicator, Diagnostics, Limits, Location, LocationGroup, LocationGroupId,
    LocationId, Members, Place, SystemNode, SystemNodeId, SystemTree,
};
use std::collections::{BTreeMap, HashMap};

/// Number of threads that a header may declare regardless of the size of the trace.
const THREADS: u64 = 1 << 16;

/// Maximum number of threads for a trace of unknown size.
const STREAMED: u64 = 1 << 20;

/// Length of a short line in bytes.
const LINE: u64 = 16;

/// Approximate memory of a thread in bytes, for its location with names and its stream.
const THREAD: u64 = 1 << 10;

/// Numbers of the threads of a trace, in the order of the header.
#[derive(Debug)]
pub(super) struct Threads {
    /// For each application, the number of the first thread of each task, followed by the end of the last task.
    first: Vec<Vec<u32>>,
}

impl Threads {
    /// Numbers the threads of a header of a trace of at most `bytes` bytes.
    ///
    /// `bytes` bounds the number of threads, because nearly every thread has a line and a thread takes much more memory
    /// than a line. One thread for each task is accepted regardless of `bytes`, because a cut or filtered trace may
    /// have few lines, and each task takes bytes in the header.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Limit`] if there are too many threads or they exceed the memory budget.
    pub(super) fn new(
        header: &Header,
        bytes: Option<u64>,
        name: &str,
        options: &ReadContext,
    ) -> Result<Self> {
        let limits = options.get_limits();
        let limit = bytes.map_or(STREAMED, |bytes| (bytes / LINE).max(THREADS));
        let tasks: usize = header.applications.iter().map(Vec::len).sum();
        let limit = limit.max(tasks as u64).min(u64::from(limits.definitions));
        let threads = header.threads();
        if threads > limit {
            return Err(Error::Limit {
                place: Place::file(name).at(0).record("line 1"),
                what: "number of threads",
                got: threads,
                limit,
            });
        }
        if threads.saturating_mul(THREAD) > limits.memory {
            return Err(Error::Limit {
                place: Place::file(name).at(0).record("line 1"),
                what: "memory for threads in bytes",
                got: threads.saturating_mul(THREAD),
                limit: limits.memory,
            });
        }
        let mut next = 0;
        let mut first = Vec::with_capacity(header.applications.len());
        for tasks in &header.applications {
            let mut starts = Vec::with_capacity(tasks.len() + 1);
            for task in tasks {
                starts.push(next);
                next += task.threads;
            }
            starts.push(next);
            first.push(starts);
        }
        Ok(Threads { first })
    }

    /// Returns the number of a thread, from 0, or `None` if the header does not declare it.
    #[inline]
    pub(super) fn number(&self, object: Object) -> Option<usize> {
        let tasks = self
            .first
            .get((object.application as usize).checked_sub(1)?)?;
        let task = (object.task as usize).checked_sub(1)?;
        let (start, end) = (*tasks.get(task)?, *tasks.get(task + 1)?);
        let number = start.checked_add(object.thread.checked_sub(1)?)?;
        (number < end).then_some(number as usize)
    }

    /// Returns the first thread of a task, which represents the task.
    fn leader(&self, application: u32, task: u32) -> Option<LocationId> {
        let object = Object {
            application,
            task,
            thread: 1,
        };
        LocationId::from_index(self.number(object)?)
    }

    /// Returns the number of tasks of an application.
    fn tasks(&self, application: u32) -> Option<usize> {
        let tasks = self.first.get((application as usize).checked_sub(1)?)?;
        tasks.len().checked_sub(1)
    }
}

/// Returns the Paraver thread of a location from its properties `application`, `task` and `thread`. `None` if one of
/// them is missing.
///
/// ```
/// use perf_formats::paraver::{Object, object_of};
/// let mut location = perf_core::Location::default();
/// assert_eq!(object_of(&location), None);
/// for (name, number) in [("application", "1"), ("task", "4"), ("thread", "2")] {
///     location.properties.push((name.into(), number.into()));
/// }
/// assert_eq!(object_of(&location), Some(Object { application: 1, task: 4, thread: 2 }));
/// ```
pub fn object_of(location: &Location) -> Option<Object> {
    let number = |name: &str| location.properties.get(name)?.parse().ok();
    Some(Object {
        application: number("application")?,
        task: number("task")?,
        thread: number("thread")?,
    })
}

/// Creates the system tree from the machine and threads of a header, with the labels of the `.row`.
pub(super) fn system(header: &Header, row: &Row, options: &ReadContext) -> Result<SystemTree> {
    let [node_labels, task_labels, thread_labels] =
        ["NODE", "TASK", "THREAD"].map(|level| row.labels(level));
    // Nodes by number: those with CPUs and those that tasks refer to.
    let mut nodes: BTreeMap<u32, Vec<(String, String)>> = BTreeMap::new();
    if let Resources::Nodes(all) = &header.resources {
        for (number, cpus) in (1..).zip(all) {
            nodes.insert(number, vec![("cpus".into(), cpus.to_string())]);
        }
    }
    for task in header.applications.iter().flatten() {
        nodes.entry(task.node).or_default();
    }
    let ids: HashMap<u32, SystemNodeId> = nodes
        .keys()
        .enumerate()
        .filter_map(|(index, number)| Some((*number, SystemNodeId::from_index(index)?)))
        .collect();
    let nodes = nodes.into_iter().map(|(number, properties)| {
        let label = (number as usize)
            .checked_sub(1)
            .and_then(|at| node_labels.get(at));
        SystemNode {
            name: label.map_or_else(|| format!("node {number}"), String::clone),
            class: "node".into(),
            parent: None,
            properties: properties.into(),
        }
    });
    let (mut groups, mut locations) = (Vec::new(), Vec::new());
    for (application, tasks) in (1_u32..).zip(&header.applications) {
        for (number, task) in (1_u32..).zip(tasks) {
            let label = task_labels.get(groups.len());
            let name = label.map_or_else(|| format!("TASK {application}.{number}"), String::clone);
            let id = LocationGroupId::from_index(groups.len());
            let named = |name: &str, number: u32| (name.to_string(), number.to_string());
            let of_task = [named("application", application), named("task", number)];
            groups.push(LocationGroup {
                name,
                parent: ids.get(&task.node).copied(),
                properties: of_task.to_vec().into(),
                ..LocationGroup::default()
            });
            for thread in 1..=task.threads {
                let key = locations.len() as u64;
                let label = thread_labels.get(locations.len());
                let usual = || format!("THREAD {application}.{number}.{thread}");
                let mut properties = of_task.to_vec();
                properties.push(named("thread", thread));
                locations.push(Location {
                    name: label.map_or_else(usual, String::clone),
                    group: id,
                    key,
                    properties: properties.into(),
                    ..Location::default()
                });
            }
        }
    }
    let nodes = nodes.collect();
    Ok(SystemTree::new(
        nodes,
        groups,
        locations,
        options.get_limits(),
    )?)
}

/// Communicators of a trace and of the messages between applications.
#[derive(Debug, Default)]
pub(super) struct Comms {
    /// All communicators.
    pub(super) all: Vec<Communicator>,
    /// Tasks of each communicator, by rank.
    tasks: Vec<Vec<u32>>,
    /// Communicators by application and number.
    by_name: HashMap<(u32, u32), CommId>,
    /// Rank of each task of a communicator, computed on first use.
    ranks: HashMap<CommId, HashMap<u32, u32>>,
    /// Communicator for the messages of each pair of applications.
    between: HashMap<(u32, u32), CommId>,
    /// Remaining number of members for communicators that refer to other communicators or to all tasks, which have more
    /// members than their record lists.
    members_left: usize,
}

impl Comms {
    pub(super) fn new(limits: &Limits) -> Self {
        Comms {
            members_left: limits.definitions as usize,
            ..Comms::default()
        }
    }

    /// Deducts members from the budget. Returns `false` without deducting them if the budget is too small.
    fn grant(&mut self, members: usize) -> bool {
        let left = self.members_left.checked_sub(members);
        self.members_left = left.unwrap_or(self.members_left);
        left.is_some()
    }

    /// Adds a communicator or inter-communicator.
    pub(super) fn add(
        &mut self,
        record: Record<'_>,
        threads: &Threads,
        place: &Place,
        found: &mut Diagnostics,
    ) {
        match record {
            Record::Communicator {
                application,
                id,
                tasks,
                ..
            } => {
                let member = |task: &u32| threads.leader(application, *task);
                let members: Vec<_> = tasks.iter().map(member).collect();
                let unknown = members.iter().filter(|member| member.is_none()).count();
                found.add_many(rules::UNKNOWN_MEMBER, unknown as u64, place.clone());
                let comm = Communicator {
                    name: format!("communicator {application}.{id}"),
                    members: Members::Ranks(members),
                    parent: None,
                };
                self.insert((application, id), comm, tasks.to_vec(), place, found);
            }
            Record::InterCommunicator {
                application,
                id,
                sides,
                ..
            } => {
                let side = |(comm, _): (u32, u32)| {
                    let known = self.by_name.get(&(application, comm))?;
                    match &self.all.get(known.index())?.members {
                        Members::Ranks(ranks) => Some(ranks),
                        _ => None,
                    }
                };
                let [first, second] = sides.map(side);
                let both = first.zip(second);
                let count = both.map_or(0, |(first, second)| first.len() + second.len());
                let left = self.members_left.checked_sub(count);
                let members = match both.filter(|_| left.is_some()) {
                    Some((first, second)) => Members::Between(first.clone(), second.clone()),
                    None => {
                        found.add(rules::UNKNOWN_MEMBER, place.clone());
                        Members::Unknown
                    }
                };
                self.members_left = left.unwrap_or(self.members_left);
                let comm = Communicator {
                    name: format!("inter-communicator {application}.{id}"),
                    members,
                    parent: None,
                };
                self.insert((application, id), comm, Vec::new(), place, found);
            }
            _ => {}
        }
    }

    fn insert(
        &mut self,
        name: (u32, u32),
        comm: Communicator,
        tasks: Vec<u32>,
        place: &Place,
        found: &mut Diagnostics,
    ) {
        let known = self.by_name.get(&name).map(|id| id.index());
        let old = known.and_then(|at| Some((self.all.get_mut(at)?, self.tasks.get_mut(at)?)));
        if let Some((old, old_tasks)) = old {
            found.add(rules::DUPLICATE_COMM, place.clone());
            (*old, *old_tasks) = (comm, tasks);
            if let Some(id) = known.and_then(CommId::from_index) {
                self.ranks.remove(&id);
            }
            return;
        }
        if let Some(id) = CommId::from_index(self.all.len()) {
            self.all.push(comm);
            self.tasks.push(tasks);
            self.by_name.insert(name, id);
        }
    }

    /// Returns a communicator of an application by its number, and the rank of a task in it.
    pub(super) fn rank(&mut self, application: u32, id: u64, task: u32) -> Option<(CommId, u32)> {
        let id = *self.by_name.get(&(application, u32::try_from(id).ok()?))?;
        if !self.ranks.contains_key(&id) {
            let tasks = self.tasks.get(id.index())?;
            let ranks = (0..).zip(tasks).map(|(rank, task)| (*task, rank)).collect();
            self.ranks.insert(id, ranks);
        }
        Some((id, *self.ranks.get(&id)?.get(&task)?))
    }

    /// Returns the communicator for messages between tasks of two applications, or of one application. Its ranks are
    /// the tasks.
    pub(super) fn of(&mut self, sender: u32, receiver: u32, threads: &Threads) -> Option<CommId> {
        let key = (sender.min(receiver), sender.max(receiver));
        if let Some(id) = self.between.get(&key) {
            return Some(*id);
        }
        let tasks = |application: u32| threads.tasks(application);
        let count = tasks(key.0)?.saturating_add(tasks(key.1)?);
        let is_within_budget = self.grant(count);
        let all = |application: u32| -> Option<Vec<Option<LocationId>>> {
            let count = u32::try_from(tasks(application)?).ok()?;
            let leader = |task| threads.leader(application, task);
            Some((1..=count).map(leader).collect())
        };
        let name = if key.0 == key.1 {
            format!("tasks of application {}", key.0)
        } else {
            format!("tasks of applications {} and {}", key.0, key.1)
        };
        let members = if !is_within_budget {
            Members::Unknown
        } else if key.0 == key.1 {
            Members::Ranks(all(key.0)?)
        } else {
            Members::Between(all(key.0)?, all(key.1)?)
        };
        // Within an application, a communicator of the trace may be equal and is reused.
        let same = if key.0 == key.1 && is_within_budget {
            self.all.iter().position(|comm| comm.members == members)
        } else {
            None
        };
        let id = match same {
            Some(at) => CommId::from_index(at)?,
            None => {
                let id = CommId::from_index(self.all.len())?;
                self.all.push(Communicator {
                    name,
                    members,
                    parent: None,
                });
                self.tasks.push(Vec::new());
                id
            }
        };
        self.between.insert(key, id);
        Some(id)
    }
}
