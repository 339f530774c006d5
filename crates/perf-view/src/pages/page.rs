//! [`Page`]: self-contained HTML file made of sections.

use crate::encoding::base64;
use crate::escape::{json_in_script, legible};
use crate::section::{Section, Width};
use crate::{Colour, Result, Theme};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use perf_core::Job;
use sha2::{Digest, Sha256};

/// HTML page in one file without references to other files.
///
/// The content security policy of the page permits only its own scripts and styles, by their
/// digests.
///
/// ```
/// use perf_core::Job;
/// use perf_view::{Page, Section};
/// let page = Page::new("Run 7 of <a>").lead("What the run did.");
/// let html = page.with(Section::text("about", "About", &["Nothing yet."])).html(&Job::default())?;
/// assert!(html.contains("Run 7 of &lt;a&gt;") && html.contains("default-src 'none'"));
/// assert!(!html.contains("http:") && !html.contains("https:"));
/// # Ok::<(), perf_view::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Page {
    title: String,
    lead: String,
    sections: Vec<Section>,
}

/// Number of characters between two cancellation checks.
const CHARACTERS_PER_CHECK: usize = 1 << 20;

const SCRIPT: &str = include_str!("../../assets/page/page.js");
const STYLE: &str = include_str!("../../assets/page/page.css");

impl Page {
    /// Script that all views share. It defines `perfkit`.
    pub const SCRIPT: &str = SCRIPT;

    /// Returns the style sheet of all pages, with the colours of both themes.
    pub fn style() -> String {
        colours() + STYLE
    }

    /// Creates a page without sections.
    pub fn new(title: impl Into<String>) -> Self {
        Page {
            title: title.into(),
            ..Page::default()
        }
    }

    /// Sets the introduction below the title, which is one or two sentences.
    pub fn lead(mut self, text: impl Into<String>) -> Self {
        self.lead = text.into();
        self
    }

    /// Appends a section. If its id is already in use, a number is added to the id.
    pub fn with(mut self, mut section: Section) -> Self {
        let taken = |id: &str| self.sections.iter().any(|other| other.id == id);
        if taken(&section.id) {
            let numbers = 2..=self.sections.len() + 2;
            let mut free = numbers.map(|number| format!("{}-{number}", section.id));
            section.id = free.find(|id| !taken(id)).unwrap_or_default();
        }
        self.sections.push(section);
        self
    }

    /// Returns the heading of a section. If it begins with the title of the page, this repetition
    /// is removed.
    fn heading(&self, section: &Section) -> String {
        let rest = section.heading.strip_prefix(self.title.as_str());
        let Some(rest) = rest.and_then(|rest| rest.strip_prefix(": ")) else {
            return section.heading.clone();
        };
        let mut letters = rest.chars();
        let first = letters.next().map(char::to_uppercase);
        first.into_iter().flatten().chain(letters).collect()
    }

    /// Returns the HTML file. Equal pages give equal bytes.
    ///
    /// Makes cancellation checks between sections and while the text is scanned. The data of one
    /// section is written without a check.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_view::{Page, Section};
    /// let page = Page::new("A run").with(Section::text("about", "About", &["Nothing yet."]));
    /// let job = Job::default();
    /// assert!(page.html(&job)?.contains("Nothing yet."));
    /// job.cancel();
    /// assert!(page.html(&job).is_err());
    /// # Ok::<(), perf_view::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn html(&self, job: &Job) -> Result<String> {
        let mut sections = Vec::with_capacity(self.sections.len());
        for section in &self.sections {
            job.check()?;
            sections.push(element(section, self.heading(section), &self.title));
        }
        let mut scripts = vec![SCRIPT];
        let mut styles = vec![Self::style()];
        for section in &self.sections {
            if !section.script.is_empty() && !scripts.contains(&section.script) {
                scripts.push(section.script);
                styles.push(section.style.to_string());
            }
        }
        let style = styles.concat();
        let is_served = self.sections.iter().any(|section| section.is_served);
        let has_workers = self.sections.iter().any(|section| section.has_workers);
        let policy = policy(&scripts, &style, (is_served, has_workers));
        let markup = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) }
                    style { (PreEscaped(&style)) }
                }
                body {
                    header {
                        h1 { (self.title) }
                        @if !self.lead.is_empty() { p.lead { (self.lead) } }
                        button #theme type="button" { "Light or dark" }
                        @if self.sections.len() > 1 {
                            nav aria-label="Sections" {
                                @for section in &self.sections {
                                    a href={ "#" (section.id) } { (self.heading(section)) }
                                }
                            }
                        }
                    }
                    main { @for section in &sections { (section) } }
                    @for script in &scripts { script { (PreEscaped(script)) } }
                }
            }
        };
        job.check()?;
        let html = markup.into_string();
        // Templates escape markup, but they do not replace the characters that a page must not
        // contain.
        let mut letters = html.chars();
        let is_legible = loop {
            job.check()?;
            let mut some = letters.by_ref().take(CHARACTERS_PER_CHECK).peekable();
            if some.peek().is_none() {
                break true;
            }
            if some.any(|letter| legible(letter) != letter) {
                break false;
            }
        };
        if is_legible {
            return Ok(html);
        }
        let (mut cleaned, mut letters) = (String::with_capacity(html.len()), html.chars());
        while !letters.as_str().is_empty() {
            job.check()?;
            cleaned.extend(letters.by_ref().take(CHARACTERS_PER_CHECK).map(legible));
        }
        Ok(cleaned)
    }
}

