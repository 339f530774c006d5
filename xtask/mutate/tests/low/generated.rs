//! Generated recordings that reach the limits.

use flate2::Compression;
use flate2::write::GzEncoder;
use perf_testdata::many_ranks;
use perfkit::core::{
    CallPathId, CallTree, Job, Location, LocationGroup, LocationGroupId, Metric, MetricId, Profile,
    ProfileMetric, Region, RegionId, Rows, Severities, SystemNode, SystemNodeId, SystemTree, Trace,
};
use perfkit::formats::cube;
use perfkit::formats::otf2::{self, NewArchive};
use perfkit_mutate::generated;
use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Folder of recordings, removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Generated(pub(crate) PathBuf);

impl Drop for Generated {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Number of levels of nested structures.
const DEEP: u32 = 12;

impl Generated {
    pub(crate) fn new(name: &str) -> Result<Self, Box<dyn Error>> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        generated::write(&folder)?;
        let all = Generated(folder);
        all.deep()?;
        all.calls()?;
        all.paraver()?;
        all.packed()?;
        fs::write(all.0.join("groups.ppk"), groups())?;
        let long = "a".repeat(20_000);
        let event = format!(
            "[{{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,\"args\":{{\"x\":\"{long}\"}}}},\n\
             {{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":2}}]"
        );
        fs::write(all.0.join("event.json"), event)?;
        Ok(all)
    }

    /// Writes an archive of a machine with nested parts.
    fn deep(&self) -> Result<(), Box<dyn Error>> {
        let mut definitions = many_ranks::definitions(1);
        definitions.system = SystemTree::new(nested(), group(), thread(), &Default::default())?;
        let trace = Trace::new(definitions, vec![many_ranks::events(0, 1, 40)])?;
        let mut archive = NewArchive::new(self.0.join("deep"))?;
        let options = otf2::WriteOptions::default();
        otf2::write(trace.view(), &mut archive, &options, &Job::default())?;
        Ok(())
    }

    /// Writes profiles with deep call paths, or with a deep machine.
    fn calls(&self) -> Result<(), Box<dyn Error>> {
        let mut calls = CallTree::default();
        let mut last: Option<CallPathId> = None;
        for _ in 0..DEEP {
            last = Some(calls.child(last, RegionId(0))?);
        }
        let path = last.unwrap_or_default();
        for (name, calls, path, nodes) in [
            (
                "calls.cubex",
                calls,
                path,
                nested().split_off(DEEP as usize - 1),
            ),
            ("machine.cubex", one_call()?, CallPathId(0), nested()),
        ] {
            let nodes = nodes.into_iter().map(|node| SystemNode {
                parent: node.parent.filter(|_| name == "machine.cubex"),
                ..node
            });
            let nodes: Vec<_> = nodes.collect();
            let last = nodes.len() as u32 - 1;
            let group = group().into_iter().map(|group| LocationGroup {
                parent: Some(SystemNodeId(last)),
                ..group
            });
            let system = SystemTree::new(nodes, group.collect(), thread(), &Default::default())?;
            let mut rows = Rows::default();
            rows.insert(MetricId(0), path, Severities::U64(vec![7]));
            let metric = ProfileMetric {
                metric: Metric {
                    name: "time".into(),
                    unit: "ns".into(),
                    ..Default::default()
                },
                ..Default::default()
            };
            let regions = vec![Region::named("main")];
            let profile = Profile::new(system, regions, calls, vec![metric], Arc::new(rows))?;
            let file = File::create(self.0.join(name))?;
            cube::write(&profile, file, &cube::WriteOptions::new(), &Job::default())?;
        }
        let paths = (0..DEEP).map(|id| format!("<cnode id=\"{id}\" calleeId=\"0\">"));
        let text = format!(
            "<cube version=\"3.0\"><metrics><metric id=\"0\"><disp_name>Time</disp_name>\
             <uniq_name>time</uniq_name><dtype>FLOAT</dtype><uom>sec</uom></metric></metrics><program>\
             <region id=\"0\" mod=\"a.c\" begin=\"1\" end=\"9\"><name>main</name></region>{}{}</program>\
             <system><machine Id=\"0\"><name>m</name><node Id=\"0\"><name>n</name><process Id=\"0\">\
             <name>p</name><rank>0</rank><thread Id=\"0\"><name>t</name><rank>0</rank></thread>\
             </process></node></machine></system><severity><matrix metricId=\"0\"><row cnodeId=\"0\">1.5\n\
             </row></matrix></severity></cube>",
            paths.collect::<String>(),
            "</cnode>".repeat(DEEP as usize)
        );
        fs::write(self.0.join("calls.cube"), text)?;
        Ok(())
    }

    fn paraver(&self) -> Result<(), Box<dyn Error>> {
        let head = "#Paraver (1/1/20 at 1:00):900_ns:0:1:1(1:1)\n";
        let mut functions = String::from(head);
        let mut names = String::from("EVENT_TYPE\n9 60000019 User function\nVALUES\n0 End\n");
        for at in 1..=DEEP {
            functions += &format!("2:1:1:1:1:{at}:60000019:{at}\n");
            names += &format!("{at} {}{at}\n", "f".repeat(90));
        }
        for at in 1..=DEEP {
            functions += &format!("2:1:1:1:1:{}:60000019:0\n", 100 + at);
        }
        fs::write(self.0.join("functions.prv"), functions)?;
        fs::write(self.0.join("functions.pcf"), names)?;
        let comment = format!(
            "{head}1:1:1:1:1:0:9:1\n# {}\n1:1:1:1:1:9:12:1\n",
            "x".repeat(1 << 20)
        );
        fs::write(self.0.join("line.prv"), comment)?;
        // Communicators that list the members of another one.
        let count = 20;
        let tasks: String = (1..=count).map(|task| format!(":{task}")).collect();
        let mut pairs = format!(
            "#Paraver (1/1/20 at 1:00):30_ns:0:1:{count}({}),1\nc:1:1:{count}{tasks}",
            vec!["1:1"; count].join(",")
        );
        (2..100).for_each(|id| pairs += &format!("\ni:1:{id}:1:1:1:1"));
        pairs += "\n1:1:1:1:1:0:9:1\n";
        fs::write(self.0.join("pairs.prv"), pairs)?;
        Ok(())
    }

    /// Writes compressed files, and an archive with a long header.
    fn packed(&self) -> Result<(), Box<dyn Error>> {
        for (from, to) in [
            ("sparse.cubex", "gzip.cubex"),
            ("document.cube", "packed.cube"),
            ("version2.ppk", "packed.ppk"),
        ] {
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            packed.write_all(&fs::read(self.0.join(from))?)?;
            fs::write(self.0.join(to), packed.finish()?)?;
        }
        let archive = fs::read(self.0.join("sparse.cubex"))?;
        let value = "x".repeat(600);
        let text = format!("613 comment={value}\n");
        let mut header = [0_u8; 512];
        header[..4].copy_from_slice(b"long");
        header[124..135].copy_from_slice(format!("{:011o}", text.len()).as_bytes());
        header[148..156].fill(b' ');
        header[156] = b'x';
        header[257..262].copy_from_slice(b"ustar");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        let mut all = header.to_vec();
        all.extend(text.as_bytes());
        all.resize(all.len().next_multiple_of(512), 0);
        all.extend(archive);
        fs::write(self.0.join("header.cubex"), all)?;
        Ok(())
    }
}

