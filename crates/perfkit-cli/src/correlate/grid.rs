//! [`Rule`] of option `--topology`, and the [`Grid`] of the locations that it or the default makes,
//! with notes on implausible grids.

use super::{Options, detected};
use crate::failure::{Failure, input};
use crate::table::{counted, grouped};
use perfkit::core::{
    CartMembers, CartTopology, GroupKind, LocationGroup, LocationId, Profile, SystemTree,
};
use perfkit::spectral::Grids;
use perfkit::topology::{
    AxisOrder, Check, Error, Place, Ranks, Shape, Sharing, Topology, balanced, coordinates_in,
};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Rule that assigns locations to the cells of a grid.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    /// Grid of the recording, by name or number.
    Named(String),
    /// Axes of these lengths, filled with the processes in order.
    Lengths(Vec<usize>),
    /// Levels of the machine, one for each axis.
    Places(Vec<Place>),
    /// File of coordinates.
    Table(PathBuf),
    /// Property of locations, processes or nodes that holds coordinates.
    Metadata(String),
    /// Grid that is detected from the views.
    Detected,
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("cube", name)) => return Ok(Rule::Named(name.into())),
            Some(("table", file)) => return Ok(Rule::Table(file.into())),
            Some(("metadata", name)) => return Ok(Rule::Metadata(name.into())),
            _ => {}
        }
        if text == "detect" {
            return Ok(Rule::Detected);
        }
        if text.starts_with(|letter: char| letter.is_ascii_digit()) {
            let lengths = text.split('x').map(|length| length.trim().parse());
            let lengths = lengths.collect::<Result<_, _>>();
            return Ok(Rule::Lengths(
                lengths.map_err(|_| "expected whole numbers separated by `x`")?,
            ));
        }
        let place = |name: &str| match name.trim() {
            "node" => Ok(Place::Node),
            "process" | "rank" => Ok(Place::Process),
            "thread" => Ok(Place::Thread),
            _ => Err(format!(
                "`{name}` is no level of the machine (node, process, thread), and no other rule begins like that"
            )),
        };
        let places = text.split(',').map(place);
        Ok(Rule::Places(places.collect::<Result<_, _>>()?))
    }
}

/// Topology with the notes that are needed to interpret results on it.
#[derive(Debug)]
pub(super) struct Grid {
    /// Cells of the locations.
    pub(super) topology: Topology,
    /// Option or file that defines the lengths, for error messages.
    pub(super) source: String,
    /// Notes about cells that are shared, empty or few.
    pub(super) notes: Vec<String>,
}

/// Smallest number of occupied cells of a default grid. Views of random numbers reach |r| above 0.9
/// at some shift in 3 of 10 pairs on four cells, and in 1 of 50 pairs on eight.
const MIN_CELLS: usize = 8;

/// Upper bound on the number of cells for each process if the lengths are an option. Most cells of
/// a larger grid are empty, and empty cells count as the mean.
const MAX_CELLS_PER_PROCESS: usize = 64;

impl Grid {
    /// Maps the locations of a profile to the grid of a rule, or to the default grid.
    pub(super) fn of(profile: &Profile, options: &Options) -> Result<Self, Failure> {
        match &options.views.rule {
            Some(rule) => Self::by_rule(profile, rule),
            None => Self::by_default(profile, &options.file),
        }
    }

    fn by_rule(profile: &Profile, rule: &Rule) -> Result<Self, Failure> {
        let source = format!("--topology {rule}");
        let topology = rule.lay(profile, &source)?;
        let sharing = topology.sharing(profile.system());
        let mut notes = Vec::new();
        match rule {
            Rule::Named(_) => {
                if let Some(reason) = contradicts(&topology, &sharing) {
                    return Err(Failure::Input(format!("{source}: {reason}")));
                }
            }
            Rule::Lengths(_) => notes.extend(accidental(&sharing, topology.check().placed)),
            Rule::Places(_) | Rule::Table(_) | Rule::Metadata(_) | Rule::Detected => {}
        }
        if sharing.occupied < MIN_CELLS {
            let reason = few(&sharing);
            notes.push(format!("{reason}; --surrogates estimates how often"));
        }
        notes.extend(lacks(topology.check(), matches!(rule, Rule::Table(_))));
        Ok(Grid {
            topology,
            source,
            notes,
        })
    }

