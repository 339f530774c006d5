//! [`Running`]: program that ends with its value.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Running program that is killed when it is dropped.
pub(super) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // The program may have ended already, so errors are ignored.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Starts a program.
    pub(super) fn start(command: &mut Command) -> Result<Self, String> {
        let child = command.spawn();
        let program = command.get_program().display();
        child
            .map(Running)
            .map_err(|error| format!("{program}: {error}"))
    }

    /// Starts a program and returns it with the first line that it prints.
    pub(super) fn saying(command: &mut Command) -> Result<(Self, String), String> {
        let mut running = Self::start(command.stdout(Stdio::piped()))?;
        let out = running.0.stdout.take().ok_or("no pipe from the program")?;
        let mut line = String::new();
        let read = BufReader::new(out).read_line(&mut line);
        read.map_err(|error| error.to_string())?;
        Ok((running, line.trim().to_owned()))
    }
}
