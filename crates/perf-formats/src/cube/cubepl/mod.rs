//! CubePL, the language of derived metrics: [`Program`] is the syntax tree of a program; the
//! submodules parse and evaluate it.
//!
//! A derived metric has a program: an expression, or statements in braces that return a value. A
//! program that initialises a metric assigns arrays that other programs read, such as a mask of
//! call paths for each kind of MPI call.
//!
//! | supported | forms |
//! |---|---|
//! | values | numbers, texts in quotes, `metric::NAME(i)`, `(e)` and `()`, `${NAME}`, `${NAME}[INDEX]` |
//! | facts | `${cube::#callpaths}`, `#regions`, `#metrics`, `#locations`; `${cube::callpath::calleeid}[ID]`; `${cube::region::name}[ID]`, `mangled_name`, `paradigm`, `role`, `mod`; `${calculation::callpath::id}`, `${calculation::region::id}` |
//! | operators | `+ - * / ^`, `== != <> < <= > >=`, `eq`, `seq` (ignores case, blanks and underscores), `=~ /REGEX/`, `and`, `or`, `xor`, `not` |
//! | functions | `min(A, B)`, `max(A, B)`, `sqrt`, `abs`, `exp`, `log`, `floor`, `ceil` |
//! | statements | assignments, `if`, `elseif`, `else`, `while`, `return`, `global(NAME)`, `cube::metric::set::NAME("value", KIND)` |
//!
//! Anything else is an error with its position, because a partial evaluation would yield plausible
//! but wrong numbers. Regular expressions are those of `regex-lite`.

mod evaluate;
mod facts;
mod parse;
#[cfg(test)]
mod tests;

pub(super) use evaluate::{Failure, State};
pub(super) use facts::Facts;
pub(super) use parse::Names;

use perf_core::{MetricId, Scope};
use regex_lite::Regex;
use std::fmt;
use std::sync::Arc;

/// Number of a variable; all programs of a profile share the numbering.
type Slot = u32;

/// A parsed program.
#[derive(Clone, Debug)]
pub(super) struct Program(Vec<Statement>);

/// Defect of a program.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Problem {
    /// Offset in the text of the program, in bytes.
    pub(super) at: usize,
    /// Description of the defect.
    pub(super) what: String,
}

impl Problem {
    fn new(at: usize, what: impl Into<String>) -> Self {
        let what = what.into();
        Problem { at, what }
    }

    /// Defect of a program whose control flow differs between locations beyond what
    /// [`Program::evaluate`] separates.
    pub(super) fn mixed() -> Self {
        Problem::new(0, "a text or an index differs between locations")
    }

    /// Returns the line and the column of the defect in a text that has the program at `start`,
    /// both counted from 1.
    pub(super) fn position(&self, text: &str, start: usize) -> (usize, usize) {
        let before = text.get(..start + self.at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before
            .rsplit('\n')
            .next()
            .map_or(0, |it| it.chars().count())
            + 1;
        (line, column)
    }
}

/// An expression.
#[derive(Clone, Debug)]
enum Expression {
    Number(f64),
    Text(Arc<str>),
    /// A metric, inclusive or exclusive; `None` for the scope in which the program is evaluated.
    Metric(MetricId, Option<Scope>),
    /// A variable, or an element of an array.
    Variable(Slot, Option<Box<Indexed>>),
    /// A fact of the profile.
    Fact(Fact, Option<Box<Indexed>>),
    Negative(Box<Expression>),
    Not(Box<Expression>),
    /// Operations from left to right.
    Chain(Box<Expression>, Vec<(Operation, Expression)>),
    Match(Box<Expression>, Regex),
    Call(fn(f64) -> f64, Box<Expression>),
}

/// Index of an array or fact.
#[derive(Clone, Debug)]
struct Indexed {
    /// Offset of the index in the program.
    at: usize,
    /// Index.
    index: Expression,
}

/// A fact of the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Fact {
    CallPaths,
    Regions,
    Metrics,
    Locations,
    /// Region of a call path.
    Callee,
    Name,
    MangledName,
    Paradigm,
    Role,
    /// Source file of a region.
    Module,
    /// Call path for which the program is evaluated.
    ThisPath,
    /// Region of that call path.
    ThisRegion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Min,
    Max,
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    SameText,
    SimilarText,
    And,
    Or,
    Xor,
}

