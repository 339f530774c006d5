//! [`Formula`]: metric of a burst as an arithmetic expression of counters, with its parser and
//! evaluation; [`ZeroDivision`]: the result of a division by 0.

use crate::{Error, Result};

/// Largest depth of nested parentheses and signs.
const DEEPEST: usize = 64;

/// Reduction of the samples of a counter within a burst to one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fold {
    /// Reduction that the counter's [`MetricMode`](perf_core::MetricMode) implies.
    Natural,
    /// Mean of the samples.
    Mean,
}

/// Step of a formula in postfix order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// Constant.
    Number(f64),
    /// Value of an entry of [`Formula::names`].
    Name(usize),
    /// Sum of the last two values.
    Add,
    /// Difference of the last two values.
    Subtract,
    /// Product of the last two values.
    Multiply,
    /// Quotient of the last two values.
    Divide,
    /// Negation of the last value.
    Negate,
}

/// Result of a division by 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ZeroDivision {
    /// Missing: the burst lacks the metric.
    #[default]
    Missing,
    /// 0, as in the established clustering tools.
    Zero,
}

/// Returns `over / under`.
pub(super) fn ratio(zero: ZeroDivision, over: f64, under: f64) -> f64 {
    match zero {
        _ if under != 0.0 => over / under,
        ZeroDivision::Missing => f64::NAN,
        // NaN remains NaN.
        ZeroDivision::Zero => over * 0.0,
    }
}

/// Formula of a metric: `NAME = EXPRESSION`, or an expression alone, whose text is also the name.
///
/// An expression consists of `+ - * /`, parentheses, numbers, and names. A name of letters, digits
/// and `_ . : @ #` needs no quotes; any other name must be in double quotes. `mean(NAME)` is the
/// mean of a counter's samples within the burst instead of the reduction that its mode implies. See
/// [`Extract`](crate::Extract) for the available names.
///
/// ```
/// use perf_track::Formula;
/// let ipc = Formula::parse("IPC = PAPI_TOT_INS / PAPI_TOT_CYC")?;
/// assert_eq!(ipc.name(), "IPC");
/// assert_eq!(ipc.names().collect::<Vec<_>>(), ["PAPI_TOT_INS", "PAPI_TOT_CYC"]);
/// assert_eq!(Formula::parse("\"read bytes\"")?.name(), "read bytes");
/// assert!(Formula::parse("1 + * 2").is_err());
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// Name of the metric.
    name: String,
    /// Names in the expression, with the reduction of each.
    names: Vec<(String, Fold)>,
    /// Steps in postfix order.
    steps: Vec<Step>,
}

impl Formula {
    /// Parses a formula.
    ///
    /// # Errors
    /// Returns [`Error::Formula`] with the byte offset of a syntax error.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser {
            text,
            at: 0,
            names: Vec::new(),
            steps: Vec::new(),
        };
        let name = parser.assigned();
        parser.sum(0)?;
        if parser.peek().is_some() {
            return Err(parser.error("an operator or the end"));
        }
        let name = name.unwrap_or_else(|| match parser.names.as_slice() {
            // A single name loses its quotes.
            [(name, Fold::Natural)] if parser.steps.len() == 1 => name.clone(),
            _ => text.trim().to_owned(),
        });
        Ok(Formula {
            name,
            names: parser.names,
            steps: parser.steps,
        })
    }

    /// Returns the name of the metric.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the names in the expression, each once, in order of appearance.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|(name, _)| name.as_str())
    }

    /// Creates a formula of a single name with any characters.
    pub(super) fn plain(name: &str) -> Self {
        Formula {
            name: name.to_owned(),
            names: vec![(name.to_owned(), Fold::Natural)],
            steps: vec![Step::Name(0)],
        }
    }

    pub(super) fn requested(&self) -> &[(String, Fold)] {
        &self.names
    }

    /// Returns `true` if the formula is a single name; the metric then has the unit of this name.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.steps.as_slice(), [Step::Name(_)])
    }

    /// Evaluates the formula; also returns `true` if there was a division by 0. `value` returns the
    /// value of each name.
    pub(super) fn value(
        &self,
        zero: ZeroDivision,
        stack: &mut Vec<f64>,
        value: impl Fn(usize) -> f64,
    ) -> (f64, bool) {
        stack.clear();
        let mut by_zero = false;
        for step in &self.steps {
            let right = match step {
                Step::Number(_) | Step::Name(_) => 0.0,
                _ => stack.pop().unwrap_or(f64::NAN),
            };
            let mut left = || stack.pop().unwrap_or(f64::NAN);
            let result = match *step {
                Step::Number(number) => number,
                Step::Name(name) => value(name),
                Step::Negate => -right,
                Step::Add => left() + right,
                Step::Subtract => left() - right,
                Step::Multiply => left() * right,
                Step::Divide => {
                    let left = left();
                    by_zero |= right == 0.0 && !left.is_nan();
                    ratio(zero, left, right)
                }
            };
            stack.push(result);
        }
        (stack.pop().unwrap_or(f64::NAN), by_zero)
    }
}

