//! [`Metric`]: definition of a metric with its [`MetricMode`]; [`MetricSet`]: metrics that are
//! sampled together; [`ValueType`] and [`Value`]: types and values of metrics and attributes.

use crate::{LocationId, MetricId};

/// Type of the values of a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ValueType {
    /// Unsigned 64-bit integers.
    #[default]
    U64,
    /// Signed 64-bit integers.
    I64,
    /// 64-bit floating point.
    F64,
}

/// Value of a metric or attribute.
///
/// ```
/// use perf_core::{Value, ValueType};
/// let value = Value::I64(-3);
/// assert_eq!(value.as_f64(), -3.0);
/// assert_eq!(Value::from_bits(ValueType::I64, value.to_bits()), value);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Value {
    /// Unsigned.
    U64(u64),
    /// Signed.
    I64(i64),
    /// Floating point.
    F64(f64),
}

impl Value {
    /// Returns the value as a float; integers above 2^53 are rounded.
    pub fn as_f64(self) -> f64 {
        match self {
            Value::U64(value) => value as f64,
            Value::I64(value) => value as f64,
            Value::F64(value) => value,
        }
    }

    /// Returns the 64 bits of the value; [`from_bits`](Self::from_bits) is the inverse.
    pub fn to_bits(self) -> u64 {
        match self {
            Value::U64(value) => value,
            Value::I64(value) => value.cast_unsigned(),
            Value::F64(value) => value.to_bits(),
        }
    }

    /// Interprets 64 bits as a value of type `kind`.
    pub fn from_bits(kind: ValueType, bits: u64) -> Self {
        match kind {
            ValueType::U64 => Value::U64(bits),
            ValueType::I64 => Value::I64(bits.cast_signed()),
            ValueType::F64 => Value::F64(f64::from_bits(bits)),
        }
    }
}

/// Relation of a metric sample to time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum MetricMode {
    /// Counter that increases from the start of the recording.
    #[default]
    Accumulated,
    /// Increase since the last sample.
    Relative,
    /// Value that is independent of earlier samples, valid at this instant or since the last
    /// sample.
    Absolute,
    /// Another mode, by its number in OTF2.
    Other(u8),
}

/// Definition of a metric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Metric {
    /// Name, such as `PAPI_TOT_INS`.
    pub name: String,
    /// Description.
    pub description: String,
    /// Unit, such as `#` or `bytes`.
    pub unit: String,
    /// Type of the values.
    pub value_type: ValueType,
    /// Relation of a sample to time.
    pub mode: MetricMode,
    /// Parent metric in the metric tree of a profile.
    pub parent: Option<MetricId>,
}

/// Metrics that one event samples together, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MetricSet {
    /// Metrics in order.
    pub members: Vec<MetricId>,
    /// Location that the metrics describe, if this is not the location that recorded them.
    pub scope: Option<LocationId>,
    /// `true` if the metrics describe more than one location: a process, a node or a device.
    #[cfg_attr(feature = "serde", serde(default))]
    pub is_shared: bool,
}
