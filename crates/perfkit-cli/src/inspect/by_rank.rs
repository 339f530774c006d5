//! Output of `inspect --by rank` ([`ByRank`]): load imbalance of the call paths, and their values
//! on each rank, as text, table and JSON.

use super::profile::selected;
use crate::correlate::detected;
use crate::failure::{Failure, Outcome, input};
use crate::findings::Findings;
use crate::pictures;
use crate::progress::Bar;
use crate::recording::Profiled;
use crate::report::exclusive_times::Class;
use crate::scope::scope_name;
use crate::table::{self, counted};
use perfkit::core::{CallPathId, Column, LocationId, Nanos, Profile, ProfileMetric, Scope, Table};
use perfkit::topology::Topology;
use perfkit::view::{HeatMap, Scene, Section, Theme, Unit};
use perfkit::wait::imbalance::{Imbalance, LoadImbalance, PathImbalance};
use serde::Serialize;
use std::io::Write;

/// Largest number of columns of ranks in a text. Of more ranks, neighbours share a column.
const MAX_COLUMNS: usize = 8;

/// Largest number of characters of a call path in a text.
const MAX_NAME: usize = 44;

/// Name of the row that adds up all computation.
const ALL: &str = "(all computation)";

/// Row of the output.
struct Row {
    /// Call path; `None` for the sum of all computation.
    path: Option<CallPathId>,
    /// Distribution over the compared locations.
    values: Imbalance,
}

/// Load imbalance of a profile, with the grid of its processes.
#[derive(Debug)]
pub(super) struct ByRank<'a> {
    /// Profile with the findings of its reader.
    opened: &'a Profiled,
    /// Imbalance of each call path: computation first, largest excess first.
    found: LoadImbalance,
    /// Sum over all computation for each location; empty unless values are exclusive times.
    all: Vec<f64>,
    /// Names of the compared locations: rank, or rank and thread.
    names: Vec<String>,
    /// `rank`, or `thread` if a process has several.
    noun: &'static str,
    /// Grid of the processes, with its name.
    grid: Option<(Topology, String)>,
}

impl<'a> ByRank<'a> {
    /// Measures the load imbalance of the metric of this name and scope. Defaults are those of the
    /// summary.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if the metric does not exist or a row cannot be read.
    pub(super) fn of(
        opened: &'a Profiled,
        chosen: (Option<&str>, Option<Scope>),
    ) -> Result<Self, Failure> {
        let profile = &opened.profile;
        let (metric, scope) = selected(profile, chosen)?;
        let metric =
            metric.ok_or_else(|| Failure::Input("the profile has no additive metric".into()))?;
        let found = LoadImbalance::of(profile, metric, scope, &Bar::job()).map_err(input)?;
        let (names, noun) = names(profile, &found.locations);
        let mut by_rank = ByRank {
            names,
            noun,
            grid: detected::placed(profile),
            opened,
            found,
            all: Vec::new(),
        };
        if by_rank.has_savings() {
            // The sort is stable, so that both parts keep their order.
            let calls = |it: &PathImbalance| !is_computation(profile, it.path);
            by_rank.found.paths.sort_by_key(calls);
            let mut sums = vec![0.0; profile.system().locations().len()];
            for it in by_rank.computation() {
                for (sum, value) in sums.iter_mut().zip(by_rank.values(it.path)?) {
                    *sum += value;
                }
            }
            by_rank.all = sums;
        }
        Ok(by_rank)
    }

    fn metric(&self) -> &ProfileMetric {
        &self.opened.profile.metrics()[self.found.metric.index()]
    }

    /// Returns the unit of the values in pictures and tables, with its factor.
    fn unit(&self) -> (Unit, f64) {
        pictures::unit(&self.metric().metric.unit)
    }

    /// Returns `true` if the excess of a value is time that balancing saves.
    fn has_savings(&self) -> bool {
        self.unit().0 == Unit::Nanos && self.found.scope == Scope::Exclusive
    }

    fn computation(&self) -> impl Iterator<Item = &PathImbalance> {
        let profile = &self.opened.profile;
        let paths = self.found.paths.iter();
        paths.filter(|it| is_computation(profile, it.path))
    }

    /// Returns the values of a call path on all locations of the profile.
    fn values(&self, path: CallPathId) -> Result<Vec<f64>, Failure> {
        let profile = &self.opened.profile;
        let row = profile.scoped(self.found.metric, path, self.found.scope);
        Ok(row
            .map_err(input)?
            .map_or_else(Vec::new, |row| row.to_f64()))
    }

