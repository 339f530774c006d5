//! [`Names`]: parses the text of a CubePL program to a [`Program`], with its metrics and variables
//! resolved by name.

use super::{Expression, Fact, Indexed, Operation, Problem, Program, Slot, Statement};
use perf_core::{MetricId, Scope};
use regex_lite::RegexBuilder;
use std::collections::HashMap;

type Result<T> = std::result::Result<T, Problem>;

/// Names that the programs of a profile share.
#[derive(Debug, Default)]
pub(in crate::cube) struct Names {
    /// Metrics by name; of several with the same name, the first.
    pub(in crate::cube) metrics: HashMap<String, MetricId>,
    /// Variables by name.
    variables: HashMap<String, Slot>,
}

/// Maximum nesting of expressions and statements.
const DEPTH: usize = 100;

/// Maximum size of a compiled regular expression, in bytes.
const REGEX_SIZE: usize = 1 << 20;

impl Names {
    /// Parses a program.
    pub(in crate::cube) fn parse(&mut self, text: &str) -> Result<Program> {
        let mut parser = Parser {
            text,
            at: 0,
            names: self,
            depth: 0,
        };
        let body = if parser.take("{") {
            parser.statements()?
        } else {
            vec![Statement::Return(parser.expression()?)]
        };
        parser.skip();
        if parser.rest().is_empty() {
            Ok(Program(body))
        } else {
            Err(parser.expected("the end of the program"))
        }
    }
}

