//! Child process that reads the damaged cases of a recording and reports the result and the memory
//! of each. A recording may crash it, so it is separate from the program that reports.

use crate::cases::Target;
use crate::{Options, memory};
use perfkit_mutate::recordings::Recording;
use perfkit_mutate::verdict::Verdict;
use std::fs;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;

/// Memory that a case may use in addition to a multiple of the memory of the undamaged recording,
/// followed by the multiple and the additional memory for each byte by which the damage enlarges
/// the recording. A call of a few bytes takes hundreds of bytes in the analyses.
const SPARE: usize = 96 << 20;
const TIMES: usize = 3;
const A_BYTE: usize = 256;

/// Location of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Runs the cases of a recording from number `from` on. Prints a line with number and damage before
/// each case, and a line with the result after it.
pub(crate) fn run(recording: &Recording, options: &Options, from: usize) -> io::Result<()> {
    std::panic::set_hook(Box::new(|info| {
        if let Ok(mut last) = PANIC.lock() {
            *last = info.to_string().replace('\n', " ");
        }
    }));
    let folder = std::env::temp_dir().join(format!("perfkit-mutate-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    for file in &recording.files {
        let to = folder.join(file);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(recording.root.join(file), &to)?;
    }
    let outcome = cases(recording, options, from, &folder);
    fs::remove_dir_all(&folder)?;
    outcome
}

fn cases(recording: &Recording, options: &Options, from: usize, folder: &Path) -> io::Result<()> {
    let targets = Target::all(recording, options)?;
    let (_, base) = measure(|| recording.survive(folder));
    let mut out = io::stdout().lock();
    let mut number = 0;
    for target in &targets {
        let file = folder.join(&target.file);
        let mut is_damaged = false;
        for at in 0..target.len() {
            number += 1;
            if number <= from {
                continue;
            }
            let Some((bytes, what)) = target.case(at) else {
                continue;
            };
            writeln!(out, "case {} {what}", number - 1)?;
            out.flush()?;
            replace(&file, &bytes)?;
            is_damaged = true;
            let more = bytes.len().saturating_sub(target.whole().len());
            let limit = SPARE + TIMES * base + A_BYTE * more;
            drop(bytes);
            let (verdict, peak) = measure(|| recording.survive(folder));
            let line = match verdict {
                Err(()) => {
                    let panic = PANIC.lock().map(|last| last.clone());
                    format!("panic {}", panic.unwrap_or_default())
                }
                Ok(_) if peak > limit => {
                    format!("memory {} MB, limit {} MB", peak >> 20, limit >> 20)
                }
                Ok(Verdict::Value) => "value".into(),
                Ok(Verdict::Repair) => "repair".into(),
                Ok(Verdict::Refused) => "error".into(),
                Ok(Verdict::Unlocated(what)) => format!("unlocated {}", what.replace('\n', " ")),
            };
            writeln!(out, "{line}")?;
            out.flush()?;
        }
        if is_damaged {
            replace(&file, target.whole())?;
        }
    }
    Ok(())
}

/// Replaces a file by a new one. The old file may still be open, and copies may be read-only.
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let _ = fs::remove_file(file);
    fs::write(file, bytes)
}

/// Returns the result of the work, and its peak memory in bytes.
fn measure(work: impl FnOnce() -> Verdict) -> (Result<Verdict, ()>, usize) {
    memory::reset();
    let before = memory::peak();
    let verdict = catch_unwind(AssertUnwindSafe(work)).map_err(drop);
    (verdict, memory::peak() - before)
}