fn one_call() -> Result<CallTree, Box<dyn Error>> {
    let mut calls = CallTree::default();
    calls.child(None, RegionId(0))?;
    Ok(calls)
}

/// Returns the parts of a machine, each within the previous one.
fn nested() -> Vec<SystemNode> {
    let node = |at: u32| SystemNode {
        name: format!("part {at}"),
        class: "node".into(),
        parent: at.checked_sub(1).map(SystemNodeId),
        ..Default::default()
    };
    (0..DEEP).map(node).collect()
}

fn group() -> Vec<LocationGroup> {
    vec![LocationGroup {
        name: "MPI Rank 0".into(),
        parent: Some(SystemNodeId(DEEP - 1)),
        ..Default::default()
    }]
}

fn thread() -> Vec<Location> {
    vec![Location {
        name: "Master thread".into(),
        group: Some(LocationGroupId(0)),
        ..Default::default()
    }]
}

/// Returns a packed profile of four functions of one group with a long name.
fn groups() -> Vec<u8> {
    let mut all = b"\0P\0P\0K".to_vec();
    let number = |all: &mut Vec<u8>, number: i32| all.extend(number.to_be_bytes());
    let text = |all: &mut Vec<u8>, text: &str| {
        all.extend((text.len() as u16).to_be_bytes());
        all.extend(text.as_bytes());
    };
    for one in [1, 1, 1] {
        number(&mut all, one);
    }
    text(&mut all, "TIME");
    number(&mut all, 1);
    text(&mut all, &"g".repeat(300));
    number(&mut all, 4);
    for name in ["a", "b", "c", "d"] {
        text(&mut all, name);
        number(&mut all, 1);
        number(&mut all, 0);
    }
    // No user events, and no threads.
    number(&mut all, 0);
    number(&mut all, 0);
    all
}
