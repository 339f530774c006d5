//! Output of `inspect --by rank` ([`ByRank`]): load imbalance of the call paths, and their values
//! on each rank, as text, table and JSON.

use super::negative_values::is_change;
use super::profile::selected;
use super::undefined_values::{self, UndefinedValues, undefined_values};
use crate::correlate::detected;
use crate::failure::{Failure, Outcome, input};
use crate::findings::Findings;
use crate::pictures;
use crate::progress::Bar;
use crate::recording::Profiled;
use crate::report::exclusive_times::Class;
use crate::scope::scope_name;
use crate::table::{self, counted};
use perfkit::core::{
    CallPathId, Column, Combine, LocationGroupId, LocationId, MetricId, Profile, ProfileMetric,
    Scope, Table,
};
use perfkit::topology::Topology;
use perfkit::view::{HeatMap, Scene, Section, Theme, Unit};
use perfkit::wait::imbalance::{Compared, Imbalance, LoadImbalance, PathImbalance};
use serde::Serialize;
use std::collections::BTreeSet;
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
    /// Largest time of a thread minus the mean over the ranks.
    saves: f64,
}

/// Load imbalance of a profile, with the grid of its processes.
#[derive(Debug)]
pub(super) struct ByRank<'a> {
    /// Profile with the findings of its reader.
    opened: &'a Profiled,
    /// Imbalance of each call path: computation first, largest excess first.
    found: LoadImbalance,
    /// Sum over all computation for each compared location, and of the times of its slowest threads;
    /// empty unless values are exclusive times.
    all: [Vec<f64>; 2],
    /// Names of the compared locations: rank, or rank and thread.
    names: Vec<String>,
    /// `rank`, or `thread` if threads are compared.
    noun: &'static str,
    /// `true` if values are differences of two profiles.
    is_change: bool,
    /// Values of the metric that are not finite.
    undefined: Option<UndefinedValues>,
    /// Grid of the processes, with its name.
    grid: Option<(Topology, String)>,
}

