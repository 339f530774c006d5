//! `cargo xtask record [NAME...]`: records the bundled recordings again by running programs under
//! EZTrace, and generates streams and a run of devices.
//!
//! The programs of `data/programs` are built and run under EZTrace in a separate folder below the
//! temporary folder of the system, so that no path of the working copy can get into an archive. The
//! archives replace those in `data/recordings`. Without names all of [`RECORDINGS`] are recorded. The
//! name `streams` generates the streams in `data/streams`, which needs a Python with ADIOS2. The name
//! `gpu` generates the synthetic run of six devices in `data/gpu`, which has no requirements and is
//! deterministic.
//!
//! Recorded runs are not deterministic. Tests with numbers from a recording must be reviewed after the
//! recording was made again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::python::python;

/// Archive in `data/recordings`.
struct Recording {
    name: &'static str,
    ranks: u32,
    program: Program,
}

enum Program {
    /// `jacobi` with these arguments.
    Jacobi(&'static [&'static str]),
    /// NWChem with the input files in `data/programs/nwchem`.
    Nwchem,
}

/// Archives that can be recorded. The 2-D runs share one grid of 720 x 720 cells. See
/// `data/recordings/README.md` for the load imbalance that the arguments cause.
const RECORDINGS: &[Recording] = &[
    Recording {
        name: "nwchem-md-4",
        ranks: 4,
        program: Program::Nwchem,
    },
    Recording {
        name: "jacobi-4",
        ranks: 4,
        program: Program::Jacobi(&["--cells", "360", "--cloud", "3", "--growth", "0.4", "2x2"]),
    },
    Recording {
        name: "jacobi-9",
        ranks: 9,
        program: Program::Jacobi(&["--cells", "240", "--cloud", "4", "--growth", "0.4", "3x3"]),
    },
    Recording {
        name: "jacobi-16",
        ranks: 16,
        program: Program::Jacobi(&[
            "--cells", "180", "--cloud", "5,6,9,10", "--growth", "0.4", "4x4",
        ]),
    },
    Recording {
        name: "jacobi-64",
        ranks: 64,
        program: Program::Jacobi(&[
            "--columns",
            "--iterations",
            "25",
            "--cells",
            "20",
            "--cloud",
            "16-47",
            "--growth",
            "0.3",
            "4x4x4",
        ]),
    },
];

/// Required programs, and their Debian packages.
const PROGRAMS: &[(&str, &str)] = &[
    ("eztrace", "eztrace"),
    ("otf2-print", "otf2-tools"),
    ("mpirun", "openmpi-bin"),
    ("mpicc", "libopenmpi-dev"),
    ("nwchem.openmpi", "nwchem-openmpi"),
];

/// Required header files, and their Debian packages.
const HEADERS: &[(&str, &str)] = &[
    ("eztrace-lib/eztrace.h", "libeztrace-dev"),
    ("otf2/otf2.h", "libotf2-trace-dev"),
];

/// Environment that Open MPI needs for runs as root, in a container, and with more ranks than
/// cores.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
];

/// Name of the archives that EZTrace writes, for anchor, global definitions and folder.
const ARCHIVE: &str = "eztrace_log";

/// Name that selects the generated streams.
const STREAMS: &str = "streams";
/// Name that selects the generated run of devices.
const GPU: &str = "gpu";

/// Records the named recordings, or all recordings if none is named.
pub(crate) fn run(args: &[String]) -> Outcome {
    let data = crate::root().join("data");
    if args == [STREAMS] {
        return write_streams(&data);
    }
    if args == [GPU] {
        return write_gpu(&data);
    }
    let chosen = choose(args)?;
    check_tools()?;
    let scratch = std::env::temp_dir().join("perfkit-record");
    let build = scratch.join("build");
    fresh(&build)?;
    build_jacobi(&data.join("programs"), &build)?;
    for recording in chosen {
        let work = scratch.join(recording.name);
        fresh(&work)?;
        let traced = match recording.program {
            Program::Jacobi(args) => run_jacobi(recording.ranks, args, &build, &work)?,
            Program::Nwchem => run_nwchem(recording.ranks, &data.join("programs/nwchem"), &work)?,
        };
        refuse_paths(&traced, &scratch)?;
        let target = data.join("recordings").join(recording.name);
        fresh(&target)?;
        copy_archive(&traced, &target)?;
        report(recording.name, &target)?;
    }
    fs::remove_dir_all(&scratch).map_err(|e| at(&scratch, &e))
}

