//! GPU streams: the utilisation of devices on which most streams are idle.

use super::comparison::{Compared, Options};
use super::{folded, timelines};
use perf_testdata::planted;
use perfkit::core::{Job, Trace};
use perfkit::fold::{DeviceParams, Devices, Error, GroupBy, Op, Result as Folding};
use perfkit_cli::failure::{Failure, input};
use perfkit_cli::recording;

/// Compares GPU streams: each device is busy for a planted share of the time, but most of its
/// streams never are.
pub(super) fn gpus(trace: &Trace) -> Folding<Compared> {
    let mut table = Compared::new("GPUs: six devices of 14 streams, % of the time", "planted");
    let devices = Devices::new(trace.view(), &DeviceParams::new(), &Job::default())?;
    let timelines = timelines(trace)?;
    for (number, device) in (0..).zip(devices.devices()) {
        let row = |op| {
            let (folder, fold) = folded(&timelines, GroupBy::Device, op, 10_000, device.window)?;
            let rows = folder.groups().rows().iter().zip(fold.rows());
            let mut of_devices = rows.filter(|(_, row)| row.group().kind.may_overlap());
            Ok::<f64, Error>(
                of_devices
                    .nth(number)
                    .map_or(0.0, |one| 100.0 * one.1.painted_share()),
            )
        };
        let busy = planted::percent(number as u32).to_string();
        table.row(
            format!("device {number}: union of its work"),
            busy.clone(),
            (100.0 * device.utilisation.utilisation(), 3),
            "",
        );
        table.row(
            "  select idle, pixels of 10 000",
            busy.clone(),
            (row(Op::Idle)?, 2),
            "sampled at the centres of pixels",
        );
        table.row(
            "  select max",
            busy,
            (row(Op::Max)?, 2),
            "as the slides have it: most streams are idle, so that most of the picture is",
        );
    }
    Ok(table)
}

/// Compares recordings of real GPUs with their utilisation computed as a brute-force union of
/// intervals.
pub(super) fn corpus(options: &Options) -> Result<Option<Compared>, Failure> {
    let mut table = Compared::new(
        "Real GPUs: % of the time in which anything works",
        "slow union",
    );
    let mut is_there = false;
    for (name, file, published) in [
        (
            "PyTorch, 5 streams",
            "gpu/hta/tests/data/trace_filter/sampled_rank-0.json.gz",
            "44.7853",
        ),
        (
            "PyTorch, 13 streams",
            "gpu/kineto/02522842_tb_plugin_samples_resnet50_autograd_api_num_workers_0_worker0.pt.trace.json.gz",
            "18.6817",
        ),
        (
            "PyTorch on MI300X",
            "gpu/tracelens/tests/traces/mi300/facebook_timesformer-base-finetuned-k400__1016002.json.gz",
            "98.8337",
        ),
        (
            "rocprofv3, 567 streams",
            "gpu/tracelens/tests/rocprof/908_results.json.gz",
            "27.9930",
        ),
    ] {
        let Some(path) = options.corpus(file) else {
            continue;
        };
        is_there = true;
        let trace = recording::open(&path)?.trace;
        let devices =
            Devices::new(trace.view(), &DeviceParams::new(), &Job::default()).map_err(input)?;
        table.row(name, published, (100.0 * devices.utilisation(), 4), "");
        let timelines = timelines(&trace).map_err(input)?;
        let Some(device) = devices.devices().first() else {
            continue;
        };
        let (_, fold) =
            folded(&timelines, GroupBy::Device, Op::Max, 10_000, device.window).map_err(input)?;
        let row = fold.rows().find(|row| row.group().kind.may_overlap());
        let share = row.map_or(0.0, |row| 100.0 * row.painted_share());
        table.row(
            "  select max paints",
            published,
            (share, 4),
            "what most streams do, which is nothing where there are several",
        );
    }
    Ok(is_there.then_some(table))
}
