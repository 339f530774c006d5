//! A sink that records everything as text.
#![allow(dead_code, reason = "each test program uses a part of it")]

use perf_core::{EventSink, MetricId, Nanos, RegionId, StreamEvent, StreamId, StreamKey, Value};

/// All pushed items, as lines.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    names: Vec<String>,
    keys: Vec<StreamKey>,
    pub(crate) lines: Vec<String>,
}

impl Seen {
    /// Returns the lines of events only.
    pub(crate) fn events(&self) -> Vec<&str> {
        let lines = self.lines.iter().map(String::as_str);
        lines
            .filter(|line| !line.contains(" is ") && !line.starts_with("end "))
            .collect()
    }

    /// Returns the lines of metadata only.
    pub(crate) fn facts(&self) -> Vec<&str> {
        let lines = self.lines.iter().map(String::as_str);
        lines.filter(|line| line.contains(" is ")).collect()
    }

    /// Returns the ended steps.
    pub(crate) fn steps(&self) -> Vec<u64> {
        let ends = self
            .lines
            .iter()
            .filter_map(|line| line.strip_prefix("end "));
        ends.map(|step| step.parse().unwrap()).collect()
    }

    fn id(&mut self, name: &str) -> u32 {
        let at = self.names.iter().position(|known| known == name);
        at.unwrap_or_else(|| {
            self.names.push(name.into());
            self.names.len() - 1
        }) as u32
    }
}

impl EventSink for Seen {
    fn region(&mut self, program: u32, name: &str) -> RegionId {
        RegionId(self.id(&format!("{program}:{name}")))
    }
    fn counter(&mut self, name: &str) -> MetricId {
        MetricId(self.id(name))
    }
    fn stream(&mut self, key: StreamKey) -> StreamId {
        self.keys.push(key);
        StreamId(self.keys.len() as u32 - 1)
    }
    fn push(&mut self, stream: StreamId, at: Nanos, event: StreamEvent) {
        let StreamKey { rank, thread, .. } = self.keys[stream.index()];
        let what = match event {
            StreamEvent::Enter(id) => format!("enter {}", self.names[id.index()]),
            StreamEvent::Exit(id) => format!("exit {}", self.names[id.index()]),
            StreamEvent::Send(peer) => format!("send {} {} {}", peer.rank, peer.tag, peer.bytes),
            StreamEvent::Receive(peer) => format!("recv {} {} {}", peer.rank, peer.tag, peer.bytes),
            StreamEvent::Counter(id, Value::U64(value)) => {
                format!("{} = {value}", self.names[id.index()])
            }
            other => format!("{other:?}"),
        };
        self.lines.push(format!("{rank}.{thread} {} {what}", at.0));
    }
    fn metadata(&mut self, stream: StreamId, name: &str, value: &str) {
        let rank = self.keys[stream.index()].rank;
        self.lines.push(format!("{rank} {name} is {value}"));
    }
    fn end_step(&mut self, step: u64) {
        self.lines.push(format!("end {step}"));
    }
}
