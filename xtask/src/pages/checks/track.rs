//! Checks of the pages with clusters and tracked regions: slider through experiments, selection of
//! a region, axes, trends, votes, many points, and links to a selection.

use super::{INKED, Tab};

const TRACK: &str = "document.querySelector('section[data-view=track]')";

pub(super) fn track(tab: &mut Tab<'_>) -> Result<(), String> {
    let cloud = "section[data-view=track] .cloud";
    let status = "document.querySelector('section[data-view=track] .status').textContent";
    // The region with the most time is selected at first, without dimming the others.
    tab.expect(&format!(
        "{status}.startsWith('Region 1 in 4 tasks') && {TRACK}.dataset.region === '1'"
    ))?;
    let inked = tab.number(&format!("{INKED}('{cloud}')"))?;
    if !(0.02..0.6).contains(&inked) {
        return Err(format!("points cover {inked} of their canvas"));
    }
    // The slider moves through the experiments and between them.
    let slide = |to: f64| {
        format!(
            "(() => {{ const s = document.querySelector('section[data-view=track] .at'); s.value = {to};
            s.dispatchEvent(new Event('input')); return {TRACK}.dataset.experiment === '{to}'; }})()"
        )
    };
    let image = format!("document.querySelector('{cloud}').toDataURL()");
    let mut pictures = vec![tab.text(&image)?];
    for to in [0.5, 1.0, 3.0] {
        tab.expect(&slide(to))?;
        let next = tab.text(&image)?;
        if pictures.contains(&next) {
            return Err(format!("experiment {to} looks like one before"));
        }
        pictures.push(next);
    }
    tab.expect(&format!("{status}.startsWith('Region 1 in 32 tasks')"))?;
    // Keys select a tracked region, and its votes are shown.
    tab.value(&format!("document.querySelector('{cloud}').focus()"))?;
    tab.key("ArrowDown")?;
    tab.expect(&format!("{TRACK}.dataset.region === '1'"))?;
    tab.expect(&format!("/Region 1 in 32 tasks.* continues as .*confidence .*forward .*callers before/.test({status})"))?;
    tab.key("ArrowLeft")?;
    tab.expect(&format!(
        "{TRACK}.dataset.experiment === '2' && {status}.includes('16 <tasks>')"
    ))?;
    tab.key("Escape")?;
    tab.expect(&format!(
        "{TRACK}.dataset.region === '' && {status}.startsWith('16 <tasks>: 1 920 bursts')"
    ))?;
    // A hover over the middle of the disc of a tracked region shows the details of a burst.
    let middle = format!(
        "(() => {{ const s = document.querySelector('section[data-view=track] .at'); s.value = 0; s.dispatchEvent(new Event('input'));
        const data = JSON.parse({TRACK}.querySelector('script').textContent), c = data.regions[0].centres[0][0];
        const w = document.querySelector('{cloud}').clientWidth, h = document.querySelector('{cloud}').clientHeight;
        const at = c.map((v, i) => (v - data.ranges[i][0]) / (data.ranges[i][1] - data.ranges[i][0]));
        return [(66 + at[0] * (w - 80)) / w, (44 + (1 - at[1]) * (h - 86)) / h]; }})()"
    );
    let place = tab.value(&middle)?;
    let share = [
        place[0].as_f64().unwrap_or(0.5),
        place[1].as_f64().unwrap_or(0.5),
    ];
    tab.hover(cloud, share)?;
    tab.expect(&format!(
        "/a burst of instructions .*, ipc .*Region 1 in 4 tasks/.test({status})"
    ))?;
    // Other axes give another picture.
    let before = tab.text(&image)?;
    tab.expect("(() => { const s = document.querySelector('section[data-view=track] select.x'); s.value = 1; s.dispatchEvent(new Event('change')); return true; })()")?;
    tab.expect("(() => { const s = document.querySelector('section[data-view=track] select.y'); s.value = 0; s.dispatchEvent(new Event('change')); return true; })()")?;
    if before == tab.text(&image)? {
        return Err("other axes look alike".into());
    }
    // Lines, boxes and relative values give three pictures of a metric.
    let trend = "document.querySelector('section[data-view=track] .trend').toDataURL()";
    let lines = tab.text(trend)?;
    tab.expect("(() => { const s = document.querySelector('section[data-view=track] .kind'); s.value = 'boxes'; s.dispatchEvent(new Event('change')); return true; })()")?;
    let boxes = tab.text(trend)?;
    tab.click("section[data-view=track] .relative")?;
    if lines == boxes || boxes == tab.text(trend)? {
        return Err("lines, boxes and what is relative look alike".into());
    }
    // A hover over a cell of a matrix shows the votes behind the match.
    tab.hover(
        "section[data-view=track] .matrix tbody tr:nth-child(2) td:nth-child(3) button",
        [0.5, 0.5],
    )?;
    tab.expect("/^2 of 4 tasks and 2 of 8 tasks: both are region \\d+. evidence .*forward .*duration/.test(document.querySelector('.votes').textContent)")?;
    tab.expect("document.querySelectorAll('section[data-view=track] img').length === 0")?;
    // Check the link to the selection.
    tab.click("section[data-view=track] .regions tbody tr:nth-child(2) button")?;
    tab.value("new Promise((done) => setTimeout(() => done(1), 400))")?;
    tab.expect("location.hash.includes('region=2') && location.hash.includes('x=1')")?;
    // The animation plays by itself.
    tab.click("section[data-view=track] .play")?;
    tab.value("new Promise((done) => setTimeout(() => done(1), 2300))")?;
    tab.expect(&format!("Number({TRACK}.dataset.experiment) > 0"))?;
    tab.click("section[data-view=track] .play")
}

pub(super) fn track_many(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect("document.querySelector('.aggregated').textContent.startsWith('2 400 000 bursts are drawn as')")?;
    let inked = tab.number(&format!("{INKED}('section[data-view=track] .cloud')"))?;
    if inked > 0.02 {
        Ok(())
    } else {
        Err(format!("points cover {inked} of their canvas"))
    }
}

pub(super) fn linked_track(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect(&format!(
        "{TRACK}.dataset.region === '2' && {TRACK}.dataset.experiment === '1'"
    ))?;
    tab.expect(&format!("{TRACK}.querySelector('select.x').value === '1' && {TRACK}.querySelector('select.y').value === '0'"))?;
    tab.expect(&format!(
        "{TRACK}.querySelector('.status').textContent.startsWith('Region 2 in 8 tasks')"
    ))
}
