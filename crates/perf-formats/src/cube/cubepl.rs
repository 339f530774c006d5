//! Arithmetic expressions of CubePL, which define derived metrics.
//!
//! Supported are numbers, `metric::NAME(i)`, `metric::NAME(e)` and `metric::NAME()`, `+ - * /`,
//! parentheses, `min(a, b)` and `max(a, b)`. Anything else, such as variables, conditions and
//! loops, is rejected, because a partial evaluation would yield plausible but wrong numbers.

use perf_core::{MetricId, Scope};

/// An expression over metrics.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Number(f64),
    /// A metric, inclusive or exclusive; `None` for the scope in which the expression is evaluated.
    Metric(MetricId, Option<Scope>),
    Negative(Box<Expression>),
    Binary(Operation, Box<Expression>, Box<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Min,
    Max,
}

/// Maximum nesting depth.
const DEPTH: usize = 100;

impl Expression {
    /// Parses an expression; `metric` looks up metrics by name.
    pub(super) fn parse(text: &str, metric: &dyn Fn(&str) -> Option<MetricId>) -> Option<Self> {
        let mut parser = Parser {
            rest: text,
            metric,
            depth: 0,
        };
        let expression = parser.sum()?;
        parser.skip();
        parser.rest.is_empty().then_some(expression)
    }

    /// Calls `each` for all metrics of the expression.
    pub(super) fn metrics(&self, each: &mut dyn FnMut(MetricId)) {
        match self {
            Expression::Number(_) => {}
            Expression::Metric(metric, _) => each(*metric),
            Expression::Negative(of) => of.metrics(each),
            Expression::Binary(_, left, right) => {
                left.metrics(each);
                right.metrics(each);
            }
        }
    }

