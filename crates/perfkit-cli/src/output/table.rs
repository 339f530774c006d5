//! [`print()`]: a [`Table`] as text with names shortened so that they stay different ([`different`]);
//! also short numbers.

pub use perfkit::core::text::{counted, grouped, shortened};
use perfkit::core::{Cell, Column, Table, Values};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Writes a table with texts of at most `most` characters. Different texts of a column stay different.
///
/// # Errors
/// Returns the error of `out`.
pub fn print(out: &mut dyn Write, table: &Table, most: usize) -> io::Result<()> {
    let short = |column: &Column| match column.values() {
        Values::Text { .. } => {
            let cells = (0..column.values().len()).map(|row| match column.cell(row) {
                Cell::Text(text) => Some(text),
                _ => None,
            });
            let texts: Vec<Option<&str>> = cells.collect();
            let mut shorter = different(texts.iter().flatten().copied(), most).into_iter();
            let cells = texts.iter().map(|text| text.and_then(|_| shorter.next()));
            Column::text(column.name().to_owned(), cells)
        }
        _ => column.clone(),
    };
    let short = table.columns().iter().map(short);
    let table = short.fold(Table::new("", ""), Table::with);
    out.write_all(table.to_text().as_bytes())
}

/// Shortens texts to at most `most` characters each, so that different texts stay different. Texts
/// that are too long lose the arguments of functions first, then those of templates. Where
/// [`shortened`] gives several texts the same form, the first characters in which they differ are
/// shown, with some of the characters around them.
pub fn different<'a>(texts: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<String> {
    let texts: Vec<&str> = texts.into_iter().collect();
    let short = |text: &&str| {
        if text.chars().count() <= most {
            return text.to_string();
        }
        let bare = without_arguments(text);
        if bare.chars().count() <= most {
            return bare;
        }
        shortened(&without_templates(&bare), most)
    };
    let mut shorter: Vec<String> = texts.iter().map(short).collect();
    let mut groups: Vec<Vec<usize>> = vec![(0..texts.len()).collect()];
    let mut is_first = true;
    while let Some(group) = groups.pop() {
        let mut alike: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for at in &group {
            alike.entry(&shorter[*at]).or_default().push(*at);
        }
        let alike = alike.into_values().filter(|alike| {
            let differ = alike.iter().any(|at| texts[*at] != texts[alike[0]]);
            // A group that the last round has not split stays as it is.
            differ && (is_first || alike.len() < group.len())
        });
        for alike in alike.collect::<Vec<_>>() {
            let common = alike.iter().map(|at| shared(texts[alike[0]], texts[*at]));
            let start = common.min().unwrap_or_default();
            for at in &alike {
                shorter[*at] = around(texts[*at], start, most);
            }
            groups.push(alike);
        }
        is_first = false;
    }
    shorter
}

/// Replaces the arguments of functions by `...`: `solve(Domain&, int)` becomes `solve(...)`. Text in
/// parentheses after a blank is no list of arguments.
fn without_arguments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('(') {
        let (before, inside) = rest.split_at(start + 1);
        let is_name = rest[..start].ends_with(is_of_name);
        let mut depth = 1;
        let end = inside.find(|c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        kept.push_str(before);
        rest = inside;
        if let Some(end) = end.filter(|end| is_name && *end > 3) {
            kept.push_str("...");
            rest = &inside[end..];
        }
    }
    kept + rest
}

/// Replaces the arguments of templates by `..`: `sum<double, Tile<8>> > main` becomes `sum<..> > main`.
/// Text from an angle bracket on that is not closed is cut off at the next caller, and short
/// arguments remain.
fn without_templates(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let (before, inside) = rest.split_at(start + 1);
        let is_template = rest[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_')
            && !rest[..start].ends_with("operator");
        let mut depth = 1;
        let closed = inside.find(|c: char| {
            depth += i32::from(c == '<') - i32::from(c == '>');
            depth == 0
        });
        // `> >` closes two templates; other brackets between blanks separate callers.
        let ends_caller =
            |end: &usize| inside[..*end].ends_with(' ') && inside[*end..].starts_with("> ");
        let end = closed
            .filter(|end| !ends_caller(end))
            .or_else(|| inside.find(" > "));
        kept.push_str(before);
        rest = inside;
        if let Some(end) = end.filter(|end| is_template && *end > 2) {
            kept.push_str("..");
            rest = &inside[end..];
        }
    }
    kept + rest
}

