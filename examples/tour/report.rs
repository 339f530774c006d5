//! The report of the tour: an overview, then a part for each analysis of each recording.

use super::{correlate, detect, hidden_words, track, tracked_words};
use perfkit::fold::{GroupBy, Groups, Op, Timelines};
use perfkit::view::anomaly::Picture;
use perfkit::view::{Card, Page, Scene, Section, Theme};
use perfkit_examples::cli::{Failure, Outcome};
use perfkit_examples::drawn::{self, failed};
use perfkit_examples::recording::{self, Recording};
use perfkit_examples::summary::Summary;
use std::path::Path;

/// What the page is made of, in its order.
#[derive(Debug, Default)]
pub(super) struct Report {
    cards: Vec<Card>,
    recordings: Vec<(String, Summary)>,
    sections: Vec<Section>,
}

const LEAD: &str = "What each analysis of perfkit finds in the bundled recordings: a molecular dynamics of \
    NWChem, a Jacobi solver with planted imbalances on 4 to 64 ranks, and six GPUs whose utilisation is \
    known. Everything on this page is in this file.";
const CORRELATED: &str = "jacobi-64: what varies over its ranks as radiation does";
const TRACKED: &str = "jacobi from 4 to 9 to 16 ranks: which phases are the same";
const ABNORMAL: &str = "nwchem-md-4: which calls are abnormal";
const DEVICES: &str = "Six GPUs: what their streams do";

impl Report {
    /// Adds a recording: a line of the table, its timeline, and with a title its picture.
    pub(super) fn recording(
        &mut self,
        name: &str,
        recording: &Recording,
        summary: &Summary,
        title: Option<&str>,
        file: &Path,
    ) -> Outcome {
        self.recordings.push((name.to_string(), summary.clone()));
        let timelines = drawn::timelines(&recording.trace)?;
        let heading = format!("{name}: what ranks do");
        let rows = (Groups::by(&timelines, GroupBy::Process), None);
        let of = (&recording.trace, &timelines);
        let named = (heading.as_str(), name);
        let path = format!("data/recordings/{name}");
        let command = drawn::fold_command([path.as_str(), "--by", "process"]);
        let window = timelines.range();
        self.sections
            .extend(drawn::timeline(of, rows, (window, false), named, &command)?);
        let Some(title) = title else { return Ok(()) };
        drawn::png(file, &ranks(&timelines, title)?)?;
        let words = "Every rank over time; rows fold, unfold and zoom.";
        let small = |theme: Theme| {
            let of = (Groups::by(&timelines, GroupBy::Process), None);
            drawn::folded(&timelines, of, (560, None), |one| {
                one.titled(title).theme(theme)
            })
        };
        self.card((name, title, words), small)
    }

    /// Adds what the analyses find.
    pub(super) fn rest(&mut self, folder: &Path) -> Outcome {
        let words = hidden_words(&[]);
        let [light, dark] = correlate::scenes(&words, CORRELATED)?;
        drawn::png(&folder.join("correlate.png"), &light)?;
        self.card(
            (
                "topology",
                CORRELATED,
                "Cubes to turn, and what correlates for each choice of axes.",
            ),
            |theme| {
                Ok(if theme == Theme::dark() {
                    dark.clone()
                } else {
                    light.clone()
                })
            },
        )?;
        self.sections.push(correlate::section(&words, CORRELATED)?);

        let found = track::found(&tracked_words(&[]))?;
        let picture = |theme| Ok(track::picture(&found, TRACKED, theme).scene());
        drawn::png(&folder.join("track.png"), &picture(Theme::light())?)?;
        self.card(
            (
                "phases",
                TRACKED,
                "Clusters of bursts from run to run, and every vote for each match.",
            ),
            picture,
        )?;
        self.sections.push(track::section(&found, TRACKED)?);

        let file = recording::bundled("nwchem-md-4").into_os_string();
        let found = detect::anomalies(&[file])?;
        let picture = |theme| Ok(Picture::new(&found).titled(ABNORMAL).theme(theme).scene());
        drawn::png(&folder.join("detect.png"), &picture(Theme::light())?)?;
        self.card(
            (
                "anomalies",
                ABNORMAL,
                "From the ranking of ranks to the call stack of a call.",
            ),
            picture,
        )?;
        self.sections.push(detect::section(&found, ABNORMAL)?);
        self.devices(folder)
    }

    /// Adds the planted run of six GPUs.
    fn devices(&mut self, folder: &Path) -> Outcome {
        let recording = recording::open(&recording::planted())?;
        let timelines = drawn::timelines(&recording.trace)?;
        let picture = |theme| {
            let rows = (drawn::device_rows(&timelines)?, Some(Op::Idle));
            drawn::folded(&timelines, rows, (900, None), |one| {
                one.titled(DEVICES).theme(theme).own_spans(true)
            })
        };
        drawn::png(&folder.join("devices.png"), &picture(Theme::light())?)?;
        let words = "84 streams in six rows: what runs where anything does.";
        self.card(("devices", DEVICES, words), picture)?;
        let rows = (Groups::by(&timelines, GroupBy::Device), None);
        let of = (&recording.trace, &timelines);
        let named = (DEVICES, "devices");
        let command = drawn::fold_command(["data/gpu/planted-6x14.json.gz", "--by", "device"]);
        let window = timelines.range();
        self.sections
            .extend(drawn::timeline(of, rows, (window, true), named, &command)?);
        Ok(())
    }

    /// Writes the page.
    pub(super) fn write(self, path: &Path) -> Outcome {
        let table = Summary::table(&self.recordings);
        let first = [
            Section::overview("overview", "Overview", &self.cards),
            Section::table("recordings", "Recordings", &table),
        ];
        let page = Page::new("A tour of perfkit").lead(LEAD);
        drawn::html(path, page, first.into_iter().chain(self.sections).collect())
    }

    fn card(
        &mut self,
        (link, heading, words): (&str, &str, &str),
        picture: impl Fn(Theme) -> Result<Scene, Failure>,
    ) -> Outcome {
        let (light, dark) = (picture(Theme::light())?, picture(Theme::dark())?);
        let draw = |theme| {
            if theme == Theme::dark() {
                dark.clone()
            } else {
                light.clone()
            }
        };
        let card = Card::new(link, heading, words).with(draw).map_err(failed)?;
        self.cards.push(card);
        Ok(())
    }
}

/// All ranks below one another, and under them the fold of all with max, min and diff.
fn ranks(timelines: &Timelines, title: &str) -> Result<Scene, Failure> {
    let of = (Groups::by(timelines, GroupBy::Location), Some(Op::Max));
    let all = drawn::folded(timelines, of, (1440, None), |one| one.titled(title))?;
    let mut folds = Vec::new();
    for (words, op) in [
        ("max: what most ranks do", Op::Max),
        ("min: what the fewest do", Op::Min),
        ("diff: where ranks differ", Op::Diff),
    ] {
        let of = (Groups::by(timelines, GroupBy::All), Some(op));
        folds.push(drawn::folded(timelines, of, (400, None), |one| {
            one.titled(words).legend(false)
        })?);
    }
    Ok(drawn::together(title, &all, &folds, Theme::light()))
}
