//! Grid of the processes, detected from the views of a profile and described in messages;
//! `--write-topology` writes it into the profile.

use super::grid::{Grid, Rule, is_process_thread, of_recording};
use super::{Options, cube};
use crate::failure::{Failure, Outcome, input};
use crate::findings;
use crate::output;
use crate::progress::Bar;
use crate::recording::Profiled;
use crate::table::counted;
use perfkit::core::{CartTopology, Profile};
use perfkit::spectral::{GridCandidate, GridParams, GridVerdict, Grids};
use perfkit::topology::Topology;
use std::path::Path;

/// Number of candidates that a message lists.
const LISTED: usize = 3;

/// Searches the grid of the processes of a profile.
///
/// # Errors
/// Returns [`Failure::Input`] if a row cannot be read or the profile has too many processes.
pub(crate) fn search(profile: &Profile) -> Result<Grids, Failure> {
    let params = GridParams::default().check().map_err(input)?;
    Grids::of(profile, &params, &Bar::job()).map_err(input)
}

/// Maps the locations of a profile to its detected grid.
///
/// # Errors
/// Returns [`Failure::Input`] if no grid is clearly better than the others.
pub(super) fn topology(profile: &Profile, source: &str) -> Result<Topology, Failure> {
    let found = search(profile)?;
    let Some(grid) = found.proposal() else {
        let reason = conclusion(&found).unwrap_or_else(|| {
            let (processes, views) = (found.processes, counted(found.views, "varying view"));
            format!("no grid can be detected, the number of processes is {processes}, with {views}")
        });
        return Err(Failure::Input(format!("{source}: {reason}")));
    };
    grid.topology(profile).map_err(input)
}

/// Returns the grid of the processes with its name: the first of the profile with several axes that
/// is not that of process and thread, else a detected one. `None` without either.
pub(crate) fn placed(profile: &Profile) -> Option<(Topology, String)> {
    let stored = profile.topologies().iter().find(|cart| {
        let axes = cart.dimensions.iter().filter(|axis| axis.size > 1);
        axes.count() > 1 && !is_process_thread(cart)
    });
    let of_stored = |cart: &CartTopology| {
        let topology = of_recording(profile, cart, &cart.name).ok()?;
        let name = match cart.name.as_str() {
            "" => "of the file".into(),
            name => format!("`{name}` of the file"),
        };
        Some((topology, name))
    };
    // A grid that cannot be used is no reason to print nothing at all.
    stored.and_then(of_stored).or_else(|| {
        let found = search(profile).ok()?;
        let grid = found.proposal()?.topology(profile).ok()?;
        Some((grid, "detected".into()))
    })
}

/// Writes the profile with its grid as .cubex. An archive of this format keeps its other content.
///
/// # Errors
/// Returns [`Failure::Usage`] if the options do not apply to the profile, and [`Failure::Input`] if
/// the file cannot be written.
pub(super) fn write_topology(options: &Options, opened: &Profiled, to: &Path) -> Outcome {
    let profile = &opened.profile;
    let Grid { topology, .. } = Grid::of(profile, options)?;
    let mut cart = topology.to_cart(profile.system());
    if matches!(options.views.rule, Some(Rule::Lengths(_))) {
        cart.name = "processes".into();
        // Lengths do not state which axes are periodic.
        for axis in &mut cart.dimensions {
            axis.periodic = false;
        }
    }
    // The first grid is the default one.
    let others = profile.topologies().iter().filter(|known| **known != cart);
    let grids = [cart.clone()].into_iter().chain(others.cloned()).collect();
    let profile = profile.clone().with_topologies(grids);
    let archive = (opened.format == "cube").then_some(options.file.as_path());
    output::whole(to, |to| {
        let lost = cube::write_profile(&profile, archive, to)?;
        findings::print(&lost, &Default::default());
        Ok(())
    })
}

/// Returns the lengths, and the order of the processes.
fn named(grid: &GridCandidate) -> String {
    let order = if grid.is_machine {
        " in order (nodes and processes of a node)"
    } else {
        " in order"
    };
    format!("{} processes{order}", grid.name())
}

/// Returns the grid with its figures: `4 x 4 x 4 (52 %, 14 % by chance; evidence 11.2)`.
fn figures(grid: &GridCandidate) -> String {
    format!(
        "{}{} ({:.0} %, {:.0} % by chance; evidence {:.1})",
        grid.name(),
        if grid.is_machine { " by node" } else { "" },
        100.0 * grid.share,
        100.0 * grid.chance,
        grid.evidence
    )
}

/// Returns the best candidates with their figures.
fn best(found: &Grids) -> String {
    let best = found.candidates.iter().take(LISTED).map(figures);
    best.collect::<Vec<_>>().join(", ")
}

/// Returns the conclusion of a search as a sentence; `None` if there was nothing to compare.
pub(crate) fn conclusion(found: &Grids) -> Option<String> {
    let p = match found.p {
        p if p <= 0.01 => format!("p <= {p:.2}"),
        p => format!("p = {p:.2}"),
    };
    let first = found.candidates.first()?;
    Some(match found.verdict {
        GridVerdict::Proposed => format!(
            "{}: {:.0} % of the variance of the views lies along the axes, {:.0} % by chance (evidence {:.1}, {p})",
            named(first),
            100.0 * first.share,
            100.0 * first.chance,
            first.evidence
        ),
        GridVerdict::Ambiguous => format!(
            "no grid is clearly better than the others, by variance of the views along the axes: {}",
            best(found)
        ),
        GridVerdict::Smooth => format!(
            "the views vary smoothly with the number of the process (evidence {:.1}), which explains them as well as \
             a grid: {}",
            found.smooth,
            best(found)
        ),
        GridVerdict::Twofold => format!(
            "two halves or pairs of processes are alike, which is weak evidence of a grid: {}",
            figures(first)
        ),
        GridVerdict::Chance => {
            format!("no grid explains the views better than a random order of the processes, {p}")
        }
        _ => return None,
    })
}
