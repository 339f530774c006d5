//! Where locations lie: the rules of `--topology`.

use super::numbers;
use perfkit::core::{CartMembers, CartTopology, GroupKind, LocationGroup, LocationId, Profile};
use perfkit::topology::{
    AxisOrder, Check, Error, Place, Ranks, Shape, Topology, balanced, coordinates_in,
};
use perfkit_examples::cli::{Failure, input};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where locations lie.
#[derive(Debug)]
pub(super) enum Rule {
    /// A grid of the recording, by name or number.
    Named(String),
    /// Processes in order over axes of these lengths.
    Lengths(Vec<usize>),
    /// Levels of the machine.
    Places(Vec<Place>),
    /// A file of coordinates.
    Table(PathBuf),
    /// A property of locations, processes or nodes that holds coordinates.
    Metadata(String),
}

impl FromStr for Rule {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        match text.split_once(':') {
            Some(("cube", name)) => return Ok(Rule::Named(name.into())),
            Some(("table", file)) => return Ok(Rule::Table(file.into())),
            Some(("metadata", name)) => return Ok(Rule::Metadata(name.into())),
            _ => {}
        }
        if text.starts_with(|letter: char| letter.is_ascii_digit()) {
            return Ok(Rule::Lengths(numbers(text, 'x', "--topology")?));
        }
        let place = |name: &str| match name.trim() {
            "node" => Ok(Place::Node),
            "process" => Ok(Place::Process),
            "thread" => Ok(Place::Thread),
            _ => Err(Failure::Usage(format!(
                "--topology {text}: `{name}` is no level of the machine (node, process, thread), \
                 and no other rule begins like that"
            ))),
        };
        let places = text.split(',').map(place);
        Ok(Rule::Places(places.collect::<Result<_, _>>()?))
    }
}

impl Rule {
    /// Lays the locations of a profile over a grid.
    pub(super) fn lay(&self, profile: &Profile) -> Result<Topology, Failure> {
        let system = profile.system();
        match self {
            Rule::Named(name) => of_recording(profile, named(profile, name)?),
            Rule::Lengths(lens) => {
                let shape = Shape::of(lens).map_err(usage)?;
                let grid = Topology::by_process(shape, AxisOrder::FirstFastest, system);
                // More cells than processes can be meant, fewer hardly.
                match grid.check().outside {
                    0 => Ok(grid),
                    outside => Err(Failure::Usage(format!(
                        "--topology: {} cells are too few, {outside} locations have no place",
                        grid.shape().cells()
                    ))),
                }
            }
            Rule::Places(places) => Topology::from_system(system, places).map_err(usage),
            Rule::Table(file) => table_of(file, system.locations().len()),
            Rule::Metadata(name) => {
                // What `BGP Coords` lie in is `BGP Size`.
                let size = name.replace("Coords", "Size");
                let size = profile.properties().iter().find(|(own, _)| *own == size);
                let lens = size.and_then(|(_, text)| coordinates_in(text));
                let shape = lens.and_then(|lens| Shape::of(&lens).ok());
                Topology::from_metadata(system, name, shape).map_err(input)
            }
        }
    }
}

/// Without a rule the first grid of the recording counts, else a balanced one.
pub(super) fn usual(profile: &Profile) -> Result<Topology, Failure> {
    match profile.topologies().first() {
        Some(first) => of_recording(profile, first),
        None => {
            let system = profile.system();
            // A device has no place of its own: what its streams do counts for their process.
            let is_process = |group: &&LocationGroup| group.kind != GroupKind::Accelerator;
            let processes = system.groups().iter().filter(is_process).count();
            let shape = Shape::of(&balanced(processes.max(1), 3)).map_err(usage)?;
            Ok(Topology::by_process(shape, AxisOrder::FirstFastest, system))
        }
    }
}

fn usage(error: Error) -> Failure {
    Failure::Usage(format!("--topology: {error}"))
}

fn of_recording(profile: &Profile, cart: &CartTopology) -> Result<Topology, Failure> {
    let ranks = match cart.of {
        CartMembers::Groups => Ranks::Groups,
        CartMembers::Nodes => Ranks::Nodes,
        _ => Ranks::Locations,
    };
    Topology::from_cart(cart, ranks, profile.system()).map_err(input)
}

/// A grid by its name; many have none, so that a number does as well.
fn named<'a>(profile: &'a Profile, name: &str) -> Result<&'a CartTopology, Failure> {
    let known = profile.topologies();
    let by_number = || known.get(name.parse::<usize>().ok()?);
    let found = known.iter().find(|cart| cart.name == name);
    found.or_else(by_number).ok_or_else(|| {
        let names = known.iter().enumerate();
        let names = names.map(|(at, cart)| format!("{at} `{}`", cart.name));
        let names = match known.is_empty() {
            true => "it has none".into(),
            false => format!("but: {}", names.collect::<Vec<_>>().join(", ")),
        };
        Failure::Input(format!("there is no grid `{name}` in the file; {names}"))
    })
}

/// What a grid lacks, for people; nothing where each location has a cell of its own.
pub(super) fn lacks(check: &Check, is_table: bool) -> Vec<String> {
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
    let (source, entry) = match is_table {
        true => ("the table", "line"),
        false => ("the grid", "entry"),
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
                "{shared} cells hold several locations, whose values become one as their metric says, mostly \
                 their sum"
            ),
        ),
        (
            missing,
            format!("{missing} cells are empty and count as the mean of the others"),
        ),
    ];
    let found = all.into_iter().filter(|(count, _)| *count > 0);
    found.map(|(_, text)| text).collect()
}

/// Coordinates from a file: a line a location, in order. The grid is as large as they need.
fn table_of(file: &Path, locations: usize) -> Result<Topology, Failure> {
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
    // Lines for locations that are not there make no room.
    let used = all.iter().take(locations.max(1));
    let along = |axis: usize| used.clone().filter_map(move |at: &Vec<usize>| at.get(axis));
    let lens: Vec<usize> = (0..axes)
        .map(|axis| along(axis).max().map_or(1, |most| most.saturating_add(1)))
        .collect();
    let shape = Shape::of(&lens).map_err(|error| wrong(error.to_string()))?;
    // A digit too many would ask for all memory.
    let most = locations.saturating_mul(1024).max(1 << 20);
    if shape.cells() > most {
        let cells = shape.cells();
        return Err(wrong(format!(
            "coordinates up to {lens:?} make {cells} cells, for {locations} locations"
        )));
    }
    let entries = all.iter().enumerate().filter_map(|(at, coordinates)| {
        Some((LocationId::from_index(at)?, coordinates.as_slice()))
    });
    Ok(Topology::from_table(shape, locations, entries))
}