    /// Selects the first grid of the recording with several axes, else its first grid, else a row of the
    /// processes in order. Grids on which correlations are meaningless are refused.
    fn by_default(profile: &Profile, file: &Path) -> Result<Self, Failure> {
        let file = file.display();
        let grids = profile.topologies();
        let axes =
            |cart: &&CartTopology| cart.dimensions.iter().filter(|axis| axis.size > 1).count();
        let first = grids.iter().find(|cart| axes(cart) > 1);
        let first = first.or(grids.first());
        // A grid of one axis, or of process and thread, is the numbering of the recording.
        let is_numbering = first.is_none_or(|cart| axes(&cart) < 2 || is_process_thread(cart));
        let search = is_numbering.then(|| detected::search(profile));
        let search = search.transpose()?;
        let proposal = search.as_ref().and_then(Grids::proposal);
        let used = proposal.filter(|_| first.is_none_or(|cart| axes(&cart) < 2));
        let (topology, source) = match (used, first) {
            (Some(grid), _) => {
                let source = format!("{file}, detected grid");
                (grid.topology(profile).map_err(input)?, source)
            }
            (None, Some(cart)) => {
                let source = format!("{file}, grid {}", name_of(grids, cart));
                (of_recording(profile, cart, &source)?, source)
            }
            (None, None) => {
                let source = format!("{file} has no grid, and the row of its processes");
                (in_order(profile, &source)?, source)
            }
        };
        let is_row = used.is_none() && first.is_none();
        let lens = topology.shape().lens();
        let dims: Vec<_> = lens.iter().map(usize::to_string).collect();
        let dims = dims.join(" x ");
        let sharing = topology.sharing(profile.system());
        let placed = topology.check().placed;
        let mut reason = contradicts(&topology, &sharing);
        if first.is_none() || used.is_some() {
            reason = reason.or_else(|| accidental(&sharing, placed));
        }
        if sharing.occupied < MIN_CELLS {
            reason = reason.or_else(|| Some(few(&sharing)));
        }
        if let Some(reason) = reason {
            return Err(Failure::Input(format!(
                "{source} is {dims}: {reason}; --topology sets where locations lie, such as \
                 process,thread"
            )));
        }
        let mut notes = Vec::new();
        if used.is_some() {
            let found = search.as_ref().and_then(detected::conclusion);
            notes.extend(
                found.map(|found| format!("the grid is detected, --topology replaces it: {found}")),
            );
        } else if let Some(found) = search.as_ref().and_then(detected::conclusion) {
            notes.push(match proposal {
                Some(_) => format!("--topology detect uses a grid of processes: {found}"),
                None => found,
            });
        }
        if is_row {
            notes.push("the file has no grid: the processes are in a row, in their order".into());
        }
        if lens.iter().filter(|len| **len > 1).count() == 1 {
            let balanced = balanced(processes(profile), 3);
            let balanced: Vec<_> = balanced.iter().map(usize::to_string).collect();
            notes.push(format!(
                "the grid {dims} has one axis, the order of its entries: a shift along it is a \
                 distance, and p holds, only if neighbours in that order are neighbours in the program. \
                 Processes that lie on several axes need --topology, such as {}",
                balanced.join("x")
            ));
        }
        notes.extend(lacks(topology.check(), false));
        Ok(Grid {
            topology,
            source,
            notes,
        })
    }
}

/// Returns the name of a grid of the recording in quotes, or its number because many grids have no name.
fn name_of(grids: &[CartTopology], cart: &CartTopology) -> String {
    let at = grids.iter().position(|own| own == cart);
    match (cart.name.as_str(), at) {
        ("", Some(at)) => format!("{at} without a name"),
        (name, _) => format!("`{name}`"),
    }
}

/// Returns `true` for the grid of process and thread that Score-P writes for each recording.
pub(super) fn is_process_thread(cart: &CartTopology) -> bool {
    let name = cart.name.to_lowercase();
    name.contains("process") && name.contains("thread")
}

/// Returns the reason why a grid of the recording is implausible: it puts processes of different
/// nodes into one cell.
fn contradicts(topology: &Topology, sharing: &Sharing) -> Option<String> {
    let Sharing {
        of_nodes, occupied, ..
    } = *sharing;
    (of_nodes > 0).then(|| {
        format!(
            "{of_nodes} of {occupied} cells hold processes of different nodes, so that the grid{} does \
             not describe the recording",
            match topology.name() {
                "" => String::new(),
                name => format!(" {name}"),
            }
        )
    })
}

/// Returns the reason why the shared cells of a grid are probably unintended: their numbers of
/// locations differ.
fn accidental(sharing: &Sharing, locations: usize) -> Option<String> {
    let Sharing {
        occupied,
        fewest,
        most,
        ..
    } = *sharing;
    (fewest < most).then(|| {
        format!(
            "{locations} locations share {} by accident, between {fewest} and {most} in each, so that \
             sums over a cell follow their number",
            counted(occupied, "cell")
        )
    })
}

