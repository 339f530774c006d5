//! Utilisation in real GPU recordings: exact values, and the output of HTA 0.5.0.

use perf_core::{Job, Trace};
use perf_fold::{
    Cause, DeviceParams, Devices, Folder, GroupBy, Groups, Hta, HtaParams, Op, RegionMap, Timelines,
};
use perf_formats::OpenOptions;
use perf_testdata::corpus::corpus;

fn read(path: &str) -> Option<Trace> {
    let file = corpus(&format!("gpu/{path}"))?;
    let opened = perf_formats::open(file, &OpenOptions::new(), &Job::default()).unwrap();
    Some(opened.into_trace().unwrap())
}

/// Path, number of events, span and busy time in nanoseconds of the only device.
const FACTS: &[(&str, u64, u64, u64)] = &[
    (SAMPLED, 1_204, 1_222_847_000, 547_656_000),
    (NEGATIVE, 7_747, 1_231_461_000, 438_424_000),
    (NCCL, 3_774, 660_551_005, 157_500_014),
    (DIFF, 15_632, 745_239_000, 717_943_000),
    (NANOS, 6_095, 480_029_179, 472_454_441),
    (
        "hta/tests/data/critical_path/cuda_event_sync_multi_stream/event_sync_trace.json.gz",
        6,
        19_506_000,
        372_000,
    ),
    (
        "hta/tests/data/large_integer_trace/rank-70.Mar_25_20_48_12.2861.pt.trace.json.gz",
        1,
        50_000,
        50_000,
    ),
    (AUTOGRAD, 10_133, 5_243_667_000, 979_604_000),
    (
        "kineto/9d1ce6a2_tb_plugin_samples_resnet50_num_workers_0_worker0.1623143089861.pt.trace.json.gz",
        9_096,
        996_477_000,
        603_558_000,
    ),
    (
        "tracelens/tests/traces/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
        5_165,
        1_078_288_379,
        566_759_477,
    ),
    (
        "tracelens/tests/traces/mi300/facebook_timesformer-base-finetuned-k400__1016002.json.gz",
        449,
        121_267_204,
        119_852_883,
    ),
    (
        "tracelens/tests/traces/b200/eager_trace.json.gz",
        929,
        84_487_178,
        11_596_482,
    ),
    (MI210, 562, 5_979_503, 5_343_422),
    (
        "param/linear_kineto.json.gz",
        10_356,
        1_008_570_000,
        370_983_000,
    ),
    (DLRM[0], 261, 13_009_000, 6_590_000),
    (DLRM[1], 262, 11_350_000, 4_304_000),
    (DLRM[2], 273, 16_589_000, 7_702_000),
    (DLRM[3], 262, 11_410_000, 4_359_000),
];

const SAMPLED: &str = "hta/tests/data/trace_filter/sampled_rank-0.json.gz";
const NEGATIVE: &str = "hta/tests/data/negative_queue_length_values_check/rank0.json.gz";
const NCCL: &str = "hta/tests/data/nccl_parser_config/nccl_data.json.gz";
const DIFF: &str = "hta/tests/data/trace_diff/test/test.json.gz";
const NANOS: &str =
    "hta/tests/data/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz";
const AUTOGRAD: &str = "kineto/02522842_tb_plugin_samples_resnet50_autograd_api_num_workers_0_worker0.pt.trace.json.gz";
const MI210: &str = "tracelens/tests/traces/mi210/gpu_only_trace/gpu_only_trace.json.gz";
const DLRM: [&str; 4] = [
    "param/dlrm_kineto/worker0_step_12.1694128201545.pt.trace.json",
    "param/dlrm_kineto/worker2_step_12.1694128201554.pt.trace.json",
    "param/dlrm_kineto/worker4_step_12.1694128201547.pt.trace.json",
    "param/dlrm_kineto/worker6_step_12.1694128201553.pt.trace.json",
];

