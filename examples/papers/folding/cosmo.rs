//! COSMO-SPECS: ranks that fall behind more and more, planted in a generated trace and in a real
//! run.

use super::comparison::Compared;
use super::{folded, timelines};
use perfkit::core::samples::cosmo;
use perfkit::core::{Job, Ticks, TimeRange, Trace};
use perfkit::fold::{GroupBy, Op, Result as Folding, Usage};

/// Compares COSMO-SPECS: 4 of 40 ranks compute clouds and fall behind more in each iteration.
pub(super) fn cloud(trace: &Trace) -> Folding<Compared> {
    const SAMPLED: &str =
        "centres of 6000 pixels over the run; planted: counted from the definition of the model";
    let timelines = timelines(trace)?;
    let mut table = Compared::new(
        "COSMO-SPECS: 40 ranks of a model, 4 of them under clouds",
        "planted",
    );
    let names = ["COSMO", "MPI_Sendrecv", "SPECS", "MPI_Allreduce"];
    for (op, name, published) in [
        (Op::Max, "max", "810, 163, 3291, 1736"),
        (Op::Min, "min", "810, 163, 4929, 98"),
        (Op::Diff, "diff", "0, 0, 1638, 0"),
    ] {
        let (_, fold) = folded(&timelines, GroupBy::All, op, 6000, cosmo::SPAN)?;
        let painted = fold.row(0).map(|row| row.painted()).unwrap_or_default();
        let count = |name| {
            let id = timelines.classes().id(name);
            let found = painted.iter().find(|one| Some(one.0) == id);
            found.map_or(0, |one| one.1).to_string()
        };
        table.row(
            format!("{name}: pixels of {}", names.join(", ")),
            published,
            names.map(count).join(", "),
            SAMPLED,
        );
    }
    for k in [1, 15, 30, 59] {
        let window = TimeRange {
            start: cosmo::start(k),
            end: cosmo::start(k + 1),
        };
        let (_, fold) = folded(&timelines, GroupBy::All, Op::Diff, 100_000, window)?;
        let share = fold.row(0).map_or(0.0, |row| row.painted_share());
        table.row(
            format!("share of iteration {k} in which ranks differ"),
            format!("{:.4}", cosmo::differing_share(k)),
            (share, 4),
            "planted: k S / 59 of 5.3 ms + k S / 59, with S = 4 ms",
        );
    }
    let (_, fold) = folded(&timelines, GroupBy::All, Op::Diff, 6000, cosmo::SPAN)?;
    let differ = fold.cells().iter().filter(|cell| cell.picture().is_some());
    let most = differ.map(|cell| cell.winning as usize).max().unwrap_or(0);
    table.row(
        "ranks in the minority where they differ",
        cosmo::CLOUD_RANKS.to_string(),
        most,
        "",
    );
    Ok(table)
}

/// Compares the same effect in a real run, jacobi-16, in which the load of ranks 5, 6, 9 and 10
/// grows.
pub(super) fn growing(trace: &Trace) -> Folding<Compared> {
    let timelines = timelines(trace)?;
    let all = timelines.range();
    let mut table = Compared::new(
        "A real run of that kind: a solver on 16 ranks, 4 of them under a cloud (jacobi-16)",
        "planted",
    );
    let (folder, _) = folded(&timelines, GroupBy::Process, Op::Max, 1, all)?;
    let time = |usage: &Usage| {
        let shares = usage.named_classes(timelines.classes());
        shares
            .filter(|one| one.0 == "microphysics")
            .map(|one| one.1)
            .sum::<f64>()
    };
    let times: Vec<f64> = folder
        .usage(all, &Job::default())?
        .iter()
        .map(time)
        .collect();
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by(|one, other| times[*other].total_cmp(&times[*one]));
    let (cloudy, clear) = order.split_at(4.min(order.len()));
    let mut ranks = cloudy.to_vec();
    ranks.sort_unstable();
    let ranks: Vec<String> = ranks.iter().map(usize::to_string).collect();
    table.row(
        "ranks with most time in microphysics",
        "5, 6, 9, 10",
        ranks.join(", "),
        "",
    );
    let mean =
        |of: &[usize]| of.iter().map(|rank| times[*rank]).sum::<f64>() / of.len().max(1) as f64;
    table.row(
        "their time in it, times that of the others",
        "20.6",
        (mean(cloudy) / mean(clear), 1),
        "work is planted and time is measured: a loop has its overhead, too",
    );
    let Some(microphysics) = timelines.classes().id("microphysics") else {
        return Ok(table);
    };
    // Use the time from the first to the last iteration, without the start-up and shut-down of MPI.
    let mut calls = timelines
        .segments(5, all)
        .filter(|(_, state)| state.class() == Some(microphysics))
        .map(|(range, _)| range);
    let first = calls.next().unwrap_or(all);
    let (start, end) = (first.start.0, calls.last().unwrap_or(first).end.0);
    for (what, op, why) in [
        (
            "% of each quarter in which any rank is in it",
            Op::Any(microphysics),
            "",
        ),
        (
            "% of each quarter that diff paints",
            Op::Diff,
            "two processors run the 16 ranks, so that these differ all the time",
        ),
    ] {
        let quarters = (0..4).map(|quarter| {
            let at = |quarter: u64| Ticks(start + (end - start) * quarter / 4);
            let window = TimeRange {
                start: at(quarter),
                end: at(quarter + 1),
            };
            let (_, fold) = folded(&timelines, GroupBy::All, op, 6000, window)?;
            let share = fold.row(0).map_or(0.0, |row| row.painted_share());
            Ok(format!("{:.1}", 100.0 * share))
        });
        let quarters: Folding<Vec<String>> = quarters.collect();
        table.row(what, "grows", quarters?.join(", "), why);
    }
    Ok(table)
}
