//! List of all pages with their checks, checks common to all pages, and scripts that examine
//! colours and pixels.

mod anomaly;
mod report;
mod timeline;
mod topology;
mod track;

use super::browser::Tab;
use crate::ci::at;
use crate::root;
use anomaly::{anomaly, anomaly_many, linked_anomaly};
use report::{report, tour};
use timeline::{hostile, many, sampled, timeline};
use topology::{explored, large, topology};
use track::{linked_track, track, track_many};

/// Check of a page. The error names the unmet expectation.
pub(super) type Check = fn(&mut Tab<'_>) -> Result<(), String>;

/// Pages with the fragment of their address, which may select something, and their checks.
pub(super) const PAGES: &[(&str, &str, Check)] = &[
    ("timeline", "", timeline),
    ("hostile", "", hostile),
    ("many", "", many),
    ("sampled", "", sampled),
    ("topology", "", topology),
    ("large", "", large),
    ("explored", "", explored),
    ("track", "", track),
    ("track-many", "", track_many),
    ("anomaly", "", anomaly),
    ("anomaly-many", "", anomaly_many),
    ("report", "", report),
    (
        "track",
        "#clusters?region=2&experiment=1&x=1&y=0",
        linked_track,
    ),
    ("anomaly", "#anomalies?rank=7&step=13", linked_anomaly),
    ("tour/index", "", tour),
];

/// Checks common to all pages: all views are drawn, nothing is wider than the window, all controls
/// and pictures have a name, and there are no errors.
pub(super) fn common(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect("[...document.querySelectorAll('section[data-view]')].every((s) => s.dataset.view === 'text' || s.dataset.ready === '1')")?;
    tab.expect("document.documentElement.scrollWidth <= innerWidth")?;
    tab.expect(
        "[...document.querySelectorAll('button, select, input, canvas')].every((e) =>
        e.textContent.trim() || e.getAttribute('aria-label') || e.closest('label') || e.getAttribute('alt'))",
    )?;
    tab.expect("[...document.querySelectorAll('canvas, img')].every((e) => e.getAttribute('aria-label') || e.alt)")?;
    tab.expect("document.querySelectorAll('h1').length === 1")?;
    let path = root().join(SHORTENED);
    let shortened = std::fs::read_to_string(&path).map_err(|error| at(&path, &error))?;
    tab.expect(&format!(
        "{shortened}.every(([name, most, expected]) => perfkit.shortened(name, most) === expected)"
    ))?;
    let path = root().join(APART);
    let apart = std::fs::read_to_string(&path).map_err(|error| at(&path, &error))?;
    tab.expect(&format!(
        "{apart}.every(([names, most, expected]) => perfkit.shortenedApart(names, most).join('|') === expected.join('|'))"
    ))?;
    for theme in ["light", "dark"] {
        let faint = tab.text(&format!("{CONTRAST}('{theme}')"))?;
        if !faint.is_empty() {
            return Err(format!("{theme}: {faint}"));
        }
    }
    match tab.complaints() {
        [] => Ok(()),
        all => Err(all.join("; ")),
    }
}

/// File with names, the largest number of characters of each, and as they are shortened.
const SHORTENED: &str = "crates/perf-view/assets/page/shortened.json";

/// File with lists of names, the largest number of characters of each name, and as they are shortened.
const APART: &str = "crates/perf-view/assets/page/apart.json";

/// Script that returns the first texts in a theme with a contrast below 4.5.
const CONTRAST: &str = "((theme) => { document.documentElement.dataset.theme = theme;
    const parse = (c) => c.match(/[\\d.]+/g).map(Number);
    const light = (c) => { const [r, g, b] = c.map((v) => v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const bad = [];
    for (const e of document.querySelectorAll('body *')) {
        if (!e.checkVisibility() || e.closest('svg, option') || ![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
        let paper = [255, 255, 255];
        for (let at = e; at; at = at.parentElement) { const c = parse(getComputedStyle(at).backgroundColor); if (c.length < 4 || c[3] > 0.99) { paper = c; break; } }
        const [a, b] = [light(parse(getComputedStyle(e).color).slice(0, 3)), light(paper.slice(0, 3))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) bad.push(e.tagName + ' `' + e.textContent.slice(0, 30) + '` ' + ratio.toFixed(2));
    }
    delete document.documentElement.dataset.theme;
    return bad.slice(0, 3).join('; '); })";

/// Script that returns the colour of a pixel of the first canvas of a selector: red, green, blue.
const PIXEL: &str = "((selector, x, y) => { const c = document.querySelector(selector);
    return [...c.getContext('2d').getImageData(Math.round(x * c.width), Math.round(y * c.height), 1, 1).data].slice(0, 3).join(); })";

pub(super) const CUBES: &str = "document.querySelector('section[data-view=topology]')";

/// Script that returns the fraction of the pixels of a canvas that differ from its first pixel.
const INKED: &str = "((selector) => { const c = document.querySelector(selector), d = document.createElement('canvas');
    [d.width, d.height] = [c.width, c.height]; const x = d.getContext('2d'); x.drawImage(c, 0, 0);
    const p = x.getImageData(0, 0, d.width, d.height).data; let n = 0;
    for (let i = 0; i < p.length; i += 4) n += p[i] !== p[0] || p[i + 1] !== p[1] || p[i + 2] !== p[2];
    return n / (p.length / 4); })";