/// Generates the synthetic run in `data/gpu`.
fn write_gpu(data: &Path) -> Outcome {
    let words = [
        "run",
        "--quiet",
        "--release",
        "--package",
        "perfkit-benches",
    ];
    let target = data.join("gpu/planted-6x14.json.gz");
    let program = ["--bin", "perfkit-planted", "--"];
    crate::execute(crate::cargo(&words).args(program).arg(target))
}

/// Generates the streams in `data/streams`.
fn write_streams(data: &Path) -> Outcome {
    let python = python("adios2, numpy", "adios2 numpy")
        .map_err(|package| format!("streams need Python packages: pip install {package}"))?;
    let target = data.join(STREAMS);
    let script = data.join("programs/streams.py");
    let readme = target.join("README.md");
    let kept = fs::read(&readme).map_err(|e| at(&readme, &e))?;
    fresh(&target)?;
    fs::write(&readme, kept).map_err(|e| at(&readme, &e))?;
    finish(Command::new(python).arg(script).arg(&target)).map(drop)
}

fn choose(args: &[String]) -> Result<Vec<&'static Recording>, String> {
    if args.is_empty() {
        return Ok(RECORDINGS.iter().collect());
    }
    args.iter()
        .map(|name| {
            RECORDINGS
                .iter()
                .find(|r| r.name == name)
                .ok_or_else(|| format!("no recording is called {name}; there are {}", names()))
        })
        .collect()
}

fn names() -> String {
    let names: Vec<&str> = RECORDINGS.iter().map(|r| r.name).collect();
    names.join(", ")
}

fn check_tools() -> Outcome {
    let mut missing: Vec<&str> = Vec::new();
    missing.extend(PROGRAMS.iter().filter(|p| !in_path(p.0)).map(|p| p.1));
    missing.extend(HEADERS.iter().filter(|h| !has_header(h.0)).map(|h| h.1));
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "recording needs Debian packages that are not installed: apt install {}",
        missing.join(" ")
    ))
}

fn in_path(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(program).is_file()))
}

fn has_header(header: &str) -> bool {
    Command::new("cc")
        .args(["-fsyntax-only", "-x", "c", "-include", header, "/dev/null"])
        .output()
        .is_ok_and(|out| out.status.success())
}

/// Builds `jacobi`, the library with its phases, and the module through which EZTrace records these
/// phases.
fn build_jacobi(sources: &Path, build: &Path) -> Outcome {
    let mpicc = |arguments: &[&str]| {
        let mut command = Command::new("mpicc");
        command.args(["-O2", "-Wall", "-L.", "-Wl,-rpath,$ORIGIN"]);
        finish(command.args(arguments).current_dir(build)).map(drop)
    };
    let source = |name: &str| sources.join(name).display().to_string();
    let library = ["-shared", "-fPIC", "-o"];
    let phases = source("phases.c");
    let module = source("eztrace_phases.c");
    let program = source("jacobi.c");
    mpicc(&[&library[..], &["libphases.so", &phases]].concat())?;
    mpicc(&["-o", "jacobi", &program, "-lphases", "-lm"])?;
    mpicc(
        &[
            &library[..],
            &["libeztrace-phases.so", &module, "-lphases", "-ldl"],
            &["-leztrace-lib", "-leztrace-core", "-lotf2"],
        ]
        .concat(),
    )
}

fn run_jacobi(ranks: u32, args: &[&str], build: &Path, work: &Path) -> Result<PathBuf, String> {
    let mut command = mpirun(ranks, work);
    trace(&mut command, work, "openmpi phases");
    command.arg(build.join("jacobi")).arg("--undisturbed");
    command.env("EZTRACE_LIBRARY_PATH", build);
    finish(command.args(args))?;
    Ok(work.join("jacobi_trace"))
}

/// Equilibrates a box of water without tracing, then records its dynamics.
fn run_nwchem(ranks: u32, decks: &Path, work: &Path) -> Result<PathBuf, String> {
    let files = [
        ("nwchemrc", ".nwchemrc"),
        ("water.pdb", "water.pdb"),
        ("prepare.nw", "prepare.nw"),
        ("dynamics.nw", "dynamics.nw"),
    ];
    for (from, to) in files {
        copy(&decks.join(from), &work.join(to))?;
    }
    let program = "nwchem.openmpi";
    finish(mpirun(ranks, work).args([program, "prepare.nw"]))?;
    copy(&work.join("water_em.qrs"), &work.join("water_md.rst"))?;
    let mut command = mpirun(ranks, work);
    trace(&mut command, work, "openmpi");
    finish(command.args([program, "dynamics.nw"]))?;
    Ok(work.join("nwchem.openmpi_trace"))
}

