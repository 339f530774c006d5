//! Checks of the pages with anomalies: choices of ranks and axes, selection from a rank to a call
//! with its stack, many ranks, and links to a selection.

use super::Tab;

const FOUND: &str = "document.querySelector('section[data-view=anomaly]')";

pub(super) fn anomaly(tab: &mut Tab<'_>) -> Result<(), String> {
    let inside = |selector: &str| format!("section[data-view=anomaly] {selector}");
    let status = format!("{FOUND}.querySelector('.status').textContent");
    let choose = |selector: &str, value: usize| {
        format!(
            "(() => {{ const s = document.querySelector('section[data-view=anomaly] {selector}'); s.value = {value};
            s.dispatchEvent(new Event('change')); return s.value === '{value}'; }})()"
        )
    };
    tab.expect(&format!("{status}.startsWith('All ranks and steps: ')"))?;
    // The worst call of the worst rank and step is selected at first.
    tab.expect(&format!(
        "{FOUND}.querySelectorAll('.calls tbody tr.chosen').length === 1"
    ))?;
    // All twelve ranks have bars.
    tab.expect(&format!(
        "{FOUND}.querySelectorAll('.ranks button').length === 12"
    ))?;
    tab.expect(&choose("select.top", 5))?;
    tab.expect(&format!("{FOUND}.querySelectorAll('.ranks button').length === 10 && {FOUND}.querySelector('.gap').textContent === '2 more ranks'"))?;
    tab.click(&inside(".lowest"))?;
    tab.expect(&format!(
        "{FOUND}.querySelectorAll('.ranks button').length === 5"
    ))?;
    tab.expect(&choose("select.by", 5))?;
    tab.expect(&format!(
        "{FOUND}.querySelector('.ranks .rest').textContent.includes('ms')"
    ))?;
    // Select a rank with many anomalies, which wait for others, to see its steps.
    tab.expect(&choose("select.by", 0))?;
    let steps = format!("document.querySelector('{}').toDataURL()", inside(".steps"));
    let before = tab.text(&steps)?;
    tab.click(&inside(".ranks button[data-rank='7']"))?;
    tab.expect(&format!(
        "{FOUND}.dataset.rank === '7' && {status}.startsWith('rank 7: ')"
    ))?;
    if before == tab.text(&steps)? {
        return Err("a rank that is chosen looks like all".into());
    }
    // Select a step to see its functions; the keyboard moves between steps.
    tab.value(&format!(
        "document.querySelector('{}').focus()",
        inside(".steps")
    ))?;
    tab.expect(&format!(
        "(() => {{ const data = JSON.parse({FOUND}.querySelector('script').textContent), all = data.steps.find(([rank]) => rank === 7)[1];
        window.wanted = all.findIndex(([, found]) => found > 0); return window.wanted > 2; }})()"
    ))?;
    let wanted = tab.number("window.wanted")? as usize;
    for _ in 0..=wanted {
        tab.key("ArrowRight")?;
    }
    tab.key("Enter")?;
    tab.expect(&format!(
        "{FOUND}.dataset.step !== '' && {status}.startsWith('rank 7, step ')"
    ))?;
    tab.expect(&format!(
        "[...{FOUND}.querySelectorAll('.here')].some((cell) => Number(cell.textContent) > 0)"
    ))?;
    // Select a function to see its executions, with other axes.
    let waits = format!(
        "[...{FOUND}.querySelectorAll('.functions tbody tr')].findIndex((row) => row.querySelector('button').textContent === 'MPI_Wait')"
    );
    let row = tab.number(&waits)? as usize + 1;
    tab.click(&inside(&format!(
        ".functions tbody tr:nth-child({row}) button"
    )))?;
    tab.expect(&format!(
        "{status}.includes('MPI_Wait') && {FOUND}.dataset.function !== ''"
    ))?;
    let executions = format!(
        "document.querySelector('{}').toDataURL()",
        inside(".executions")
    );
    let before = tab.text(&executions)?;
    tab.expect(&choose("select.y", 4))?;
    if before == tab.text(&executions)? {
        return Err("other axes look alike".into());
    }
    tab.expect(&format!(
        "/mode 1: [0-9.]+ \\S+ to [0-9.]+ \\S+, median /.test({FOUND}.querySelector('.distribution').getAttribute('aria-label'))"
    ))?;
    // Select an execution to see its call stack, with arrows to the lines of ranks 3 and 8.
    tab.click(&inside(".calls tbody tr button"))?;
    tab.expect(&format!(
        "{FOUND}.querySelector('.call figcaption').textContent.startsWith('MPI_Wait on rank 7')"
    ))?;
    tab.expect(&format!("{FOUND}.dataset.arrows === '2' && {FOUND}.querySelector('.stack').getAttribute('aria-label').includes('2 messages with 2 ranks')"))?;
    tab.expect(&format!("[...{FOUND}.querySelectorAll('.path li')].map((item) => item.textContent).join() === 'main,solve,MPI_Wait (abnormal)'"))?;
    let red = format!(
        "(() => {{ const c = {FOUND}.querySelector('.stack'), p = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, w = perfkit.rgb(perfkit.variable('alarm'));
        let n = 0; for (let i = 0; i < p.length; i += 4) n += p[i] === w[0] && p[i + 1] === w[1] && p[i + 2] === w[2]; return n; }})()"
    );
    if tab.number(&red)? < 50.0 {
        return Err("the abnormal call is not red".into());
    }
    tab.expect(&format!("{FOUND}.querySelectorAll('img').length === 0"))?;
    // Check the link to the selection, and reset it.
    tab.value("new Promise((done) => setTimeout(() => done(1), 400))")?;
    tab.expect("/rank=7&step=\\d+&function=\\d+&call=\\d+/.test(location.hash)")?;
    tab.click(&inside(".all"))?;
    tab.expect(&format!(
        "{FOUND}.dataset.rank === '' && {status}.startsWith('All ranks and steps')"
    ))
}

pub(super) fn anomaly_many(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect(&format!(
        "{FOUND}.querySelector('.aggregated').textContent.includes('are shown together')"
    ))?;
    // The one rank that differs from all others is shown by itself.
    tab.expect(&format!(
        "{FOUND}.querySelector('.ranks button').textContent.startsWith('rank 1234')"
    ))?;
    tab.click("section[data-view=anomaly] .ranks button")?;
    tab.expect(&format!("{FOUND}.dataset.rank === '1234'"))
}

pub(super) fn linked_anomaly(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect(&format!(
        "{FOUND}.querySelector('.status').textContent.startsWith('rank 7, step 13: 1 abnormal')"
    ))?;
    tab.expect(&format!("{FOUND}.querySelector('.call figcaption').textContent.startsWith('MPI_Wait on rank 7, thread 0, step 13')"))
}
