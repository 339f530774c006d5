//! [`FoldOp`] and [`Op`]: operations that combine the states of many streams into one [`Cell`] with
//! its [`Value`].

use crate::{ClassId, Counts, State};

/// Value of a cell.
///
/// ```
/// use perf_fold::{State, Value};
/// let busy = Value::of(State::Class(perf_fold::ClassId(3)));
/// assert_eq!(busy.picture(), Some(perf_fold::ClassId(3)));
/// assert_eq!((Value::of(State::Absent), Value::Uniform.picture()), (Value::Idle, None));
/// assert_eq!(Value::Number(0.25).number(), Some(0.25));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Value {
    /// Idle, or a row without streams. The paper calls this value `None`.
    #[default]
    Idle,
    /// A class.
    Class(ClassId),
    /// `diff`: all streams are in the same state. In a nested fold: all children show the same
    /// value, see [`Nesting::Nested`](crate::Nesting::Nested).
    Uniform,
    /// `diff`: streams differ, and this class is the rarest state.
    Differs(ClassId),
    /// `diff`: streams differ, and idle is the rarest state.
    DiffersIdle,
    /// Number, for operations that compute a number instead of selecting a state.
    Number(f32),
}

impl Value {
    /// Converts a selected state to a value. [`State::Absent`] becomes idle.
    pub fn of(state: State) -> Self {
        state.class().map_or(Value::Idle, Value::Class)
    }

    /// Returns the class that the published pictures paint, or `None`. For `diff` it returns `None`
    /// both if all streams agree and if idle is the rarest state; the value itself distinguishes
    /// these cases.
    pub fn picture(self) -> Option<ClassId> {
        match self {
            Value::Class(class) | Value::Differs(class) => Some(class),
            _ => None,
        }
    }

    /// Returns the number, or `None` if the operation selected a state.
    pub fn number(self) -> Option<f32> {
        match self {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }
}

/// One cell of a fold: its value and the underlying counts.
///
/// With sampling, counts are numbers of streams. With exact selection, they are in stream-ticks.
///
/// ```
/// use perf_fold::Cell;
/// let cell = Cell { distinct: 2, total: 10, winning: 6, ..Cell::default() };
/// assert_eq!(cell.agreement(), 0.6);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Cell {
    /// Value that is shown.
    pub value: Value,
    /// Number of distinct states, including idle.
    pub distinct: u32,
    /// Total count, n in the paper.
    pub total: u64,
    /// Count of the state that is shown; see [`Op`] for operations that show no state.
    pub winning: u64,
    /// Count of idle streams, independent of the rule for absent streams.
    pub idle: u64,
    /// Count of absent streams. Part of `total` unless absent streams are dropped.
    pub absent: u64,
}

impl Cell {
    /// Returns the ratio of `winning` to `total`, for shading. The ratio is 1 if all streams agree
    /// and 0 if `total` is 0.
    pub fn agreement(&self) -> f64 {
        if self.total == 0 {
            return 0.0;
        }
        self.winning as f64 / self.total as f64
    }

    /// Returns the class that the published pictures paint, or `None` for no colour.
    pub fn picture(&self) -> Option<ClassId> {
        self.value.picture()
    }
}

/// Decision of an operation for one cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Choice {
    /// Value that the cell shows.
    pub value: Value,
    /// Weight of that value.
    pub winning: u64,
}

