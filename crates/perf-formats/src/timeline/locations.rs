//! [`Places`]: builds the system tree: a node for each host, a group for each process and device,
//! and a location for each lane of a row.

use super::part::Part;
use super::row::{RowKey, Sym};
use perf_core::{
    GroupKind, Location, LocationGroup, LocationGroupId, LocationKind, SystemNode, SystemNodeId,
};
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

/// System tree under construction.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// System tree nodes so far.
    pub(super) nodes: Vec<SystemNode>,
    /// Groups so far.
    pub(super) groups: Vec<LocationGroup>,
    /// Locations so far.
    pub(super) locations: Vec<Location>,
    /// Categories of the calls of each row of a part without activities.
    pub(super) categories: HashMap<RowKey, String>,
}

/// The groups of one part.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Group of each process.
    processes: HashMap<Sym, LocationGroupId>,
    /// Group of each device.
    devices: HashMap<Sym, LocationGroupId>,
    /// Streams with the same number in several contexts of a device.
    shared: BTreeSet<(Sym, Sym)>,
}

/// Compares words numerically if both are numbers, and by text otherwise.
fn by_word(part: &Part, a: Sym, b: Sym) -> Ordering {
    let (a, b) = (part.word(a), part.word(b));
    match (a.parse::<i128>(), b.parse::<i128>()) {
        (Ok(a), Ok(b)) => a.cmp(&b),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        _ => a.cmp(b),
    }
}

/// Returns the rows of a part with events, in the order of their locations: processes with their
/// threads, asynchronous calls and counters, then devices with their streams.
pub(super) fn in_order(part: &Part) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..part.rows.len() as u32).collect();
    let parts = |row: &u32| {
        let key = part.rows.get(*row as usize).map(|row| row.key);
        let absent = Sym::default();
        match key.unwrap_or(RowKey::Counters { process: absent }) {
            RowKey::Thread { process, thread } => (0, process, 0, thread, absent),
            RowKey::Async { process, category } => (0, process, 1, category, absent),
            RowKey::Counters { process } => (0, process, 2, absent, absent),
            RowKey::Work {
                device,
                context,
                stream,
            } => (1, device, 0, stream, context),
            RowKey::Beside { device, stream } => (1, device, 1, stream, absent),
        }
    };
    rows.sort_by(|a, b| {
        let (a, b) = (parts(a), parts(b));
        let groups = a.0.cmp(&b.0).then_with(|| by_word(part, a.1, b.1));
        let kinds = groups.then(a.2.cmp(&b.2));
        let own = kinds.then_with(|| by_word(part, a.3, b.3));
        own.then_with(|| by_word(part, a.4, b.4))
    });
    rows
}

impl Places {
    /// Creates the groups of a part: its processes, and its devices with the process that drives them. Names begin with
    /// `prefix`, which distinguishes parts.
    pub(super) fn groups(&mut self, part: &Part, rows: &[u32], prefix: &str) -> Groups {
        let mut groups = Groups::default();
        let node = part.host.as_deref().map(|host| self.node(host));
        let mut properties = Vec::new();
        if let Some(rank) = part.rank {
            properties.push(("rank".to_owned(), rank.to_string()));
        }
        let mut busiest: Option<(usize, LocationGroupId)> = None;
        let mut streams: HashMap<(Sym, Sym), u32> = HashMap::new();
        let keys = |row: &u32| part.rows.get(*row as usize);
        for row in rows.iter().filter_map(keys) {
            match row.key {
                RowKey::Thread { process, .. }
                | RowKey::Async { process, .. }
                | RowKey::Counters { process } => {
                    let id = *groups.processes.entry(process).or_insert_with(|| {
                        self.group(LocationGroup {
                            name: format!("{prefix}{}", process_name(part, process)),
                            kind: GroupKind::Process,
                            parent: node,
                            creator: None,
                            properties: with(&properties, "process", part.word(process)).into(),
                        })
                    });
                    // The process with most runtime calls drives the devices; without such calls, the
                    // process with most calls.
                    let weight = row.calls.len();
                    let launches = row.calls.iter().filter(|call| call.extra > 0).count();
                    let weight = weight.saturating_add(launches.saturating_mul(1 << 32));
                    if busiest.is_none_or(|(most, _)| weight > most) {
                        busiest = Some((weight, id));
                    }
                }
                RowKey::Work { device, .. } | RowKey::Beside { device, .. } => {
                    if let RowKey::Work { stream, .. } = row.key {
                        *streams.entry((device, stream)).or_default() += 1;
                    }
                    groups.devices.entry(device).or_insert_with(|| {
                        let mut properties = with(&properties, "device", part.word(device));
                        if let Some(name) = part.devices.get(&device) {
                            properties.push(("name".into(), name.clone()));
                        }
                        self.group(LocationGroup {
                            name: format!("{prefix}{} {}", part.device_kind, part.word(device)),
                            kind: GroupKind::Accelerator,
                            parent: node,
                            creator: busiest.map(|(_, id)| id),
                            properties: properties.into(),
                        })
                    });
                }
            }
        }
        let several = streams.into_iter().filter(|(_, count)| *count > 1);
        groups.shared = several.map(|(key, _)| key).collect();
        groups
    }

