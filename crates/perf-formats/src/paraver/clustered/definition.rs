//! [`Definition`]: parameters of a clustering, read from XML: its [`Algorithm`], filters and metrics ([`Axis`]).

use crate::xml::{Tag, Token, Unfinished, Xml, text};
use crate::{Error, Result};
use perf_core::{Limits, Nanos, Place};
use std::collections::BTreeMap;

/// Event types from which the value of a metric is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// Value of one type.
    Single(u32),
    /// Values of two types, combined by `+`, `-`, `*` or `/`.
    Mixed(u32, char, u32),
}

/// A metric used for the clustering.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Axis {
    /// Name of the metric.
    pub name: String,
    /// Event types of the metric.
    pub source: Source,
    /// `true` if the logarithm of the value is the coordinate.
    pub log: bool,
    /// Lower bound on the raw value; bursts below it are dropped.
    pub low: Option<f64>,
    /// Upper bound on the raw value; bursts above it are dropped.
    pub high: Option<f64>,
    /// Weight, default 1.
    pub factor: f64,
}

/// A clustering algorithm with its named parameters.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Algorithm {
    /// Name of the algorithm, such as `DBSCAN`.
    pub name: String,
    /// Values of its parameters, such as `epsilon` and `min_points`.
    pub parameters: BTreeMap<String, f64>,
}

/// Parameters of a clustering.
///
/// ```
/// use perf_formats::paraver::clustered::{Definition, Source};
/// let text = r#"<clustering_definition use_duration="no" duration_filter="1000">
///   <clustering_algorithm name="DBSCAN">
///     <epsilon>0.04</epsilon><min_points>4</min_points>
///   </clustering_algorithm>
///   <clustering_parameters>
///     <mixed_events operation="/" apply_log="no" name="IPC">
///       <event_type_a>42000050</event_type_a><event_type_b>42000059</event_type_b>
///     </mixed_events>
///   </clustering_parameters>
/// </clustering_definition>"#;
/// let definition = Definition::parse(text.as_bytes(), "epoch.xml")?;
/// assert_eq!(definition.min_duration.0, 1_000_000);
/// assert_eq!(definition.algorithm.parameters["epsilon"], 0.04);
/// assert_eq!(definition.axes[0].source, Source::Mixed(42_000_050, '/', 42_000_059));
/// # Ok::<(), perf_formats::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Definition {
    /// `true` if the duration is an additional axis, before the others.
    pub use_duration: bool,
    /// `true` if the logarithm of the duration is used.
    pub apply_log: bool,
    /// `true` if axes are scaled to `0.0..=1.0`.
    pub normalise: bool,
    /// Minimum duration; shorter bursts are dropped. A number without a unit is in microseconds.
    pub min_duration: Nanos,
    /// Minimum share of the total time, in `0.0..=1.0`; clusters below it are dropped. The file
    /// contains percent.
    pub min_share: f64,
    /// Clustering algorithm.
    pub algorithm: Algorithm,
    /// Metrics that define the coordinates.
    pub axes: Vec<Axis>,
    /// Metrics that are averaged for each cluster.
    pub extrapolated: Vec<Axis>,
    /// `true` if all counters of the trace are averaged.
    pub all_counters: bool,
}

impl Definition {
    /// Parses a definition; `name` is its name in errors.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Truncated`] if the document ends early, [`Error::Malformed`] for another
    /// kind of document, an invalid number or a metric without a type, and [`Error::Limit`] if it
    /// exceeds [`Limits::default`].
    pub fn parse(document: &[u8], name: &str) -> Result<Self> {
        Self::parse_within(document, name, &Limits::default())
    }

