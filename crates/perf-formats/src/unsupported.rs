//! [`kind`]: recognises files and folders that no compiled format reads, such as those of other
//! tools, and returns the remedy for each.

use crate::formats::Input;

/// A kind of file that users commonly try to open.
struct Kind {
    /// Kind, such as `a report of Nsight Systems`.
    name: &'static str,
    /// Returns `true` if an input is of this kind.
    is: fn(&Input) -> bool,
    /// Command or feature that makes it readable. `FILE` stands for the path.
    remedy: &'static str,
}

/// Known kinds. The first match wins: kinds with a magic number precede those known by file name.
const KINDS: &[Kind] = &[
    Kind {
        name: "an anchor of an OTF2 archive",
        is: |input| input.has_extension("otf2"),
        remedy: "this program was built without the feature `otf2`",
    },
    Kind {
        name: "a part of an OTF2 archive",
        is: |input| {
            ["def", "evt", "snap", "marker"]
                .iter()
                .any(|part| input.has_extension(part))
        },
        remedy: "open the anchor, which ends in `.otf2`, or the folder that holds it",
    },
    Kind {
        name: "a Paraver trace",
        is: |input| input.head.starts_with(b"#Paraver"),
        remedy: "this program was built without the feature `paraver`",
    },
    Kind {
        name: "a companion of a Paraver trace",
        is: |input| input.has_extension("pcf") || input.has_extension("row"),
        remedy: "open the `.prv` of the same name",
    },
    Kind {
        name: "an intermediate trace of Extrae",
        is: |input| input.has_extension("mpits") || input.has_extension("mpit"),
        remedy: "merge it first: mpi2prv -f TRACE.mpits -o trace.prv",
    },
    Kind {
        name: "a Cube profile",
        is: |input| input.has_extension("cubex") || input.has_extension("cube"),
        remedy: "this program was built without the feature `cube`, or the beginning of the file is damaged",
    },
    Kind {
        name: "a SQLite database",
        is: |input| input.head.starts_with(b"SQLite format 3\0"),
        remedy: if cfg!(feature = "nsys") {
            "it has no tables of Nsight Systems; for rocprofv3, write JSON: rocprofv3 --output-format json"
        } else {
            "exports of Nsight Systems are read with the feature `nsys`"
        },
    },
    Kind {
        name: "a report of Nsight Systems",
        is: |input| input.has_extension("nsys-rep") || input.has_extension("qdrep"),
        remedy: "export it first: nsys export --type sqlite FILE",
    },
    Kind {
        name: "a report of Nsight Compute",
        is: |input| input.has_extension("ncu-rep"),
        remedy: "it holds counters of kernels without a timeline; record with Nsight Systems instead",
    },
    Kind {
        name: "a trace in Chrome's JSON, as PyTorch writes it",
        is: |input| {
            let marks: [&[u8]; 3] = [b"\"traceEvents\"", b"\"schemaVersion\"", b"\"ph\""];
            !cfg!(feature = "chrome")
                && is_json(input)
                && marks.iter().any(|mark| holds(input, mark))
        },
        remedy: "this program was built without the feature `chrome`",
    },
    Kind {
        name: "JSON of rocprofv3",
        is: |input| !cfg!(feature = "rocprof") && holds(input, b"\"rocprofiler-sdk-tool\""),
        remedy: "this program was built without the feature `rocprof`",
    },
    Kind {
        name: "JSON without known events",
        is: is_json,
        remedy: "supported are Chrome's trace events (PyTorch, TensorFlow, JAX) and rocprofv3",
    },
    Kind {
        name: "a profile of XLA",
        is: |input| input.path.to_string_lossy().ends_with(".xplane.pb"),
        remedy: "open the `.trace.json.gz` that the profiler writes beside it",
    },
    Kind {
        name: "a Perfetto trace",
        is: |input| {
            let path = input.path.to_string_lossy();
            let path = path.trim_end_matches(".gz");
            [".pftrace", ".perfetto-trace"]
                .iter()
                .any(|end| path.ends_with(end))
        },
        remedy: "convert it first: traceconv json FILE trace.json",
    },
    Kind {
        name: "a recording of Linux perf",
        is: |input| input.head.starts_with(b"PERFILE2"),
        remedy: "samples of perf are not supported; record calls with Score-P or TAU",
    },
    Kind {
        name: "a trace of TAU",
        is: |input| input.has_extension("trc") || input.has_extension("edf"),
        remedy: "merge and convert it first: tau_treemerge.pl; tau2otf2 tau.trc tau.edf out",
    },
    Kind {
        name: "a database of HPCToolkit",
        is: |input| {
            let marks = ["meta.db", "experiment.xml", "experiment.db"];
            let names = input.folder.iter().flatten();
            names.into_iter().any(|name| marks.contains(&name.as_str()))
        },
        remedy: "not supported; record with Score-P or TAU",
    },
    Kind {
        name: "an executable program",
        is: |input| {
            let magic: [&[u8]; 3] = [b"\x7fELF", b"\xcf\xfa\xed\xfe", b"MZ"];
            magic.iter().any(|magic| input.head.starts_with(magic))
        },
        remedy: "run it with a tool that records, such as Score-P, TAU or Nsight Systems, and open the recording",
    },
    Kind {
        name: "a compressed file",
        is: |input| {
            let magic: [&[u8]; 4] = [b"\x28\xb5\x2f\xfd", b"\xfd7zXZ", b"BZh", b"PK\x03\x04"];
            magic.iter().any(|magic| input.head.starts_with(magic))
        },
        remedy: "decompress it first; only gzip is read directly",
    },
    Kind {
        name: "an empty file",
        is: |input| input.folder.is_none() && input.head.is_empty(),
        remedy: "the recorded program may have been stopped before it wrote the file",
    },
];