#[test]
fn utilisation_is_the_union_to_the_nanosecond() {
    for (path, events, span, busy) in FACTS {
        let Some(trace) = read(path) else {
            return;
        };
        let devices = Devices::new(trace.view(), &DeviceParams::new(), &Job::default()).unwrap();
        assert_eq!(devices.repairs().repairs(), 0, "{path}");
        let [device] = devices.devices() else {
            panic!("{path}: {} devices", devices.devices().len());
        };
        let found = device.utilisation;
        assert_eq!(
            (device.events, found.span, found.busy),
            (*events, *span, *busy),
            "{path}"
        );
        let empty = device.instants;
        let causes: u64 = Cause::ALL.map(|cause| device.idle(cause)).iter().sum();
        assert_eq!(causes, span - busy, "{path}");
        if *path == MI210 {
            assert_eq!(device.unlinked, 0, "every kernel has its launch");
        }

        // The fraction of fine columns that the `idle` row paints is the utilisation, up to its
        // sampling error.
        let map = RegionMap::by_name(trace.definitions()).unwrap();
        let timelines = Timelines::new(trace.view(), &map, &Job::default()).unwrap();
        // Zero-length work adds no time and becomes visible by zooming in.
        let streams = 0..timelines.len() as u32;
        let all = perf_core::TimeRange::ALL;
        let instants: Vec<_> = streams
            .flat_map(|stream| timelines.instants(stream, all))
            .collect();
        assert_eq!(instants.len() as u64, empty, "{path}");
        let params = Folder::params()
            .columns(20_000)
            .op(Op::Idle)
            .check()
            .unwrap();
        let groups = Groups::by(&timelines, GroupBy::Device);
        let folder = Folder::new(&timelines, groups, params).unwrap();
        let fold = folder.fold(device.window, &Job::default()).unwrap();
        let row = fold
            .rows()
            .find(|row| row.group().kind.may_overlap())
            .unwrap();
        let painted = row
            .cells()
            .iter()
            .filter(|cell| cell.picture().is_some())
            .count();
        let sampled = painted as f64 / 20_000.0;
        assert!(
            (sampled - found.utilisation()).abs() <= found.sampled_error(20_000),
            "{path}"
        );
    }
}

/// Output of HTA 0.5.0 in microseconds: idle, compute, non-compute and kernel time.
type Printed = [i64; 4];

/// Path, output with defaults, and output with all profiler steps. Both round inwards.
const HTA: &[(&str, Printed, Printed)] = &[
    (
        SAMPLED,
        [321_378, 106_252, 172_428, 600_058],
        [675_191, 210_320, 337_336, 1_222_847],
    ),
    (
        NCCL,
        [338_781, 75_169, 21_636, 435_586],
        [506_512, 113_012, 41_026, 660_550],
    ),
    (
        AUTOGRAD,
        [4_264_063, 964_761, 14_843, 5_243_667],
        [4_264_063, 964_761, 14_843, 5_243_667],
    ),
    (
        NANOS,
        [10_113, 372_150, 2_371, 384_634],
        [12_143, 464_915, 2_971, 480_029],
    ),
    (
        DIFF,
        [46_910, 429_216, 152_245, 628_371],
        [51_692, 514_576, 178_246, 744_514],
    ),
    (
        NEGATIVE,
        [705_853, 143_836, 166_865, 1_016_554],
        [848_216, 179_676, 201_180, 1_229_072],
    ),
    (
        DLRM[0],
        [6_419, 1_034, 5_556, 13_009],
        [6_419, 1_034, 5_556, 13_009],
    ),
    (
        DLRM[1],
        [7_046, 1_068, 3_236, 11_350],
        [7_046, 1_068, 3_236, 11_350],
    ),
    (
        DLRM[2],
        [8_887, 1_126, 6_576, 16_589],
        [8_887, 1_126, 6_576, 16_589],
    ),
    (
        DLRM[3],
        [7_051, 1_051, 3_308, 11_410],
        [7_051, 1_051, 3_308, 11_410],
    ),
];

/// Calls `check` for each row of a table, without and with all profiler steps: with the trace, the
/// parameters, the expected output, and a name for error messages.
fn each_printed(
    table: &[(&str, Printed, Printed)],
    mut check: impl FnMut(&Trace, HtaParams, &Printed, &str),
) {
    for (path, default, all_steps) in table {
        let Some(trace) = read(path) else {
            return;
        };
        for (all, expected) in [(false, default), (true, all_steps)] {
            let params = HtaParams::default().include_last_profiler_step(all);
            check(&trace, params, expected, &format!("{path} {all}"));
        }
    }
}

fn printed(found: &Hta) -> Printed {
    [found.idle, found.compute, found.non_compute, found.total]
}

