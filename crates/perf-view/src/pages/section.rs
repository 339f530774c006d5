//! Building blocks of a page: [`Section`]; [`Card`], its summary; [`Item`], a statement in a list.

use crate::encoding::base64;
use crate::{Result, Scene, Theme};
use maud::{Markup, html};
use perf_core::{Column, Table, Values};
use serde_json::Value;

/// Part of a [`Page`](crate::Page), created by a view.
#[derive(Clone, Debug)]
pub struct Section {
    /// Anchor for links to the section.
    pub(crate) id: String,
    /// Heading of the section.
    pub(crate) heading: String,
    /// Name of the view. The script of the view finds the section by this name.
    pub(crate) view: &'static str,
    /// Content below the heading.
    pub(crate) body: Markup,
    /// Data for the script of the view; null without a script.
    pub(crate) data: Value,
    /// Script of the view; empty if the view needs no script.
    pub(crate) script: &'static str,
    /// Style sheet of the view. It is used only if there is a script.
    pub(crate) style: &'static str,
    /// Part of the width of the page.
    pub(crate) width: Width,
    /// `true` if the script asks the server of the page for data.
    pub(crate) is_served: bool,
    /// `true` if the script creates workers from its own text.
    pub(crate) has_workers: bool,
}

/// Part of the width of a page that a section takes on a wide screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Width {
    /// The whole width.
    #[default]
    Full,
    /// Half of the width.
    Half,
    /// Half of the width and twice the height, with two sections of half the width at its side.
    TallHalf,
}

/// Returns a sentence in which text between two backticks is code.
pub(crate) fn prose(text: &str) -> Markup {
    let parts = text.split('`');
    // A backtick without a partner, such as in a name, stays as it is.
    let last = parts.clone().count() - 1;
    html! {
        @for (at, part) in parts.enumerate() {
            @if at % 2 == 0 { (part) } @else if at < last { code { (part) } } @else { "`" (part) }
        }
    }
}

/// Returns a button that shows and hides a help text. `id` is the anchor of the text; other
/// elements refer to the text by this anchor.
#[cfg(any(
    feature = "fold",
    feature = "topology",
    feature = "track",
    feature = "anomaly"
))]
pub(crate) fn help(id: &str, sentences: &[String]) -> Markup {
    html! {
        details.help {
            summary aria-label="Help" title="Help" { "?" }
            div id=(id) { @for sentence in sentences { p { (prose(sentence)) } } }
        }
    }
}

/// Largest number of characters of a name in a table; longer names are shortened in the middle.
const NAME: usize = 72;

/// Returns a name, which is shortened in the middle if it is long. The whole name appears on hover.
pub(crate) fn name(text: &str) -> Markup {
    let short = crate::shortened(text, NAME);
    html! { @if short == text { (text) } @else { span title=(text) { (short) } } }
}

/// Returns the data that the script of a section reads.
#[cfg(any(
    feature = "fold",
    feature = "topology",
    feature = "track",
    feature = "anomaly"
))]
pub(crate) fn data(of: &impl serde::Serialize) -> Result<Value> {
    Ok(serde_json::to_value(of).map_err(std::io::Error::from)?)
}

impl Section {
    pub(crate) fn new(
        view: &'static str,
        id: &str,
        heading: &str,
        body: Markup,
        data: Value,
        script: &'static str,
        style: &'static str,
    ) -> Self {
        Section {
            id: anchor(id),
            heading: heading.to_string(),
            view,
            body,
            data,
            script,
            style,
            width: Width::Full,
            is_served: false,
            has_workers: false,
        }
    }

    /// Gives the section half of the width of the page on wide screens. Two such sections are
    /// placed side by side.
    pub fn half(mut self) -> Self {
        self.width = Width::Half;
        self
    }

    /// Gives the section half of the width of the page on wide screens. The next two sections of
    /// half the width are placed below one another at its side.
    pub fn tall_half(mut self) -> Self {
        self.width = Width::TallHalf;
        self
    }

    /// Creates a section of plain text paragraphs. Text between backticks is shown as code, here and
    /// in the texts of all other sections.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_view::{Page, Section};
    /// let section = Section::text("about", "About <this>", &["See `perfkit fold`."]);
    /// let html = Page::new("x").with(section).html(&Job::default())?;
    /// assert!(html.contains("About &lt;this&gt;") && html.contains("See <code>perfkit fold</code>."));
    /// # Ok::<(), perf_view::Error>(())
    /// ```
    pub fn text(id: &str, heading: &str, paragraphs: &[&str]) -> Self {
        let body = html! { @for text in paragraphs { p { (prose(text)) } } };
        Section::new("text", id, heading, body, Value::Null, "", "")
    }