/// Returns the reason why correlations over few cells are weak evidence.
fn few(sharing: &Sharing) -> String {
    let cells = counted(sharing.occupied, "cell");
    format!("locations occupy {cells}, fewer than {MIN_CELLS}: over so few, |r| near 1 is chance")
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |words: Vec<String>, between| words.join(between);
        match self {
            Rule::Named(name) => write!(f, "cube:{name}"),
            Rule::Lengths(lens) => {
                f.write_str(&joined(lens.iter().map(usize::to_string).collect(), "x"))
            }
            Rule::Places(places) => {
                let names = places.iter().map(|place| place.name().to_string());
                f.write_str(&joined(names.collect(), ","))
            }
            Rule::Table(file) => write!(f, "table:{}", file.display()),
            Rule::Metadata(name) => write!(f, "metadata:{name}"),
            Rule::Detected => f.write_str("detect"),
        }
    }
}

impl Rule {
    /// Maps the locations of a profile to a grid. Sizes are checked before they size an allocation;
    /// error messages name `source`.
    fn lay(&self, profile: &Profile, source: &str) -> Result<Topology, Failure> {
        let system = profile.system();
        let locations = system.locations().len();
        let usage = |error: Error| Failure::Usage(format!("{source}: {error}"));
        match self {
            Rule::Named(name) => of_recording(profile, named(profile, name)?, source),
            Rule::Lengths(lens) => {
                let shape = Shape::of(lens).map_err(usage)?;
                let shape = shape.plausible_for(locations).map_err(usage)?;
                let (cells, processes) = (shape.cells(), processes(profile));
                if cells > processes.saturating_mul(MAX_CELLS_PER_PROCESS) {
                    return Err(Failure::Usage(format!(
                        "{source}: {} cells are too many for {}: all but one in {MAX_CELLS_PER_PROCESS} or more \
                         would be empty and count as the mean",
                        grouped(cells as u64),
                        match processes {
                            1 => "1 process".into(),
                            more => format!("{} processes", grouped(more as u64)),
                        }
                    )));
                }
                let grid = Topology::by_process(shape, AxisOrder::LastFastest, system);
                // A grid with more cells than processes is plausible; one with fewer cells is not.
                match grid.check().outside {
                    0 => Ok(grid),
                    outside => Err(Failure::Usage(format!(
                        "{source}: {} cells are too few, {outside} locations have no place",
                        grid.shape().cells()
                    ))),
                }
            }
            Rule::Places(places) => Topology::from_system(system, places).map_err(usage),
            Rule::Table(file) => table_of(file, system),
            Rule::Metadata(name) => {
                // The lengths for `BGP Coords` are in `BGP Size`.
                let size = name.replace("Coords", "Size");
                let size = profile.properties().iter().find(|(own, _)| *own == size);
                let lens = size.and_then(|(_, text)| coordinates_in(text));
                let shape = lens.and_then(|lens| Shape::of(&lens).ok());
                Topology::from_metadata(system, name, shape)
                    .map_err(|error| Failure::Input(format!("{source}: {error}")))
            }
            Rule::Detected => detected::topology(profile, source),
        }
    }
}

/// Returns the number of processes, at least 1. Streams of a device count for their process.
fn processes(profile: &Profile) -> usize {
    let is_process = |group: &&LocationGroup| group.kind != GroupKind::Accelerator;
    let groups = profile.system().groups().iter();
    groups.filter(is_process).count().max(1)
}

/// Maps processes to a row, in order. On a wrong grid of several axes, smooth views of neighbours seem irregular, so
/// that chance seems less likely: with independent smooth views on 16 x 16 ranks, 8 x 8 x 4 has false pairs in 5 of
/// 10 profiles, the row of 256 in none.
fn in_order(profile: &Profile, source: &str) -> Result<Topology, Failure> {
    let system = profile.system();
    let shape = Shape::of(&[processes(profile)])
        .and_then(|shape| shape.plausible_for(system.locations().len()));
    let shape = shape.map_err(|error| Failure::Input(format!("{source}: {error}")))?;
    let topology = Topology::by_process(shape, AxisOrder::LastFastest, system);
    Ok(topology.named("in order"))
}

