//! Tests of remapping specifications against profiles of the corpus.

use super::*;
use perf_formats::cube::remap;

/// Remaps a profile, by a specification called `test.spec`.
fn remapped(profile: &Profile, spec: &str) -> Result<Profile, Error> {
    let options = OpenOptions::new();
    let done = remap(profile, spec, "test.spec", &options, &Job::default());
    done.map(|(profile, _)| profile)
}

/// Returns the sum of a metric over all call paths and locations, or `None` if there is no such
/// metric.
fn sum(profile: &Profile, metric: &str) -> Option<f64> {
    let metric = profile.metric(metric)?;
    Some(profile.over_paths(metric).unwrap().iter().sum())
}

fn close(got: Option<f64>, expected: f64) -> bool {
    got.is_some_and(|got| (got - expected).abs() <= 1e-9 * expected.abs().max(1e-3))
}

/// Specifications of Score-P 6 to 9 divide the time into parts, and their masks agree with the
/// names of the regions.
#[test]
fn specifications_of_the_corpus_divide_the_time() {
    for name in [
        "cube/cupybe/mapflow40_c01.cubex",
        "cube/cupybe/profile-5m-nproc40-nsteps10.cubex",
        "cube/metacg/inputdynamic-001.cubex",
        "cube/metacg/inputdynamic-003.cubex",
        "cube/metacg/inputimbalance-001.cubex",
        "cube/pycubexr/L2_DCM_negative.cubex",
        "cube/pycubexr/cube4.8_with_checksum_bug.cubex",
        "cube/pycubexr/time.p4.n2000.x1.r0.cubex",
    ] {
        let Some(path) = corpus(name) else { return };
        let cube = Cube::open(path, &OpenOptions::new(), &Job::default()).unwrap();
        let spec = cube.member("remapping.spec").unwrap().unwrap();
        let spec = String::from_utf8(spec).unwrap();
        let profile = remapped(cube.profile(), &spec).unwrap_or_else(|error| panic!("{error}"));
        let metric = |name: &str| sum(&profile, name).unwrap_or(0.0);
        assert_eq!(sum(&profile, "time"), sum(cube.profile(), "time"), "{name}");
        // Every region is execution or overhead of the measurement, and the programs of the
        // corpus use MPI and OpenMP alone.
        let all = metric("execution") + metric("overhead") + metric("omp_idle_threads");
        assert!(close(Some(all), metric("time")), "{name}: {all}");
        let parts = [
            "comp",
            "mpi",
            "omp_time",
            "pthread_time",
            "cuda_time",
            "libwrap_time",
        ];
        let parts: f64 = parts.into_iter().take(5).map(metric).sum();
        assert!(close(Some(parts), metric("execution")), "{name}: {parts}");
        // The same by the names of the regions.
        let time = cube.profile().metric("time").unwrap();
        let mut mpi = 0.0;
        for (at, path) in cube.profile().calls().paths().iter().enumerate() {
            let region = &cube.profile().regions()[path.region.index()];
            if region.paradigm == Paradigm::Mpi {
                let path = CallPathId(at as u32);
                mpi += cube.total(time, path, Scope::Exclusive).unwrap();
            }
        }
        assert!(close(Some(metric("mpi")), mpi), "{name}: {mpi}");
        // Metrics of paradigms that the program does not use are dropped with those below them.
        for unused in ["shmem_time", "opencl_time", "opencl_setup"] {
            assert_eq!(profile.metric(unused), None, "{name}");
        }
        // The result has no programs and is written like any other profile.
        let mut bytes = Vec::new();
        write(&profile, &mut bytes, &WriteOptions::new(), &Job::default()).unwrap();
        let back = read(bytes).unwrap();
        for about in profile.metrics() {
            let name = &about.metric.name;
            assert_eq!(sum(back.profile(), name), sum(&profile, name), "{name}");
        }
    }
}