/// Returns an `mpirun` command in the folder `work`. The folder is also the home folder, because NWChem
/// searches the home folder for its configuration.
fn mpirun(ranks: u32, work: &Path) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--oversubscribe", "--timeout", "300", "-np"]);
    command.arg(ranks.to_string());
    command.envs(ENVIRONMENT.iter().copied());
    command.env("HOME", work).current_dir(work);
    command
}

fn trace(command: &mut Command, work: &Path, modules: &str) {
    command.args(["eztrace", "-o"]).arg(work);
    command.args(["-t", modules]);
}

/// Runs a command and returns its output.
fn finish(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = command.output().map_err(|e| format!("{name}: {e}"))?;
    let printed = String::from_utf8_lossy(&out.stdout).into_owned();
    if out.status.success() {
        return Ok(printed);
    }
    let complaint = String::from_utf8_lossy(&out.stderr);
    Err(format!(
        "{name} failed ({})\n{printed}{complaint}",
        out.status
    ))
}

/// Returns the paths of the files of an archive: the two files next to its folder, and the files in the
/// folder.
fn members(archive: &Path) -> Result<Vec<PathBuf>, String> {
    let mut names: Vec<PathBuf> = vec![
        format!("{ARCHIVE}.otf2").into(),
        format!("{ARCHIVE}.def").into(),
    ];
    let folder = archive.join(ARCHIVE);
    for entry in fs::read_dir(&folder).map_err(|e| at(&folder, &e))? {
        let entry = entry.map_err(|e| at(&folder, &e))?;
        names.push(Path::new(ARCHIVE).join(entry.file_name()));
    }
    Ok(names)
}

/// Checks that an archive does not contain the path of the folder in which it was recorded.
fn refuse_paths(archive: &Path, scratch: &Path) -> Outcome {
    let needle = scratch.to_string_lossy();
    for member in members(archive)? {
        let path = archive.join(&member);
        let bytes = fs::read(&path).map_err(|e| at(&path, &e))?;
        if bytes
            .windows(needle.len())
            .any(|window| window == needle.as_bytes())
        {
            return Err(format!("{} names the path {needle}", path.display()));
        }
    }
    Ok(())
}

fn copy_archive(from: &Path, to: &Path) -> Outcome {
    let folder = to.join(ARCHIVE);
    fs::create_dir(&folder).map_err(|e| at(&folder, &e))?;
    for member in members(from)? {
        copy(&from.join(&member), &to.join(&member))?;
    }
    Ok(())
}

/// Prints size, locations and events of a finished recording.
fn report(name: &str, archive: &Path) -> Outcome {
    let mut bytes = 0;
    let mut locations = 0;
    for member in members(archive)? {
        let path = archive.join(&member);
        bytes += fs::metadata(&path).map_err(|e| at(&path, &e))?.len();
        locations += u32::from(path.extension().is_some_and(|e| e == "evt"));
    }
    let anchor = archive.join(format!("{ARCHIVE}.otf2"));
    let printed = finish(Command::new("otf2-print").arg(anchor))?;
    let events = printed.lines().filter(|line| is_event(line)).count();
    println!("{name:<12} {bytes:>9} bytes {locations:>4} locations {events:>8} events");
    Ok(())
}

/// Returns `true` if a line of `otf2-print` is an event, which has a location and a time in columns two
/// and three.
fn is_event(line: &str) -> bool {
    let mut columns = line.split_whitespace().skip(1).take(2);
    let number = |column: Option<&str>| column.is_some_and(|c| c.parse::<u64>().is_ok());
    number(columns.next()) && number(columns.next())
}

/// Creates an empty folder. An existing folder is removed first.
fn fresh(dir: &Path) -> Outcome {
    if dir.exists() {
        fs::remove_dir_all(dir).map_err(|e| at(dir, &e))?;
    }
    fs::create_dir_all(dir).map_err(|e| at(dir, &e))
}

fn copy(from: &Path, to: &Path) -> Outcome {
    fs::copy(from, to).map(drop).map_err(|e| at(from, &e))
}

fn at(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
