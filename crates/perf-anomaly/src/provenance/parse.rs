//! Lines of JSON as entries.

use super::json::{FORMAT, label_named};
use super::record::{
    CallRecord, CounterRecord, Entry, Kind, LaunchRecord, LeftOut, MessageRecord, ModelRecord,
    Record, RunRecord, StreamRecord,
};
use perf_core::Nanos;
use serde_json::{Map, Value};

/// What is wrong with a line.
type Parsed<T> = Result<T, String>;

/// An entry from a line.
pub(super) fn read(line: &str) -> Parsed<Entry> {
    let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let all = Fields(value.as_object().ok_or("expected an object")?);
    Ok(match all.text("type")? {
        "run" => Entry::Run(run(all)?),
        "stream" => Entry::Stream(StreamRecord {
            program: all.small("program")?,
            rank: all.small("rank")?,
            thread: all.small("thread")?,
            facts: all.facts("facts")?,
        }),
        "model" => Entry::Model(model(all)?),
        "anomaly" => Entry::Call(Box::new(record(all, Kind::Anomaly)?)),
        "normal" => Entry::Call(Box::new(record(all, Kind::Normal)?)),
        other => return Err(format!("no entry has the type `{}`", short(other))),
    })
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

/// The fields of an object.
#[derive(Clone, Copy)]
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn get<T>(
        self,
        name: &str,
        what: &str,
        take: impl Fn(&'a Value) -> Option<T>,
    ) -> Parsed<Option<T>> {
        match self.0.get(name) {
            None => Ok(None),
            Some(value) => match take(value) {
                Some(taken) => Ok(Some(taken)),
                None => Err(format!("`{name}` is not {what}")),
            },
        }
    }

    fn must<T>(self, name: &str, found: Parsed<Option<T>>) -> Parsed<T> {
        found?.ok_or_else(|| format!("`{name}` is missing"))
    }

    fn text(self, name: &str) -> Parsed<&'a str> {
        self.must(name, self.get(name, "a text", Value::as_str))
    }

    fn some_text(self, name: &str) -> Parsed<Option<String>> {
        Ok(self.get(name, "a text", Value::as_str)?.map(str::to_string))
    }

    fn whole(self, name: &str) -> Parsed<u64> {
        self.must(name, self.some_whole(name))
    }

    fn some_whole(self, name: &str) -> Parsed<Option<u64>> {
        self.get(name, "a whole number", Value::as_u64)
    }

    fn small(self, name: &str) -> Parsed<u32> {
        let whole = self.whole(name)?;
        u32::try_from(whole).map_err(|_| format!("`{name}` is too large"))
    }

    fn some_time(self, name: &str) -> Parsed<Option<Nanos>> {
        let time = self.get(name, "a time in nanoseconds", Value::as_i64)?;
        Ok(time.map(Nanos))
    }

    fn time(self, name: &str) -> Parsed<Nanos> {
        self.must(name, self.some_time(name))
    }

    fn flag(self, name: &str) -> Parsed<bool> {
        let flag = self.get(name, "true or false", Value::as_bool)?;
        Ok(flag.unwrap_or_default())
    }

    /// A number; null is one that JSON does not have.
    fn real(self, name: &str) -> Parsed<f64> {
        self.must(name, self.get(name, "a number", real))
    }

    fn list<T>(self, name: &str, each: impl Fn(&'a Value) -> Parsed<T>) -> Parsed<Vec<T>> {
        let list = self.get(name, "a list", Value::as_array)?;
        list.into_iter().flatten().map(each).collect()
    }

    fn objects<T>(self, name: &str, each: impl Fn(Fields<'a>) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.list(name, |value| match value.as_object() {
            Some(fields) => each(Fields(fields)),
            None => Err(format!("`{name}` holds something that is no object")),
        })
    }

    fn object(self, name: &str) -> Parsed<Option<Fields<'a>>> {
        let found = self.get(name, "an object", Value::as_object)?;
        Ok(found.map(Fields))
    }

    fn facts(self, name: &str) -> Parsed<Vec<(String, String)>> {
        let Some(facts) = self.object(name)? else {
            return Ok(Vec::new());
        };
        let fact = |fact: &String| Ok((fact.clone(), facts.text(fact)?.to_string()));
        facts.0.keys().map(fact).collect()
    }
}

fn real(value: &Value) -> Option<f64> {
    match value {
        Value::Null => Some(f64::NAN),
        value => value.as_f64(),
    }
}

