//! [`Counters`]: reduces the counter samples of one thread to one value for each requested counter
//! and burst.

use crate::bursts::formula::Fold;
use perf_core::{MetricMode, Value, ValueType};

/// Destination of a metric of a set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feed {
    /// Index among the values of the set.
    pub(super) member: usize,
    /// Slot that receives the value.
    pub(super) slot: usize,
    /// Type of the values.
    pub(super) kind: ValueType,
    /// Mode of the metric.
    pub(super) mode: MetricMode,
}

/// A requested counter.
#[derive(Clone, Debug)]
struct Slot {
    /// Reduction of its samples.
    fold: Fold,
    /// Mode of the metric.
    mode: MetricMode,
    /// Number of samples since the burst began.
    samples: u64,
    /// Sum of integer samples, exact.
    whole: i128,
    /// Sum of floating-point samples.
    real: f64,
    /// Last sample.
    last: Option<Value>,
    /// Last sample at or before the begin of the burst.
    base: Option<Value>,
    /// `true` if an accumulated counter decreased since the burst began.
    fell: bool,
}

/// Counters of one thread.
#[derive(Clone, Debug)]
pub(super) struct Counters {
    /// Requested counters.
    slots: Vec<Slot>,
    /// Number of decreases. A counter that decreased within a burst counts once for the burst.
    pub(super) resets: u64,
}

/// Returns `b - a`, exact for integers; `None` if `b` is less or either is NaN.
fn rise(a: Value, b: Value) -> Option<f64> {
    let whole = |value| match value {
        Value::U64(value) => Some(i128::from(value)),
        Value::I64(value) => Some(i128::from(value)),
        Value::F64(_) => None,
    };
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => (b >= a).then(|| (b - a) as f64),
        _ => Some(b.as_f64() - a.as_f64()).filter(|rise| *rise >= 0.0),
    }
}

impl Counters {
    pub(super) fn new(folds: &[Fold]) -> Self {
        let slot = |&fold| Slot {
            fold,
            mode: MetricMode::Absolute,
            samples: 0,
            whole: 0,
            real: 0.0,
            last: None,
            base: None,
            fell: false,
        };
        Counters {
            slots: folds.iter().map(slot).collect(),
            resets: 0,
        }
    }

    /// Adds samples of a set.
    pub(super) fn sample(&mut self, feeds: &[Feed], values: &[u64]) {
        for feed in feeds {
            let bits = values.get(feed.member);
            if let (Some(bits), Some(slot)) = (bits, self.slots.get_mut(feed.slot)) {
                let value = Value::from_bits(feed.kind, *bits);
                slot.mode = feed.mode;
                slot.samples += 1;
                match value {
                    Value::U64(value) => slot.whole += i128::from(value),
                    Value::I64(value) => slot.whole += i128::from(value),
                    Value::F64(value) => slot.real += value,
                }
                if feed.mode == MetricMode::Accumulated {
                    slot.fell |= slot.last.is_some_and(|last| rise(last, value).is_none());
                }
                slot.last = Some(value);
            }
        }
    }

    /// Begins a burst.
    pub(super) fn begin(&mut self) {
        for slot in &mut self.slots {
            slot.samples = 0;
            slot.whole = 0;
            slot.real = 0.0;
            slot.fell = false;
            slot.base = slot.last;
        }
    }

    /// Ends the burst: adds a value for each slot, NaN if it is missing.
    pub(super) fn end(&mut self, row: &mut Vec<f64>) {
        for slot in &mut self.slots {
            let sum = slot.whole as f64 + slot.real;
            let value = match (slot.fold, slot.mode) {
                (Fold::Mean, _) if slot.samples > 0 => sum / slot.samples as f64,
                (Fold::Natural, MetricMode::Relative) if slot.samples > 0 => sum,
                (Fold::Natural, MetricMode::Accumulated) if slot.samples > 0 => {
                    self.resets += u64::from(slot.fell);
                    match (slot.base, slot.last) {
                        (Some(base), Some(last)) if !slot.fell => {
                            rise(base, last).unwrap_or(f64::NAN)
                        }
                        _ => f64::NAN,
                    }
                }
                (Fold::Natural, MetricMode::Absolute | MetricMode::Other(_)) => {
                    slot.last.map_or(f64::NAN, Value::as_f64)
                }
                _ => f64::NAN,
            };
            row.push(value);
        }
    }
}
