//! [`ObjectMap`]: assigns Paraver objects (application, task, thread, CPU) to the locations of an
//! exported trace, with the tasks for the header and the labels for the `.row`.

use crate::paraver::Row;
use crate::paraver::header::Task;
use crate::paraver::record::{Object, OnCpu};
use perf_core::{LocationId, Members, SystemNodeId, TraceView};
use std::collections::{BTreeMap, HashMap};

/// Paraver objects for the locations.
pub(super) struct ObjectMap {
    /// Thread of each location; the first thread if a location has several.
    pub(super) of: HashMap<LocationId, OnCpu>,
    /// Additional threads of locations with overlapping calls.
    pub(super) more: HashMap<LocationId, Vec<OnCpu>>,
    /// Application and task of each location.
    pub(super) tasks: HashMap<LocationId, (u32, u32)>,
    /// Tasks of each application.
    pub(super) applications: Vec<Vec<Task>>,
    /// Number of CPUs of each node.
    pub(super) cpus: Vec<u32>,
    /// Labels of the objects.
    pub(super) row: Row,
}

impl ObjectMap {
    /// Assigns objects; `lanes` returns the number of threads of a location.
    pub(super) fn new(view: TraceView<'_>, lanes: impl Fn(LocationId) -> usize) -> Self {
        let system = &view.definitions().system;
        // Tasks of each application. A task is a process with its locations, or a location without
        // a process.
        type Members = (Option<SystemNodeId>, String, Vec<LocationId>);
        let mut applications: BTreeMap<u32, Vec<Members>> = BTreeMap::new();
        let mut known = HashMap::new();
        for id in system.location_ids() {
            let group = system.process(id);
            let of = group.and_then(|group| system.group(group));
            let application = of.and_then(|of| of.properties.get("application")?.parse().ok());
            let application = application.unwrap_or(1_u32);
            let tasks = applications.entry(application).or_default();
            let index = match group.and_then(|group| known.get(&group).copied()) {
                Some(index) => index,
                None => {
                    let name = of.map_or_else(|| system.label(id), |of| of.name.clone());
                    tasks.push((of.and_then(|of| of.parent), name, Vec::new()));
                    if let Some(group) = group {
                        known.insert(group, tasks.len() - 1);
                    }
                    tasks.len() - 1
                }
            };
            if let Some((.., members)) = tasks.get_mut(index) {
                members.push(id);
            }
        }
        let mut objects = ObjectMap {
            of: HashMap::new(),
            more: HashMap::new(),
            tasks: HashMap::new(),
            applications: Vec::new(),
            cpus: Vec::new(),
            row: Row::default(),
        };
        // Nodes in the order of their first use by tasks; CPUs are numbered across nodes.
        let mut nodes: Vec<Option<SystemNodeId>> = Vec::new();
        let threads = |members: &[LocationId]| {
            let each = members.iter().map(|id| lanes(*id).max(1));
            each.sum::<usize>() as u32
        };
        for (node, _, members) in applications.values().flatten() {
            let index = nodes.iter().position(|known| known == node);
            let index = index.unwrap_or_else(|| {
                nodes.push(*node);
                objects.cpus.push(0);
                nodes.len() - 1
            });
            if let Some(cpus) = objects.cpus.get_mut(index) {
                *cpus += threads(members);
            }
        }
        let mut next: Vec<u32> = Vec::new();
        let mut cpu = 1;
        for cpus in &objects.cpus {
            next.push(cpu);
            cpu += cpus;
        }
        let line = |name: &str| name.replace(['\n', '\r'], " ");
        let name_of = |node: Option<SystemNodeId>| {
            let node = node.and_then(|id| system.node(id));
            node.map_or_else(|| "node".to_string(), |node| line(&node.name))
        };
        let mut labels: [Vec<String>; 4] = Default::default();
        let [cpu_labels, node_labels, task_labels, thread_labels] = &mut labels;
        for (node, cpus) in nodes.iter().zip(&objects.cpus) {
            let name = name_of(*node);
            for _ in 0..*cpus {
                cpu_labels.push(format!("{}.{name}", cpu_labels.len() + 1));
            }
            node_labels.push(name);
        }
        for (application, tasks) in (1..).zip(applications.into_values()) {
            let mut listed = Vec::with_capacity(tasks.len());
            for (task, (node, name, members)) in (1..).zip(tasks) {
                let at = nodes.iter().position(|known| *known == node).unwrap_or(0);
                task_labels.push(line(&name));
                listed.push(Task {
                    threads: threads(&members),
                    node: at as u32 + 1,
                });
                let members = members.into_iter();
                let each = members.flat_map(|id| (0..lanes(id).max(1)).map(move |lane| (id, lane)));
                for (thread, (id, lane)) in (1..).zip(each) {
                    let cpu = next.get_mut(at).map_or(0, |next| {
                        *next += 1;
                        *next - 1
                    });
                    let object = Object {
                        application,
                        task,
                        thread,
                    };
                    let location = system.location(id);
                    let label = line(location.map_or("", |of| &of.name));
                    let at = OnCpu { cpu, object };
                    if lane > 0 {
                        objects.more.entry(id).or_default().push(at);
                        thread_labels.push(format!("{label} ({})", lane + 1));
                        continue;
                    }
                    objects.of.insert(id, at);
                    objects.tasks.insert(id, (application, task));
                    thread_labels.push(label);
                }
            }
            objects.applications.push(listed);
        }
        let levels = ["CPU", "NODE", "TASK", "THREAD"].map(String::from);
        objects.row = Row::new(levels.into_iter().zip(labels).collect());
        objects
    }
}

/// Returns the application and the tasks of a communicator, by rank. `None` unless all ranks are known and belong to
/// the same application.
pub(super) fn tasks_of(
    members: &Members,
    tasks: &HashMap<LocationId, (u32, u32)>,
) -> Option<(u32, Vec<u32>)> {
    let Members::Ranks(ranks) = members else {
        return None;
    };
    let mut all = Vec::with_capacity(ranks.len());
    let mut of = None;
    for rank in ranks {
        let (application, task) = *tasks.get(rank.as_ref()?)?;
        if *of.get_or_insert(application) != application {
            return None;
        }
        all.push(task);
    }
    Some((of?, all))
}
