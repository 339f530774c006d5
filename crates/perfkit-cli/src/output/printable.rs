//! [`Printable`]: text for a terminal, in which names of a recording cannot begin commands.

use perfkit::core::is_unprintable;
use std::io::{self, Write};

/// Returns the text with spaces instead of control characters and direction marks. Line breaks and tabs stay.
fn printable(text: &str) -> String {
    text.replace(
        |letter: char| !matches!(letter, '\n' | '\t') && is_unprintable(letter),
        " ",
    )
}

/// Writer of [`printable`] text to a terminal. Files and other programs receive all characters of names.
#[derive(Debug)]
pub(crate) struct Printable<W> {
    /// Writer of the text.
    pub(crate) to: W,
    /// `true` if the text ends on a terminal.
    pub(crate) is_terminal: bool,
}

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    /// Writes the bytes. Parts that are not UTF-8 stay as they are.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.is_terminal {
            return self.to.write_all(bytes);
        }
        for part in bytes.utf8_chunks() {
            self.to.write_all(printable(part.valid()).as_bytes())?;
            self.to.write_all(part.invalid())?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::Printable;
    use std::io::Write;

    #[test]
    fn names_cannot_begin_commands_of_a_terminal() {
        let written = |is_terminal| {
            let to = Vec::new();
            let mut out = Printable { to, is_terminal };
            writeln!(out, "solve\u{1b}[31m\u{7}\u{202e}\tfin \u{e9}").expect("it is written");
            out.write_all(b"\xff").expect("it is written");
            out.to
        };
        assert_eq!(written(true), b"solve [31m  \tfin \xc3\xa9\n\xff");
        let all = "solve\u{1b}[31m\u{7}\u{202e}\tfin \u{e9}\n";
        assert_eq!(written(false), [all.as_bytes(), b"\xff"].concat());
    }
}
