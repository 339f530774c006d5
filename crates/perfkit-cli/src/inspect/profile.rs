//! [`ProfileSummary`]: machine, grids, metrics and top call paths of a call-path profile, as text,
//! JSON, picture and page sections.

use crate::failure::{Failure, Outcome, input};
use crate::findings::{self, Findings};
use crate::inspect::negative_values::{self, NegativeValues, is_change, negative_values};
use crate::inspect::severities::{About, Spread, about, in_tree_order};
use crate::inspect::undefined_values::{self, UndefinedValues, undefined_values};
use crate::pictures;
use crate::recording::Profiled;
use crate::scope::{find_metric, scope_name};
use crate::table::{self, counted, grouped};
use perfkit::core::{
    CallPathId, CartDimension, CartMembers, CartTopology, Column, Combine, MetricId, Profile,
    ProfileMetric, Scope, Table,
};
use perfkit::view::{Bars, Scene, Section, Unit};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// Number of characters of the label of a line of text.
const LABEL: usize = 14;

/// Call path with its values of the selected metric.
#[derive(Debug)]
struct Path {
    /// Names of the regions of the call path.
    name: String,
    /// Exclusive value, over all locations.
    exclusive: f64,
    /// Inclusive value, over all locations.
    inclusive: f64,
    /// Number of visits; `None` if the profile has no such metric.
    visits: Option<f64>,
}

impl Path {
    /// Returns the value in a scope.
    fn value(&self, scope: Scope) -> f64 {
        match scope {
            Scope::Exclusive => self.exclusive,
            Scope::Inclusive => self.inclusive,
        }
    }
}

/// Summary of a profile.
#[derive(Debug)]
pub(crate) struct ProfileSummary<'a> {
    /// Profile with the findings of its reader.
    opened: &'a Profiled,
    /// Severities of each metric; a metric is followed by its parts.
    metrics: Vec<About>,
    /// Values of the metrics that are not finite.
    undefined: Vec<UndefinedValues>,
    /// Metric that orders the call paths.
    by: Option<MetricId>,
    /// Top call paths.
    paths: Vec<Path>,
    /// Scope of the values that order the call paths.
    scope: Scope,
    /// `true` if values are differences of two profiles, ordered by their size.
    is_change: bool,
    /// Sum of the exclusive values over all call paths.
    exclusive: f64,
    /// Number of call paths without a caller.
    roots: usize,
    /// Depth of the call tree in call paths.
    deepest: usize,
}

impl<'a> ProfileSummary<'a> {
    /// Summarises a profile. The `top` call paths are those with the largest values of the metric
    /// of this name and scope. Without a name, the metric is the first additive time, otherwise the
    /// first additive metric. Without a scope, values are exclusive.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if the metric does not exist or a row cannot be read.
    pub(crate) fn of(
        opened: &'a Profiled,
        (metric, scope): (Option<&str>, Option<Scope>),
        top: usize,
    ) -> Result<Self, Failure> {
        let profile = &opened.profile;
        let all = in_tree_order(profile);
        let (by, scope) = selected(profile, (metric, scope))?;
        let calls = profile.calls();
        let mut depths: Vec<usize> = Vec::with_capacity(calls.paths().len());
        for path in calls.paths() {
            // A parent precedes its children.
            let above = path.parent.and_then(|id| depths.get(id.index()).copied());
            depths.push(above.unwrap_or_default() + 1);
        }
        let is_change = by.map(|by| is_change(profile, by)).transpose()?;
        let is_change = is_change.unwrap_or_default();
        let (paths, exclusive) = match by {
            Some(by) => paths(profile, (by, scope), is_change, top)?,
            None => (Vec::new(), 0.0),
        };
        Ok(ProfileSummary {
            opened,
            metrics: all.iter().map(|id| about(profile, *id)).collect(),
            undefined: all
                .iter()
                .filter_map(|id| undefined_values(profile, *id))
                .collect(),
            by,
            paths,
            scope,
            is_change,
            exclusive,
            roots: calls.children(None).count(),
            deepest: depths.into_iter().max().unwrap_or_default(),
        })
    }

    fn metric(&self, id: MetricId) -> &ProfileMetric {
        &self.opened.profile.metrics()[id.index()]
    }