/// A statement.
#[derive(Clone, Debug)]
enum Statement {
    Assign {
        /// Offset of the statement in the program.
        at: usize,
        /// Assigned variable.
        slot: Slot,
        /// Index of an element of an array.
        index: Option<Indexed>,
        /// Assigned value.
        value: Expression,
    },
    If {
        /// Conditions and their statements; the first that holds is executed.
        arms: Vec<(Expression, Vec<Statement>)>,
        /// Statements that are executed if no condition holds.
        otherwise: Vec<Statement>,
    },
    While {
        /// Offset of the statement in the program.
        at: usize,
        /// Condition.
        condition: Expression,
        /// Statements of the loop.
        body: Vec<Statement>,
    },
    Return(Expression),
    /// Declares a variable that other programs read.
    Global(Slot),
    /// Sets the kind of the values of a metric, such as `VOID`; `None` for a metric that the profile
    /// does not have, which specifications for several measurement systems mention.
    SetValues(Option<MetricId>, Expression),
}

impl Program {
    /// Calls `each` for all metrics of the program.
    pub(super) fn metrics(&self, each: &mut dyn FnMut(MetricId)) {
        statements(&self.0, &mut |expression| {
            if let Expression::Metric(metric, _) = expression {
                each(*metric);
            }
        });
    }

    /// Returns `true` if the value of the program depends on the call path.
    pub(super) fn depends_on_path(&self) -> bool {
        let mut depends = false;
        statements(&self.0, &mut |expression| {
            depends |= matches!(
                expression,
                Expression::Fact(Fact::ThisPath | Fact::ThisRegion, _)
            );
        });
        depends
    }

    /// Returns `true` if the program is a sum or difference of metrics, so that sums over call
    /// paths and locations are sums of its values.
    pub(super) fn is_sum(&self) -> bool {
        fn is_sum(expression: &Expression) -> bool {
            match expression {
                Expression::Metric(_, None) => true,
                Expression::Negative(of) => is_sum(of),
                Expression::Chain(first, rest) => {
                    is_sum(first)
                        && rest.iter().all(|(operation, of)| {
                            matches!(operation, Operation::Add | Operation::Subtract) && is_sum(of)
                        })
                }
                _ => false,
            }
        }
        matches!(self.0.as_slice(), [Statement::Return(value)] if is_sum(value))
    }
}

/// Calls `each` for all expressions of statements.
fn statements(all: &[Statement], each: &mut dyn FnMut(&Expression)) {
    for statement in all {
        match statement {
            Statement::Assign { index, value, .. } => {
                if let Some(index) = index {
                    expressions(&index.index, each);
                }
                expressions(value, each);
            }
            Statement::If { arms, otherwise } => {
                for (condition, body) in arms {
                    expressions(condition, each);
                    statements(body, each);
                }
                statements(otherwise, each);
            }
            Statement::While {
                condition, body, ..
            } => {
                expressions(condition, each);
                statements(body, each);
            }
            Statement::Return(value) | Statement::SetValues(_, value) => expressions(value, each),
            Statement::Global(_) => {}
        }
    }
}

/// Calls `each` for an expression and its parts.
fn expressions(of: &Expression, each: &mut dyn FnMut(&Expression)) {
    each(of);
    match of {
        Expression::Number(_) | Expression::Text(_) | Expression::Metric(..) => {}
        Expression::Variable(_, index) | Expression::Fact(_, index) => {
            if let Some(index) = index {
                expressions(&index.index, each);
            }
        }
        Expression::Negative(of)
        | Expression::Not(of)
        | Expression::Match(of, _)
        | Expression::Call(_, of) => expressions(of, each),
        Expression::Chain(first, rest) => {
            expressions(first, each);
            rest.iter().for_each(|(_, of)| expressions(of, each));
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}