/// Returns `true` for a character that a function name ends with, also of an operator or a template.
fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || "_>=".contains(c)
}

/// Returns the number of characters that two texts have in common at their beginning; the largest
/// number for equal texts.
fn shared(one: &str, other: &str) -> usize {
    let mut pairs = one.chars().zip(other.chars());
    match pairs.position(|(one, other)| one != other) {
        Some(at) => at,
        None if one == other => usize::MAX,
        None => one.chars().count().min(other.chars().count()),
    }
}

/// Returns at most `most` characters of a text: those around the character `at`, more of them after
/// it than before. `...` stands for what is cut off on either side.
fn around(text: &str, at: usize, most: usize) -> String {
    const CUT: &str = "...";
    let (count, width) = (
        text.chars().count(),
        most.saturating_sub(2 * CUT.len()).max(2),
    );
    let start = at
        .saturating_sub(width / 3)
        .min(count.saturating_sub(width));
    let end = (start + width).min(count);
    let part: String = text.chars().skip(start).take(width).collect();
    let before = if start > 0 { CUT } else { "" };
    let after = if end < count { CUT } else { "" };
    format!("{before}{part}{after}")
}

/// Formats a number with three significant digits and a prefix for powers of 1000, such as `1.25M`.
pub fn short(value: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
    let size = value.abs();
    let found = units.iter().find(|unit| size >= unit.0);
    let (scaled, unit) = found.map_or((value, ""), |unit| (value / unit.0, unit.1));
    let digits = match scaled.abs() {
        0.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{scaled:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_the_functions_of_templates() {
        let text = |end: &str| {
            let tile = "model::tile<33, 58, model::layout<double> >";
            format!("main > model::step<{tile}> > model::kernel_277<double, {tile}{end}")
        };
        let expected = "main > model::step<..> > model::kernel_277<..>";
        assert_eq!(different([text(">").as_str()], 50), [expected]);
        // A name that was cut within its arguments ends before the next caller.
        let cut = text(", model::p > MPI_Wait");
        let expected = "main > model::step<..> > model::kernel_277<.. > MPI_Wait";
        assert_eq!(different([cut.as_str()], 60), [expected]);
        assert_eq!(
            without_templates("a < b > operator<<(x) > f<8>"),
            "a < b > operator<<(x) > f<8>"
        );
    }

    #[test]
    fn shortened_texts_stay_different() {
        let models: Vec<String> = (8..12)
            .map(|at| format!("main > MODEL_{at}(unsigned long, int)"))
            .collect();
        let texts = models.iter().map(String::as_str).chain(["main"]);
        let expected = [
            "main > MODEL_8(...)",
            "main > MODEL_9(...)",
            "main > MODEL_10(...)",
            "main > MODEL_11(...)",
            "main",
        ];
        assert_eq!(different(texts.clone(), 27), expected);
        // A middle in which they differ stays.
        let expected = [
            "mai...L_8(...)",
            "mai...L_9(...)",
            "mai..._10(...)",
            "mai..._11(...)",
            "main",
        ];
        assert_eq!(different(texts, 14), expected);
        let texts = [
            "solve the first system of equations",
            "solve the other system of equations",
        ];
        let expected = ["...e the first system...", "...e the other system..."];
        assert_eq!(different(texts, 24), expected);
        // Equal texts have equal forms, and only those that clash are cut elsewhere.
        let long = "a".repeat(40);
        let texts = [long.as_str(), "main > solve > kernel_with_a_name", &long];
        let expected = [
            "aaaaa...aaaaaaaaaaaa",
            "main ..._with_a_name",
            "aaaaa...aaaaaaaaaaaa",
        ];
        assert_eq!(different(texts, 20), expected);
        // Repetitions of one character cannot be told apart within the width.
        let longer = "a".repeat(41);
        assert!(
            different([long.as_str(), &longer], 20)
                .iter()
                .all(|it| it.len() <= 20)
        );
    }
}
