//! Pages of folded timelines.

use super::{PIXEL, Tab};

const SECTION: &str = "document.querySelector('section[data-view=timeline]')";

pub(super) fn timeline(tab: &mut Tab<'_>) -> Result<(), String> {
    let strips = "section[data-view=timeline] .strips";
    tab.expect(&format!("{SECTION}.dataset.rows === '4'"))?;
    // The last iterations: the first node waits in MPI_Allreduce, which is red.
    let colour = format!("{PIXEL}('{strips}', 0.985, 0.17)");
    let before = tab.text(&colour)?;
    // Unfold a node: its ten ranks.
    tab.click("section[data-view=timeline] .row[data-group='0'] button")?;
    tab.expect(&format!("{SECTION}.dataset.rows === '14'"))?;
    tab.expect("document.querySelector(\".row[data-group='0'] button\").getAttribute('aria-expanded') === 'true'")?;
    tab.expect("document.activeElement.closest('.row').dataset.group === '0'")?;
    tab.click("section[data-view=timeline] .fold")?;
    tab.expect(&format!("{SECTION}.dataset.rows === '4'"))?;
    // Another operation paints the same place otherwise.
    let choose = "(() => { const s = document.querySelector('.op'); s.value = [...s.options].findIndex((o) => o.text.startsWith('diff'));
        s.dispatchEvent(new Event('change')); return true; })()";
    tab.expect(choose)?;
    tab.calm()?;
    let after = tab.text(&colour)?;
    if before == after {
        return Err(format!("max and diff both paint {before}"));
    }
    // Zoom: a finer level comes in, and the cells are new.
    let level = tab.number(&format!("Number({SECTION}.dataset.level)"))?;
    tab.value(&format!("document.querySelector('{strips}').focus()"))?;
    for _ in 0..3 {
        tab.key("+")?;
    }
    tab.expect(&format!("Number({SECTION}.dataset.level) > {level}"))?;
    tab.expect(&format!("Number({SECTION}.dataset.span) < 60e6"))?;
    let from = tab.number(&format!("Number({SECTION}.dataset.from)"))?;
    tab.drag(strips, [0.7, 0.15], [0.5, 0.15])?;
    tab.expect(&format!("Number({SECTION}.dataset.from) > {from}"))?;
    tab.key("Home")?;
    tab.expect(&format!("{SECTION}.dataset.from === '0'"))?;
    // Hover says state, share and members.
    tab.hover(strips, [0.992, 0.16])?;
    let said = tab.text("document.querySelector('.status').textContent")?;
    if !said.starts_with("node 0, threads at") || !said.contains("4 of 10 streams (40 %)") {
        return Err(format!("the pointer says: {said}"));
    }
    // The keyboard does the same.
    tab.key("ArrowDown")?;
    tab.expect("document.querySelector('.status').textContent.startsWith('node 1')")?;
    tab.key("Enter")?;
    tab.expect(&format!("{SECTION}.dataset.rows === '14'"))?;
    // The link to what is shown.
    tab.value("new Promise((done) => setTimeout(() => done(1), 400))")?;
    tab.expect("location.hash.includes('op=diff') && location.hash.includes('open=1')")?;
    tab.click("#theme")?;
    let dark = tab.text("getComputedStyle(document.body).backgroundColor")?;
    match dark.as_str() {
        "rgb(255, 255, 255)" => Err("the dark theme has white paper".into()),
        _ => Ok(()),
    }
}

pub(super) fn hostile(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect("document.title.startsWith('</script>') && document.querySelector('h1').textContent.startsWith('</script>')")?;
    tab.expect("document.querySelectorAll('img[src=x]').length === 0")?;
    tab.expect("[...document.querySelectorAll('.legend span')].some((e) => e.textContent.includes('<img src=x onerror=alert(1)>'))")?;
    tab.expect(&format!("Number({SECTION}.dataset.bundles) > 100"))?;
    tab.click("section[data-view=timeline] .messages")?;
    tab.expect(&format!("{SECTION}.dataset.bundles === '0'"))?;
    // The least busy row first.
    let order = "(() => { const s = document.querySelector('.order'); s.value = 'idle'; s.dispatchEvent(new Event('change'));
        const all = [...document.querySelectorAll('.row .busy')].map((e) => parseFloat(e.textContent));
        return all.every((busy, at) => at === 0 || all[at - 1] <= busy); })()";
    tab.expect(order)?;
    let filter = "(() => { const f = document.querySelector('.filter'); f.value = 'rank 7'; f.dispatchEvent(new Event('input')); return true; })()";
    tab.expect(filter)?;
    tab.calm()?;
    tab.expect(&format!("{SECTION}.dataset.rows === '1'"))
}

pub(super) fn many(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect(&format!("{SECTION}.dataset.rows === '1'"))?;
    tab.click("section[data-view=timeline] .row[data-group='0'] button")?;
    tab.expect(&format!("{SECTION}.dataset.rows === '65'"))?;
    tab.expect(&format!("Number({SECTION}.dataset.bundles) > 10"))
}