    /// Creates a section with a picture as PNG, drawn for the light and the dark theme, and a text
    /// above it.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_view::{Page, Scene, Section, Theme};
    /// let draw = |theme: Theme| Scene::new(8, 8, theme.paper).titled("nothing, 8 x 8 pixels");
    /// let section = Section::picture("empty", "Nothing", draw, "Nothing is to be seen.")?;
    /// let html = Page::new("x").with(section).html(&Job::default())?;
    /// assert_eq!(html.matches("alt=\"nothing, 8 x 8 pixels\"").count(), 2);
    /// # Ok::<(), perf_view::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - Returns [`Error::TooLarge`](crate::Error::TooLarge) if the picture has too many pixels.
    /// - Returns [`Error::Io`](crate::Error::Io) if the picture has no pixels.
    pub fn picture(
        id: &str,
        heading: &str,
        draw: impl Fn(Theme) -> Scene,
        words: &str,
    ) -> Result<Self> {
        // A narrow screen scrolls the picture, because its text would be too small to read.
        let body = html! {
            @if !words.is_empty() { p { (prose(words)) } }
            figure.still tabindex="0" { (both(draw)?) }
        };
        let null = Value::Null;
        Ok(Section::new("text", id, heading, body, null, "", ""))
    }

    /// Creates a section with a table and its description above it.
    ///
    /// The first cell of a row is the heading of the row. Columns of numbers and times are aligned
    /// to the right. Cells are formatted by [`Column::text_of`](perf_core::Column::text_of) and
    /// contain their units.
    ///
    /// ```
    /// use perf_core::{Column, Job, Nanos, Table};
    /// use perf_view::{Page, Section};
    /// let table = Table::new("runs", "Two facts.")
    ///     .text("run", ["run <1>"])
    ///     .times("time", [Nanos(12_000_000)]);
    /// let page = Page::new("x").with(Section::table("runs", "Runs", &table));
    /// let html = page.html(&Job::default())?;
    /// assert!(html.contains("run &lt;1&gt;"));
    /// assert!(html.contains("<td class=\"n\">12.00 ms</td>"));
    /// # Ok::<(), perf_view::Error>(())
    /// ```
    pub fn table(id: &str, heading: &str, table: &Table) -> Self {
        let is_number = |column: &Column| !matches!(column.values(), Values::Text { .. });
        let body = html! {
            @if !table.description().is_empty() { p { (prose(table.description())) } }
            div.scroll { table {
                thead { tr { @for column in table.columns() {
                    th.n[is_number(column)] scope="col" { (column.name()) }
                } } }
                tbody { @for row in 0..table.rows() { tr {
                    @for (at, column) in table.columns().iter().enumerate() {
                        @if at == 0 { th.n[is_number(column)] scope="row" { (name(&column.text_of(row))) } }
                        @else { td.n[is_number(column)] { (name(&column.text_of(row))) } }
                    }
                } } }
            } }
        };
        Section::new("text", id, heading, body, Value::Null, "", "")
    }

    /// Creates the overview of a report. It has one card for each section, with a link to the
    /// section.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_view::{Card, Page, Section};
    /// let cards = [Card::new("waits", "Two ranks wait", "They lose 3 s of 20.")];
    /// let page = Page::new("A run").with(Section::overview("overview", "Overview", &cards));
    /// assert!(page.html(&Job::default())?.contains("href=\"#waits\""));
    /// # Ok::<(), perf_view::Error>(())
    /// ```
    pub fn overview(id: &str, heading: &str, cards: &[Card]) -> Self {
        let body = html! {
            div.cards { @for card in cards {
                a.card href={ "#" (anchor(&card.link)) } {
                    strong { (card.heading) }
                    span { (prose(&card.words)) }
                    @if let Some(picture) = &card.picture { (picture) }
                }
            } }
        };
        Section::new("text", id, heading, body, Value::Null, "", "")
    }

    /// Creates a numbered list of statements, each with a place and a command if these are set.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_view::{Item, Page, Section};
    /// let item = Item::new("Imbalance", "Rank 5 computes <longest>.").command("perfkit fold run");
    /// let page = Page::new("A run").with(Section::items("findings", "Findings", "", &[item]));
    /// let html = page.html(&Job::default())?;
    /// assert!(html.contains("&lt;longest&gt;") && html.contains("perfkit fold run</code>"));
    /// # Ok::<(), perf_view::Error>(())
    /// ```
    pub fn items(id: &str, heading: &str, words: &str, items: &[Item]) -> Self {
        let body = html! {
            @if !words.is_empty() { p { (prose(words)) } }
            ol.items { @for item in items {
                li {
                    p { strong { (prose(&item.title)) ". " } (prose(&item.text)) }
                    @if !item.place.is_empty() { p.note { (prose(&item.place)) } }
                    @if !item.command.is_empty() { p { code.command title=(item.command) { (item.command) } } }
                }
            } }
        };
        Section::new("text", id, heading, body, Value::Null, "", "")
    }

