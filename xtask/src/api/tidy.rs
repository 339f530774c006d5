//! [`tidy`]: formats the lines of cargo-public-api for readers, with short names and one line for all traits of a type.

/// Public items of a crate.
pub(super) struct Listing {
    /// One line for each item, with an empty line before each type.
    pub(super) text: String,
    /// Types that are not `Send`, not `Sync` or not `Unpin`, regardless of their parameters.
    pub(super) tied: Vec<String>,
}

/// Traits that are implemented automatically. Only their absence is listed.
const AUTOMATIC: [&str; 3] = ["Send", "Sync", "Unpin"];

/// Internal traits of rustc, which do not occur in source code.
const OF_RUSTC: [&str; 5] = [
    "Freeze",
    "UnsafeUnpin",
    "StructuralPartialEq",
    "UnwindSafe",
    "RefUnwindSafe",
];

/// Formats the lines of a crate. `krate` is the name of the crate as in paths.
pub(super) fn tidy(krate: &str, lines: &str) -> Listing {
    let mut out = Out::new(krate);
    // The type whose trait implementation is being listed.
    let mut of_trait: Option<String> = None;
    for line in lines.lines() {
        if let Some(found) = Implementation::parse(line) {
            of_trait = found.is_of_trait().then(|| found.name());
            out.implementation(found);
            continue;
        }
        // The name of a trait implies its methods, but not the associated types.
        let repeated = of_trait.as_ref().is_some_and(|name| is_inside(line, name));
        if !repeated || line.starts_with("pub type ") {
            out.item(line);
        }
    }
    out.finish()
}

/// Returns `true` if a line is about an item inside of the type `name`, such as a method or a constant.
fn is_inside(line: &str, name: &str) -> bool {
    let words = line.split(' ').find(|word| word.contains("::"));
    let rest = words.and_then(|path| path.strip_prefix(name));
    rest.is_some_and(|rest| rest.starts_with("::") || rest.starts_with('<'))
}

/// Implementation `impl<PARAMETERS> TRAIT for TYPE where BOUNDS`.
struct Implementation<'a> {
    /// Parameters with their angle brackets; empty if there are none.
    parameters: &'a str,
    /// Name of the trait; empty for inherent implementations.
    of: &'a str,
    /// Type with its bounds.
    what: &'a str,
}

impl<'a> Implementation<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let rest = line.strip_prefix("impl")?;
        let (parameters, rest) = match rest.strip_prefix(' ') {
            Some(rest) => ("", rest),
            None => {
                let end = closing(rest)?;
                (&rest[..end], rest[end..].strip_prefix(' ')?)
            }
        };
        let (of, what) = rest.split_once(" for ").unwrap_or(("", rest));
        Some(Self {
            parameters,
            of,
            what,
        })
    }

    fn is_of_trait(&self) -> bool {
        !self.of.is_empty()
    }

    /// Returns the path of the type, without parameters and bounds.
    fn name(&self) -> String {
        let end = self.what.find(['<', ' ']).unwrap_or(self.what.len());
        self.what[..end].to_string()
    }
}

/// Returns the byte index after the angle bracket that closes the first one of the text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        match letter {
            '<' => depth += 1,
            // The `>` of an arrow does not close a bracket.
            '>' if before != '-' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at + letter.len_utf8());
        }
        before = letter;
    }
    None
}

/// Output text, and the traits that are collected for one line.
struct Out<'a> {
    /// Name of the crate, as in paths.
    krate: &'a str,
    /// Items listed so far.
    listing: Listing,
    /// Collected traits of one type, its parameters, and the type.
    waiting: Option<(Vec<String>, String, String)>,
}

impl<'a> Out<'a> {
    fn new(krate: &'a str) -> Self {
        let listing = Listing {
            text: String::new(),
            tied: Vec::new(),
        };
        Self {
            krate,
            listing,
            waiting: None,
        }
    }

    fn implementation(&mut self, found: Implementation<'_>) {
        if !found.is_of_trait() {
            // Methods are listed below their type.
            self.flush();
            return;
        }
        let of = self.short(found.of);
        if OF_RUSTC.contains(&of.trim_start_matches('!')) {
            return;
        }
        match of.strip_prefix('!') {
            Some(name) if AUTOMATIC.contains(&name) => self.listing.tied.push(found.name()),
            None if AUTOMATIC.contains(&&*of) && !found.what.contains(" where ") => return,
            _ => {}
        }
        let (parameters, what) = (self.short(found.parameters), self.short(found.what));
        match &mut self.waiting {
            Some(waiting) if waiting.1 == parameters && waiting.2 == what => waiting.0.push(of),
            _ => {
                self.flush();
                self.waiting = Some((vec![of], parameters, what));
            }
        }
    }

    fn flush(&mut self) {
        if let Some((traits, parameters, what)) = self.waiting.take() {
            let traits = traits.join(" + ");
            let text = &mut self.listing.text;
            text.push_str(&format!("impl{parameters} {traits} for {what}\n"));
        }
    }

    fn item(&mut self, line: &str) {
        self.flush();
        let line = self.short(line);
        let starts = ["struct", "enum", "trait", "mod", "union"];
        let mut words = line.split(' ').skip_while(|word| *word != "pub").skip(1);
        if words.next().is_some_and(|word| starts.contains(&word)) {
            self.listing.text.push('\n');
        }
        self.listing.text.push_str(&line);
        self.listing.text.push('\n');
    }

    fn finish(mut self) -> Listing {
        self.flush();
        let text = sorted(self.listing.text.trim_start());
        let mut tied = self.listing.tied;
        tied.sort();
        tied.dedup();
        Listing { text, tied }
    }