    /// Returns the name of a location in the columns.
    fn name(&self, id: LocationId) -> &str {
        let at = self.found.locations.iter().position(|own| *own == id);
        at.and_then(|at| self.names.get(at))
            .map_or("", String::as_str)
    }

    /// Returns the coordinates of a location on the grid, `2,0,1`.
    fn cell(&self, id: LocationId) -> Option<String> {
        let (grid, _) = self.grid.as_ref()?;
        let cell = grid.cell(id)?;
        let at: Vec<_> = grid
            .shape()
            .coordinates(cell)
            .map(|at| at.to_string())
            .collect();
        Some(at.join(","))
    }

    /// Returns a column of values in the unit of the metric.
    fn column(&self, name: impl Into<String>, values: impl Iterator<Item = Option<f64>>) -> Column {
        let (unit, factor) = self.unit();
        let name = name.into();
        match unit {
            Unit::Nanos => Column::times(
                name,
                values.map(|it| it.map(|it| Nanos((it * factor).round() as i64))),
            ),
            Unit::Bytes => Column::floats(name, "B", values),
            _ => Column::floats(name, self.metric().metric.unit.clone(), values),
        }
    }

    /// Returns the row of the sum of all computation, if there is one.
    fn all(&self) -> Option<Row> {
        let is_there = !self.all.is_empty();
        let values = is_there.then(|| Imbalance::of(&self.all, &self.found.locations));
        let values = values.flatten()?;
        Some(Row { path: None, values })
    }

    /// Returns the rows of the first `top` call paths.
    fn rows(&self, top: usize) -> Vec<Row> {
        let paths = self.found.paths.iter().take(top);
        let row = |it: &PathImbalance| Row {
            path: Some(it.path),
            values: it.values,
        };
        paths.map(row).collect()
    }

    /// Returns the column of call paths.
    fn call_paths(&self, rows: &[Row]) -> Column {
        let labels = self.opened.profile.call_path_labels();
        let name = |row: &Row| match row.path {
            Some(path) => labels.label(path),
            None => ALL.into(),
        };
        Column::text("call path", rows.iter().map(name))
    }

