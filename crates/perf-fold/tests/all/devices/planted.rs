//! The synthetic run of six devices: the analysis finds the planted causes, also in the bundled
//! file.

use perf_core::{Job, Trace};
use perf_fold::{
    Cause, DeviceParams, Devices, Folder, GroupBy, Groups, Op, Timelines, Work, WorkRules,
    device_copies,
};
use perf_formats::OpenOptions;
use perf_testdata::planted::{self, Plan};

fn bundled() -> Trace {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/gpu/planted-6x14.json.gz"
    );
    let opened = perf_formats::open(file, &OpenOptions::new(), &Job::default()).unwrap();
    assert_eq!(opened.diagnostics.repairs(), 0, "{}", opened.diagnostics);
    opened.into_trace().unwrap()
}

#[test]
fn all_planted_causes_are_found() {
    for trace in [planted::trace(), bundled()] {
        let devices = Devices::new(trace.view(), &DeviceParams::new(), &Job::default()).unwrap();
        let found = devices.devices().iter().map(|device| {
            assert_eq!(device.streams.len(), planted::STREAMS as usize);
            assert_eq!((device.events, device.unlinked), (2 * planted::SLOTS, 0));
            let idle = |cause| device.idle(cause);
            Plan {
                span: device.utilisation.span,
                busy: device.utilisation.busy,
                overlap: device.utilisation.overlap,
                copy: device.busy(Work::Copy),
                communication: device.busy(Work::Communication),
                host_late: idle(Cause::HostLate),
                launch: idle(Cause::Launch),
                before_copies: idle(Cause::Copy),
                before_communication: idle(Cause::Communication),
                before_kernels: idle(Cause::Kernel),
            }
        });
        assert_eq!(found.collect::<Vec<_>>(), planted::plans());
        for (number, device) in (0..).zip(devices.devices()) {
            let share = planted::percent(number) as f64 / 100.0;
            assert_eq!(device.utilisation.utilisation(), share);
        }
        assert_eq!(devices.utilisation(), 0.525);
        let copies = device_copies(trace.view(), &WorkRules::default(), &Job::default()).unwrap();
        assert_eq!((copies.lines.len(), copies.unlinked), (6 * 30, 0));
        assert!(copies.lines.iter().all(|line| line.bytes == 1 << 20));
    }
}

#[test]
fn select_idle_shows_work_where_select_max_shows_none() {
    let trace = planted::trace();
    let map = WorkRules::default().plan(trace.definitions()).unwrap();
    let timelines = Timelines::new(trace.view(), &map, &Job::default()).unwrap();
    let painted = |op| {
        let params = Folder::params().columns(10_000).op(op).check().unwrap();
        let groups = Groups::by(&timelines, GroupBy::Device);
        let folder = Folder::new(&timelines, groups, params).unwrap();
        let fold = folder.fold(timelines.range(), &Job::default()).unwrap();
        let rows = fold.rows().filter(|row| row.group().kind.may_overlap());
        let share = |row: perf_fold::FoldRow<'_>| {
            let cells = row.cells().iter().filter(|cell| cell.picture().is_some());
            cells.count() as f64 / row.cells().len() as f64
        };
        rows.map(share).collect::<Vec<_>>()
    };
    for (number, share) in (0..).zip(painted(Op::Idle)) {
        // The view covers the threads, a little more than the devices.
        assert!((share - planted::percent(number) as f64 / 100.0).abs() < 0.02);
    }
    assert!(painted(Op::Max).iter().all(|share| *share == 0.0));
}