/// Sums that CubeLib's own remapping computed for the same profile.
#[test]
fn sums_are_those_of_the_reference_library() {
    let Some(path) = corpus("cube/cube3/profile.cube") else {
        return;
    };
    let cube = Cube::open(path, &OpenOptions::new(), &Job::default()).unwrap();
    let metric = |name: &str, pattern: &str| {
        format!(
            "<metric type='PREDERIVED_EXCLUSIVE'><uniq_name>{name}</uniq_name><cubepl>
            {{ ${{region}} = ${{calculation::region::id}};
               if (${{cube::region::name}}[${{region}}] =~ /{pattern}/) {{ return metric::time(e); }};
               return 0; }}</cubepl></metric>"
        )
    };
    let parts = [
        ("mpi", "^MPI_", 2.6995983741126444),
        (
            "mpi_init_exit",
            "^MPI_(Init(_thread){0,1}|Finalize)$",
            0.5953033131523736,
        ),
        ("mpi_sync_collective", "^MPI_Barrier$", 0.005443690187891001),
        ("omp_ibarrier", "implicit barrier", 70.47622269727763),
    ];
    let inner: String = parts
        .map(|(name, pattern, _)| metric(name, pattern))
        .concat();
    let both = "<metric type='POSTDERIVED'><uniq_name>both</uniq_name>
        <cubepl>metric::mpi() + metric::omp_ibarrier()</cubepl></metric>
        <metric type='POSTDERIVED'><uniq_name>share</uniq_name>
        <cubepl>metric::mpi() / metric::time()</cubepl></metric>";
    let spec =
        format!("<metrics><metric><uniq_name>time</uniq_name>{inner}</metric>{both}</metrics>");
    let profile = remapped(cube.profile(), &spec).unwrap();
    for (name, _, expected) in parts {
        let got = sum(&profile, name);
        assert!(
            close(got, expected),
            "{name}: {got:?} instead of {expected}"
        );
    }
    assert!(close(sum(&profile, "both"), parts[0].2 + parts[3].2));
    // A ratio stays derived: that of the sums.
    let share = profile.metric("share").unwrap();
    let total = |metric, path| profile.total(metric, CallPathId(path)).unwrap().as_f64();
    let roots = profile.calls().children(None);
    for root in roots {
        let of = |name: &str| {
            let metric = profile.metric(name).unwrap();
            let row = profile.scoped(metric, root, Scope::Inclusive).unwrap();
            row.map_or(0.0, |row| row.to_f64().iter().sum::<f64>())
        };
        assert_eq!(total(share, root.0), of("mpi") / of("time"));
    }
    // Metrics of the profile that the specification does not mention are kept.
    assert_eq!(sum(&profile, "bytes_sent"), Some(526_781_408.0));
}

#[test]
fn defects_have_a_line_and_a_column() {
    let cube = with(&anchor(&metric(0, "EXCLUSIVE", "time", ""), ""), &[]);
    for (body, expected) in [
        (
            "<cubepl>\n  metric::times(e)\n</cubepl>",
            "metric x, line 3, column 11: this part of CubePL (there is no metric `times`)",
        ),
        (
            "<cubepl>1</cubepl><cubeplinit>{\n foreach (1) {}; }</cubeplinit>",
            "metric x, line 3, column 2: this part of CubePL (expected a statement",
        ),
        (
            "<cubepl>metric::x()</cubepl>",
            "metric x: this derived metric (it depends on itself",
        ),
        ("", "metric x: this derived metric (there is no <cubepl>)"),
    ] {
        let spec = format!(
            "<metrics>\n<metric type='PREDERIVED_EXCLUSIVE'><uniq_name>x</uniq_name>{body}</metric></metrics>"
        );
        let error = remapped(cube.profile(), &spec).unwrap_err().to_string();
        assert!(
            error.contains("test.spec") && error.contains(expected),
            "{error}"
        );
    }
    for other in ["", "no XML", "<metrics></metrics>", "<metrics><metric>"] {
        let error = remapped(cube.profile(), other).unwrap_err().to_string();
        assert!(error.contains("test.spec"), "{error}");
    }
}