    /// Returns the load imbalance of some rows.
    fn summary(&self, rows: &[Row]) -> Table {
        let profile = &self.opened.profile;
        let all = || rows.iter().map(|row| &row.values);
        let value = |name: &'static str, of: fn(&Imbalance) -> f64| {
            self.column(name, all().map(|it| Some(of(it))))
        };
        let words = "Load imbalance of the call paths over the ranks.";
        let at = all().map(|it| self.name(it.at));
        let mut table = Table::new("load imbalance", words)
            .with(self.call_paths(rows))
            .with(value("total", |it| it.total))
            .with(value("mean", |it| it.mean))
            .with(value("max", |it| it.max))
            .floats("max/mean", "", all().map(Imbalance::factor))
            .text(format!("at {}", self.noun), at);
        if self.grid.is_some() {
            let cells = all().map(|it| self.cell(it.at));
            table = table.text("on grid", cells);
        }
        let active = all().map(|it| it.active as u64);
        table = table.unsigned(format!("{}s", self.noun), "", active);
        if self.has_savings() {
            let saves = rows.iter().map(|row| {
                let is_work = row.path.is_none_or(|path| is_computation(profile, path));
                is_work.then(|| row.values.excess())
            });
            table = table.with(self.column("saves", saves));
        }
        table
    }

    /// Returns the number of neighbouring locations that share a column of the text, and their
    /// description if there are several. Columns begin at a rank if all ranks have as many threads.
    fn width(&self) -> (usize, Option<String>) {
        let (count, noun) = (self.names.len(), self.noun);
        if count <= MAX_COLUMNS {
            return (1, None);
        }
        let is_first = |name: &String| !name.contains('.') || name.ends_with(".0");
        let ranks = self.names.iter().filter(|name| is_first(name)).count();
        let threads = count / ranks.max(1);
        let begins = self.names.iter().step_by(threads.max(1));
        if threads < 2 || ranks < 2 || begins.len() != ranks || !begins.into_iter().all(is_first) {
            let width = count.div_ceil(MAX_COLUMNS);
            return (width, Some(format!("{width} neighbouring {noun}s")));
        }
        let several = ranks.div_ceil(MAX_COLUMNS);
        let members = match several {
            1 => format!("the {threads} threads of a rank"),
            _ => format!("the threads of {several} neighbouring ranks"),
        };
        (several * threads, Some(members))
    }

    /// Returns the means of some rows over groups of `width` neighbouring locations; with a width of
    /// 1, their values.
    fn ranks(&self, rows: &[Row], width: usize) -> Result<Vec<Column>, Failure> {
        let values = |row: &Row| match row.path {
            Some(path) => self.values(path),
            None => Ok(self.all.clone()),
        };
        let rows: Vec<Vec<f64>> = rows.iter().map(values).collect::<Result<_, _>>()?;
        let groups = self
            .found
            .locations
            .chunks(width)
            .zip(self.names.chunks(width));
        let columns = groups.map(|(locations, names)| {
            let name = match names {
                [one] => one.clone(),
                [first, .., last] => format!("{first}-{last}"),
                [] => String::new(),
            };
            let mean = |row: &Vec<f64>| {
                let values = locations.iter().filter_map(|id| row.get(id.index()));
                Some(values.sum::<f64>() / locations.len() as f64)
            };
            self.column(name, rows.iter().map(mean))
        });
        Ok(columns.collect())
    }

    /// Returns the load imbalance of some rows and their value on each location.
    fn whole(&self, rows: &[Row]) -> Result<Table, Failure> {
        let ranks = self.ranks(rows, 1)?.into_iter();
        Ok(ranks.fold(self.summary(rows), Table::with))
    }

    /// Returns the load imbalance of all call paths and their value on each location.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if a row cannot be read.
    pub(super) fn table(&self) -> Result<Table, Failure> {
        self.whole(&self.rows(usize::MAX))
    }

    /// Returns the first `top` call paths and the sum of all computation.
    fn listed(&self, top: usize) -> Vec<Row> {
        self.all().into_iter().chain(self.rows(top)).collect()
    }

    /// Draws the values of the first `top` call paths as a heat map with a column for each rank.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if a row cannot be read.
    pub(super) fn heat_map(&self, top: usize, theme: Theme) -> Result<Scene, Failure> {
        let (unit, factor) = self.unit();
        let labels = self.opened.profile.call_path_labels();
        let title = format!("{} by {}", self.quantity(), self.noun);
        let mut map = HeatMap::new(unit, self.noun, self.names.iter().cloned());
        map = map.titled(title).theme(theme);
        for it in self.rows(top) {
            let Some(path) = it.path else { continue };
            let all = self.values(path)?;
            let values = self.found.locations.iter();
            let values = values.map(|id| all.get(id.index()).map_or(f64::NAN, |it| it * factor));
            map.push(labels.label(path), values.collect());
        }
        Ok(map.scene())
    }

    /// Returns the heat map and the load imbalance of the first `top` call paths as sections of a page.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if a row cannot be read.
    pub(super) fn sections(&self, top: usize) -> Result<Vec<Section>, Failure> {
        let scenes = [Theme::light(), Theme::dark()].map(|theme| {
            let scene = self.heat_map(top, theme)?;
            Ok::<_, Failure>((theme.paper, scene))
        });
        let [light, dark] = scenes;
        let (light, dark) = (light?, dark?);
        let draw = |theme: Theme| {
            let (_, scene) = if theme.paper == dark.0 { &dark } else { &light };
            scene.clone()
        };
        let words = "All cells share one scale. The first call paths are those with the largest load imbalance.";
        let map = Section::picture("ranks", &pictures::capitalised(&self.title()), draw, words);
        let table = self.summary(&self.listed(top));
        let table = Section::table("imbalance", "Load imbalance of the call paths", &table);
        Ok(vec![map.map_err(pictures::failed)?, table])
    }

    /// Returns the metric with its scope.
    fn quantity(&self) -> String {
        let scope = scope_name(self.found.scope);
        format!("{scope} {}", self.metric().quantity())
    }

    /// Returns the title of the heat map.
    fn title(&self) -> String {
        let count = counted(self.found.locations.len(), self.noun);
        format!("{} of the call paths on {count}", self.quantity())
    }

    /// Returns the result for `--json`, with the first `top` call paths.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if a row cannot be read.
    pub(super) fn json(&self, top: usize) -> Result<impl Serialize + use<>, Failure> {
        #[derive(Serialize)]
        struct Document {
            format: &'static str,
            metric: String,
            scope: &'static str,
            locations: usize,
            grid: Option<Vec<usize>>,
            grid_name: Option<String>,
            call_path_count: usize,
            #[serde(flatten)]
            findings: Findings,
            all_computation: Option<Table>,
            call_paths: Table,
        }
        let grid = self.grid.as_ref();
        let all = self.all().map(|row| self.whole(&[row])).transpose()?;
        Ok(Document {
            format: self.opened.format,
            metric: self.metric().metric.name.clone(),
            scope: scope_name(self.found.scope),
            locations: self.found.locations.len(),
            grid: grid.map(|(grid, _)| grid.shape().lens()),
            grid_name: grid.map(|(_, name)| name.clone()),
            call_path_count: self.found.paths.len(),
            findings: Findings::new(&self.opened.diagnostics, self.opened.counts),
            all_computation: all,
            call_paths: self.whole(&self.rows(top))?,
        })
    }

    /// Writes the load imbalance, and the values of the first `top` call paths by rank.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if a row cannot be read, and the write errors of `out`.
    pub(super) fn text(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let quantity = self.quantity();
        let (count, noun) = (self.found.locations.len(), self.noun);
        writeln!(
            out,
            "  load imbalance of {quantity} over {}",
            counted(count, noun)
        )?;
        let skipped = self.opened.profile.system().locations().len() - count;
        if skipped > 0 {
            let skipped = counted(skipped, "location");
            writeln!(
                out,
                "  skipped     {skipped} that are no threads of a process, such as streams of accelerators"
            )?;
        }
        if let Some((grid, name)) = &self.grid {
            let lens: Vec<_> = grid.shape().lens().iter().map(usize::to_string).collect();
            writeln!(out, "  grid        {}, {name}", lens.join(" x "))?;
        }
        if noun == "thread" {
            writeln!(out, "  threads     rank.thread: 3.1 is thread 1 of rank 3")?;
        }
        let rows = self.listed(top);
        table::print(out, &self.summary(&rows), MAX_NAME)?;
        let more = self.found.paths.len().saturating_sub(top);
        if more > 0 {
            writeln!(out, "  {}: --top", counted(more, "more call path"))?;
        }
        // Work cannot be balanced on a single rank.
        if self.has_savings() && count > 1 {
            writeln!(
                out,
                "  saves       max - mean: the run time that balanced work saves at most, if all {noun}s wait for the \
                 slowest one, and {count} times that in CPU time. Calls that wait or communicate have none: balanced \
                 work shortens them"
            )?;
        }
        let (width, members) = self.width();
        match members {
            None => writeln!(out, "  {quantity} by {noun}")?,
            Some(members) => writeln!(
                out,
                "  {quantity} by {noun}: each column is the mean of {members}, --csv has all"
            )?,
        }
        let ranks = self.ranks(&rows, width)?.into_iter();
        let table = Table::new("ranks", "").with(self.call_paths(&rows));
        Ok(table::print(
            out,
            &ranks.fold(table, Table::with),
            MAX_NAME,
        )?)
    }
}