    /// Returns the machine, the grids and the repairs as a section of a page, with the lines of the
    /// text.
    fn facts(&self) -> Result<Section, Failure> {
        let mut text = Vec::new();
        self.contents(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        let mut facts: Vec<String> = Vec::new();
        for line in text.lines() {
            let (label, value) = line.split_at_checked(LABEL).unwrap_or((line, ""));
            match (label.trim(), facts.last_mut()) {
                // The line continues the last one.
                ("", Some(last)) => last.push_str(&format!("; {value}")),
                (label, _) => facts.push(format!("{}: {value}", pictures::capitalised(label))),
            }
        }
        let facts: Vec<&str> = facts.iter().map(String::as_str).collect();
        Ok(Section::text("facts", "Contents", &facts))
    }

    /// Returns the contents, the metrics and the top call paths as sections of a page.
    ///
    /// # Errors
    /// Never fails, because the contents are written to memory.
    pub(crate) fn sections(&self) -> Result<Vec<Section>, Failure> {
        let words = "Values over all call paths: the total over all locations, and their spread.";
        let metrics = self.listed_metrics("", words);
        let metrics = Section::table("metrics", "Metrics", &metrics);
        let paths = self.call_paths();
        let paths = paths.map(|paths| Section::table("paths", "Values by call path", &paths));
        Ok([self.facts()?, metrics].into_iter().chain(paths).collect())
    }

    /// Returns a row for each metric.
    fn metrics_table(&self) -> Table {
        let all = || self.metrics.iter();
        let text = |name: &'static str, of: fn(&ProfileMetric) -> String| {
            Column::text(name, all().map(|it| of(self.metric(it.id))))
        };
        let floats = |name: &'static str, of: fn(&Spread) -> f64| {
            Column::floats(name, "", all().map(|it| it.severities.as_ref().map(of)))
        };
        let parent = |it: &About| {
            let parent = self.metric(it.id).metric.parent?;
            Some(self.metric(parent).metric.name.as_str())
        };
        let words = "Totals are over all call paths and locations, the others over locations.";
        Table::new("metrics", words)
            .with(text("metric", |it| it.metric.name.clone()))
            .with(text("unit", |it| it.metric.unit.clone()))
            .with(text("type", |it| format!("{:?}", it.metric.value_type)))
            .with(text("scope", |it| format!("{:?}", it.scope).to_lowercase()))
            .with(text("combine", |it| format!("{:?}", it.combine)))
            .text("parent", all().map(parent))
            .unsigned("rows", "", all().map(|it| it.rows))
            .with(floats("total", |it| it.total))
            .with(floats("minimum", |it| it.min))
            .with(floats("mean", |it| it.mean))
            .with(floats("maximum", |it| it.max))
            .text("error", all().map(|it| it.failed.as_deref()))
    }

    /// Returns the top call paths; `None` without a metric that orders them.
    fn call_paths(&self) -> Option<Table> {
        let by = self.metric(self.by?);
        // Other units are those of the list of metrics.
        let unit = match pictures::unit(&by.metric.unit).0 {
            Unit::Number => "",
            _ => &by.metric.unit,
        };
        let paths = || self.paths.iter();
        let values = |name: &'static str, of: fn(&Path) -> f64| {
            pictures::column(name, unit, paths().map(|it| Some(of(it))))
        };
        // A change has no share of the sum of changes, which cancel each other.
        let share = |it: &Path| 100.0 * it.value(self.scope) / self.exclusive;
        let share = paths().map(|it| (!self.is_change).then(|| share(it)));
        let visits = paths().map(|it| it.visits.filter(|visits| visits.is_finite()));
        let visits = visits.map(|visits| visits.map(f64::round));
        let visits = if self.is_change {
            Column::signed("visits", "", visits.map(|it| it.map(|it| it as i64)))
        } else {
            Column::unsigned("visits", "", visits.map(|it| it.map(|it| it as u64)))
        };
        let words = format!("By {}.", self.order(by));
        let table =
            Table::new("call paths", words).text("call path", paths().map(|it| it.name.as_str()));
        let share = Column::floats("share", "%", share);
        let exclusive = values("exclusive", |it| it.exclusive);
        let inclusive = values("inclusive", |it| it.inclusive);
        // The share follows the values that order the list.
        let columns = match self.scope {
            Scope::Exclusive => [exclusive, share, inclusive],
            Scope::Inclusive => [inclusive, share, exclusive],
        };
        let table = columns
            .into_iter()
            .fold(table, |table, column| table.with(column))
            .with(visits);
        Some(table)
    }

    /// Returns the quantity that orders the call paths.
    fn order(&self, by: &ProfileMetric) -> String {
        let over = match by.combine {
            Combine::Minimum => "the smallest over locations",
            Combine::Maximum => "the largest over locations",
            _ => "summed over locations",
        };
        let size = if self.is_change {
            "size of the change of "
        } else {
            ""
        };
        format!("{size}{} {}, {over}", scope_name(self.scope), by.quantity())
    }

    /// Draws the top call paths of the recording `name` as bars of the values that order them.
    pub(crate) fn bars(&self, name: &str) -> Scene {
        let by = self.by.map(|by| self.metric(by));
        let (unit, factor) = pictures::unit(by.map_or("", |by| &by.metric.unit));
        let quantity = by.map_or("values", |by| by.quantity());
        let scope = scope_name(self.scope);
        let title = format!("{name}: {scope} {quantity} of call paths, summed over locations");
        let mut bars = Bars::new(unit).titled(title);
        let is_finite = |path: &&Path| path.value(self.scope).is_finite();
        for path in self.paths.iter().filter(is_finite) {
            bars.push(&path.name, path.value(self.scope) * factor);
        }
        bars.scene()
    }

    /// Returns the summary for `--json`.
    pub(crate) fn json(&self) -> impl Serialize {
        #[derive(Serialize)]
        struct Grid<'a> {
            name: &'a str,
            of: &'static str,
            axes: &'a [CartDimension],
            coordinates: usize,
        }
        #[derive(Serialize)]
        struct Document<'a> {
            format: &'static str,
            locations: usize,
            groups: usize,
            nodes: usize,
            node_classes: BTreeMap<String, usize>,
            regions: usize,
            call_path_count: usize,
            call_path_roots: usize,
            call_path_depth: usize,
            topologies: Vec<Grid<'a>>,
            properties: usize,
            repairs: u64,
            #[serde(flatten)]
            findings: Findings,
            metrics: Table,
            by: Option<&'a str>,
            scope: &'static str,
            call_paths: Option<Table>,
            negative_exclusive: Vec<NegativeValues>,
            undefined: &'a [UndefinedValues],
        }
        let profile = &self.opened.profile;
        let system = profile.system();
        let grid = |cart: &'a CartTopology| Grid {
            name: &cart.name,
            of: members(cart.of, usize::MAX),
            axes: &cart.dimensions,
            coordinates: cart.coordinates.len(),
        };
        Document {
            format: self.opened.format,
            locations: system.locations().len(),
            groups: system.groups().len(),
            nodes: system.nodes().len(),
            node_classes: classes(profile),
            regions: profile.regions().len(),
            call_path_count: profile.calls().paths().len(),
            call_path_roots: self.roots,
            call_path_depth: self.deepest,
            topologies: profile.topologies().iter().map(grid).collect(),
            properties: profile.properties().len(),
            repairs: self.repairs(),
            findings: Findings::new(&self.opened.diagnostics, self.opened.counts),
            metrics: self.metrics_table(),
            by: self.by.map(|by| self.metric(by).metric.name.as_str()),
            scope: scope_name(self.scope),
            call_paths: self.call_paths(),
            negative_exclusive: negative_values(profile),
            undefined: &self.undefined,
        }
    }

    fn repairs(&self) -> u64 {
        self.opened.diagnostics.repairs() + self.opened.counts.repairs()
    }

    /// Writes the summary as text.
    ///
    /// # Errors
    /// Returns the write errors of `out`.
    pub(crate) fn text(&self, out: &mut dyn Write) -> Outcome {
        self.contents(out)?;
        self.metrics(out)?;
        self.write_call_paths(out)
    }

    /// Writes the machine, the grids and the repairs, each line with a label or below one.
    fn contents(&self, out: &mut dyn Write) -> Outcome {
        let profile = &self.opened.profile;
        let system = profile.system();
        writeln!(
            out,
            "  format      {}, a call-path profile",
            self.opened.format
        )?;
        let groups = counted(system.groups().len(), "group");
        let classes = classes(profile).into_iter();
        let nodes: Vec<_> = classes
            .map(|(class, count)| format!("{count} x {class}"))
            .collect();
        let nodes = if nodes.is_empty() {
            "no nodes".into()
        } else {
            nodes.join(", ")
        };
        writeln!(
            out,
            "  locations   {} in {groups} (processes, devices) on {nodes}",
            system.locations().len()
        )?;
        self.machine(out)?;
        writeln!(out, "  regions     {}", profile.regions().len())?;
        writeln!(
            out,
            "  call paths  {}, {}, at most {} deep",
            grouped(profile.calls().paths().len() as u64),
            counted(self.roots, "root"),
            self.deepest
        )?;
        for (at, cart) in profile.topologies().iter().enumerate() {
            writeln!(out, "  topology    {at} {}", described(cart))?;
        }
        findings::write_entries(&self.opened.diagnostics, &self.opened.counts, out)?;
        undefined_values::write(&self.undefined, out)?;
        Ok(negative_values::write(&negative_values(profile), out)?)
    }

    /// Writes at most six nodes with their numbers of groups and locations.
    fn machine(&self, out: &mut dyn Write) -> Outcome {
        const MAX_NODES: usize = 6;
        let system = self.opened.profile.system();
        let mut groups = vec![(0, 0); system.nodes().len()];
        let mut of_group = vec![0; system.groups().len()];
        for location in system.locations() {
            if let Some(count) = location.group.and_then(|id| of_group.get_mut(id.index())) {
                *count += 1;
            }
        }
        for (group, locations) in system.groups().iter().zip(of_group) {
            if let Some(of) = group.parent.and_then(|id| groups.get_mut(id.index())) {
                *of = (of.0 + 1, of.1 + locations);
            }
        }
        let used = system.nodes().iter().zip(groups);
        let used: Vec<_> = used.filter(|(_, (groups, _))| *groups > 0).collect();
        for (node, (groups, locations)) in used.iter().take(MAX_NODES) {
            writeln!(
                out,
                "              {} {}: {}, {}",
                node.class,
                node.name,
                counted(*groups, "group"),
                counted(*locations, "location")
            )?;
        }
        if used.len() > MAX_NODES {
            let more = counted(used.len() - MAX_NODES, "more node");
            writeln!(out, "              {more}")?;
        }
        Ok(())
    }

    /// Writes the metrics, with the parts of a metric indented below it.
    fn metrics(&self, out: &mut dyn Write) -> Outcome {
        writeln!(
            out,
            "  metrics, over all call paths, and their spread over locations"
        )?;
        let table = self.listed_metrics("  ", "Metrics over all call paths.");
        Ok(table::print(out, &table, 60)?)
    }

    /// Returns the metrics for readers. The names of parts of a metric begin with `indent` for each
    /// level.
    fn listed_metrics(&self, indent: &str, words: &'static str) -> Table {
        let all = || self.metrics.iter();
        let name = |about: &About| {
            let name = &self.metric(about.id).metric.name;
            format!("{}{name}", indent.repeat(about.depth))
        };
        let kind = |about: &About| {
            let metric = self.metric(about.id);
            match (&about.failed, metric.combine) {
                (Some(_), _) => "not supported".into(),
                (None, Combine::Sum) => format!("{:?}", metric.scope).to_lowercase(),
                (None, other) => format!("{other:?}").to_lowercase(),
            }
        };
        let units = all().map(|about| self.metric(about.id).metric.unit.as_str());
        let number = |name, of: fn(&Spread) -> f64| {
            Column::floats(
                name,
                "",
                all().map(|about| about.severities.as_ref().map(of)),
            )
        };
        Table::new("metrics", words)
            .text("metric", all().map(name))
            .text("unit", units)
            .text("kind", all().map(kind))
            .unsigned("rows", "", all().map(|about| about.rows))
            .with(number("total", |spread| spread.total))
            .with(number("min", |spread| spread.min))
            .with(number("mean", |spread| spread.mean))
            .with(number("max", |spread| spread.max))
    }

    fn write_call_paths(&self, out: &mut dyn Write) -> Outcome {
        let (Some(by), Some(paths)) = (self.by, self.call_paths()) else {
            return Ok(());
        };
        let by = self.metric(by);
        if paths.rows() == 0 {
            writeln!(out, "  no call path has a value of {}", by.metric.name)?;
            return Ok(());
        }
        writeln!(out, "  top call paths by {}", self.order(by))?;
        Ok(table::print(out, &paths, 60)?)
    }
}