impl<'a> ByRank<'a> {
    /// Measures the load imbalance of the metric of this name and scope. Defaults are those of the
    /// summary.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if the metric does not exist, does not add up, or a row cannot be
    /// read.
    pub(super) fn of(
        opened: &'a Profiled,
        chosen: (Option<&str>, Option<Scope>),
        compared: Compared,
    ) -> Result<Self, Failure> {
        let profile = &opened.profile;
        let (metric, scope) = selected(profile, chosen)?;
        let metric =
            metric.ok_or_else(|| Failure::Input("the profile has no additive metric".into()))?;
        adds_up(profile, metric)?;
        let found = LoadImbalance::of(profile, (metric, scope), compared, &Bar::job());
        let found = found.map_err(input)?;
        let mut by_rank = ByRank {
            names: names(profile, &found.locations, compared),
            noun: match compared {
                Compared::Threads => "thread",
                _ => "rank",
            },
            is_change: is_change(profile, metric)?,
            undefined: undefined_values(profile, metric),
            grid: detected::placed(profile),
            opened,
            found,
            all: Default::default(),
        };
        if by_rank.is_change {
            let size = |it: &PathImbalance| it.values.total.abs();
            let order = |a: &PathImbalance, b: &PathImbalance| size(b).total_cmp(&size(a));
            by_rank.found.paths.sort_by(order);
        }
        if by_rank.has_savings() {
            // The sort is stable, so that of equal ones, the first call path comes first.
            let calls = |it: &PathImbalance| !is_computation(profile, it.path);
            by_rank.found.paths.sort_by(|a, b| {
                let saved = b.slowest.excess().total_cmp(&a.slowest.excess());
                calls(a).cmp(&calls(b)).then(saved)
            });
            let mut sums = [(); 2].map(|()| vec![0.0; by_rank.names.len()]);
            for it in by_rank.computation() {
                let own = by_rank.found.values(profile, it.path).map_err(input)?;
                for (sums, own) in sums.iter_mut().zip(own) {
                    for (sum, value) in sums.iter_mut().zip(own) {
                        *sum += value;
                    }
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
        let is_time = self.unit().0 == Unit::Nanos && self.found.scope == Scope::Exclusive;
        is_time && !self.is_change
    }

    fn computation(&self) -> impl Iterator<Item = &PathImbalance> {
        let profile = &self.opened.profile;
        let paths = self.found.paths.iter();
        paths.filter(|it| is_computation(profile, it.path))
    }

    /// Returns the values of a call path on the compared locations.
    fn values(&self, path: CallPathId) -> Result<Vec<f64>, Failure> {
        let values = self.found.values(&self.opened.profile, path);
        let [sums, _] = values.map_err(input)?;
        Ok(sums)
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
        pictures::column(name.into(), &self.metric().metric.unit, values)
    }

    /// Returns the row of the sum of all computation, if there is one.
    fn all(&self) -> Option<Row> {
        let measured = |values: &Vec<f64>| Imbalance::of(values, &self.found.locations);
        let [values, slowest] = self.all.each_ref().map(measured);
        Some(Row {
            path: None,
            values: values?,
            saves: slowest?.excess(),
        })
    }

    /// Returns the rows of the first `top` call paths.
    fn rows(&self, top: usize) -> Vec<Row> {
        let paths = self.found.paths.iter().take(top);
        let row = |it: &PathImbalance| Row {
            path: Some(it.path),
            values: it.values,
            saves: it.slowest.excess(),
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
                is_work.then_some(row.saves)
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
            None => Ok(self.all[0].clone()),
        };
        let rows: Vec<Vec<f64>> = rows.iter().map(values).collect::<Result<_, _>>()?;
        let groups = self.names.chunks(width).enumerate();
        let columns = groups.map(|(at, names)| {
            let name = match names {
                [one] => one.clone(),
                [first, .., last] => format!("{first}-{last}"),
                [] => String::new(),
            };
            let mean = |row: &Vec<f64>| {
                let values = row.iter().skip(at * width).take(width).copied();
                let finite = values.filter(|value| value.is_finite());
                let (sum, count) = finite.fold((0.0, 0), |(sum, count), it| (sum + it, count + 1));
                (count > 0).then(|| sum / f64::from(count))
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
            let values = self.values(path)?.into_iter().map(|value| value * factor);
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
        let words = "Each row has a scale of its own, relative to its mean. The first call paths are those with the \
                     largest load imbalance.";
        let change = "Each row has a scale of its own, from minus to plus its largest change. The first call paths are \
                      those that changed most.";
        let words = if self.is_change { change } else { words };
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
            undefined: Option<UndefinedValues>,
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
            undefined: self.undefined.clone(),
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
        let what = if self.is_change {
            "change"
        } else {
            "load imbalance"
        };
        writeln!(out, "  {what} of {quantity} over {}", counted(count, noun))?;
        let system = self.opened.profile.system();
        let threads = self.found.threads.len();
        let skipped = system.locations().len() - threads;
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
        if noun == "thread" && self.names.iter().any(|name| name.contains('.')) {
            writeln!(out, "  threads     rank.thread: 3.1 is thread 1 of rank 3")?;
        } else if threads > count {
            let threads = counted(threads, "thread");
            writeln!(
                out,
                "  threads     a rank has the sum over its threads, of {threads} in all: --by thread"
            )?;
        }
        undefined_values::write(self.undefined.as_slice(), out)?;
        let rows = self.listed(top);
        table::print(out, &self.summary(&rows), MAX_NAME)?;
        let more = self.found.paths.len().saturating_sub(top);
        if more > 0 {
            writeln!(out, "  {}: --top", counted(more, "more call path"))?;
        }
        // Work cannot be balanced on a single rank.
        if self.has_savings() && count > 1 {
            let of = if threads > count {
                "max - mean of the slowest threads of the ranks"
            } else {
                "max - mean"
            };
            writeln!(
                out,
                "  saves       {of}: the run time that balanced work saves at most, if all {noun}s wait for the \
                 slowest one, and {threads} times that in CPU time. Calls that wait or communicate have none: balanced \
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

/// Checks that the values of a metric add up over call paths and locations.
///
/// # Errors
/// Returns [`Failure::Input`] with metrics that do if they do not.
fn adds_up(profile: &Profile, metric: MetricId) -> Result<(), Failure> {
    let metrics = profile.metrics();
    let about = &metrics[metric.index()];
    if about.combine == Combine::Sum {
        return Ok(());
    }
    const LISTED: usize = 3;
    let others = metrics.iter().filter(|it| it.combine == Combine::Sum);
    let others: Vec<_> = others.map(|it| it.metric.name.as_str()).collect();
    let shown = others.iter().take(LISTED).copied().collect::<Vec<_>>();
    Err(Failure::Input(format!(
        "--metric {}: the values of this metric of the profile do not add up, so that they have no load imbalance; \
         {} do, such as {}",
        about.metric.name,
        counted(others.len(), "metric"),
        shown.join(", ")
    )))
}

/// Returns the names of the compared locations: the rank of the process, with the number of the thread if
/// threads of processes with several are compared. If the processes have numbers that are no ranks, or several
/// have the same, these are the names of the processes.
fn names(profile: &Profile, locations: &[LocationId], compared: Compared) -> Vec<String> {
    let system = profile.system();
    let ranks = system.ranks();
    let process_of = |id: &LocationId| system.process(*id);
    let rank_of = |process: LocationGroupId| ranks.get(process.index()).copied().flatten();
    let processes: BTreeSet<_> = locations.iter().filter_map(process_of).collect();
    let most = 2 * processes.len() as u64;
    let is_stated = |process: &LocationGroupId| {
        let (Some(stated), Some(group)) = (system.stated_rank(*process), system.group(*process))
        else {
            return true;
        };
        // Larger numbers in names are those of processes of the operating system.
        let is_rank = stated < most || group.properties.get("rank").is_some();
        is_rank && rank_of(*process) == Some(stated)
    };
    let labels = processes.iter().filter_map(|id| system.group(*id));
    let labels: BTreeSet<&str> = labels.map(|group| group.name.as_str()).collect();
    let has_ranks = processes.iter().all(is_stated) || labels.len() < processes.len();
    // Locations without a process are numbered after the processes.
    let mut next = ranks
        .iter()
        .flatten()
        .max()
        .map_or(0, |most| most.saturating_add(1));
    let mut names = Vec::with_capacity(locations.len());
    for threads in
        locations.chunk_by(|a, b| process_of(a).is_some_and(|it| process_of(b) == Some(it)))
    {
        let process = threads.first().and_then(process_of);
        let rank = process.and_then(rank_of).unwrap_or_else(|| {
            let own = next;
            next = next.saturating_add(1);
            own
        });
        let group = process.and_then(|id| system.group(id));
        let rank = match group {
            Some(group) if !has_ranks => group.name.clone(),
            _ => rank.to_string(),
        };
        let own = system.thread_numbers(threads);
        // Some recordings number the threads of all processes together.
        let count = threads.len() as u64;
        let is_own = own.iter().any(|number| *number < count);
        let own = if is_own { own } else { (0..count).collect() };
        names.push((rank, own));
    }
    let has_threads = compared == Compared::Threads && names.iter().any(|(_, own)| own.len() > 1);
    let name = |(rank, threads): (String, Vec<u64>)| -> Vec<String> {
        if has_threads {
            threads.iter().map(|it| format!("{rank}.{it}")).collect()
        } else {
            vec![rank]
        }
    };
    names.into_iter().flat_map(name).collect()
}
