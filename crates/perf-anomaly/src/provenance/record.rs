//! [`Record`]: stored call with its context; [`Entry`]: any entry of a store, which is a record or
//! describes a model ([`ModelRecord`]), a stream or the run.

use super::json;
use crate::{Error, Label, Result};
use perf_core::{Nanos, Value};
use serde::{Deserialize, Serialize};

/// A recorded call, or a call of its surroundings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallRecord {
    /// Id of its enter, `rank:step:index`, see [`Calls::event_id`](crate::calls::Calls::event_id).
    pub id: String,
    /// Region.
    pub function: String,
    /// Number in the order of entry on its stream.
    pub number: u64,
    /// Number of the calling call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<u64>,
    /// Time of the enter.
    pub entry: Nanos,
    /// Time of the exit; `None` if the call was still open when it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<Nanos>,
    /// `true` if the call was known to be abnormal when it was recorded.
    #[serde(default, rename = "anomaly", skip_serializing_if = "json::is_default")]
    pub is_anomaly: bool,
}

/// Message of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MessageRecord {
    /// Time.
    pub at: Nanos,
    /// `true` if the message was sent, `false` if it was received.
    #[serde(rename = "kind", with = "json::direction")]
    pub is_sent: bool,
    /// Rank of the peer.
    pub rank: u32,
    /// Message tag.
    pub tag: u32,
    /// Length in bytes.
    pub bytes: u64,
}

/// Value of a counter, in a call or of the node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CounterRecord {
    /// Time.
    pub at: Nanos,
    /// Name of the counter, or field of the node.
    pub name: String,
    /// Value.
    #[serde(with = "json::value")]
    pub value: Value,
}

/// Launch of work on an accelerator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LaunchRecord {
    /// Id of its enter, `rank:step:index`.
    pub id: String,
    /// Thread on which the launch ran.
    pub thread: u32,
    /// Time of the enter.
    pub entry: Nanos,
    /// Regions of the callers and of the launch, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// Correlation id shared with the work.
    pub correlation: u64,
    /// Number of outermost regions dropped from the path.
    #[serde(default, skip_serializing_if = "json::is_default")]
    pub left_out: u64,
}

/// Numbers of items dropped from a record because of its limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LeftOut {
    /// Number of dropped callers, which are the outermost ones.
    #[serde(skip_serializing_if = "json::is_default")]
    pub frames: u64,
    /// Number of dropped messages, which are the first ones.
    #[serde(skip_serializing_if = "json::is_default")]
    pub messages: u64,
    /// Number of dropped counter values, which are the first ones.
    #[serde(skip_serializing_if = "json::is_default")]
    pub counters: u64,
    /// Number of dropped values of the node, which are the first ones.
    #[serde(skip_serializing_if = "json::is_default")]
    pub node: u64,
}

/// Reason for recording a call.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// The call is abnormal.
    #[default]
    Anomaly,
    /// The call is a normal execution, recorded for comparison, of a function that had an anomaly
    /// on the same stream.
    Normal,
}

/// Recorded call with its context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// Reason for recording the call.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Label of the detector.
    pub label: Label,
    /// Name of the model: the function, or all functions on a call path.
    pub function: String,
    /// The program.
    pub program: u32,
    /// Rank in the program.
    pub rank: u32,
    /// Thread in the rank.
    pub thread: u32,
    /// Step in which the call was completed.
    pub step: u64,
    /// Host of the rank; `None` if the stream has no such property.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Score; higher is rarer.
    #[serde(deserialize_with = "json::number::deserialize")]
    pub score: f64,
    /// Time above the expected one, in nanoseconds; time lost unless the call [waits](Self::waits).
    pub severity: Nanos,
    /// `true` if the function [waits](crate::calls::Calls::waits) for others, so that the time was lost elsewhere.
    #[serde(default, skip_serializing_if = "json::is_default")]
    pub waits: bool,
    /// Run time that the model expects; `None` if it has no expectation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Nanos>,
    /// Run time that was judged.
    pub runtime: Nanos,
    /// Exclusive time.
    pub exclusive: Nanos,
    /// `true` if the call was the first of its model on its stream.
    #[serde(default, skip_serializing_if = "json::is_default")]
    pub first: bool,
    /// Number of the model that judged the call, see [`ModelRecord::id`]; 0 for none.
    #[serde(default, skip_serializing_if = "json::is_default")]
    pub model: u64,
    /// Repair that ended the call, if its end was not recorded: `closed by outer`,
    /// `closed by other name`, `closed at end`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<String>,
    /// The call.
    pub call: CallRecord,
    /// Callers, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<CallRecord>,
    /// Calls entered before it on its stream, in order of entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<CallRecord>,
    /// Calls entered after it on its stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<CallRecord>,
    /// Messages in the call and not in its callees, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageRecord>,
    /// Counter values in the call and not in its callees, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterRecord>,
    /// Last values of the counters that describe the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node: Vec<CounterRecord>,
    /// Place of work on an accelerator: properties of its stream, as name and value.
    #[serde(default, with = "json::facts", skip_serializing_if = "Vec::is_empty")]
    pub accelerator: Vec<(String, String)>,
    /// Launch, for work on an accelerator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch: Option<LaunchRecord>,
    /// Dropped items, see [`RecorderParams::frames`](super::RecorderParams::frames) and
    /// [`RecorderParams::notes`](super::RecorderParams::notes).
    #[serde(default, skip_serializing_if = "json::is_default")]
    pub left_out: LeftOut,
}