/// Returns the metric of a name and the scope of its values. Without a name, the metric is the first
/// additive time, otherwise the first additive metric. Without a scope, values are exclusive.
///
/// # Errors
/// Returns [`Failure::Input`] if the metric does not exist.
pub(crate) fn selected(
    profile: &Profile,
    (metric, scope): (Option<&str>, Option<Scope>),
) -> Result<(Option<MetricId>, Scope), Failure> {
    let all = || (0..profile.metrics().len()).filter_map(MetricId::from_index);
    let adds_up = |id: &MetricId| profile.metrics()[id.index()].combine == Combine::Sum;
    let is_time = |id: &MetricId| {
        let name = profile.metrics()[id.index()].metric.name.to_lowercase();
        name.contains("time") && adds_up(id)
    };
    let (by, scope) = match metric {
        Some(name) => {
            let (id, scope) = find_metric(profile, name, scope)?;
            (Some(id), scope)
        }
        None => (all().find(is_time).or_else(|| all().find(adds_up)), scope),
    };
    Ok((by, scope.unwrap_or(Scope::Exclusive)))
}

/// Counts the nodes by class.
fn classes(profile: &Profile) -> BTreeMap<String, usize> {
    let mut classes = BTreeMap::new();
    for node in profile.system().nodes() {
        *classes.entry(node.class.clone()).or_insert(0) += 1;
    }
    classes
}

