//! Entries as lines of JSON.
//!
//! Written by hand, in the order in which one reads; times are integers in nanoseconds. Fields that are
//! empty are left out.

use super::record::{
    CallRecord, CounterRecord, Entry, Kind, LaunchRecord, LeftOut, MessageRecord, ModelRecord,
    Record, RunRecord, StreamRecord,
};
use crate::Label;
use perf_core::Value;
use std::fmt::Write as _;

/// Version of the lines.
pub(super) const FORMAT: u64 = 1;

/// An object that is being written.
struct Object<'a>(&'a mut String);

impl<'a> Object<'a> {
    fn new(to: &'a mut String) -> Self {
        to.push('{');
        Object(to)
    }

    fn name(&mut self, name: &str) -> &mut String {
        if !self.0.ends_with('{') {
            self.0.push(',');
        }
        text(name, self.0);
        self.0.push(':');
        self.0
    }

    fn number(&mut self, name: &str, number: impl std::fmt::Display) -> &mut Self {
        let to = self.name(name);
        // Writing to a string does not fail.
        let _ = write!(to, "{number}");
        self
    }

    fn real(&mut self, name: &str, number: f64) -> &mut Self {
        real(number, self.name(name));
        self
    }

    fn text(&mut self, name: &str, value: &str) -> &mut Self {
        text(value, self.name(name));
        self
    }

    fn list<T>(&mut self, name: &str, all: &[T], each: impl Fn(&T, &mut String)) -> &mut Self {
        if all.is_empty() {
            return self;
        }
        let to = self.name(name);
        to.push('[');
        for (at, one) in all.iter().enumerate() {
            if at > 0 {
                to.push(',');
            }
            each(one, to);
        }
        to.push(']');
        self
    }

    fn facts(&mut self, name: &str, facts: &[(String, String)]) -> &mut Self {
        if facts.is_empty() {
            return self;
        }
        let mut object = Object::new(self.name(name));
        for (name, value) in facts {
            object.text(name, value);
        }
        object.end();
        self
    }

    fn end(&mut self) {
        self.0.push('}');
    }
}

/// A number that JSON has; others are null.
fn real(number: f64, to: &mut String) {
    let _ = match number.is_finite() {
        true => write!(to, "{number:?}"),
        false => write!(to, "null"),
    };
}

fn text(text: &str, to: &mut String) {
    to.push('"');
    for letter in text.chars() {
        match letter {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            '\n' => to.push_str("\\n"),
            '\t' => to.push_str("\\t"),
            '\r' => to.push_str("\\r"),
            control if control < ' ' => {
                let _ = write!(to, "\\u{:04x}", u32::from(control));
            }
            other => to.push(other),
        }
    }
    to.push('"');
}

/// An entry as one line, without its end.
pub(super) fn write(entry: &Entry, to: &mut String) {
    match entry {
        Entry::Run(run) => write_run(run, to),
        Entry::Stream(stream) => write_stream(stream, to),
        Entry::Model(model) => write_model(model, to),
        Entry::Call(record) => write_record(record, to),
    }
}

fn write_run(run: &RunRecord, to: &mut String) {
    let mut object = Object::new(to);
    object.text("type", "run").number("format", FORMAT);
    object
        .text("version", &run.version)
        .text("detector", &run.detector);
    object.facts("facts", &run.facts).end();
}

fn write_stream(stream: &StreamRecord, to: &mut String) {
    let mut object = Object::new(to);
    object
        .text("type", "stream")
        .number("program", stream.program);
    object
        .number("rank", stream.rank)
        .number("thread", stream.thread);
    object.facts("facts", &stream.facts).end();
}

fn write_model(model: &ModelRecord, to: &mut String) {
    let mut object = Object::new(to);
    object.text("type", "model").number("id", model.id);
    object
        .number("program", model.program)
        .text("function", &model.function);
    object
        .number("step", model.step)
        .text("detector", &model.detector);
    let mut facts = Object::new(object.name("facts"));
    for (name, value) in &model.facts {
        facts.real(name, *value);
    }
    facts.end();
    // For readers: what is read back are the facts.
    object.text("text", &model.text().join("; "));
    object.end();
}

