//! Interpreter of CubePL: evaluates a parsed [`Program`] for all locations of a call path at once,
//! or executes it to initialise the variables that programs share, [`State`].

use super::{Expression, Fact, Facts, Indexed, Operation, Problem, Program, Slot, Statement};
use perf_core::{CallPathId, CancellationChecks, Job, MetricId, Scope};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Values of variables by name and index. A variable that is no array has index 0.
type Variables = HashMap<Slot, BTreeMap<u64, Value>>;

/// Variables that programs share.
#[derive(Clone, Debug, Default)]
pub(in crate::cube) struct State {
    /// Variables that are declared as global.
    declared: HashSet<Slot>,
    /// Their values.
    values: Variables,
    /// Kinds of values that programs set, such as `VOID`, by metric.
    pub(in crate::cube) kinds: BTreeMap<MetricId, String>,
}

/// Value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// The same number for all locations.
    Number(f64),
    Text(Arc<str>),
    /// A number for each location.
    Row(Vec<f64>),
}

impl Value {
    /// Returns the number of numbers or texts.
    fn len(&self) -> usize {
        match self {
            Value::Row(row) => row.len(),
            _ => 1,
        }
    }
}

/// Reason why a program has no value.
#[derive(Debug)]
pub(in crate::cube) enum Failure {
    /// Defect of the program.
    Program(Problem),
    /// A condition holds for some locations only: each must be evaluated alone.
    Mixed,
    /// Error of the rows that the program reads, or cancellation.
    Read(perf_core::Error),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Failure::Program(problem)
    }
}

impl From<perf_core::Cancelled> for Failure {
    fn from(cancelled: perf_core::Cancelled) -> Self {
        Failure::Read(cancelled.into())
    }
}

type Result<T> = std::result::Result<T, Failure>;

/// Returns the row of a metric in a scope.
pub(in crate::cube) type Fetch<'f> = dyn FnMut(MetricId, Scope) -> perf_core::Result<Vec<f64>> + 'f;

/// Evaluation of one program.
struct Machine<'a, 'f> {
    /// Facts of the profile.
    facts: &'a Facts,
    /// Shared variables: owned while a program initialises them.
    state: Cow<'a, State>,
    /// Variables of the program.
    locals: Variables,
    /// Call path for which the program is evaluated.
    path: Option<CallPathId>,
    /// Scope of metrics without one.
    scope: Scope,
    /// Number of locations.
    count: usize,
    /// Number of executed statements.
    steps: u64,
    /// Cancellation checks of the job.
    checks: CancellationChecks<'a>,
    /// Number of numbers and texts that the variables hold.
    held: usize,
    /// Reads the rows of metrics.
    fetch: &'a mut Fetch<'f>,
}

/// Maximum number of statements of a program that initialises variables.
const MAX_INIT_STEPS: u64 = 100_000_000;

/// Maximum number of statements of a program that is evaluated for a call path.
const MAX_STEPS: u64 = 1_000_000;

/// Work of a statement without locations, in the units of [`CancellationChecks`].
const STEP_WORK: usize = 16;

/// Maximum number of numbers and texts that the variables of a program hold: one for each of four million call paths.
const MAX_HELD: usize = 1 << 22;

impl Program {
    /// Executes a program that initialises shared variables.
    pub(in crate::cube) fn initialise(
        &self,
        facts: &Facts,
        state: &mut State,
        job: &Job,
    ) -> Result<()> {
        let fetch = &mut |_, _| Ok(Vec::new());
        let mut machine = Machine {
            facts,
            state: Cow::Owned(std::mem::take(state)),
            locals: Variables::new(),
            path: None,
            scope: Scope::Inclusive,
            count: 0,
            steps: 0,
            checks: job.checks(),
            held: 0,
            fetch,
        };
        let done = machine.statements(&self.0);
        *state = machine.state.into_owned();
        done.map(drop)
    }

    /// Evaluates a program for each of `count` locations of a call path.
    pub(in crate::cube) fn evaluate(
        &self,
        (facts, state): (&Facts, &State),
        (path, scope): (Option<CallPathId>, Scope),
        count: usize,
        fetch: &mut Fetch<'_>,
        job: &Job,
    ) -> Result<Vec<f64>> {
        let mut rows: HashMap<(MetricId, Scope), Vec<f64>> = HashMap::new();
        let mut run = |count, column: Option<usize>| {
            let mut kept = |metric, scope| {
                let row = match rows.entry((metric, scope)) {
                    std::collections::hash_map::Entry::Occupied(row) => row.into_mut(),
                    std::collections::hash_map::Entry::Vacant(slot) => {
                        slot.insert(fetch(metric, scope)?)
                    }
                };
                Ok(match column {
                    Some(column) => row.get(column..=column).unwrap_or_default().to_vec(),
                    None => row.clone(),
                })
            };
            let mut machine = Machine {
                facts,
                state: Cow::Borrowed(state),
                locals: Variables::new(),
                path,
                scope,
                count,
                steps: 0,
                checks: job.checks(),
                held: 0,
                fetch: &mut kept,
            };
            let value = machine.statements(&self.0)?;
            machine.row(value.unwrap_or(Value::Number(0.0)))
        };
        match run(count, None) {
            Err(Failure::Mixed) => {
                let columns = (0..count).map(|column| run(1, Some(column)));
                let columns: Vec<Vec<f64>> = columns.collect::<Result<_>>()?;
                Ok(columns.concat())
            }
            done => done,
        }
    }
}