fn run(all: Fields<'_>) -> Parsed<RunRecord> {
    let format = all.whole("format")?;
    if format != FORMAT {
        return Err(format!(
            "the format is of version {format}, expected {FORMAT}"
        ));
    }
    Ok(RunRecord {
        version: all.text("version")?.into(),
        detector: all.text("detector")?.into(),
        facts: all.facts("facts")?,
    })
}

fn model(all: Fields<'_>) -> Parsed<ModelRecord> {
    let facts = all.must("facts", all.object("facts"))?;
    let fact = |name: &String| Ok((name.clone(), facts.real(name)?));
    let facts: Parsed<Vec<(String, f64)>> = facts.0.keys().map(fact).collect();
    Ok(ModelRecord {
        id: all.whole("id")?,
        program: all.small("program")?,
        function: all.text("function")?.into(),
        step: all.whole("step")?,
        detector: all.text("detector")?.into(),
        facts: facts?,
    })
}

fn record(all: Fields<'_>, kind: Kind) -> Parsed<Record> {
    let label = all.text("label")?;
    let message = |one: Fields<'_>| {
        Ok(MessageRecord {
            at: one.time("at")?,
            is_sent: match one.text("kind")? {
                "send" => true,
                "receive" => false,
                other => return Err(format!("no message is of the kind `{}`", short(other))),
            },
            rank: one.small("rank")?,
            tag: one.small("tag")?,
            bytes: one.whole("bytes")?,
        })
    };
    let text = |value: &Value| value.as_str().map(str::to_string);
    let launch = |one: Fields<'_>| -> Parsed<LaunchRecord> {
        Ok(LaunchRecord {
            id: one.text("id")?.into(),
            thread: one.small("thread")?,
            entry: one.time("entry")?,
            path: one.list("path", |value| {
                text(value).ok_or_else(|| "`path` holds something that is no text".into())
            })?,
            correlation: one.whole("correlation")?,
            left_out: one.some_whole("left_out")?.unwrap_or_default(),
        })
    };
    let own = all.must("call", all.object("call"))?;
    Ok(Record {
        kind,
        program: all.small("program")?,
        rank: all.small("rank")?,
        thread: all.small("thread")?,
        host: all.some_text("host")?,
        function: all.text("function")?.into(),
        step: all.whole("step")?,
        call: call(own)?,
        exclusive: all.time("exclusive")?,
        runtime: all.time("runtime")?,
        first: all.flag("first")?,
        label: label_named(label)
            .ok_or_else(|| format!("no label is called `{}`", short(label)))?,
        score: all.real("score")?,
        severity: all.time("severity")?,
        expected: all.some_time("expected")?,
        model: all.some_whole("model")?.unwrap_or_default(),
        repair: all.some_text("repair")?,
        stack: all.objects("stack", call)?,
        before: all.objects("before", call)?,
        after: all.objects("after", call)?,
        messages: all.objects("messages", message)?,
        counters: all.objects("counters", counter)?,
        node: all.objects("node", counter)?,
        accelerator: all.facts("accelerator")?,
        launch: all.object("launch")?.map(launch).transpose()?,
        left_out: all
            .object("left_out")?
            .map(left_out)
            .transpose()?
            .unwrap_or_default(),
    })
}

fn left_out(one: Fields<'_>) -> Parsed<LeftOut> {
    let count = |name| Ok::<u64, String>(one.some_whole(name)?.unwrap_or_default());
    Ok(LeftOut {
        frames: count("frames")?,
        messages: count("messages")?,
        counters: count("counters")?,
        node: count("node")?,
    })
}

fn call(one: Fields<'_>) -> Parsed<CallRecord> {
    Ok(CallRecord {
        id: one.text("id")?.into(),
        function: one.text("function")?.into(),
        number: one.whole("number")?,
        caller: one.some_whole("caller")?,
        entry: one.time("entry")?,
        exit: one.some_time("exit")?,
        is_anomaly: one.flag("anomaly")?,
    })
}

fn counter(one: Fields<'_>) -> Parsed<CounterRecord> {
    let value = |value: &Value| {
        if let Some(whole) = value.as_u64() {
            return Some(perf_core::Value::U64(whole));
        }
        if let Some(whole) = value.as_i64() {
            return Some(perf_core::Value::I64(whole));
        }
        real(value).map(perf_core::Value::F64)
    };
    Ok(CounterRecord {
        at: one.time("at")?,
        name: one.text("name")?.into(),
        value: one.must("value", one.get("value", "a number", value))?,
    })
}