fn write_record(record: &Record, to: &mut String) {
    let mut object = Object::new(to);
    object.text(
        "type",
        match record.kind {
            Kind::Anomaly => "anomaly",
            Kind::Normal => "normal",
        },
    );
    object
        .text("label", label_name(record.label))
        .text("function", &record.function);
    object
        .number("program", record.program)
        .number("rank", record.rank);
    object
        .number("thread", record.thread)
        .number("step", record.step);
    if let Some(host) = &record.host {
        object.text("host", host);
    }
    object
        .real("score", record.score)
        .number("severity", record.severity.0);
    if let Some(expected) = record.expected {
        object.number("expected", expected.0);
    }
    object
        .number("runtime", record.runtime.0)
        .number("exclusive", record.exclusive.0);
    if record.first {
        object.number("first", true);
    }
    if record.model > 0 {
        object.number("model", record.model);
    }
    if let Some(repair) = &record.repair {
        object.text("repair", repair);
    }
    call(&record.call, object.name("call"));
    object.list("stack", &record.stack, call);
    object.list("before", &record.before, call);
    object.list("after", &record.after, call);
    object.list("messages", &record.messages, message);
    object.list("counters", &record.counters, counter);
    object.list("node", &record.node, counter);
    object.facts("accelerator", &record.accelerator);
    if let Some(one) = &record.launch {
        launch(one, object.name("launch"));
    }
    if record.left_out != LeftOut::default() {
        left_out(&record.left_out, object.name("left_out"));
    }
    object.end();
}

fn left_out(all: &LeftOut, to: &mut String) {
    let mut object = Object::new(to);
    for (name, count) in [
        ("frames", all.frames),
        ("messages", all.messages),
        ("counters", all.counters),
        ("node", all.node),
    ] {
        if count > 0 {
            object.number(name, count);
        }
    }
    object.end();
}

fn call(call: &CallRecord, to: &mut String) {
    let mut object = Object::new(to);
    object.text("id", &call.id).text("function", &call.function);
    object.number("number", call.number);
    if let Some(caller) = call.caller {
        object.number("caller", caller);
    }
    object.number("entry", call.entry.0);
    if let Some(exit) = call.exit {
        object.number("exit", exit.0);
    }
    if call.is_anomaly {
        object.number("anomaly", true);
    }
    object.end();
}

fn message(message: &MessageRecord, to: &mut String) {
    let mut object = Object::new(to);
    let kind = if message.is_sent { "send" } else { "receive" };
    object.number("at", message.at.0).text("kind", kind);
    object
        .number("rank", message.rank)
        .number("tag", message.tag);
    object.number("bytes", message.bytes).end();
}

fn counter(counter: &CounterRecord, to: &mut String) {
    let mut object = Object::new(to);
    object
        .number("at", counter.at.0)
        .text("name", &counter.name);
    match counter.value {
        Value::U64(value) => object.number("value", value),
        Value::I64(value) => object.number("value", value),
        Value::F64(value) => object.real("value", value),
    };
    object.end();
}

fn launch(launch: &LaunchRecord, to: &mut String) {
    let mut object = Object::new(to);
    object
        .text("id", &launch.id)
        .number("thread", launch.thread);
    object
        .number("entry", launch.entry.0)
        .list("path", &launch.path, |name, to| text(name, to));
    object.number("correlation", launch.correlation);
    if launch.left_out > 0 {
        object.number("left_out", launch.left_out);
    }
    object.end();
}

const LABELS: [(Label, &str); 6] = [
    (Label::Normal, "normal"),
    (Label::TooSlow, "too slow"),
    (Label::BeyondExperience, "beyond experience"),
    (Label::TooFast, "too fast"),
    (Label::NotEnoughData, "not enough data"),
    (Label::Ignored, "ignored"),
];

/// A label as stores have it.
pub(super) fn label_name(label: Label) -> &'static str {
    let found = LABELS.iter().find(|(one, _)| *one == label);
    found.map_or("normal", |(_, name)| name)
}

pub(super) fn label_named(name: &str) -> Option<Label> {
    let found = LABELS.iter().find(|(_, one)| *one == name);
    found.map(|(label, _)| *label)
}