#[test]
fn hta_prints_the_same() {
    let mut wrong = Vec::new();
    each_printed(HTA, |trace, params, expected, name| {
        let found = Hta::of(trace.view(), &params, &Job::default()).unwrap();
        let [found] = found.as_slice() else {
            panic!("{name}: {} ranks", found.len());
        };
        let printed = printed(found);
        if printed != expected.map(|it| it * 1_000) {
            wrong.push(format!("{name}: {printed:?} {expected:?} {found:?}"));
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Output with `HTA_DISABLE_NS_ROUNDING=1`, in nanoseconds: with defaults, and with all steps. HTA
/// stores times since 1970 in floating point with a resolution of a quarter of a microsecond.
const EXACT: &[(&str, Printed, Printed)] = &[
    (
        SAMPLED,
        [321_378_000, 106_252_000, 172_428_000, 600_058_000],
        [675_191_000, 210_320_000, 337_336_000, 1_222_847_000],
    ),
    (
        NCCL,
        [336_419_715, 76_935_828, 22_232_019, 435_587_562],
        [503_050_991, 115_655_847, 41_844_167, 660_551_006],
    ),
    (
        NANOS,
        [6_452_761, 374_738_006, 3_443_756, 384_634_523],
        [7_574_786, 468_153_602, 4_300_839, 480_029_227],
    ),
    (
        DIFF,
        [46_910_000, 429_216_000, 152_245_000, 628_371_000],
        [51_692_000, 514_576_000, 178_246_000, 744_514_000],
    ),
    (
        NEGATIVE,
        [705_853_000, 143_836_000, 166_865_000, 1_016_554_000],
        [848_216_000, 179_676_000, 201_180_000, 1_229_072_000],
    ),
    (
        AUTOGRAD,
        [4_264_063_000, 964_761_000, 14_843_000, 5_243_667_000],
        [4_264_063_000, 964_761_000, 14_843_000, 5_243_667_000],
    ),
];

#[test]
fn hta_without_rounding_prints_the_same_as_far_as_it_can() {
    each_printed(EXACT, |trace, params, expected, name| {
        let found = Hta::of(trace.view(), &params.round_inwards(false), &Job::default()).unwrap();
        let exact = printed(found.first().unwrap());
        for (exact, expected) in exact.into_iter().zip(*expected) {
            let off = (exact - expected).abs();
            assert!(off <= 250, "{name}: {exact} is not {expected}");
        }
    });
}

/// With all steps the busy time is the length of the union if all work has a launch.
#[test]
fn hta_with_all_steps_is_busy_as_long_as_the_device() {
    for (path, ..) in EXACT {
        let Some(trace) = read(path) else {
            return;
        };
        let params = HtaParams::default().include_last_profiler_step(true);
        let found = Hta::of(trace.view(), &params.round_inwards(false), &Job::default()).unwrap();
        let devices = Devices::new(trace.view(), &DeviceParams::new(), &Job::default()).unwrap();
        let union = devices.devices()[0].utilisation.busy as i64;
        if found[0].left_out == 0 {
            assert_eq!(found[0].busy(), union, "{path}");
        } else {
            assert!(found[0].busy() < union, "{path}");
        }
    }
}

#[test]
fn ranks_of_a_job_are_devices_of_one_trace() {
    let files: Option<Vec<_>> = DLRM
        .iter()
        .map(|path| corpus(&format!("gpu/{path}")))
        .collect();
    let Some(files) = files else {
        return;
    };
    let opened = perf_formats::chrome::open(&files, &OpenOptions::new(), &Job::default()).unwrap();
    let trace = opened.into_trace().unwrap();
    let devices = Devices::new(trace.view(), &DeviceParams::new(), &Job::default()).unwrap();
    let found: Vec<_> = devices
        .devices()
        .iter()
        .map(|it| (it.rank, it.utilisation.busy, it.streams.len()))
        .collect();
    let expected = [
        (0, 6_590_000),
        (2, 4_304_000),
        (4, 7_702_000),
        (6, 4_359_000),
    ];
    assert_eq!(found, expected.map(|(rank, busy)| (Some(rank), busy, 4)));
    // With the span of the job every device has the same window.
    let job = DeviceParams::new().span(perf_fold::Span::Job);
    let devices = Devices::new(trace.view(), &job, &Job::default()).unwrap();
    let spans: Vec<_> = devices.devices().iter().map(|it| it.window).collect();
    assert!(spans.iter().all(|span| *span == spans[0]));
    assert_eq!(
        Hta::of(trace.view(), &HtaParams::default(), &Job::default())
            .unwrap()
            .len(),
        4
    );
}