    /// Evaluates the expression for each of `count` columns; `fetch` returns the columns of a
    /// metric.
    pub(super) fn evaluate<E>(
        &self,
        count: usize,
        scope: Scope,
        fetch: &mut dyn FnMut(MetricId, Scope) -> Result<Vec<f64>, E>,
    ) -> Result<Vec<f64>, E> {
        Ok(match self {
            Expression::Number(number) => vec![*number; count],
            Expression::Metric(metric, own) => fetch(*metric, own.unwrap_or(scope))?,
            Expression::Negative(of) => {
                let values = of.evaluate(count, scope, fetch)?;
                values.into_iter().map(|value| -value).collect()
            }
            Expression::Binary(operation, left, right) => {
                let mut left = left.evaluate(count, scope, fetch)?;
                let right = right.evaluate(count, scope, fetch)?;
                for (left, right) in left.iter_mut().zip(right) {
                    *left = match operation {
                        Operation::Add => *left + right,
                        Operation::Subtract => *left - right,
                        Operation::Multiply => *left * right,
                        Operation::Divide => ratio(*left, right),
                        Operation::Min => left.min(right),
                        Operation::Max => left.max(right),
                    };
                }
                left
            }
        })
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

struct Parser<'a> {
    /// Remaining text.
    rest: &'a str,
    /// Looks up a metric by name.
    metric: &'a dyn Fn(&str) -> Option<MetricId>,
    /// Current nesting depth.
    depth: usize,
}

impl<'a> Parser<'a> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Returns the longest prefix of characters that `is` accepts.
    fn word(&mut self, is: impl Fn(char) -> bool) -> &'a str {
        self.skip();
        let end = self.rest.find(|c| !is(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn sum(&mut self) -> Option<Expression> {
        let mut left = self.product()?;
        loop {
            let operation = if self.take("+") {
                Operation::Add
            } else if self.take("-") {
                Operation::Subtract
            } else {
                return Some(left);
            };
            left = self.join(operation, left, Self::product)?;
        }
    }

    fn product(&mut self) -> Option<Expression> {
        let mut left = self.factor()?;
        loop {
            let operation = if self.take("*") {
                Operation::Multiply
            } else if self.take("/") {
                Operation::Divide
            } else {
                return Some(left);
            };
            left = self.join(operation, left, Self::factor)?;
        }
    }

    /// Adds an operation. Chains nest to the left, so that their length counts as depth.
    fn join(
        &mut self,
        operation: Operation,
        left: Expression,
        right: fn(&mut Self) -> Option<Expression>,
    ) -> Option<Expression> {
        self.deeper()?;
        let right = right(self)?;
        Some(Expression::Binary(
            operation,
            Box::new(left),
            Box::new(right),
        ))
    }

    fn deeper(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth <= DEPTH).then_some(())
    }

    fn factor(&mut self) -> Option<Expression> {
        self.deeper()?;
        if self.take("-") {
            return Some(Expression::Negative(Box::new(self.factor()?)));
        }
        if self.take("(") {
            let inner = self.sum()?;
            return self.take(")").then_some(inner);
        }
        self.skip();
        if self
            .rest
            .starts_with(|c: char| c.is_ascii_digit() || c == '.')
        {
            return self.number();
        }
        let word = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
        match word {
            "metric" => self.reference(),
            "min" => self.call(Operation::Min),
            "max" => self.call(Operation::Max),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<Expression> {
        let text = self.rest;
        let bytes = text.as_bytes();
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let mut end = 0;
        while is_digit(end) || bytes.get(end) == Some(&b'.') {
            end += 1;
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            if is_digit(end + 1 + sign) {
                end += 1 + sign;
                while is_digit(end) {
                    end += 1;
                }
            }
        }
        self.rest = &text[end..];
        text[..end].parse().ok().map(Expression::Number)
    }

    fn call(&mut self, operation: Operation) -> Option<Expression> {
        let is_open = self.take("(");
        let left = is_open.then(|| self.sum())??;
        let right = self.take(",").then(|| self.sum())??;
        let call = Expression::Binary(operation, Box::new(left), Box::new(right));
        self.take(")").then_some(call)
    }

    fn reference(&mut self) -> Option<Expression> {
        self.take("::").then_some(())?;
        let name = self.word(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
        let metric = (self.metric)(name)?;
        self.take("(").then_some(())?;
        let scope = match self.word(|c| c.is_ascii_alphabetic()) {
            "i" => Some(Scope::Inclusive),
            "e" => Some(Scope::Exclusive),
            "" => None,
            _ => return None,
        };
        self.take(")").then_some(Expression::Metric(metric, scope))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<Expression> {
        Expression::parse(text, &|name| match name {
            "time" => Some(MetricId(0)),
            "visits" => Some(MetricId(1)),
            _ => None,
        })
    }

    #[test]
    fn arithmetic_is_evaluated() {
        let text = " metric::time(i) / metric::visits(e) - 2 * (1.5e1 + -metric::time()) ";
        let expression = parse(text).unwrap();
        let mut requested = Vec::new();
        let values = expression.evaluate(2, Scope::Exclusive, &mut |metric, scope| {
            requested.push((metric.0, scope));
            Ok::<_, ()>(match metric.0 {
                0 => vec![6.0, 8.0],
                _ => vec![2.0, 4.0],
            })
        });
        assert_eq!(values, Ok(vec![3.0 - 18.0, 2.0 - 14.0]));
        let expected = [
            (0, Scope::Inclusive),
            (1, Scope::Exclusive),
            (0, Scope::Exclusive),
        ];
        assert_eq!(requested, expected);
        let extremes = parse("max(min(1, 2), 1.25)").unwrap();
        let none = &mut |_, _| Err(());
        assert_eq!(extremes.evaluate(1, Scope::Inclusive, none), Ok(vec![1.25]));
        assert_eq!(
            parse("5 - 2 - 1")
                .unwrap()
                .evaluate(1, Scope::Inclusive, none),
            Ok(vec![2.0])
        );
    }

    #[test]
    fn ratios_by_zero_are_those_of_the_reference_library() {
        let quotient = parse("metric::time(i) / metric::visits(i)").unwrap();
        let times = [0.0, -0.0, 2.0, -2.0, 3.0];
        let visits = [0.0, 0.0, 0.0, 0.0, 2.0];
        let mut fetch = |metric: MetricId, _| {
            Ok::<_, ()>(match metric.0 {
                0 => times.to_vec(),
                _ => visits.to_vec(),
            })
        };
        let values = quotient.evaluate(5, Scope::Inclusive, &mut fetch);
        assert_eq!(values, Ok(vec![0.0, 0.0, f64::MAX, -f64::MAX, 1.5]));
    }

    #[test]
    fn what_is_more_is_not_half_understood() {
        for text in [
            "",
            "1 +",
            "metric::unknown()",
            "metric::time(i, e)",
            "metric::fixed::time()",
            "metric::time",
            "{ ${x} = 1; return ${x}; }",
            "metric::time() > 1",
            "sqrt(2)",
            "1 2",
            "min(1)",
            "1..2",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        let deep = "(".repeat(100_000);
        assert_eq!(parse(&deep), None);
        assert_eq!(parse(&"1+".repeat(100_000)), None);
    }
}
