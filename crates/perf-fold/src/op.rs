//! Operations: from the states of many streams to one cell.

use crate::{ClassId, Counts, State};

/// What a cell shows.
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
    /// The paper's `None`: idle, or no stream at all.
    #[default]
    Idle,
    /// A class.
    Class(ClassId),
    /// `diff`: all streams are in the same state, whichever it is. In a nested fold: all children
    /// show the same, see [`Nesting::Nested`](crate::Nesting::Nested).
    Uniform,
    /// `diff`: streams differ, and this is the rarest state.
    Differs(ClassId),
    /// `diff`: streams differ, and the idle ones are the rarest.
    DiffersIdle,
    /// A measure, for operations that select no state.
    Number(f32),
}

impl Value {
    /// A selected state as a value. [`State::Absent`] shows as idle.
    pub fn of(state: State) -> Self {
        state.class().map_or(Value::Idle, Value::Class)
    }

    /// What the published pictures paint: a class, or `None`. For `diff` this is `None` both
    /// where all are equal and where the idle ones are the minority, which the value tells apart.
    pub fn picture(self) -> Option<ClassId> {
        match self {
            Value::Class(class) | Value::Differs(class) => Some(class),
            _ => None,
        }
    }

    /// The measure of an operation that selects no state.
    pub fn number(self) -> Option<f32> {
        match self {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }
}

/// One cell of a fold: what it shows, and the counts behind it.
///
/// Counts are of streams when sampled and of stream-ticks when exact.
///
/// ```
/// use perf_fold::Cell;
/// let cell = Cell { distinct: 2, total: 10, winning: 6, ..Cell::default() };
/// assert_eq!(cell.agreement(), 0.6);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Cell {
    /// What it shows.
    pub value: Value,
    /// Number of distinct states, idle among them.
    pub distinct: u32,
    /// All that was counted: n.
    pub total: u64,
    /// How much of it is in the state shown; see [`Op`] for operations that show none.
    pub winning: u64,
    /// How much is idle, whatever the rule for absent streams.
    pub idle: u64,
    /// How much is absent. Part of `total` unless absent streams are left out.
    pub absent: u64,
}

impl Cell {
    /// The share of `winning` in `total`, to shade by: 1 where all agree, 0 where n is 0.
    pub fn agreement(&self) -> f64 {
        if self.total == 0 {
            return 0.0;
        }
        self.winning as f64 / self.total as f64
    }

    /// The class that the published pictures paint, `None` for no colour.
    pub fn picture(&self) -> Option<ClassId> {
        self.value.picture()
    }
}

/// What an operation decided.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Choice {
    /// What the cell shows.
    pub value: Value,
    /// The weight behind it.
    pub winning: u64,
}

/// An operation that folds the states of many streams into one cell. [`Op`] has the known ones;
/// implement this for one's own.
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
    /// Decides one cell. Called once a cell: must be cheap and must depend on `counts` alone.
    fn fold(&self, counts: &Counts<'_>) -> Choice;

    /// Whether it selects states rather than giving numbers; nested folds need states. There
    /// [`Value::Uniform`] and [`Value::DiffersIdle`] of a child count as idle.
    fn selects(&self) -> bool {
        true
    }
}

/// The known operations. c(s) is the weight of state s; idle is a state like any other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Op {
    /// argmax c: what most streams do.
    #[default]
    Max,
    /// argmin c over the states that occur: the outliers.
    Min,
    /// [`Value::Uniform`] if all are equal, else the state of [`Min`](Op::Min); `winning` is then
    /// its weight.
    Diff,
    /// argmax c over the states that are not idle; idle only if all are. For accelerators, where
    /// a few of many streams work at a time.
    Idle,
    /// As [`Max`](Op::Max), always by exact time in the pixel and never by samples: the state
    /// with most stream-time.
    Share,
    /// -sum p ln p over the shares p of the states, in nats: 0 where all agree.
    Entropy,
    /// How many streams are in a class (a mean over the pixel when exact); `winning` is their
    /// weight. A row of these a class is the summary timeline.
    Count(ClassId),
    /// Where at least one and at most this many streams are not in the state of
    /// [`Max`](Op::Max): the state most of those are in, `winning` is their weight together.
    /// Else [`Value::Uniform`].
    Outliers(u32),
    /// The class if any stream is in it, else idle.
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
    // The order in which states were first seen is that of the streams, which is fixed: the
    // rounding of the sum does not depend on threads.
    let mut sum = 0.0;
    for entry in counts.entries() {
        let p = entry.weight as f64 / total;
        sum -= p * p.ln();
    }
    sum as f32
}