/// Returns `true` if a call path is work of the program, neither waiting nor communication.
fn is_computation(profile: &Profile, path: CallPathId) -> bool {
    let region = profile.calls().get(path).map(|path| path.region);
    let region = region.and_then(|region| profile.regions().get(region.index()));
    region.is_some_and(|region| Class::of(region) == Class::Computing)
}

/// Returns the number of the process of each location, with the number of the thread if a process
/// has several, and the noun for a location.
fn names(profile: &Profile, locations: &[LocationId]) -> (Vec<String>, &'static str) {
    let system = profile.system();
    let mut ranks: Vec<(usize, usize)> = Vec::with_capacity(locations.len());
    // Processes are numbered in the order in which their first location comes.
    let mut rank_of = vec![None; system.groups().len()];
    let mut threads = vec![0; system.groups().len()];
    let mut next = 0;
    for id in locations {
        let process = system.process(*id).map(|process| process.index());
        let rank = process.and_then(|process| rank_of.get_mut(process));
        let mut new = || {
            next += 1;
            next - 1
        };
        let rank = match rank {
            Some(rank) => *rank.get_or_insert_with(new),
            None => new(),
        };
        let thread = process.and_then(|process| threads.get_mut(process));
        let thread = thread.map_or(0, |thread| {
            *thread += 1;
            *thread - 1
        });
        ranks.push((rank, thread));
    }
    let has_threads = ranks.iter().any(|(_, thread)| *thread > 0);
    let name = |(rank, thread): &(usize, usize)| {
        if has_threads {
            format!("{rank}.{thread}")
        } else {
            rank.to_string()
        }
    };
    let noun = if has_threads { "thread" } else { "rank" };
    (ranks.iter().map(name).collect(), noun)
}