    /// Returns the heading.
    pub fn heading(&self) -> &str {
        &self.heading
    }

    /// Replaces the heading.
    pub fn headed(mut self, heading: &str) -> Self {
        self.heading = heading.to_string();
        self
    }

    /// Returns the anchor of the section, which is the part of a link after `#`.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// Statement in a list of [`items`](Section::items).
///
/// ```
/// use perf_view::{Item, Section};
/// let item = Item::new("Imbalance", "Rank 5 computes longest.").place("rank 5");
/// assert_eq!(Section::items("findings", "Findings", "", &[item]).id(), "findings");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    title: String,
    text: String,
    place: String,
    command: String,
}

impl Item {
    /// Creates a statement with a title.
    pub fn new(title: impl Into<String>, text: impl Into<String>) -> Self {
        Item {
            title: title.into(),
            text: text.into(),
            ..Item::default()
        }
    }

    /// Sets the place that the statement refers to, such as a rank.
    pub fn place(mut self, place: impl Into<String>) -> Self {
        self.place = place.into();
        self
    }

    /// Sets the command that shows further details.
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = command.into();
        self
    }
}

/// Summary of a section in one sentence, for an [`overview`](Section::overview).
///
/// ```
/// use perf_core::Job;
/// use perf_view::{Card, Page, Section};
/// let card = Card::new("waits", "Who waits", "Ranks 5, 6, 9 and 10 wait least.");
/// let page = Page::new("Run 7")
///     .with(Section::overview("all", "At a glance", &[card]))
///     .with(Section::text("waits", "Who waits", &["..."]));
/// assert!(page.html(&Job::default())?.contains("href=\"#waits\""));
/// # Ok::<(), perf_view::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Card {
    /// Id of the section that the card links to.
    link: String,
    /// Heading of the card.
    heading: String,
    /// Summary in one sentence.
    words: String,
    /// Picture for both themes; `None` for a card without a picture.
    picture: Option<Markup>,
}

impl Card {
    /// Creates a card with a link to the section with this id.
    pub fn new(
        link: impl Into<String>,
        heading: impl Into<String>,
        words: impl Into<String>,
    ) -> Self {
        Card {
            link: link.into(),
            heading: heading.into(),
            words: words.into(),
            picture: None,
        }
    }

    /// Adds a picture.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::TooLarge`](crate::Error::TooLarge) if the picture has too many pixels.
    /// - Returns [`Error::Io`](crate::Error::Io) if the picture has no pixels.
    pub fn with(mut self, draw: impl Fn(Theme) -> Scene) -> Result<Self> {
        self.picture = Some(both(draw)?);
        Ok(self)
    }
}

/// Draws a picture for the light and the dark theme. The style sheet shows one of the two pictures.
fn both(draw: impl Fn(Theme) -> Scene) -> Result<Markup> {
    let one = |theme: Theme| -> Result<(String, String)> {
        let scene = draw(theme);
        Ok((base64(&scene.png()?), scene.title))
    };
    let (light, words) = one(Theme::light())?;
    let (dark, _) = one(Theme::dark())?;
    Ok(html! {
        img.still.on-light src={ "data:image/png;base64," (light) } alt=(words);
        img.still.on-dark src={ "data:image/png;base64," (dark) } alt=(words);
    })
}

/// Converts an id to lower-case letters, digits and hyphens, starting with a letter.
fn anchor(id: &str) -> String {
    let letters = id.chars().map(|letter| match letter {
        'a'..='z' | '0'..='9' | '-' => letter,
        'A'..='Z' => letter.to_ascii_lowercase(),
        _ => '-',
    });
    let found: String = letters.collect();
    if found.starts_with(|letter: char| letter.is_ascii_lowercase()) {
        found
    } else {
        format!("v-{found}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_between_backticks_is_code() {
        for (text, expected) in [
            ("no code", "no code"),
            (
                "`a` and `b<c>`",
                "<code>a</code> and <code>b&lt;c&gt;</code>",
            ),
            ("`a` is `b", "<code>a</code> is `b"),
            ("f`", "f`"),
            ("", ""),
        ] {
            assert_eq!(prose(text).into_string(), expected, "{text}");
        }
    }
}
