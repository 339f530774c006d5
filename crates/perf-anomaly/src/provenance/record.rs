//! [`Record`]: all that is kept of a call.

use crate::{Error, Label, Result};
use perf_core::{Nanos, Value};

/// A call of the surroundings of another one, or the call itself.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CallRecord {
    /// `rank:step:index` of its enter, see [`Calls::event_id`](crate::calls::Calls::event_id).
    pub id: String,
    /// The region.
    pub function: String,
    /// Its place in the order of entry on its stream.
    pub number: u64,
    /// The number of the call that made it.
    pub caller: Option<u64>,
    /// When it was entered.
    pub entry: Nanos,
    /// When it was left; `None` if it was still open when it was recorded.
    pub exit: Option<Nanos>,
    /// Whether it was known to be abnormal by then.
    pub is_anomaly: bool,
}

/// A message of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageRecord {
    /// When.
    pub at: Nanos,
    /// Whether it was sent, not received.
    pub is_sent: bool,
    /// The rank at the other end.
    pub rank: u32,
    /// The message tag.
    pub tag: u32,
    /// Length in bytes.
    pub bytes: u64,
}

/// A value of a counter: in a call, or of the node.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CounterRecord {
    /// When.
    pub at: Nanos,
    /// The counter, or the field of the node.
    pub name: String,
    /// Its value.
    pub value: Value,
}

/// What launched work on an accelerator.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LaunchRecord {
    /// `rank:step:index` of its enter.
    pub id: String,
    /// The thread it ran on.
    pub thread: u32,
    /// When it was entered.
    pub entry: Nanos,
    /// The regions it ran in and its own, the outermost first.
    pub path: Vec<String>,
    /// The correlation id that it shares with the work.
    pub correlation: u64,
    /// How many of the outermost regions are left out of the path.
    pub left_out: u64,
}

/// What a record would have beside, were it not too much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Calls it ran in, the outermost ones.
    pub frames: u64,
    /// Messages of its own, the first ones.
    pub messages: u64,
    /// Counter values, the first ones.
    pub counters: u64,
    /// Values of the node.
    pub node: u64,
}

/// Why a call was kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// It is abnormal.
    #[default]
    Anomaly,
    /// It is a normal execution of a function on a stream that had an anomaly, for comparison.
    Normal,
}

/// A call with all that is known around it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Record {
    /// Why it was kept.
    pub kind: Kind,
    /// The program.
    pub program: u32,
    /// The rank in the program.
    pub rank: u32,
    /// The thread in the rank.
    pub thread: u32,
    /// The host of the rank, where the stream tells.
    pub host: Option<String>,
    /// What has the model: the function, or all functions on a call path.
    pub function: String,
    /// The step in which it was completed.
    pub step: u64,
    /// The call.
    pub call: CallRecord,
    /// Time in the call and in no call it made.
    pub exclusive: Nanos,
    /// The run time that was judged.
    pub runtime: Nanos,
    /// Whether it was the first call of its model on its stream.
    pub first: bool,
    /// What the detector says it is.
    pub label: Label,
    /// How unusual it is.
    pub score: f64,
    /// Time lost.
    pub severity: Nanos,
    /// The run time the model expects.
    pub expected: Option<Nanos>,
    /// The model it was judged by, see [`ModelRecord::id`]; 0 for none.
    pub model: u64,
    /// How its end came about, if it is not the recording's own: `closed by outer`, `closed by other
    /// name`, `closed at end`.
    pub repair: Option<String>,
    /// The calls it ran in, the outermost first.
    pub stack: Vec<CallRecord>,
    /// The calls entered before it on its stream, in order of entry.
    pub before: Vec<CallRecord>,
    /// The calls entered after it on its stream.
    pub after: Vec<CallRecord>,
    /// Its own messages by time.
    pub messages: Vec<MessageRecord>,
    /// Counter values in it by time.
    pub counters: Vec<CounterRecord>,
    /// What monitoring counters said last of the node.
    pub node: Vec<CounterRecord>,
    /// Where work on an accelerator ran: facts of its stream, as name and value.
    pub accelerator: Vec<(String, String)>,
    /// What launched it, where it is work on an accelerator.
    pub launch: Option<LaunchRecord>,
    /// What is left out, see [`RecorderParams::frames`](super::RecorderParams::frames) and
    /// [`RecorderParams::notes`](super::RecorderParams::notes).
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
#[derive(Clone, Debug, Default, PartialEq)]
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
    pub facts: Vec<(String, f64)>,
}

impl ModelRecord {
    /// Returns the facts as text with units, see [`facts_text`](crate::facts_text).
    pub fn text(&self) -> Vec<String> {
        crate::facts_text(&self.facts)
    }
}

/// What is known of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamRecord {
    /// The program.
    pub program: u32,
    /// The rank in the program.
    pub rank: u32,
    /// The thread in the rank.
    pub thread: u32,
    /// Facts such as the host, as name and value.
    pub facts: Vec<(String, String)>,
}

/// What is known of the run: who looked, and what was filtered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunRecord {
    /// Version of this crate.
    pub version: String,
    /// The detector.
    pub detector: String,
    /// Filters and further facts, as name and value.
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
        super::json::write(self, &mut line);
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
        super::parse::read(line).map_err(Error::Entry)
    }
}
