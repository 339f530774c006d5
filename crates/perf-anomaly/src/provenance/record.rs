//! [`Record`]: all that is kept of a call.

use super::json;
use crate::{Error, Label, Result};
use perf_core::{Nanos, Value};
use serde::{Deserialize, Serialize};

/// A call of the surroundings of another one, or the call itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallRecord {
    /// `rank:step:index` of its enter, see [`Calls::event_id`](crate::calls::Calls::event_id).
    pub id: String,
    /// The region.
    pub function: String,
    /// Its place in the order of entry on its stream.
    pub number: u64,
    /// The number of the call that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<u64>,
    /// When it was entered.
    pub entry: Nanos,
    /// When it was left; `None` if it was still open when it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<Nanos>,
    /// Whether it was known to be abnormal by then.
    #[serde(default, rename = "anomaly", skip_serializing_if = "json::is_default")]
    pub is_anomaly: bool,
}

/// A message of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MessageRecord {
    /// When.
    pub at: Nanos,
    /// Whether it was sent, not received.
    #[serde(rename = "kind", with = "json::direction")]
    pub is_sent: bool,
    /// The rank at the other end.
    pub rank: u32,
    /// The message tag.
    pub tag: u32,
    /// Length in bytes.
    pub bytes: u64,
}

/// A value of a counter: in a call, or of the node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CounterRecord {
    /// When.
    pub at: Nanos,
    /// The counter, or the field of the node.
    pub name: String,
    /// Its value.
    #[serde(with = "json::value")]
    pub value: Value,
}

/// What launched work on an accelerator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LaunchRecord {
    /// `rank:step:index` of its enter.
    pub id: String,
    /// The thread it ran on.
    pub thread: u32,
    /// When it was entered.
    pub entry: Nanos,
    /// The regions it ran in and its own, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// The correlation id that it shares with the work.
    pub correlation: u64,
    /// How many of the outermost regions are left out of the path.
    #[serde(default, skip_serializing_if = "json::is_default")]
    pub left_out: u64,
}

/// What a record would have beside, were it not too much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LeftOut {
    /// Calls it ran in, the outermost ones.
    #[serde(skip_serializing_if = "json::is_default")]
    pub frames: u64,
    /// Messages of its own, the first ones.
    #[serde(skip_serializing_if = "json::is_default")]
    pub messages: u64,
    /// Counter values, the first ones.
    #[serde(skip_serializing_if = "json::is_default")]
    pub counters: u64,
    /// Values of the node.
    #[serde(skip_serializing_if = "json::is_default")]
    pub node: u64,
}

/// Why a call was kept.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// It is abnormal.
    #[default]
    Anomaly,
    /// It is a normal execution of a function on a stream that had an anomaly, for comparison.
    Normal,
}

/// A call with all that is known around it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// Why it was kept.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// What the detector says it is.
    pub label: Label,
    /// What has the model: the function, or all functions on a call path.
    pub function: String,
    /// The program.
    pub program: u32,
    /// The rank in the program.
    pub rank: u32,
    /// The thread in the rank.
    pub thread: u32,
    /// The step in which it was completed.
    pub step: u64,
    /// The host of the rank, where the stream tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// How unusual it is.
    #[serde(deserialize_with = "json::number::deserialize")]
    pub score: f64,
    /// Time lost.
    pub severity: Nanos,
    /// The run time the model expects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Nanos>,
    /// The run time that was judged.
    pub runtime: Nanos,
    /// Time in the call and in no call it made.
    pub exclusive: Nanos,
    /// Whether it was the first call of its model on its stream.
    #[serde(default, skip_serializing_if = "json::is_default")]
    pub first: bool,
    /// The model it was judged by, see [`ModelRecord::id`]; 0 for none.
    #[serde(default, skip_serializing_if = "json::is_default")]
    pub model: u64,
    /// How its end came about, if it is not the recording's own: `closed by outer`, `closed by other
    /// name`, `closed at end`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<String>,
    /// The call.
    pub call: CallRecord,
    /// The calls it ran in, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<CallRecord>,
    /// The calls entered before it on its stream, in order of entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<CallRecord>,
    /// The calls entered after it on its stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<CallRecord>,
    /// Its own messages by time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageRecord>,
    /// Counter values in it by time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterRecord>,
    /// What monitoring counters said last of the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node: Vec<CounterRecord>,
    /// Where work on an accelerator ran: facts of its stream, as name and value.
    #[serde(default, with = "json::facts", skip_serializing_if = "Vec::is_empty")]
    pub accelerator: Vec<(String, String)>,
    /// What launched it, where it is work on an accelerator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch: Option<LaunchRecord>,
    /// What is left out, see [`RecorderParams::frames`](super::RecorderParams::frames) and
    /// [`RecorderParams::notes`](super::RecorderParams::notes).
    #[serde(default, skip_serializing_if = "json::is_default")]
    pub left_out: LeftOut,
}