/// Operation that folds the states of many streams into one cell. [`Op`] provides the common
/// operations; implement this trait for others.
///
/// ```
/// use perf_fold::{Choice, Counts, FoldOp, Value};
/// /// How many states there are at once.
/// #[derive(Debug)]
/// struct Variety;
/// impl FoldOp for Variety {
///     fn fold(&self, counts: &Counts<'_>) -> Choice {
///         let number = counts.entries().len() as f32;
///         Choice { value: Value::Number(number), winning: counts.total() }
///     }
///     fn selects(&self) -> bool { false }
/// }
/// ```
pub trait FoldOp: std::fmt::Debug + Send + Sync {
    /// Computes the value of one cell. This method is called for each cell, so it must be fast. The
    /// result must depend on `counts` alone.
    fn fold(&self, counts: &Counts<'_>) -> Choice;

    /// Returns `true` if the operation selects states rather than computing numbers, as nested
    /// folds require. In a nested fold [`Value::Uniform`] and [`Value::DiffersIdle`] of a child
    /// count as idle.
    fn selects(&self) -> bool {
        true
    }
}

/// Predefined operations. c(s) is the weight of state s. Idle counts as a state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Op {
    /// argmax c: the most frequent state.
    #[default]
    Max,
    /// argmin c over the states that occur: the outliers.
    Min,
    /// [`Value::Uniform`] if all states are equal, otherwise the rarest state; `winning` is its
    /// weight.
    Diff,
    /// argmax c over the states other than idle; idle only if all streams are idle. It suits
    /// accelerators, where few of many streams are active at a time.
    Idle,
    /// The state with the most stream-time. It differs from [`Max`](Op::Max) in that it always uses
    /// the exact time in the pixel instead of samples.
    Share,
    /// -sum p ln p over the shares p of the states, in nats: 0 if all streams agree.
    Entropy,
    /// Number of streams in a class, or its mean over the pixel when exact; `winning` is their
    /// weight. A summary timeline consists of rows of this operation, one for each class.
    Count(ClassId),
    /// Outliers: if at least one and at most this many streams are not in the state of
    /// [`Max`](Op::Max), the most frequent state among them; `winning` is their total weight.
    /// Otherwise [`Value::Uniform`].
    Outliers(u32),
    /// The class if any stream is in it, otherwise idle.
    Any(ClassId),
}

impl FoldOp for Op {
    fn fold(&self, counts: &Counts<'_>) -> Choice {
        let select = |entry: Option<crate::Entry>| {
            entry.map_or(Choice::default(), |entry| Choice {
                value: Value::of(entry.state),
                winning: entry.weight,
            })
        };
        let everything = |_| true;
        let busy = |state| state != State::Idle;
        match self {
            Op::Max | Op::Share => select(counts.most(everything)),
            Op::Min if counts.ignores_idle() => {
                select(counts.least(busy).or_else(|| counts.least(everything)))
            }
            Op::Min => select(counts.least(everything)),
            Op::Idle => select(counts.most(busy).or_else(|| counts.most(everything))),
            Op::Diff => match counts.entries() {
                [] | [_] => Choice {
                    value: Value::Uniform,
                    winning: counts.total(),
                },
                _ => differs(counts.least(everything)),
            },
            Op::Entropy => Choice {
                value: Value::Number(entropy(counts)),
                winning: counts.most(everything).map_or(0, |entry| entry.weight),
            },
            Op::Count(class) => {
                let winning = counts.weight(State::Class(*class));
                let streams = winning as f64 / counts.unit().max(1) as f64;
                Choice {
                    value: Value::Number(streams as f32),
                    winning,
                }
            }
            Op::Outliers(most) => {
                let majority = counts.most(everything);
                let others = majority.map_or(0, |entry| counts.total() - entry.weight);
                let limit = u64::from(*most).saturating_mul(counts.unit());
                if others == 0 || others > limit {
                    return Choice {
                        value: Value::Uniform,
                        winning: counts.total() - others,
                    };
                }
                let state = majority.map(|entry| entry.state);
                let chosen = differs(counts.most(|other| Some(other) != state));
                Choice {
                    winning: others,
                    ..chosen
                }
            }
            Op::Any(class) => match counts.weight(State::Class(*class)) {
                0 => Choice {
                    value: Value::Idle,
                    winning: counts.total(),
                },
                winning => Choice {
                    value: Value::Class(*class),
                    winning,
                },
            },
        }
    }

    fn selects(&self) -> bool {
        !matches!(self, Op::Entropy | Op::Count(_))
    }
}

fn differs(entry: Option<crate::Entry>) -> Choice {
    entry.map_or(Choice::default(), |entry| Choice {
        value: entry
            .state
            .class()
            .map_or(Value::DiffersIdle, Value::Differs),
        winning: entry.weight,
    })
}

fn entropy(counts: &Counts<'_>) -> f32 {
    let total = counts.total() as f64;
    if counts.entries().len() < 2 || total == 0.0 {
        return 0.0;
    }
    // The states are in the order in which they first occur in the streams, and this order is
    // fixed. The rounding of the sum therefore does not depend on the number of threads.
    let mut sum = 0.0;
    for entry in counts.entries() {
        let p = entry.weight as f64 / total;
        sum -= p * p.ln();
    }
    sum as f32
}