pub(super) fn of_recording(
    profile: &Profile,
    cart: &CartTopology,
    source: &str,
) -> Result<Topology, Failure> {
    let ranks = match cart.of {
        CartMembers::Groups => Ranks::Groups,
        CartMembers::Nodes => Ranks::Nodes,
        _ => Ranks::Locations,
    };
    Topology::from_cart(cart, ranks, profile.system())
        .map_err(|error| Failure::Input(format!("{source}: {error}")))
}

/// Finds a grid of the profile by name, or by number because many grids have no name.
fn named<'a>(profile: &'a Profile, name: &str) -> Result<&'a CartTopology, Failure> {
    let known = profile.topologies();
    let by_number = || known.get(name.parse::<usize>().ok()?);
    let found = known.iter().find(|cart| cart.name == name);
    found.or_else(by_number).ok_or_else(|| {
        let names = known.iter().enumerate();
        let names = names.map(|(at, cart)| {
            let lens = cart.dimensions.iter().map(|axis| axis.size.to_string());
            let lens: Vec<String> = lens.collect();
            let name = match cart.name.as_str() {
                "" => "without a name".into(),
                name => format!("`{name}`"),
            };
            format!("{at} {name} ({})", lens.join(" x "))
        });
        let names = if known.is_empty() {
            "it has none".into()
        } else {
            format!("but: {}", names.collect::<Vec<_>>().join(", "))
        };
        Failure::Input(format!("there is no grid `{name}` in the file; {names}"))
    })
}

/// Describes locations without a cell and shared or empty cells; empty if each location has a cell
/// of its own.
fn lacks(check: &Check, is_table: bool) -> Vec<String> {
    let Check {
        locations,
        unplaced,
        outside,
        repeated,
        strangers,
        shared,
        missing,
        ..
    } = *check;
    let (source, entry) = if is_table {
        ("the table", "line")
    } else {
        ("the grid", "entry")
    };
    let all = [
        (
            unplaced,
            format!("{unplaced} of {locations} locations have no coordinates in {source}"),
        ),
        (
            outside,
            format!("{outside} locations lie outside of the grid"),
        ),
        (
            repeated,
            format!("{repeated} locations are placed twice; the first place holds"),
        ),
        (
            strangers,
            format!(
                "{source} places {strangers} that the recording does not have: {entry} by {entry} \
                 there should be {locations}"
            ),
        ),
        (
            shared,
            format!(
                "{shared} cells hold several locations, whose values are combined as the metric defines, mostly \
                 added up"
            ),
        ),
        (
            missing,
            match missing {
                1 => "1 cell is empty and counts as the mean of the others".into(),
                _ => format!("{missing} cells are empty and count as the mean of the others"),
            },
        ),
    ];
    let found = all.into_iter().filter(|(count, _)| *count > 0);
    found.map(|(_, text)| text).collect()
}

/// Reads coordinates from a file with one line for each location, in the order of the ranks of their
/// processes. The lengths of the grid are the largest coordinates plus 1.
fn table_of(file: &Path, system: &SystemTree) -> Result<Topology, Failure> {
    let locations = system.locations().len();
    let wrong = |what: String| Failure::Input(format!("{}: {what}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let mut all = Vec::new();
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let numbers = coordinates_in(line);
        let numbers = numbers.ok_or_else(|| wrong(format!("line {}: no coordinates", at + 1)))?;
        let axes = all.first().map_or(numbers.len(), Vec::len);
        if numbers.len() != axes {
            let count = numbers.len();
            let what = format!("{count} coordinates, {axes} in the lines before");
            return Err(wrong(format!("line {}: {what}", at + 1)));
        }
        all.push(numbers);
    }
    if all.is_empty() {
        return Err(wrong("no coordinates".into()));
    }
    let axes = all.iter().map(Vec::len).max().unwrap_or_default();
    // Lines beyond the number of locations do not enlarge the grid.
    let used = all.iter().take(locations.max(1));
    let along = |axis: usize| used.clone().filter_map(move |at: &Vec<usize>| at.get(axis));
    let lens: Vec<usize> = (0..axes)
        .map(|axis| along(axis).max().map_or(1, |most| most.saturating_add(1)))
        .collect();
    let shape = Shape::of(&lens).and_then(|shape| shape.plausible_for(locations));
    let shape = shape.map_err(|error| wrong(format!("coordinates up to {lens:?}: {error}")))?;
    let order = system.locations_by_rank();
    let entries = all.iter().enumerate().filter_map(|(at, coordinates)| {
        // Lines past the last location are places of unknown ones.
        let id = order
            .get(at)
            .copied()
            .or_else(|| LocationId::from_index(at))?;
        Some((id, coordinates.as_slice()))
    });
    Ok(Topology::from_table(shape, locations, entries))
}