impl Record {
    /// Stack and function as one text, such as `main / solve / dot`: the same in all runs. Where calls
    /// are left out it begins with `..`.
    pub fn path(&self) -> String {
        let left_out = (self.left_out.frames > 0).then_some("..");
        let stack = self.stack.iter().map(|one| one.function.as_str());
        let mut names: Vec<&str> = left_out.into_iter().chain(stack).collect();
        names.push(&self.call.function);
        names.join(" / ")
    }
}

/// What a model was when calls were judged by it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelRecord {
    /// What records refer to: unique in a store, from 1.
    pub id: u64,
    /// The program.
    pub program: u32,
    /// The function or call path.
    pub function: String,
    /// The step after which it was so.
    pub step: u64,
    /// The detector.
    pub detector: String,
    /// What it says, as names and numbers: see [`Detector::describe`](crate::Detector::describe). Times are in
    /// nanoseconds, shares of 1.
    #[serde(with = "json::numbers")]
    pub facts: Vec<(String, f64)>,
}

impl ModelRecord {
    /// Returns the facts as text with units, see [`facts_text`](crate::facts_text).
    pub fn text(&self) -> Vec<String> {
        crate::facts_text(&self.facts)
    }
}

/// What is known of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StreamRecord {
    /// The program.
    pub program: u32,
    /// The rank in the program.
    pub rank: u32,
    /// The thread in the rank.
    pub thread: u32,
    /// Facts such as the host, as name and value.
    #[serde(default, with = "json::facts", skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<(String, String)>,
}

/// What is known of the run: who looked, and what was filtered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunRecord {
    /// Version of this crate.
    pub version: String,
    /// The detector.
    pub detector: String,
    /// Filters and further facts, as name and value.
    #[serde(default, with = "json::facts", skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<(String, String)>,
}

/// One thing in a store.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Entry {
    /// What is known of the run; first in a store.
    Run(RunRecord),
    /// What is known of a stream; a later one of the same stream replaces it.
    Stream(StreamRecord),
    /// A model, before the records that refer to it.
    Model(ModelRecord),
    /// A call.
    Call(Box<Record>),
}

/// The line of JSON that stores keep of it.
impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut line = String::new();
        json::write(self, &mut line);
        f.write_str(&line)
    }
}

/// From the line that stores keep of it.
///
/// ```
/// use perf_anomaly::provenance::Entry;
/// let line = r#"{"type":"stream","program":1,"rank":2,"thread":0,"facts":{"Hostname":"n7"}}"#;
/// let entry: Entry = line.parse()?;
/// assert_eq!(entry.to_string(), line);
/// assert!("{}".parse::<Entry>().is_err());
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
impl std::str::FromStr for Entry {
    type Err = Error;

    fn from_str(line: &str) -> Result<Self> {
        json::read(line).map_err(Error::Entry)
    }
}
