//! [`Metric`] and typed [`Value`]s.

use crate::{LocationId, MetricId};

/// The type of a metric's values.
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

/// A value of a metric or attribute.
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
    /// As a float, for arithmetic; integers past 2^53 are rounded.
    pub fn as_f64(self) -> f64 {
        match self {
            Value::U64(value) => value as f64,
            Value::I64(value) => value as f64,
            Value::F64(value) => value,
        }
    }

    /// Its 64 bits; [`from_bits`](Self::from_bits) undoes it.
    pub fn to_bits(self) -> u64 {
        match self {
            Value::U64(value) => value,
            Value::I64(value) => value.cast_unsigned(),
            Value::F64(value) => value.to_bits(),
        }
    }

    /// 64 bits read as `kind`.
    pub fn from_bits(kind: ValueType, bits: u64) -> Self {
        match kind {
            ValueType::U64 => Value::U64(bits),
            ValueType::I64 => Value::I64(bits.cast_signed()),
            ValueType::F64 => Value::F64(f64::from_bits(bits)),
        }
    }
}

/// What a sample of a metric says about time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum MetricMode {
    /// A counter that has been rising since the start of the recording.
    #[default]
    Accumulated,
    /// The amount since the last sample.
    Relative,
    /// A value of its own, at this instant or since the last sample.
    Absolute,
    /// Another one, by its number in OTF2.
    Other(u8),
}

/// A metric: what is counted, in which unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Metric {
    /// Name, such as `PAPI_TOT_INS`.
    pub name: String,
    /// What it counts.
    pub description: String,
    /// Unit, such as `#` or `bytes`.
    pub unit: String,
    /// Type of the values.
    pub value_type: ValueType,
    /// What a sample says about time.
    pub mode: MetricMode,
    /// The metric it is part of, in profiles.
    pub parent: Option<MetricId>,
}

/// Metrics that are sampled together, in this order, by one event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MetricSet {
    /// The metrics.
    pub members: Vec<MetricId>,
    /// The location they are about, where it is not the one that recorded them.
    pub scope: Option<LocationId>,
    /// Whether they are about more than one location: a process, a node, a device.
    #[cfg_attr(feature = "serde", serde(default))]
    pub is_shared: bool,
}