/// Returns the noun for `count` members of a grid.
fn members(of: CartMembers, count: usize) -> &'static str {
    let [one, several] = match of {
        CartMembers::Locations => ["location", "locations"],
        CartMembers::Groups => ["process", "processes"],
        CartMembers::Nodes => ["node", "nodes"],
        _ => ["rank", "ranks"],
    };
    if count == 1 { one } else { several }
}

fn described(cart: &CartTopology) -> String {
    let lens: Vec<_> = cart
        .dimensions
        .iter()
        .map(|axis| format!("{}{}", axis.size, if axis.periodic { "*" } else { "" }))
        .collect();
    let rounds = if cart.dimensions.iter().any(|axis| axis.periodic) {
        " (* is periodic)"
    } else {
        ""
    };
    let name = match cart.name.as_str() {
        "" => "without a name",
        name => name,
    };
    let count = cart.coordinates.len();
    format!(
        "{name}: {}{rounds}, {} {}",
        lens.join(" x "),
        grouped(count as u64),
        members(cart.of, count)
    )
}

/// Returns the call paths with the largest values of a metric in a scope, or the values of the largest
/// size, the largest first, and
/// the sum of the exclusive values over all call paths.
fn paths(
    profile: &Profile,
    (by, scope): (MetricId, Scope),
    by_size: bool,
    top: usize,
) -> Result<(Vec<Path>, f64), Failure> {
    let of = |metric: MetricId, path, scope| -> Result<f64, Failure> {
        let row = profile.scoped(metric, path, scope).map_err(input)?;
        let combine = profile.metrics()[metric.index()].combine;
        Ok(row.map_or(0.0, |row| combine.total(&row).as_f64()))
    };
    let visits = ["visits", "calls"];
    let visits = visits.into_iter().find_map(|name| profile.metric(name));
    let ids = (0..profile.calls().paths().len()).filter_map(CallPathId::from_index);
    let mut all = Vec::new();
    let mut total = 0.0;
    for path in ids {
        let exclusive = of(by, path, Scope::Exclusive)?;
        total += exclusive;
        let key = match scope {
            Scope::Exclusive => exclusive,
            Scope::Inclusive => of(by, path, Scope::Inclusive)?,
        };
        all.push((if by_size { key.abs() } else { key }, path));
    }
    all.sort_by(|(one, a), (other, b)| other.total_cmp(one).then(a.cmp(b)));
    let labels = profile.call_path_labels();
    let mut named = Vec::new();
    for (_, path) in all {
        if named.len() == top {
            break;
        }
        let exclusive = of(by, path, Scope::Exclusive)?;
        let inclusive = of(by, path, Scope::Inclusive)?;
        // Roots without values are skipped: their values belong to call paths below other roots.
        if exclusive == 0.0 && inclusive == 0.0 {
            continue;
        }
        let visits = visits.map(|visits| of(visits, path, Scope::Exclusive));
        named.push(Path {
            name: labels.label(path),
            exclusive,
            inclusive,
            visits: visits.transpose()?,
        });
    }
    Ok((named, total))
}