impl Machine<'_, '_> {
    /// Executes statements. Returns the value of a `return` that was reached.
    fn statements(&mut self, all: &[Statement]) -> Result<Option<Value>> {
        for statement in all {
            self.step(0)?;
            match statement {
                Statement::Assign {
                    at,
                    slot,
                    index,
                    value,
                } => {
                    let value = self.value(value)?;
                    let index = match index {
                        Some(index) => self.index(index)?,
                        None => 0,
                    };
                    self.assign(*at, *slot, index, value)?;
                }
                Statement::If { arms, otherwise } => {
                    let mut chosen = otherwise;
                    for (condition, body) in arms {
                        if self.holds(condition)? {
                            chosen = body;
                            break;
                        }
                    }
                    if let Some(value) = self.statements(chosen)? {
                        return Ok(Some(value));
                    }
                }
                Statement::While {
                    at,
                    condition,
                    body,
                } => {
                    while self.holds(condition)? {
                        self.step(*at)?;
                        if let Some(value) = self.statements(body)? {
                            return Ok(Some(value));
                        }
                    }
                }
                Statement::Return(value) => return self.value(value).map(Some),
                Statement::Global(slot) => {
                    if self.is_initialising() {
                        self.state.to_mut().declared.insert(*slot);
                    }
                }
                Statement::SetValues(metric, value) => {
                    let kind = self.text(value)?.to_string();
                    if let Some(metric) = metric.filter(|_| self.is_initialising()) {
                        self.state.to_mut().kinds.insert(metric, kind);
                    }
                }
            }
        }
        Ok(None)
    }

    /// Returns `true` if the program initialises shared variables.
    fn is_initialising(&self) -> bool {
        matches!(self.state, Cow::Owned(_))
    }

    /// Counts a statement, which takes time for each location.
    fn step(&mut self, at: usize) -> Result<()> {
        self.steps += 1;
        let most = if self.is_initialising() {
            MAX_INIT_STEPS
        } else {
            MAX_STEPS
        };
        if self.steps > most {
            let what = format!("the program executes more than {most} statements");
            return Err(Problem::new(at, what).into());
        }
        Ok(self.checks.next(STEP_WORK + self.count)?)
    }

    fn assign(&mut self, at: usize, slot: Slot, index: u64, value: Value) -> Result<()> {
        let variables = if !self.state.declared.contains(&slot) {
            &mut self.locals
        } else if let Cow::Owned(state) = &mut self.state {
            &mut state.values
        } else {
            let what = "assigning a global variable outside of <cubeplinit> is not supported";
            return Err(Problem::new(at, what).into());
        };
        self.held += value.len();
        let replaced = variables.entry(slot).or_default().insert(index, value);
        self.held = self
            .held
            .saturating_sub(replaced.map_or(0, |value| value.len()));
        if self.held > MAX_HELD {
            let what = format!("the variables hold more than {MAX_HELD} values");
            return Err(Problem::new(at, what).into());
        }
        Ok(())
    }

    fn holds(&mut self, condition: &Expression) -> Result<bool> {
        match self.value(condition)? {
            Value::Row(row) => {
                let mut truths = row.iter().map(|value| *value != 0.0);
                let first = truths.next().unwrap_or_default();
                if truths.all(|truth| truth == first) {
                    Ok(first)
                } else {
                    Err(Failure::Mixed)
                }
            }
            other => Ok(number(&other) != 0.0),
        }
    }

    /// Returns the value of an index.
    fn index(&mut self, of: &Indexed) -> Result<u64> {
        let value = match self.value(&of.index)? {
            Value::Row(row) if row.len() == 1 => row[0],
            Value::Row(_) => return Err(Failure::Mixed),
            other => number(&other),
        };
        if value >= 0.0 && value.fract() == 0.0 && value < u64::MAX as f64 {
            Ok(value as u64)
        } else {
            Err(Problem::new(of.at, format!("{value} is not an index")).into())
        }
    }

    fn text(&mut self, of: &Expression) -> Result<Arc<str>> {
        match self.value(of)? {
            Value::Text(text) => Ok(text),
            Value::Number(number) => Ok(number.to_string().into()),
            Value::Row(row) if row.len() == 1 => Ok(row[0].to_string().into()),
            Value::Row(_) => Err(Failure::Mixed),
        }
    }

    /// Returns a value as one number for each location.
    fn row(&self, value: Value) -> Result<Vec<f64>> {
        Ok(match value {
            Value::Row(row) => row,
            other => vec![number(&other); self.count],
        })
    }

