//! Output of a [`Report`]: findings as text, JSON and a table, and all sections as a page.

use super::{Remark, Report};
use crate::failure::{Failure, Outcome, input};
use crate::pictures;
use perfkit::core::Table;
use perfkit::view::{Item, Page, Section};
use std::io::Write;
use std::path::Path;

impl Report {
    /// Writes recordings, findings and remarks as text.
    ///
    /// # Errors
    /// Returns [`Failure::Output`] if `out` cannot be written.
    pub fn text(&self, out: &mut dyn Write) -> Outcome {
        for subject in &self.recordings {
            writeln!(out, "{}: {}", subject.name, subject.content)?;
        }
        let names = self.recordings.len() > 1;
        match self
            .findings
            .iter()
            .filter(|finding| finding.kind.is_problem())
            .count()
        {
            0 => writeln!(out, "\nfindings: no problem was found")?,
            _ => writeln!(
                out,
                "\nfindings: problems by the share of the time that they concern, then those about the recording, then descriptions"
            )?,
        }
        for finding in &self.findings {
            writeln!(out)?;
            finding.text(names, out)?;
        }
        for (head, remarks) in [
            ("within limits", &self.healthy),
            ("not analysed", &self.skipped),
        ] {
            if remarks.is_empty() {
                continue;
            }
            writeln!(out, "\n{head}")?;
            for remark in remarks {
                writeln!(out, "  {}", self.line(remark))?;
            }
        }
        Ok(())
    }

    /// Formats a remark as one line.
    fn line(&self, remark: &Remark) -> String {
        let Remark {
            recording,
            analysis,
            text,
        } = remark;
        if self.recordings.len() > 1 || !self.recordings.iter().any(|one| one.name == *recording) {
            format!("{recording}: {analysis}: {text}")
        } else {
            format!("{analysis}: {text}")
        }
    }

    /// Writes the findings as a table.
    ///
    /// # Errors
    /// Returns [`Failure::Output`] if `out` cannot be written.
    pub(super) fn csv(&self, out: &mut dyn Write) -> Outcome {
        Ok(self.table()?.write_csv(out)?)
    }

    /// Returns the findings as a table, a row for each.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if a kind has no name.
    pub fn table(&self) -> Result<Table, Failure> {
        let all = || self.findings.iter();
        let mut kinds = Vec::new();
        for finding in all() {
            let kind = serde_json::to_value(finding.kind).map_err(input)?;
            kinds.push(kind.as_str().unwrap_or_default().to_owned());
        }
        Ok(Table::new("findings", "")
            .unsigned("rank", "", all().map(|one| one.rank as u64))
            .text("kind", kinds)
            .text("recording", all().map(|one| one.place.recording.as_str()))
            .text("sentence", all().map(|one| one.sentence.as_str()))
            .text("figure", all().map(|one| one.figure.name))
            .floats("value", "", all().map(|one| one.figure.value))
            .text("unit", all().map(|one| one.figure.unit.as_str()))
            .floats("share", "", all().map(|one| one.share))
            .text("share_of", all().map(|one| one.share_of))
            .text("location", all().map(|one| one.place.location.clone()))
            .text("call_path", all().map(|one| one.place.call_path.clone()))
            .signed("from_ns", "", all().map(|one| one.place.from_ns))
            .signed("to_ns", "", all().map(|one| one.place.to_ns))
            .text("command", all().map(|one| one.command.as_str())))
    }

    /// Returns the report as one JSON object with the name of the page.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if a value has no JSON form.
    pub fn json(&self, page: &str) -> Result<serde_json::Value, Failure> {
        let mut object = serde_json::to_value(self).map_err(input)?;
        object["page"] = page.into();
        Ok(object)
    }

    /// Writes the page. The default title names the recordings.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if the file cannot be written.
    pub fn write(&self, path: &Path, title: Option<&str>) -> Outcome {
        let names: Vec<&str> = self
            .recordings
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        let usual = match &names[..] {
            [only] => format!("Report on {only}"),
            [first, .., last] => format!("Report on {} recordings, {first} to {last}", names.len()),
            [] => "Report".into(),
        };
        let page = Page::new(title.map_or(usual, str::to_string))
            .lead("Each finding names its evidence and the next command; the analyses follow.");
        pictures::html(path, page, self.sections())
    }

    /// Returns the indices of the sections next to the findings: efficiencies and wait states of the
    /// first recording that has them, otherwise the first section.
    fn beside_findings(&self) -> Vec<usize> {
        let of = |id: &str| self.sections.iter().position(|(_, one)| one.id() == id);
        let waits: Vec<usize> = ["efficiencies", "waits-timeline"]
            .into_iter()
            .filter_map(of)
            .collect();
        if waits.is_empty() {
            (0..self.sections.len().min(1)).collect()
        } else {
            waits
        }
    }

    /// Returns the sections of the page: findings next to the main picture, analyses, recordings, and
    /// remarks.
    fn sections(&self) -> Vec<Section> {
        let names = self.recordings.len() > 1;
        let items = self.findings.iter().map(|finding| {
            let title = if names {
                format!("{}: {}", finding.place.recording, finding.kind.title())
            } else {
                finding.kind.title().to_string()
            };
            Item::new(title, &finding.sentence)
                .place(finding.place.text())
                .command(&finding.command)
        });
        let items: Vec<Item> = items.collect();
        let all = || self.recordings.iter();
        let files = all().map(|one| crate::options::file_names(&one.files));
        let recordings = Table::new("recordings", "")
            .text("name", all().map(|one| one.name.as_str()))
            .text("content", all().map(|one| one.content.as_str()))
            .text("files", files);
        let words = match items.iter().len() {
            0 => "No problem was found.",
            _ => {
                "Problems by share of the time, then findings about the recording, then descriptions of the run."
            }
        };
        let findings = Section::items("findings", "Findings", words, &items).tall_half();
        let mut sections = vec![findings];
        let beside = self.beside_findings();
        let headed = |(name, section): &(String, Section)| {
            let heading = section.heading();
            if names && !heading.starts_with(name.as_str()) {
                section.clone().headed(&format!("{name}: {heading}"))
            } else if let Some(rest) = heading.strip_prefix(&format!("{name}: "))
                && !names
            {
                section.clone().headed(&pictures::capitalised(rest))
            } else {
                section.clone()
            }
        };
        let (first, rest): (Vec<_>, Vec<_>) = self
            .sections
            .iter()
            .enumerate()
            .partition(|(at, _)| beside.contains(at));
        sections.extend(first.into_iter().map(|(_, one)| headed(one).half()));
        sections.extend(rest.into_iter().map(|(_, one)| headed(one)));
        sections.push(Section::table("recordings", "Recordings", &recordings).half());
        for (id, heading, remarks) in [
            ("healthy", "Within limits", &self.healthy),
            ("skipped", "Not analysed", &self.skipped),
        ] {
            let lines: Vec<String> = remarks.iter().map(|remark| self.line(remark)).collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            if !lines.is_empty() {
                sections.push(Section::text(id, heading, &lines).half());
            }
        }
        sections
    }
}