struct Parser<'t> {
    /// Text of the formula.
    text: &'t str,
    /// Current byte offset.
    at: usize,
    /// Names found so far.
    names: Vec<(String, Fold)>,
    /// Steps found so far.
    steps: Vec<Step>,
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '@' | '#')
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn error(&self, expected: &'static str) -> Error {
        Error::Formula {
            text: self.text.to_owned(),
            at: self.at,
            expected,
        }
    }

    /// Returns the next non-blank character.
    fn peek(&mut self) -> Option<char> {
        let blanks = self.rest().len() - self.rest().trim_start().len();
        self.at += blanks;
        self.rest().chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    /// Parses `NAME =` at the start. The name may contain anything except quotes and `=`.
    fn assigned(&mut self) -> Option<String> {
        let (name, _) = self.text.split_once('=')?;
        if name.contains('"') || name.trim().is_empty() {
            return None;
        }
        self.at = name.len() + 1;
        Some(name.trim().to_owned())
    }

    fn sum(&mut self, depth: usize) -> Result<()> {
        self.product(depth)?;
        loop {
            let step = match self.peek() {
                Some('+') => Step::Add,
                Some('-') => Step::Subtract,
                _ => return Ok(()),
            };
            self.at += 1;
            self.product(depth)?;
            self.steps.push(step);
        }
    }

    fn product(&mut self, depth: usize) -> Result<()> {
        self.factor(depth)?;
        loop {
            let step = match self.peek() {
                Some('*') => Step::Multiply,
                Some('/') => Step::Divide,
                _ => return Ok(()),
            };
            self.at += 1;
            self.factor(depth)?;
            self.steps.push(step);
        }
    }

    fn factor(&mut self, depth: usize) -> Result<()> {
        if depth >= DEEPEST {
            return Err(self.error("less nesting"));
        }
        if self.eat('(') {
            self.sum(depth + 1)?;
            return self.close();
        }
        if self.eat('-') {
            self.factor(depth + 1)?;
            self.steps.push(Step::Negate);
            return Ok(());
        }
        if self.peek() != Some('"')
            && let Some((length, number)) = number(self.rest())
        {
            self.at += length;
            self.steps.push(Step::Number(number));
            return Ok(());
        }
        let (word, is_quoted) = self.word("a name, a number or `(`")?;
        if word == "mean" && !is_quoted && self.eat('(') {
            let (name, _) = self.word("the name of a counter")?;
            self.name(name, Fold::Mean);
            return self.close();
        }
        self.name(word, Fold::Natural);
        Ok(())
    }

    /// Parses a name; also returns `true` if it was quoted.
    fn word(&mut self, expected: &'static str) -> Result<(String, bool)> {
        if self.eat('"') {
            let Some((name, _)) = self.rest().split_once('"') else {
                return Err(self.error("a closing quote"));
            };
            let name = name.to_owned();
            self.at += name.len() + 1;
            return Ok((name, true));
        }
        self.peek();
        let rest = self.rest();
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if length == 0 {
            return Err(self.error(expected));
        }
        let word = rest[..length].to_owned();
        self.at += length;
        Ok((word, false))
    }

    fn close(&mut self) -> Result<()> {
        if self.eat(')') {
            Ok(())
        } else {
            Err(self.error("`)`"))
        }
    }

    fn name(&mut self, name: String, fold: Fold) {
        let entry = (name, fold);
        let known = self.names.iter().position(|known| *known == entry);
        let index = known.unwrap_or(self.names.len());
        if known.is_none() {
            self.names.push(entry);
        }
        self.steps.push(Step::Name(index));
    }
}

/// Parses the number at the start of `text`: digits, a decimal point, an exponent. Returns its
/// length in bytes and its value. Returns `None` for a word that only begins with digits, which is
/// a name.
fn number(text: &str) -> Option<(usize, f64)> {
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let mut length = text.find(|c| !is_word(c)).unwrap_or(text.len());
    // The sign of an exponent is not an operator.
    let head = text.get(..length)?;
    if head.ends_with(['e', 'E']) && text.get(length..)?.starts_with(['+', '-']) {
        let digits = text.get(length + 1..)?;
        let more = digits.find(|c| !is_word(c)).unwrap_or(digits.len());
        if more > 0 {
            length += 1 + more;
        }
    }
    let value = text.get(..length)?.parse().ok()?;
    Some((length, value))
}
