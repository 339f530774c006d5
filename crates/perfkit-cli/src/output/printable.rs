//! [`Printable`]: text for a terminal, in which names of a recording cannot begin commands.

use perfkit::core::is_unprintable;
use std::io::{self, Write};

/// Returns the text with spaces instead of control characters and direction marks. Line breaks and tabs stay.
pub(crate) fn printable(text: &str) -> String {
    text.replace(
        |letter: char| !matches!(letter, '\n' | '\t') && is_unprintable(letter),
        " ",
    )
}

/// Writer of [`printable`] text.
#[derive(Debug)]
pub(crate) struct Printable<W>(pub W);

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    /// Writes the bytes. Parts that are not UTF-8 stay as they are.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.utf8_chunks() {
            self.0.write_all(printable(part.valid()).as_bytes())?;
            self.0.write_all(part.invalid())?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::Printable;
    use std::io::Write;

    #[test]
    fn names_cannot_begin_commands_of_a_terminal() {
        let mut to = Printable(Vec::new());
        writeln!(to, "solve\u{1b}[31m\u{7}\u{202e}\tfin \u{e9}").expect("it is written");
        to.write_all(b"\xff").expect("it is written");
        assert_eq!(to.0, b"solve [31m  \tfin \xc3\xa9\n\xff");
    }
}