    /// Shortens the paths in a line. Paths of this crate start at its root. Paths of other crates
    /// lose their modules. Paths of the standard library are reduced to their last part.
    fn short(&self, line: &str) -> String {
        let mut text = String::new();
        let mut rest = line;
        while let Some(at) = rest.find(is_of_path) {
            let (before, path) = rest.split_at(at);
            let end = path.find(|it| !is_of_path(it)).unwrap_or(path.len());
            text.push_str(before);
            text.push_str(&self.short_path(&path[..end]));
            rest = &path[end..];
        }
        text.push_str(rest);
        text
    }

    fn short_path(&self, path: &str) -> String {
        let parts: Vec<&str> = path.split("::").collect();
        match parts[..] {
            [first, _, ..] if first == self.krate => path[first.len() + 2..].to_string(),
            [
                "core" | "alloc" | "std",
                ..,
                module,
                last @ ("Error" | "Result"),
            ] if module != "result" => {
                // Write `io::Result`, although its definition is in `io::error`.
                let module = if module == "error" && parts.contains(&"io") {
                    "io"
                } else {
                    module
                };
                format!("{module}::{last}")
            }
            ["core" | "alloc" | "std", .., last] => last.to_string(),
            [first, _, .., last] if first.starts_with("perf_") => format!("{first}::{last}"),
            _ => path.to_string(),
        }
    }
}

/// Sorts the items of each block by name, functions last. The distribution of methods over `impl`
/// blocks is an implementation detail.
fn sorted(text: &str) -> String {
    let is_function = |line: &str| line.contains(" fn ");
    let mut lines: Vec<&str> = text.lines().collect();
    // The first line of a block is the type to which the other lines belong.
    let mut start = 1;
    for at in 1..=lines.len() {
        let ends = lines
            .get(at)
            .is_none_or(|line| line.is_empty() || line.starts_with("impl"));
        if ends {
            if let Some(together) = lines.get_mut(start..at) {
                together.sort_by_key(|line| (is_function(line), *line));
            }
            let is_header = lines.get(at).is_some_and(|line| line.is_empty());
            start = at + if is_header { 2 } else { 1 };
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Returns `true` for characters of a path, including colons.
fn is_of_path(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == ':'
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "\
pub mod perf_x
pub mod perf_x::deep
pub struct perf_x::deep::Kept<T>
pub perf_x::deep::Kept::at: core::option::Option<perf_core::time::Nanos>
impl<T> perf_x::deep::Kept<T>
pub fn perf_x::deep::Kept<T>::read(&self, &mut dyn std::io::Read) -> std::io::error::Result<T>
impl<T> core::iter::traits::iterator::Iterator for perf_x::deep::Kept<T>
pub type perf_x::deep::Kept<T>::Item = alloc::vec::Vec<T>
pub fn perf_x::deep::Kept<T>::next(&mut self) -> core::option::Option<alloc::vec::Vec<T>>
impl<T> core::fmt::Debug for perf_x::deep::Kept<T>
pub fn perf_x::deep::Kept<T>::fmt(&self, &mut core::fmt::Formatter<'_>) -> core::fmt::Result
impl<T> !core::marker::Sync for perf_x::deep::Kept<T>
impl<T> core::marker::Freeze for perf_x::deep::Kept<T>
impl<T> core::marker::Send for perf_x::deep::Kept<T> where T: core::marker::Send
impl<T> core::marker::Unpin for perf_x::deep::Kept<T>
pub fn perf_x::open() -> core::result::Result<(), perf_x::Error>
";

    #[test]
    fn traits_stand_on_a_line_and_paths_are_short() {
        let listing = tidy("perf_x", LINES);
        let wanted = "\
pub mod perf_x

pub mod deep

pub struct deep::Kept<T>
pub deep::Kept::at: Option<perf_core::Nanos>
pub fn deep::Kept<T>::read(&self, &mut dyn Read) -> io::Result<T>
impl<T> Iterator for deep::Kept<T>
pub type deep::Kept<T>::Item = Vec<T>
impl<T> Debug + !Sync for deep::Kept<T>
impl<T> Send for deep::Kept<T> where T: Send
pub fn open() -> Result<(), Error>
";
        assert_eq!(listing.text, wanted);
        assert_eq!(listing.tied, ["perf_x::deep::Kept"]);
    }

    #[test]
    fn blocks_of_methods_are_one() {
        let first = "impl perf_x::A\npub fn perf_x::A::b()\n";
        let second = "impl perf_x::A\npub fn perf_x::A::a()\npub const perf_x::A::C: u8\n";
        let listing = |parts: [&str; 2]| {
            let text = format!("pub mod perf_x\npub struct perf_x::A\n{}", parts.concat());
            tidy("perf_x", &text).text
        };
        assert_eq!(listing([first, second]), listing([second, first]));
        let wanted =
            "pub mod perf_x\n\npub struct A\npub const A::C: u8\npub fn A::a()\npub fn A::b()\n";
        assert_eq!(listing([first, second]), wanted);
    }

    #[test]
    fn parameters_end_where_their_bracket_is_closed() {
        let line = "impl<F: core::ops::function::Fn() -> u32> core::clone::Clone for perf_x::A<F>";
        let found = Implementation::parse(line).expect("it is one");
        assert_eq!(found.parameters, "<F: core::ops::function::Fn() -> u32>");
        assert_eq!(
            (found.of, found.name().as_str()),
            ("core::clone::Clone", "perf_x::A")
        );
        assert!(Implementation::parse("pub fn perf_x::implement()").is_none());
    }
}