struct Parser<'a> {
    /// Text of the program.
    text: &'a str,
    /// Offset of the next character.
    at: usize,
    /// Names of metrics and variables.
    names: &'a mut Names,
    /// Current nesting depth.
    depth: usize,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips blanks and comments.
    fn skip(&mut self) {
        loop {
            let rest = self.rest().trim_start();
            self.at = self.text.len() - rest.len();
            let end = if rest.starts_with("//") {
                rest.find('\n')
            } else if rest.starts_with("/*") {
                rest.find("*/").map(|end| end + 2)
            } else {
                return;
            };
            self.at += end.unwrap_or(rest.len());
        }
    }

    /// Takes a symbol.
    fn take(&mut self, symbol: &str) -> bool {
        self.skip();
        let is_there = self.rest().starts_with(symbol);
        if is_there {
            self.at += symbol.len();
        }
        is_there
    }

    /// Takes a word, unless it is the beginning of a longer one.
    fn take_word(&mut self, word: &str) -> bool {
        self.skip();
        let rest = self.rest().strip_prefix(word);
        let is_there = rest.is_some_and(|rest| !rest.starts_with(is_word));
        if is_there {
            self.at += word.len();
        }
        is_there
    }

    fn need(&mut self, symbol: &str) -> Result<()> {
        if self.take(symbol) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{symbol}`")))
        }
    }

    /// Returns the longest prefix of characters that `is` accepts.
    fn word(&mut self, is: impl Fn(char) -> bool) -> &'a str {
        self.skip();
        let rest = self.rest();
        let end = rest.find(|c| !is(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn expected(&mut self, what: &str) -> Problem {
        self.skip();
        let got: String = self
            .rest()
            .chars()
            .take_while(|c| *c != '\n')
            .take(20)
            .collect();
        let got = match got.trim_end() {
            "" => "the end".to_owned(),
            got => format!("`{got}`"),
        };
        Problem::new(self.at, format!("expected {what}, got {got}"))
    }

    /// Parses one level deeper.
    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > DEPTH {
            let what = format!("more than {DEPTH} nested levels are not supported");
            return Err(Problem::new(self.at, what));
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Parses statements up to a closing brace, after the opening one.
    fn statements(&mut self) -> Result<Vec<Statement>> {
        let mut all = Vec::new();
        loop {
            while self.take(";") {}
            if self.take("}") {
                return Ok(all);
            }
            all.push(self.deeper(Self::statement)?);
        }
    }

    fn block(&mut self) -> Result<Vec<Statement>> {
        self.need("{")?;
        self.statements()
    }

    fn condition(&mut self) -> Result<Expression> {
        self.need("(")?;
        let condition = self.expression()?;
        self.need(")")?;
        Ok(condition)
    }

    fn statement(&mut self) -> Result<Statement> {
        self.skip();
        let at = self.at;
        if self.take_word("if") {
            let mut arms = vec![(self.condition()?, self.block()?)];
            while self.take_word("elseif") {
                arms.push((self.condition()?, self.block()?));
            }
            let otherwise = if self.take_word("else") {
                self.block()?
            } else {
                Vec::new()
            };
            return Ok(Statement::If { arms, otherwise });
        }
        if self.take_word("while") {
            let (condition, body) = (self.condition()?, self.block()?);
            return Ok(Statement::While {
                at,
                condition,
                body,
            });
        }
        let statement = if self.take_word("return") {
            Statement::Return(self.expression()?)
        } else if self.take_word("global") {
            self.need("(")?;
            let name = self.word(is_word);
            let slot = self.slot(name)?;
            self.need(")")?;
            Statement::Global(slot)
        } else if self.take("cube::metric::set::") || self.take("metric::set::") {
            self.set()?
        } else if self.take("${") {
            let name = self.variable()?;
            let slot = self.slot(name)?;
            let index = self.index()?;
            self.need("=")?;
            let value = self.expression()?;
            Statement::Assign {
                at,
                slot,
                index,
                value,
            }
        } else {
            return Err(self.expected("a statement: an assignment, if, while, return or global"));
        };
        self.skip();
        if !self.rest().starts_with('}') {
            self.need(";")?;
        }
        Ok(statement)
    }

    fn set(&mut self) -> Result<Statement> {
        let (_, metric) = self.metric();
        self.need("(")?;
        let at = self.at;
        let property = self.text()?;
        if property != "value" {
            let what = format!("setting the property `{property}` of a metric is not supported");
            return Err(Problem::new(at, what));
        }
        self.need(",")?;
        let value = self.expression()?;
        self.need(")")?;
        Ok(Statement::SetValues(metric, value))
    }

    fn slot(&mut self, name: &str) -> Result<Slot> {
        if name.is_empty() || name.contains("::") {
            return Err(Problem::new(self.at, "expected the name of a variable"));
        }
        let next = self.names.variables.len() as Slot;
        let slot = self.names.variables.entry(name.to_owned()).or_insert(next);
        Ok(*slot)
    }

    /// Parses the rest of `${NAME}`.
    fn variable(&mut self) -> Result<&'a str> {
        let name = self.word(|c| is_word(c) || matches!(c, ':' | '#'));
        self.need("}")?;
        Ok(name)
    }

    fn index(&mut self) -> Result<Option<Indexed>> {
        if !self.take("[") {
            return Ok(None);
        }
        self.skip();
        let at = self.at;
        let index = self.expression()?;
        self.need("]")?;
        Ok(Some(Indexed { at, index }))
    }

    fn expression(&mut self) -> Result<Expression> {
        self.deeper(|parser| parser.level(0))
    }

    /// Parses operations of a level of precedence, the lowest being 0.
    fn level(&mut self, level: usize) -> Result<Expression> {
        use Operation::{Add, And, Divide, Multiply, Or, Power, Subtract, Xor};
        const LEVELS: [&[(&str, Operation)]; 7] = [
            &[("or", Or), ("||", Or)],
            &[("xor", Xor)],
            &[("and", And), ("&&", And)],
            &[],
            &[("+", Add), ("-", Subtract)],
            &[("*", Multiply), ("/", Divide)],
            &[("^", Power)],
        ];
        /// Level of comparisons, which do not form chains.
        const COMPARISONS: usize = 3;
        let Some(operations) = LEVELS.get(level) else {
            return self.factor();
        };
        if level == COMPARISONS {
            return self.comparison();
        }
        let first = self.level(level + 1)?;
        let mut rest = Vec::new();
        loop {
            let mut all = operations.iter();
            let found = all.find(|(symbol, _)| {
                if symbol.starts_with(is_word) {
                    self.take_word(symbol)
                } else {
                    self.take(symbol)
                }
            });
            let Some((_, operation)) = found else { break };
            rest.push((*operation, self.level(level + 1)?));
        }
        Ok(if rest.is_empty() {
            first
        } else {
            Expression::Chain(Box::new(first), rest)
        })
    }

    fn comparison(&mut self) -> Result<Expression> {
        use Operation::*;
        const OPERATIONS: [(&str, Operation); 7] = [
            ("==", Equal),
            ("!=", Unequal),
            ("<>", Unequal),
            ("<=", AtMost),
            (">=", AtLeast),
            ("<", Less),
            (">", Greater),
        ];
        /// Level of sums.
        const SUMS: usize = 4;
        if self.take_word("not") {
            let of = self.deeper(Self::comparison)?;
            return Ok(Expression::Not(Box::new(of)));
        }
        let left = self.level(SUMS)?;
        if self.take("=~") {
            return self.regex(left);
        }
        let mut all = OPERATIONS.iter();
        let operation = match all.find(|(symbol, _)| self.take(symbol)) {
            Some((_, operation)) => *operation,
            None if self.take_word("eq") => SameText,
            None if self.take_word("seq") => SimilarText,
            None => return Ok(left),
        };
        let right = self.level(SUMS)?;
        Ok(Expression::Chain(Box::new(left), vec![(operation, right)]))
    }

    fn regex(&mut self, of: Expression) -> Result<Expression> {
        self.need("/")?;
        let at = self.at;
        let mut is_escaped = false;
        let end = self.rest().find(|c| {
            let is_end = c == '/' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        });
        let Some(end) = end else {
            return Err(Problem::new(
                at,
                "the regular expression has no closing `/`",
            ));
        };
        let pattern = self.rest()[..end].replace("\\/", "/");
        self.at += end + 1;
        let built = RegexBuilder::new(&pattern).size_limit(REGEX_SIZE).build();
        let regex = built.map_err(|error| {
            Problem::new(
                at,
                format!("the regular expression is not supported: {error}"),
            )
        })?;
        Ok(Expression::Match(Box::new(of), regex))
    }

    fn factor(&mut self) -> Result<Expression> {
        if self.take("-") {
            let of = self.deeper(Self::factor)?;
            return Ok(Expression::Negative(Box::new(of)));
        }
        if self.take("(") {
            let inner = self.expression()?;
            self.need(")")?;
            return Ok(inner);
        }
        if self.take("${") {
            return self.variable_or_fact();
        }
        self.skip();
        let at = self.at;
        match self.rest().as_bytes().first() {
            Some(b'0'..=b'9' | b'.') => return self.number(),
            Some(b'"') => return Ok(Expression::Text(self.text()?.into())),
            _ => {}
        }
        match self.word(is_word) {
            "metric" => self.reference(at),
            "min" => self.pair(Operation::Min),
            "max" => self.pair(Operation::Max),
            "sqrt" => self.call(f64::sqrt),
            "abs" => self.call(f64::abs),
            "exp" => self.call(f64::exp),
            "log" | "ln" => self.call(f64::ln),
            "floor" => self.call(f64::floor),
            "ceil" => self.call(f64::ceil),
            "" => Err(self.expected("a value")),
            other => Err(Problem::new(at, format!("`{other}` is not supported"))),
        }
    }

    fn variable_or_fact(&mut self) -> Result<Expression> {
        let at = self.at;
        let name = self.variable()?;
        let index = self.index()?;
        let fact = match name {
            "cube::#callpaths" => Fact::CallPaths,
            "cube::#regions" => Fact::Regions,
            "cube::#metrics" => Fact::Metrics,
            "cube::#locations" => Fact::Locations,
            "cube::callpath::calleeid" => Fact::Callee,
            "cube::region::name" => Fact::Name,
            "cube::region::mangled_name" => Fact::MangledName,
            "cube::region::paradigm" => Fact::Paradigm,
            "cube::region::role" => Fact::Role,
            "cube::region::mod" => Fact::Module,
            "calculation::callpath::id" => Fact::ThisPath,
            "calculation::region::id" => Fact::ThisRegion,
            other if other.contains("::") => {
                return Err(Problem::new(at, format!("`${{{other}}}` is not supported")));
            }
            other => {
                let slot = self.slot(other)?;
                return Ok(Expression::Variable(slot, index.map(Box::new)));
            }
        };
        if fact.has_index() != index.is_some() {
            let what = match index {
                Some(_) => format!("`${{{name}}}` has no index"),
                None => format!("`${{{name}}}` needs an index"),
            };
            return Err(Problem::new(at, what));
        }
        Ok(Expression::Fact(fact, index.map(Box::new)))
    }

    fn number(&mut self) -> Result<Expression> {
        let (at, text) = (self.at, self.rest());
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
        self.at += end;
        let number = text[..end].parse().ok().map(Expression::Number);
        number.ok_or_else(|| Problem::new(at, format!("`{}` is not a number", &text[..end])))
    }

    /// Parses a text in quotes.
    fn text(&mut self) -> Result<&'a str> {
        self.need("\"")?;
        let rest = self.rest();
        let Some(end) = rest.find('"') else {
            return Err(Problem::new(self.at, "the text has no closing quote"));
        };
        self.at += end + 1;
        Ok(&rest[..end])
    }

    fn pair(&mut self, operation: Operation) -> Result<Expression> {
        self.need("(")?;
        let left = self.expression()?;
        self.need(",")?;
        let right = self.expression()?;
        self.need(")")?;
        Ok(Expression::Chain(Box::new(left), vec![(operation, right)]))
    }

    fn call(&mut self, of: fn(f64) -> f64) -> Result<Expression> {
        Ok(Expression::Call(of, Box::new(self.condition()?)))
    }

    /// Parses the name of a metric. Returns the name, and the metric if there is one.
    fn metric(&mut self) -> (&'a str, Option<MetricId>) {
        let name = self.word(|c| is_word(c) || matches!(c, '.' | ':'));
        (name, self.names.metrics.get(name).copied())
    }

    /// Parses the rest of a metric, which begins at `start`.
    fn reference(&mut self, start: usize) -> Result<Expression> {
        self.need("::")?;
        for kind in ["fixed::", "call::", "context::", "get::", "set::"] {
            if self.rest().starts_with(kind) {
                let what = format!("`metric::{kind}` is not supported as a value");
                return Err(Problem::new(start, what));
            }
        }
        self.skip();
        let at = self.at;
        let (name, metric) = self.metric();
        let missing = || Problem::new(at, format!("there is no metric `{name}`"));
        let metric = metric.ok_or_else(missing)?;
        self.need("(")?;
        let at = self.at;
        let scope = match self.word(|c| c.is_ascii_alphabetic()) {
            "i" => Some(Scope::Inclusive),
            "e" => Some(Scope::Exclusive),
            "" => None,
            other => {
                return Err(Problem::new(
                    at,
                    format!("expected `i` or `e`, got `{other}`"),
                ));
            }
        };
        if self.take(",") {
            return Err(Problem::new(at, "a scope of the machine is not supported"));
        }
        self.need(")")?;
        Ok(Expression::Metric(metric, scope))
    }
}