    /// Like [`parse`](Self::parse), with explicit limits. [`depth`](Limits::depth) bounds the
    /// nesting of elements, [`definitions`](Limits::definitions) the number of metrics and of
    /// parameters, and [`string`](Limits::string) the length of names and values.
    ///
    /// ```
    /// use perf_core::Limits;
    /// use perf_formats::{Error, paraver::clustered::Definition};
    /// let text = "<clustering_definition><a/></clustering_definition>";
    /// let limits = Limits::default().with_depth(1);
    /// let deep = Definition::parse_within(text.as_bytes(), "x.xml", &limits);
    /// assert!(matches!(deep, Err(Error::Limit { got: 2, limit: 1, .. })));
    /// # Ok::<(), perf_formats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`parse`](Self::parse), and [`Error::Limit`] if the document exceeds
    /// these limits.
    pub fn parse_within(document: &[u8], name: &str, limits: &Limits) -> Result<Self> {
        let mut parser = Parser {
            name,
            limits,
            made: Definition {
                normalise: true,
                ..Definition::default()
            },
            stack: Vec::new(),
            text: String::new(),
            axis: None,
            is_found: false,
        };
        let mut xml = Xml::new(document);
        loop {
            let at = xml.at();
            let token = xml.next().map_err(|Unfinished(at)| Error::Truncated {
                place: Place::file(name).at(at as u64),
                expected: "the end of a tag".into(),
            })?;
            match token {
                Some(Token::Open(tag)) => parser.open(&tag)?,
                Some(Token::Close(_)) => parser.close(at)?,
                Some(Token::Text(raw)) => parser.characters(&text(raw), at)?,
                Some(Token::Verbatim(raw)) => {
                    parser.characters(&String::from_utf8_lossy(raw), at)?;
                }
                None => break,
            }
        }
        if !parser.is_found {
            return Err(Error::Malformed {
                place: Place::file(name).at(0),
                expected: "`<clustering_definition` at the start of a definition".into(),
                got: "something else".into(),
            });
        }
        if !parser.stack.is_empty() {
            return Err(Error::Truncated {
                place: Place::file(name).at(document.len() as u64),
                expected: "the end of the definition".into(),
            });
        }
        Ok(parser.made)
    }
}

struct Parser<'a> {
    /// Name for errors.
    name: &'a str,
    /// Limits on the document.
    limits: &'a Limits,
    /// Definition under construction.
    made: Definition,
    /// Names of the open elements.
    stack: Vec<String>,
    /// Text of the innermost element.
    text: String,
    /// Metric under construction.
    axis: Option<Draft>,
    /// `true` after the root element was found.
    is_found: bool,
}

/// A metric whose types are not read yet.
#[derive(Default)]
struct Draft {
    /// Name of the metric.
    name: String,
    /// Operation between the two types.
    operation: Option<char>,
    /// `true` if the logarithm is the coordinate.
    log: bool,
    /// Event types of the metric.
    types: [Option<u32>; 2],
    /// Lower bound on the raw value.
    low: Option<f64>,
    /// Upper bound on the raw value.
    high: Option<f64>,
    /// Weight, if given.
    factor: Option<f64>,
}

