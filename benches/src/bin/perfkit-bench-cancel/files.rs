//! Work for the cancellation bench: reads and writes generated OTF2, Paraver, Chrome and Cube
//! recordings.

use crate::{Make, Work};
use flate2::Compression;
use flate2::write::GzEncoder;
use perf_testdata::{kineto, paraver as text};
use perfkit::core::Job;
use perfkit::formats::otf2::{self, Cut, MemoryArchive, Reader};
use perfkit::formats::{OpenOptions, chrome, cube, paraver};
use perfkit_benches::inputs;
use std::error::Error;
use std::io::{Cursor, Write};
use std::path::PathBuf;

const EVENTS: usize = 4_000_000;

pub(crate) const ALL: &[(&str, Make)] = &[
    ("OTF2, read, one location", || read_otf2(1)),
    ("OTF2, read, 64 locations", || read_otf2(64)),
    ("OTF2, merged", || {
        let archive = inputs::archive(16, EVENTS / 32);
        Ok(Box::new(move |job| {
            let options = OpenOptions::new();
            let reader = Reader::new(&archive, &options, job)?;
            let mut merged = reader.merged()?;
            while merged.next()?.is_some() {}
            Ok(())
        }))
    }),
    ("OTF2, cut", || {
        let archive = inputs::archive(1, EVENTS);
        Ok(Box::new(move |job| {
            let reader = Reader::new(&archive, &OpenOptions::new(), &Job::default())?;
            let mut part = MemoryArchive::default();
            otf2::cut(&reader, &Cut::new(), &mut part, job)?;
            Ok(())
        }))
    }),
    ("OTF2, write", || {
        let trace = inputs::trace(1, EVENTS);
        Ok(Box::new(move |job| {
            let mut archive = MemoryArchive::default();
            let options = otf2::WriteOptions::default();
            otf2::write(trace.view(), &mut archive, &options, job)?;
            Ok(())
        }))
    }),
    ("Paraver, read", || {
        open("perfkit-job.prv", text::text(16, 60_000).into_bytes())
    }),
    ("Paraver, read packed", || {
        let text = text::text(16, 60_000);
        open("perfkit-job.prv.gz", packed(text.as_bytes())?)
    }),
    ("Paraver, write", || {
        let trace = inputs::trace(1, EVENTS / 4);
        Ok(Box::new(move |job| {
            paraver::write_trace(trace.view(), &mut std::io::sink(), "out.prv", job)?;
            Ok(())
        }))
    }),
    ("Chrome, read", || {
        open("perfkit-job.json", chrome_text(150_000_000)?)
    }),
    ("Chrome, read packed", || {
        open("perfkit-job.json.gz", packed(&chrome_text(150_000_000)?)?)
    }),
    ("Chrome, write", || {
        let trace = inputs::trace(1, EVENTS / 4);
        Ok(Box::new(move |job| {
            chrome::write(trace.view(), &mut std::io::sink(), job)?;
            Ok(())
        }))
    }),
    ("Cube, write", || write_cube(false)),
    ("Cube, write packed", || write_cube(true)),
    ("Cube, read packed document", || {
        open("perfkit-job.cube", packed(&inputs::cube3(2_000, 4_000))?)
    }),
    ("Cube, read document", || {
        open("perfkit-job.cube", inputs::cube3(2_000, 4_000))
    }),
    ("Cube, read definitions", || {
        open("perfkit-job.cubex", inputs::cubex(4, 600_000, false))
    }),
];

fn read_otf2(locations: u32) -> Result<Work, Box<dyn Error>> {
    let archive = inputs::archive(locations, EVENTS * 2 / locations as usize);
    Ok(Box::new(move |job: &Job| {
        let options = OpenOptions::new();
        Reader::new(&archive, &options, job)?.read()?;
        Ok(())
    }))
}

/// Writes 2,000 call paths of 16,000 locations.
fn write_cube(compress: bool) -> Result<Work, Box<dyn Error>> {
    let bytes = inputs::cubex(16_000, 2_000, false);
    let options = OpenOptions::new();
    let cube = cube::Cube::from_bytes(bytes, "memory", &options, &Job::default())?;
    Ok(Box::new(move |job: &Job| {
        let options = cube::WriteOptions::new().compress(compress);
        cube::write(cube.profile(), std::io::sink(), &options, job)?;
        Ok(())
    }))
}

fn chrome_text(size: u64) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut bytes = Cursor::new(Vec::new());
    kineto::write(&mut bytes, 0, size)?;
    Ok(bytes.into_inner())
}

fn packed(bytes: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes)?;
    Ok(packed.finish()?)
}

/// File that is removed when the work is dropped.
struct Held(PathBuf);

impl Drop for Held {
    fn drop(&mut self) {
        // A file that cannot be removed stays in the temporary folder.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Opens a file with these bytes.
fn open(name: &str, bytes: Vec<u8>) -> Result<Work, Box<dyn Error>> {
    let held = Held(std::env::temp_dir().join(format!("{}-{name}", std::process::id())));
    std::fs::write(&held.0, bytes)?;
    Ok(Box::new(move |job: &Job| {
        let options = OpenOptions::new();
        perfkit::formats::open(&held.0, &options, job)?;
        Ok(())
    }))
}