    /// Creates the location of lane `lane` of a row.
    pub(super) fn location(&mut self, part: &Part, groups: &Groups, key: RowKey, lane: usize) {
        let word = |sym| part.word(sym);
        let (name, kind, group, mut properties) = match key {
            RowKey::Thread { process, thread } => {
                let known = part.threads.get(&(process, thread));
                let name = known
                    .map(|name| name.trim())
                    .filter(|name| !name.is_empty());
                let name = match name {
                    Some(name) if name.contains(word(thread)) => name.to_owned(),
                    Some(name) => format!("{name} ({})", word(thread)),
                    None => format!("thread {}", word(thread)),
                };
                let properties = vec![("thread".to_owned(), word(thread).to_owned())];
                let group = groups.processes.get(&process);
                (name, LocationKind::CpuThread, group, properties)
            }
            RowKey::Async { process, category } => {
                let name = match word(category) {
                    "" => "asynchronous".to_owned(),
                    category => format!("asynchronous, {category}"),
                };
                let group = groups.processes.get(&process);
                (name, LocationKind::Unknown, group, Vec::new())
            }
            RowKey::Counters { process } => {
                let group = groups.processes.get(&process);
                (
                    "counters".to_owned(),
                    LocationKind::Metric,
                    group,
                    Vec::new(),
                )
            }
            RowKey::Work {
                device,
                context,
                stream,
            } => {
                let mut properties = vec![
                    ("device".to_owned(), word(device).to_owned()),
                    ("stream".to_owned(), word(stream).to_owned()),
                ];
                let mut name = if is_title(word(stream)) {
                    word(stream).to_owned()
                } else {
                    format!("stream {}", word(stream))
                };
                if !word(context).is_empty() {
                    properties.push((part.context_word.into(), word(context).into()));
                    if groups.shared.contains(&(device, stream)) {
                        name += &format!(", {} {}", part.context_word, word(context));
                    }
                }
                let group = groups.devices.get(&device);
                (name, LocationKind::AcceleratorStream, group, properties)
            }
            RowKey::Beside { device, stream } => {
                let name = if is_title(word(stream)) {
                    word(stream).to_owned()
                } else {
                    format!("stream {}, annotations", word(stream))
                };
                let properties = vec![
                    ("device".to_owned(), word(device).to_owned()),
                    ("stream".to_owned(), word(stream).to_owned()),
                ];
                let group = groups.devices.get(&device);
                (name, LocationKind::Unknown, group, properties)
            }
        };
        let name = match lane {
            0 => name,
            lane => {
                properties.push(("lane".into(), lane.to_string()));
                format!("{}, lane {lane}", short(&name))
            }
        };
        if let Some(rank) = part.rank {
            properties.push(("rank".into(), rank.to_string()));
        }
        if let Some(categories) = self.categories.get(&key) {
            properties.push(("categories".into(), categories.clone()));
        }
        self.locations.push(Location {
            name,
            kind,
            group: group.copied(),
            key: self.locations.len() as u64,
            properties: properties.into(),
        });
    }

    fn node(&mut self, host: &str) -> SystemNodeId {
        let known = self.nodes.iter().position(|node| node.name == host);
        let index = known.unwrap_or_else(|| {
            self.nodes.push(SystemNode {
                name: host.to_owned(),
                class: "node".into(),
                ..SystemNode::default()
            });
            self.nodes.len() - 1
        });
        SystemNodeId(index as u32)
    }

    fn group(&mut self, group: LocationGroup) -> LocationGroupId {
        self.groups.push(group);
        LocationGroupId(self.groups.len() as u32 - 1)
    }
}

/// Maximum length in bytes of the thread name on additional lanes. Limits memory, because lanes may be numerous.
const LANE_NAME: usize = 256;

fn short(name: &str) -> &str {
    let mut end = name.len().min(LANE_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// Returns `true` if a stream has a title, such as `XLA Ops`, instead of a number.
fn is_title(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_uppercase())
}

fn process_name(part: &Part, process: Sym) -> String {
    let known = part.processes.get(&process);
    let name = known.and_then(|process| process.name.as_deref());
    let word = part.word(process);
    match name.map(str::trim).filter(|name| !name.is_empty()) {
        Some(name) if word.is_empty() || name == word => name.to_owned(),
        Some(name) => format!("{name} ({word})"),
        None if word.is_empty() => "process".to_owned(),
        None => format!("process {word}"),
    }
}

fn with(properties: &[(String, String)], name: &str, value: &str) -> Vec<(String, String)> {
    let mut all = properties.to_vec();
    all.push((name.to_owned(), value.to_owned()));
    all
}
