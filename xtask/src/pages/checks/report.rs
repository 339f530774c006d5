//! Checks of the pages with several views: the page of a report, and the report of the tour.

use super::{CUBES, Tab};

pub(super) fn report(tab: &mut Tab<'_>) -> Result<(), String> {
    // Each script occurs once, regardless of the number of sections that use it.
    tab.expect("document.querySelectorAll('script:not([type])').length === 3")?;
    tab.expect("[...document.querySelectorAll('nav a')].map((a) => a.getAttribute('href')).join() === '#summary,#overview,#timeline,#topology'")?;
    tab.click("nav a[href='#topology']")?;
    tab.expect("location.hash === '#topology' && Math.abs(document.querySelector('#topology').getBoundingClientRect().top) < innerHeight")?;
    // Two timelines are independent of each other.
    let overview = tab.text("document.querySelector('#overview').dataset.rows")?;
    tab.click("#timeline .row[data-group='0'] button")?;
    tab.expect(&format!("document.querySelector('#timeline').dataset.rows === '14' && document.querySelector('#overview').dataset.rows === '{overview}'"))?;
    // Of four axes the fourth is aggregated, until it is cut and placed next to the first one.
    tab.expect(&format!("{CUBES}.dataset.cubes === '64,64'"))?;
    let beside = "(() => { const s = document.querySelectorAll('#topology .axes select')[3]; s.value = 'x'; s.dispatchEvent(new Event('change')); return true; })()";
    tab.expect(beside)?;
    tab.expect(&format!("{CUBES}.dataset.cubes === '256,256'"))
}

pub(super) fn tour(tab: &mut Tab<'_>) -> Result<(), String> {
    // The findings come first, each with its next command, followed by a section for each analysis
    // of each recording.
    tab.expect("document.querySelector('main > section').id === 'findings'")?;
    tab.expect("document.querySelectorAll('#findings li').length > 10 && [...document.querySelectorAll('#findings li')].every((item) => item.querySelector('code.command').textContent.startsWith('perfkit '))")?;
    tab.expect("['timeline', 'topology', 'track', 'anomaly'].every((view) => document.querySelector(`section[data-view=${view}]`))")?;
    tab.expect("document.querySelectorAll('script:not([type])').length === 5")?;
    tab.click("nav a[href='#phases-2']")?;
    tab.expect("location.hash === '#phases-2' && Math.abs(document.querySelector('#phases-2').getBoundingClientRect().top) < innerHeight")?;
    // With real recordings, too, a tracked region can be selected and a call has its stack.
    tab.click("#phases-2 .regions tbody tr button")?;
    tab.expect("document.querySelector('#phases-2').dataset.region === '1' && document.querySelector('#phases-2 .status').textContent.includes('forward')")?;
    tab.click("#anomalies .functions tbody tr button")?;
    tab.click("#anomalies .calls tbody tr button")?;
    tab.expect("document.querySelector('#anomalies .call figcaption').textContent.startsWith('MPI_Iprobe on rank')")?;
    tab.click("#theme")?;
    // The printed page has no controls and is not wider than the paper.
    tab.media("print")?;
    tab.expect("[...document.querySelectorAll('nav, .tools')].every((e) => !e.checkVisibility()) && document.documentElement.scrollWidth <= innerWidth")?;
    tab.expect("getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)'")?;
    tab.media("screen")
}