/// Returns the kind of an input and the remedy, or `None` for an unknown kind.
pub(crate) fn kind(input: &Input) -> Option<(&'static str, String)> {
    let file = input.path.to_string_lossy();
    match KINDS.iter().find(|kind| (kind.is)(input)) {
        Some(kind) => Some((kind.name, kind.remedy.replace("FILE", &file))),
        None => folder(input),
    }
}

/// Ends of the names of recordings, the least ambiguous first.
const RECORDINGS: [&str; 14] = [
    ".otf2", ".prv", ".prv.gz", ".cubex", ".cube", ".cube.gz", ".ppk", ".sqlite", ".bp", ".tsv",
    ".tsv.gz", ".ndjson", ".json.gz", ".json",
];

/// Returns the remedy for a folder that is no recording: a file in it to open.
fn folder(input: &Input) -> Option<(&'static str, String)> {
    let names = input.folder.as_ref().filter(|names| !names.is_empty())?;
    if let Some(stream) = input.path.to_string_lossy().strip_suffix(".bp.dir") {
        return Some((
            "the folder with the data of an ADIOS2 stream",
            format!("open {stream}.bp"),
        ));
    }
    let with_end = |end: &&str| names.iter().find(|name| name.ends_with(end));
    Some(match RECORDINGS.iter().find_map(with_end) {
        Some(name) => {
            let file = input.path.join(name);
            let remedy = format!("open one of the files in it, such as {}", file.display());
            ("a folder", remedy)
        }
        None => (
            "a folder in which no file has the name of a recording",
            "open a recording or the folder that holds its files".into(),
        ),
    })
}

fn is_json(input: &Input) -> bool {
    let first = input.head.iter().find(|byte| !byte.is_ascii_whitespace());
    first.is_some_and(|byte| matches!(byte, b'{' | b'['))
}

fn holds(input: &Input, mark: &[u8]) -> bool {
    input.head.windows(mark.len()).any(|part| part == mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_tools_are_named_with_the_remedy() {
        let input = |name: &str, head: &[u8]| Input {
            path: name.into(),
            folder: None,
            head: head.to_vec(),
        };
        for (name, head, expected) in [
            (
                "a.nsys-rep",
                &b"\0\x01"[..],
                "nsys export --type sqlite a.nsys-rep",
            ),
            ("run/traces.def", b"\x10", "`.otf2`"),
            ("a.pcf", b"DEFAULT_OPTIONS", "`.prv`"),
            ("perf.data", b"PERFILE2h", "Score-P or TAU"),
            ("a.json", b" {\"a\": 1}", "rocprofv3"),
            ("host.xplane.pb", b"\x0a\x05", "`.trace.json.gz`"),
            ("a.prv.zst", b"\x28\xb5\x2f\xfd", "decompress it first"),
            ("a.prv", b"", "stopped before it wrote"),
            ("a.out", b"\x7fELF", "run it with a tool that records"),
        ] {
            let (kind, remedy) = kind(&input(name, head)).expect(name);
            assert!(
                !kind.is_empty() && remedy.contains(expected),
                "{name}: {remedy}"
            );
        }
        assert_eq!(kind(&input("a.bin", b"\x01\x02\x03")), None);
        for (name, inside, expected) in [
            ("runs", "b.cubex", "such as runs/b.cubex"),
            ("runs", "b.prv", "such as runs/b.prv"),
            ("a.bp.dir", "a.bp.0", "open a.bp"),
            ("src", "main.c", "such as src/a.json"),
        ] {
            let folder = Input {
                folder: Some(vec!["README".into(), "a.json".into(), inside.into()]),
                ..input(name, b"")
            };
            let (_, remedy) = kind(&folder).expect(name);
            assert!(remedy.contains(expected), "{remedy}");
        }
        let database = Input {
            folder: Some(vec!["meta.db".into()]),
            ..input("db", b"")
        };
        assert_eq!(
            kind(&database).map(|(kind, _)| kind),
            Some("a database of HPCToolkit")
        );
    }
}