    fn value(&mut self, of: &Expression) -> Result<Value> {
        Ok(match of {
            Expression::Number(number) => Value::Number(*number),
            Expression::Text(text) => Value::Text(Arc::clone(text)),
            Expression::Metric(metric, scope) => {
                let row = (self.fetch)(*metric, scope.unwrap_or(self.scope));
                Value::Row(row.map_err(Failure::Read)?)
            }
            Expression::Variable(slot, index) => {
                let index = match index {
                    Some(index) => self.index(index)?,
                    None => 0,
                };
                let own = self.locals.get(slot);
                let known = own.or_else(|| self.state.values.get(slot));
                let value = known.and_then(|values| values.get(&index));
                value.cloned().unwrap_or(Value::Number(0.0))
            }
            Expression::Fact(fact, index) => {
                let (index, at) = match (fact, index) {
                    (Fact::ThisPath | Fact::ThisRegion, _) | (_, None) => {
                        (self.path.map(|path| path.0.into()), 0)
                    }
                    (_, Some(index)) => (Some(self.index(index)?), index.at),
                };
                self.facts.get(*fact, index, at)?
            }
            Expression::Negative(of) => map(self.value(of)?, |value| -value),
            Expression::Not(of) => map(self.value(of)?, |value| truth(value == 0.0)),
            Expression::Call(function, of) => map(self.value(of)?, function),
            Expression::Match(of, regex) => Value::Number(truth(regex.is_match(&self.text(of)?))),
            Expression::Chain(first, rest) => {
                let mut left = self.value(first)?;
                for (operation, right) in rest {
                    left = self.operation(*operation, left, right)?;
                }
                left
            }
        })
    }

    fn operation(&mut self, of: Operation, left: Value, right: &Expression) -> Result<Value> {
        match of {
            Operation::SameText | Operation::SimilarText => {
                let right = self.text(right)?;
                let left = match left {
                    Value::Text(text) => text,
                    Value::Number(number) => number.to_string().into(),
                    Value::Row(_) => return Err(Failure::Mixed),
                };
                let is_same = match of {
                    Operation::SameText => left == right,
                    _ => similar(&left) == similar(&right),
                };
                return Ok(Value::Number(truth(is_same)));
            }
            // A mask is 0 for most call paths: their metrics are not read.
            Operation::Multiply | Operation::And if is_zero(&left) => {
                return Ok(Value::Number(0.0));
            }
            _ => {}
        }
        let right = self.value(right)?;
        Ok(match (left, right) {
            (Value::Row(mut left), Value::Row(right)) => {
                for (left, right) in left.iter_mut().zip(right) {
                    *left = of.apply(*left, right);
                }
                Value::Row(left)
            }
            (Value::Row(left), right) => {
                let right = number(&right);
                map(Value::Row(left), |left| of.apply(left, right))
            }
            (left, Value::Row(right)) => {
                let left = number(&left);
                map(Value::Row(right), |right| of.apply(left, right))
            }
            (left, right) => Value::Number(of.apply(number(&left), number(&right))),
        })
    }
}

fn is_zero(value: &Value) -> bool {
    matches!(value, Value::Number(number) if *number == 0.0)
}

fn truth(is: bool) -> f64 {
    f64::from(u8::from(is))
}

/// Returns a value that is no row as a number; a text that is none is 0.
fn number(value: &Value) -> f64 {
    match value {
        Value::Number(number) => *number,
        Value::Text(text) => text.trim().parse().unwrap_or(0.0),
        Value::Row(row) => row.first().copied().unwrap_or(0.0),
    }
}

fn map(value: Value, f: impl Fn(f64) -> f64) -> Value {
    match value {
        Value::Row(mut row) => {
            row.iter_mut().for_each(|value| *value = f(*value));
            Value::Row(row)
        }
        other => Value::Number(f(number(&other))),
    }
}

/// Returns a text without the differences that `seq` ignores.
fn similar(text: &str) -> String {
    let kept = text.chars().filter(|c| !c.is_whitespace() && *c != '_');
    kept.flat_map(char::to_lowercase).collect()
}

impl Operation {
    fn apply(self, left: f64, right: f64) -> f64 {
        let (one, two) = (left != 0.0, right != 0.0);
        match self {
            Operation::Add => left + right,
            Operation::Subtract => left - right,
            Operation::Multiply => left * right,
            Operation::Divide => ratio(left, right),
            Operation::Power => left.powf(right),
            Operation::Min => left.min(right),
            Operation::Max => left.max(right),
            Operation::Equal | Operation::SameText | Operation::SimilarText => truth(left == right),
            Operation::Unequal => truth(left != right),
            Operation::Less => truth(left < right),
            Operation::AtMost => truth(left <= right),
            Operation::Greater => truth(left > right),
            Operation::AtLeast => truth(left >= right),
            Operation::And => truth(one && two),
            Operation::Or => truth(one || two),
            Operation::Xor => truth(one != two),
        }
    }
}

/// Divides like CubeLib: 0 / 0 is 0, and other divisions by zero yield the largest finite number.
/// Infinite values mark missing values and are preserved.
fn ratio(of: f64, by: f64) -> f64 {
    if by != 0.0 {
        of / by
    } else if of == 0.0 {
        0.0
    } else if of.is_infinite() {
        of
    } else {
        f64::MAX.copysign(of)
    }
}
