//! Messages on standard error: notes, warnings, and details on request.

use super::Printable;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU8, Ordering};

/// Amount of text on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Errors only.
    Quiet,
    /// Notes and warnings, and progress bars on a terminal.
    Usual,
    /// In addition, the duration of each phase of the work.
    Verbose,
}

/// Amount of text for the whole process, because standard error is shared.
static LEVEL: AtomicU8 = AtomicU8::new(Level::Usual as u8);

/// Sets the amount of text.
pub fn set_level(level: Level) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

/// Returns `true` if messages of a level are printed.
pub fn prints(level: Level) -> bool {
    LEVEL.load(Ordering::Relaxed) >= level as u8
}

/// Prints a note or a warning, unless `--quiet` is given.
pub fn say(line: &str) {
    print(Level::Usual, line);
}

/// Prints a detail if `--verbose` is given.
pub fn detail(line: &str) {
    print(Level::Verbose, line);
}

/// Prints an error at any level.
pub fn error(line: &str) {
    print(Level::Quiet, line);
}

fn print(level: Level, line: &str) {
    if prints(level) {
        // The lock keeps lines of several threads apart.
        let to = io::stderr().lock();
        let is_terminal = to.is_terminal();
        let mut out = Printable { to, is_terminal };
        // Messages are lost if standard error cannot be written.
        let _ = writeln!(out, "{line}");
    }
}