impl Record {
    /// Returns the time lost: [`severity`](Self::severity), or 0 for a call that waits for others.
    ///
    /// ```
    /// use perf_anomaly::provenance::Record;
    /// use perf_core::Nanos;
    /// let mut record = Record::default();
    /// (record.severity, record.waits) = (Nanos(7), true);
    /// assert_eq!(record.time_lost(), Nanos(0));
    /// ```
    pub fn time_lost(&self) -> Nanos {
        if self.waits { Nanos(0) } else { self.severity }
    }

    /// Returns the time above the expected one of a call that waits for others, otherwise 0.
    ///
    /// ```
    /// use perf_anomaly::provenance::Record;
    /// use perf_core::Nanos;
    /// let mut record = Record::default();
    /// (record.severity, record.waits) = (Nanos(7), true);
    /// assert_eq!(record.waiting(), Nanos(7));
    /// ```
    pub fn waiting(&self) -> Nanos {
        if self.waits { self.severity } else { Nanos(0) }
    }

    /// Returns the name of the region of the call, with the size of its messages if it is judged by calls
    /// with messages of about this size.
    ///
    /// ```
    /// use perf_anomaly::provenance::Record;
    /// let mut record = Record::default();
    /// record.call.function = "MPI_Send".into();
    /// record.function = "MPI_Send of 4 KiB to 64 KiB".into();
    /// assert_eq!(record.sized_function(), "MPI_Send of 4 KiB to 64 KiB");
    /// record.function = "main / MPI_Send".into();
    /// assert_eq!(record.sized_function(), "MPI_Send");
    /// ```
    pub fn sized_function(&self) -> &str {
        match self.function.strip_prefix(&self.call.function) {
            Some(size) if size.starts_with(" of ") => &self.function,
            _ => &self.call.function,
        }
    }

    /// Returns the names of the callers and the function as one text, such as `main / solve / dot`,
    /// which is comparable between runs. The text begins with `..` if callers were dropped.
    pub fn path(&self) -> String {
        let left_out = (self.left_out.frames > 0).then_some("..");
        let stack = self.stack.iter().map(|one| one.function.as_str());
        let mut names: Vec<&str> = left_out.into_iter().chain(stack).collect();
        names.push(&self.call.function);
        names.join(" / ")
    }
}

/// State of a model when calls were judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelRecord {
    /// Number by which records refer to the model; unique in a store, from 1.
    pub id: u64,
    /// The program.
    pub program: u32,
    /// Function or call path.
    pub function: String,
    /// Step after which the model had this state.
    pub step: u64,
    /// Name of the detector.
    pub detector: String,
    /// Facts of the model as names and numbers: see
    /// [`Detector::describe`](crate::Detector::describe). Times are in nanoseconds, shares are
    /// fractions.
    #[serde(with = "json::numbers")]
    pub facts: Vec<(String, f64)>,
}

impl ModelRecord {
    /// Returns the facts as text with units, see [`facts_text`](crate::facts_text).
    pub fn text(&self) -> Vec<String> {
        crate::facts_text(&self.facts)
    }
}

/// Properties of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StreamRecord {
    /// The program.
    pub program: u32,
    /// Rank in the program.
    pub rank: u32,
    /// Thread in the rank.
    pub thread: u32,
    /// Properties such as the host, as name and value.
    #[serde(default, with = "json::facts", skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<(String, String)>,
}

/// Properties of the run: the detector and the filters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunRecord {
    /// Version of this crate.
    pub version: String,
    /// Name of the detector.
    pub detector: String,
    /// Filters and further properties, as name and value.
    #[serde(default, with = "json::facts", skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<(String, String)>,
}

/// Entry of a store.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Entry {
    /// Properties of the run; first in a store.
    Run(RunRecord),
    /// Properties of a stream; a later entry of the same stream replaces it.
    Stream(StreamRecord),
    /// Model; stored before the records that refer to it, except by [`prune`](super::prune).
    Model(ModelRecord),
    /// Recorded call.
    Call(Box<Record>),
}

/// Writes the line of JSON that stores hold.
impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut line = String::new();
        json::write(self, &mut line);
        f.write_str(&line)
    }
}

/// Parses the line of JSON that stores hold.
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