/// Renders a section. A heading that equals the title of the page is visible to screen readers
/// only.
fn element(section: &Section, heading: String, title: &str) -> Markup {
    let Section { id, view, .. } = section;
    let [is_half, is_tall] = [
        section.width != Width::Full,
        section.width == Width::TallHalf,
    ];
    html! {
        section.half[is_half].tall[is_tall] id=(id) data-view=(view) aria-labelledby={ (id) "-heading" } {
            h2.unseen[heading == title] id={ (id) "-heading" } { (heading) }
            (section.body)
            @if !section.data.is_null() {
                script type="application/json" { (PreEscaped(json_in_script(&section.data))) }
            }
        }
    }
}

/// Returns the content security policy, which permits only these scripts, these styles, and
/// embedded pictures. A served page may also ask its server for data, and a page may have workers
/// whose text its own scripts make.
fn policy(scripts: &[&str], style: &str, (is_served, has_workers): (bool, bool)) -> String {
    let digest = |text: &str| format!("'sha256-{}'", base64(&Sha256::digest(text)));
    let scripts: Vec<String> = scripts.iter().map(|script| digest(script)).collect();
    let connect = if is_served {
        " connect-src 'self';"
    } else {
        ""
    };
    let workers = if has_workers {
        " worker-src blob:;"
    } else {
        ""
    };
    format!(
        "default-src 'none';{connect}{workers} script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        scripts.join(" "),
        digest(style)
    )
}

/// Returns the colours of both themes as variables. The dark theme applies if the reader selects
/// it, or if the system does and the reader has not selected the light theme.
fn colours() -> String {
    let (light, dark) = (variables(Theme::light()), variables(Theme::dark()));
    format!(
        ":root{{color-scheme:light;{light}}}\n\
         @media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n\
         @media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n"
    )
}

fn variables(theme: Theme) -> String {
    let all: [(&str, Colour); 8] = [
        ("paper", theme.paper),
        ("ink", theme.ink),
        ("quiet", theme.quiet),
        ("grid", theme.grid),
        ("idle", theme.idle),
        ("absent", theme.absent),
        ("equal", theme.equal),
        ("alarm", theme.alarm),
    ];
    all.iter()
        .map(|(name, colour)| format!("--{name}:{colour};"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &str = "text \u{202e} </script>";

    fn page() -> Page {
        let section = || {
            let data = serde_json::json!([DATA]);
            Section::new(
                "view",
                "A view!",
                DATA,
                html! { p { (DATA) } },
                data,
                "run();",
                "p{}",
            )
        };
        Page::new(DATA).with(section()).with(section())
    }

    #[test]
    fn the_policy_names_every_script_and_the_style() {
        let html = page().html(&Job::default()).unwrap();
        let inside = |tag: &str| -> Vec<&str> {
            let (begin, end) = (format!("<{tag}>"), format!("</{tag}>"));
            let parts = html.split(begin.as_str()).skip(1);
            parts
                .filter_map(|part| part.split(end.as_str()).next())
                .collect()
        };
        let (scripts, styles) = (inside("script"), inside("style"));
        assert_eq!((scripts.len(), styles.len()), (2, 1));
        for text in scripts.into_iter().chain(styles) {
            let digest = format!("'sha256-{}'", base64(&Sha256::digest(text)));
            assert!(html.contains(&digest), "{digest}");
        }
        // The policy would refuse such attributes.
        assert!(!html.contains(" style=") && !html.contains(" onclick="));
    }

    #[test]
    fn sections_have_links_of_their_own() {
        let html = page().html(&Job::default()).unwrap();
        for id in ["id=\"a-view-\"", "id=\"a-view--2\"", "href=\"#a-view--2\""] {
            assert!(html.contains(id), "{id}");
        }
        assert_eq!(html.matches("</script>").count(), 4);
        assert!(!html.contains('\u{202e}'));
        assert_eq!(html, page().html(&Job::default()).unwrap());
    }
}