impl Parser<'_> {
    /// Checks a number of elements against a limit.
    fn within(&self, at: usize, what: &'static str, got: usize, limit: u32) -> Result<()> {
        if got as u64 > u64::from(limit) {
            Err(Error::Limit {
                place: Place::file(self.name).at(at as u64),
                what,
                got: got as u64,
                limit: limit.into(),
            })
        } else {
            Ok(())
        }
    }

    fn characters(&mut self, more: &str, at: usize) -> Result<()> {
        let size = self.text.len() + more.len();
        self.within(at, "length of a text in bytes", size, self.limits.string)?;
        self.text.push_str(more);
        Ok(())
    }

    fn wrong(&self, at: usize, expected: &str, got: &str) -> Error {
        Error::Malformed {
            place: Place::file(self.name).at(at as u64),
            expected: expected.into(),
            got: format!("`{}`", got.chars().take(32).collect::<String>()),
        }
    }

    fn open(&mut self, tag: &Tag<'_>) -> Result<()> {
        let element = text(tag.name).into_owned();
        let mut all: BTreeMap<String, String> = BTreeMap::new();
        for (key, value) in tag.attributes() {
            let size = key.len().max(value.len());
            let what = "length of an attribute in bytes";
            self.within(tag.at, what, size, self.limits.string)?;
            all.insert(text(key).into_owned(), text(value).into_owned());
        }
        let get = |key: &str| all.get(key).map_or("", |value| value.trim());
        let yes = |key: &str| get(key).eq_ignore_ascii_case("yes");
        if self.stack.is_empty() && element != "clustering_definition" {
            return Err(self.wrong(tag.at, "the element clustering_definition", &element));
        }
        match element.as_str() {
            "clustering_definition" => {
                self.is_found = true;
                self.made.use_duration = yes("use_duration");
                self.made.apply_log = yes("apply_log");
                self.made.normalise = all
                    .get("normalize_data")
                    .is_none_or(|_| yes("normalize_data"));
                self.made.min_duration = match get("duration_filter") {
                    "" => Nanos(0),
                    given => duration(given).ok_or_else(|| {
                        self.wrong(tag.at, "a duration, such as 1000 or 1m", given)
                    })?,
                };
                self.made.min_share = match get("threshold_filter") {
                    "" => 0.0,
                    given => {
                        let percent = self.number(tag.at, given)?;
                        if !(0.0..=100.0).contains(&percent) {
                            return Err(self.wrong(tag.at, "a percentage", given));
                        }
                        percent / 100.0
                    }
                };
            }
            "clustering_algorithm" => self.made.algorithm.name = get("name").to_owned(),
            "extrapolation_parameters" => self.made.all_counters = yes("all_counters"),
            "single_event" | "mixed_events" => {
                let given = get("operation");
                let operation = match (element.as_str(), given) {
                    ("single_event", _) => None,
                    (_, "+" | "-" | "*" | "/") => given.chars().next(),
                    _ => return Err(self.wrong(tag.at, "one of + - * /", given)),
                };
                self.axis = Some(Draft {
                    name: get("name").to_owned(),
                    operation,
                    log: yes("apply_log"),
                    ..Draft::default()
                });
            }
            _ => {}
        }
        self.text.clear();
        self.stack.push(element);
        let depth = self.stack.len();
        self.within(tag.at, "nesting of elements", depth, self.limits.depth)?;
        if tag.is_empty {
            self.close(tag.at)
        } else {
            Ok(())
        }
    }

    fn number(&self, at: usize, given: &str) -> Result<f64> {
        let parsed: Option<f64> = given.trim().parse().ok();
        let finite = parsed.filter(|value| value.is_finite());
        finite.ok_or_else(|| self.wrong(at, "a number", given))
    }

    fn kind(&self, at: usize, given: &str) -> Result<u32> {
        let parsed = given.trim().parse().ok();
        parsed.ok_or_else(|| self.wrong(at, "a type of events", given))
    }

    fn close(&mut self, at: usize) -> Result<()> {
        let Some(element) = self.stack.pop() else {
            return Ok(());
        };
        let inside = std::mem::take(&mut self.text);
        let value = inside.trim();
        let parent = self.stack.last().map_or("", String::as_str);
        if parent == "clustering_algorithm" {
            let number = self.number(at, value)?;
            let parameters = &mut self.made.algorithm.parameters;
            parameters.insert(element, number);
            let (what, count) = ("parameters of an algorithm", parameters.len());
            return self.within(at, what, count, self.limits.definitions);
        }
        if matches!(element.as_str(), "single_event" | "mixed_events") {
            let is_extrapolated = parent == "extrapolation_parameters";
            if let Some(draft) = self.axis.take() {
                let axis = self.axis(at, draft)?;
                let list = if is_extrapolated {
                    &mut self.made.extrapolated
                } else {
                    &mut self.made.axes
                };
                list.push(axis);
                let (what, count) = ("metrics of a clustering", list.len());
                return self.within(at, what, count, self.limits.definitions);
            }
            return Ok(());
        }
        let Some(mut draft) = self.axis.take() else {
            return Ok(());
        };
        match element.as_str() {
            "event_type" | "event_type_a" => draft.types[0] = Some(self.kind(at, value)?),
            "event_type_b" => draft.types[1] = Some(self.kind(at, value)?),
            "range_min" => draft.low = Some(self.number(at, value)?),
            "range_max" => draft.high = Some(self.number(at, value)?),
            "factor" => draft.factor = Some(self.number(at, value)?),
            _ => {}
        }
        self.axis = Some(draft);
        Ok(())
    }

    fn axis(&self, at: usize, draft: Draft) -> Result<Axis> {
        let [a, b] = draft.types;
        let source = match (draft.operation, a, b) {
            (None, Some(a), _) => Source::Single(a),
            (Some(operation), Some(a), Some(b)) => Source::Mixed(a, operation, b),
            _ => return Err(self.wrong(at, "the types of events of a metric", &draft.name)),
        };
        Ok(Axis {
            name: draft.name,
            source,
            log: draft.log,
            low: draft.low,
            high: draft.high,
            factor: draft.factor.unwrap_or(1.0),
        })
    }
}

/// Parses a duration with its unit: `D` for days, `H` for hours, `M` for minutes, `s` for seconds, or `m`, `u` and `n`
/// for milliseconds, microseconds and nanoseconds. A number without a unit is in microseconds.
fn duration(text: &str) -> Option<Nanos> {
    let units = [
        ('D', 86_400e9),
        ('H', 3_600e9),
        ('M', 60e9),
        ('s', 1e9),
        ('m', 1e6),
        ('u', 1e3),
        ('n', 1.0),
    ];
    let last = text.chars().last()?;
    let unit = units.iter().find(|(name, _)| *name == last);
    let (number, scale) = match unit {
        Some((_, scale)) => (&text[..text.len() - 1], *scale),
        None => (text, 1e3),
    };
    let nanos = number.trim().parse::<f64>().ok()? * scale;
    (0.0..9.2e18)
        .contains(&nanos)
        .then_some(Nanos(nanos.round() as i64))
}
