//! Checks of the pages with folded timelines: unfolding of rows, zoom, operations, call stacks,
//! lines of messages, hostile names and many rows.

use super::{PIXEL, Tab};

const SECTION: &str = "document.querySelector('section[data-view=timeline]')";

pub(super) fn timeline(tab: &mut Tab<'_>) -> Result<(), String> {
    let strips = "section[data-view=timeline] .strips";
    tab.expect(&format!("{SECTION}.dataset.rows === '4'"))?;
    // In the last iterations the first node waits in MPI_Allreduce, which is purple.
    let colour = format!("{PIXEL}('{strips}', 0.985, 0.17)");
    let before = tab.text(&colour)?;
    // Unfold a node into its ten ranks.
    tab.click("section[data-view=timeline] .row[data-group='0'] button")?;
    tab.expect(&format!("{SECTION}.dataset.rows === '14'"))?;
    tab.expect("document.querySelector(\".row[data-group='0'] button\").getAttribute('aria-expanded') === 'true'")?;
    tab.expect("document.activeElement.closest('.row').dataset.group === '0'")?;
    tab.click("section[data-view=timeline] .fold")?;
    tab.expect(&format!("{SECTION}.dataset.rows === '4'"))?;
    call_stack(tab)?;
    // Another operation paints the same cell in another colour.
    let choose = "(() => { const s = document.querySelector('.op'); s.value = [...s.options].findIndex((o) => o.text.startsWith('diff'));
        s.dispatchEvent(new Event('change')); return true; })()";
    tab.expect(choose)?;
    tab.calm()?;
    let after = tab.text(&colour)?;
    if before == after {
        return Err(format!("max and diff both paint {before}"));
    }
    // After zooming in a finer level is shown.
    let level = tab.number(&format!("Number({SECTION}.dataset.level)"))?;
    tab.value(&format!("document.querySelector('{strips}').focus()"))?;
    for _ in 0..3 {
        tab.key("+")?;
    }
    tab.expect(&format!("Number({SECTION}.dataset.level) > {level}"))?;
    tab.expect(&format!("Number({SECTION}.dataset.span) < 60e6"))?;
    let from = tab.number(&format!("Number({SECTION}.dataset.from)"))?;
    closest(tab)?;
    tab.expect(
        "document.querySelector('.closer code').textContent.startsWith('fold cosmo --from ')",
    )?;
    tab.drag(strips, [0.7, 0.15], [0.5, 0.15])?;
    tab.expect(&format!("Number({SECTION}.dataset.from) > {from}"))?;
    tab.key("Home")?;
    tab.expect(&format!("{SECTION}.dataset.from === '0'"))?;
    tab.expect("document.querySelector('.closer').hidden")?;
    tab.expect("![...document.querySelectorAll('.row .busy')].some((e) => e.textContent.endsWith('in all'))")?;
    // A hover shows state, share and members.
    tab.hover(strips, [0.992, 0.16])?;
    let said = tab.text("document.querySelector('.status').textContent")?;
    if !said.starts_with("node 0 at") || !said.contains("4 of 10 streams (40 %)") {
        return Err(format!("the pointer says: {said}"));
    }
    // The keyboard works as well.
    tab.key("ArrowDown")?;
    tab.expect("document.querySelector('.status').textContent.startsWith('node 1')")?;
    tab.key("Enter")?;
    tab.expect(&format!("{SECTION}.dataset.rows === '14'"))?;
    tab.expect(CELLS_ARE_EQUAL)?;
    tab.expect(TIMES_DIFFER)?;
    // Check the link to the selection.
    tab.value("new Promise((done) => setTimeout(() => done(1), 400))")?;
    tab.expect("location.hash.includes('op=diff') && location.hash.includes('open=1')")?;
    tab.click("#theme")?;
    let dark = tab.text("getComputedStyle(document.body).backgroundColor")?;
    match dark.as_str() {
        "rgb(255, 255, 255)" => Err("the dark theme has white paper".into()),
        _ => Ok(()),
    }
}

/// Script that returns `true` if the cells which the second section computes from its states are
/// those that the first section contains, for each operation, row and resolution.
const CELLS_ARE_EQUAL: &str = "(() => { const [cells, exact] = [...document.querySelectorAll('section[data-view=timeline] script[type=\"application/json\"]')]
        .map((e) => JSON.parse(e.textContent)), fold = perfkit.local(exact), from = BigInt(exact.begin);
    const all = exact.groups.map((_, group) => group);
    return cells.levels.length > 2 && cells.levels.every(({ columns, cells: ops }) => ops.every((rows, op) => {
        const part = fold(from, from + BigInt(exact.span), columns, op, all);
        return all.every((group) => rows[group] === null || [0, 1].every((at) =>
            perfkit.pairs(rows[group], columns)[at].join() === part.rows[group][at].join())); })); })()";

/// Script that returns `true` if the ends and the ticks of windows of 1 us to 1 h differ, also 5 s after
/// the begin of the recording.
const TIMES_DIFFER: &str =
    "[0, 5e9].every((from) => [1e3, 3e4, 1e6, 2e7, 1e9, 6e10, 3.6e12].every((span) => {
        const ends = [from, from + span].map((at) => perfkit.moment(at, span, from + span));
        const ticks = perfkit.ticks(from, from + span, 9, true).map(([, text]) => text);
        return ends[0] !== ends[1] && ticks.length > 3 && new Set(ticks).size === ticks.length
            && [...ends, ...ticks].every((text) => /^[\\d.]{1,12} (s|ms|us|ns)$/.test(text)); }))";

/// Zooms in as far as possible. Checks that a page with all states has nothing to add and that its
/// numbers are those of the window.
fn exact(tab: &mut Tab<'_>) -> Result<(), String> {
    let whole = tab.text("document.querySelector('.legend').textContent")?;
    tab.value("document.querySelector('section[data-view=timeline] .strips').focus()")?;
    for _ in 0..40 {
        tab.key("+")?;
    }
    tab.expect(&format!(
        "{SECTION}.dataset.limit === '1' && Number({SECTION}.dataset.span) <= 16"
    ))?;
    tab.expect("document.querySelector('.closer').hidden")?;
    tab.expect("!document.querySelector('.view').textContent.includes('not of this window')")?;
    if tab.text("document.querySelector('.legend').textContent")? == whole {
        return Err("the legend does not follow the window".into());
    }
    Ok(())
}

/// Zooms in as far as possible. Checks that no column is wider than a pixel, and that the page states
/// the limit and the window of its numbers.
fn closest(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.value("document.querySelector('section[data-view=timeline] .strips').focus()")?;
    for _ in 0..30 {
        tab.key("+")?;
    }
    tab.expect(&format!("{SECTION}.dataset.limit === '1'"))?;
    tab.expect(&format!("(() => {{ const s = {SECTION}, d = JSON.parse(s.querySelector('script[type=\"application/json\"]').textContent);
        const finest = d.levels[d.levels.length - 1].columns, seen = finest * Number(s.dataset.span) / d.span;
        return Number(s.dataset.level) === finest && Math.abs(seen - Math.min(finest, Number(s.dataset.plot))) < 1; }})()"))?;
    tab.expect("document.querySelector('.view').textContent.includes('zooms in no further')")?;
    // A page with fewer columns than pixels shows its whole window and cannot zoom in.
    tab.expect(&format!(
        "(() => {{ const text = document.querySelector('.view').textContent;
        return text.includes('not of this window') !== text.startsWith('Shown: all, ')
            && text.startsWith('Shown: all, ') === ({SECTION}.dataset.from === '0'); }})()"
    ))?;
    tab.expect("[...document.querySelector('section[data-view=timeline]').querySelectorAll('.row .busy')].every((e) =>
        e.textContent.endsWith('in all') !== document.querySelector('.view').textContent.startsWith('Shown: all, '))")
}

/// Opens the call stack of the first rank of a node by a click on its label, and by a key.
fn call_stack(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.click("section[data-view=timeline] .row[data-group='0'] button.name")?;
    tab.expect(&format!("{SECTION}.dataset.calls === '4,2'"))?;
    tab.expect("document.querySelectorAll('.location option').length === 10")?;
    tab.expect("document.querySelector('.frame').textContent.startsWith('2 depths, ')")?;
    tab.hover("section[data-view=timeline] .depths", [0.9, 0.3])?;
    tab.expect("document.querySelector('.frame').textContent.includes(': main, ')")?;
    tab.click("section[data-view=timeline] .calls .close")?;
    tab.expect("document.querySelector('.calls').hidden")?;
    tab.value("document.querySelector('section[data-view=timeline] .strips').focus()")?;
    tab.key("s")?;
    tab.expect("!document.querySelector('.calls').hidden")?;
    tab.click("section[data-view=timeline] .calls .close")
}

/// Script that records the lines that are drawn from now on.
const NOTE_LINES: &str = "(() => { const p = CanvasRenderingContext2D.prototype, [move, line, clear] = [p.moveTo, p.lineTo, p.clearRect];
    let at = null; window.drawn = [];
    p.clearRect = function (...a) { window.drawn = []; return clear.apply(this, a); };
    p.moveTo = function (x, y) { at = [x, y]; return move.call(this, x, y); };
    p.lineTo = function (x, y) { if (at && at[1] !== y && Math.abs(at[1] - y) > 6.5) window.drawn.push([...at, x, y]); at = null; return line.call(this, x, y); };
    return true; })()";

/// Script that returns `true` if lines are drawn and the ends of each line match the sender and the
/// receiver of a message.
const LINES_ARE_TRUE: &str = "(() => { const s = document.querySelector('section[data-view=timeline]');
    const d = JSON.parse(s.querySelector('script[type=\"application/json\"]').textContent), plot = Number(s.dataset.plot);
    const canvas = s.querySelector('.strips'), left = canvas.getBoundingClientRect().width - plot - 2;
    const x = (at) => left + (at - Number(s.dataset.from)) / Number(s.dataset.span) * plot;
    const known = d.links.bundles.map(([, sent, , received]) => [x(sent), x(received)]);
    return window.drawn.length > 0 && window.drawn.every(([a, , b]) => known.some(([c, e]) => Math.abs(a - c) < 0.5 && Math.abs(b - e) < 0.5)); })()";

pub(super) fn hostile(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect("document.title.startsWith('</script>') && document.querySelector('h1').textContent.startsWith('</script>')")?;
    tab.expect("document.querySelectorAll('img[src=x]').length === 0")?;
    tab.expect("[...document.querySelectorAll('.legend span')].some((e) => e.textContent.includes('<img src=x onerror=alert(1)>'))")?;
    tab.expect(&format!("Number({SECTION}.dataset.bundles) > 100"))?;
    tab.expect(NOTE_LINES)?;
    tab.value("document.querySelector('section[data-view=timeline] .strips').focus()")?;
    for _ in 0..4 {
        tab.key("+")?;
    }
    tab.expect(LINES_ARE_TRUE)?;
    tab.expect(&format!("{SECTION}.dataset.hidden === '0'"))?;
    matrix(tab)?;
    exact(tab)?;
    tab.key("Home")?;
    tab.click("section[data-view=timeline] .messages")?;
    tab.expect(&format!("{SECTION}.dataset.bundles === '0'"))?;
    // Sorts the least busy row first.
    let order = "(() => { const s = document.querySelector('.order'); s.value = 'idle'; s.dispatchEvent(new Event('change'));
        const all = [...document.querySelectorAll('.row .busy')].map((e) => parseFloat(e.textContent));
        return all.every((busy, at) => at === 0 || all[at - 1] <= busy); })()";
    tab.expect(order)?;
    let filter = "(() => { const f = document.querySelector('.filter'); f.value = 'rank 7'; f.dispatchEvent(new Event('input')); return true; })()";
    tab.expect(filter)?;
    tab.calm()?;
    tab.expect(&format!("{SECTION}.dataset.rows === '1'"))
}

/// Script that records the texts of canvases that are painted from now on.
const NOTE_TEXTS: &str = "(() => { const p = CanvasRenderingContext2D.prototype, fill = p.fillText; window.texts = [];
    p.fillText = function (text, ...rest) { window.texts.push(text); return fill.call(this, text, ...rest); }; return true; })()";

/// Checks that the matrix of messages names its axes and has a key with numbers.
fn matrix(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect(NOTE_TEXTS)?;
    tab.expect("(() => { document.querySelector('.between').open = true; const s = document.querySelector('.measure'); s.value = 'number';
        s.dispatchEvent(new Event('change')); return true; })()")?;
    tab.calm()?;
    tab.expect("['Sender', 'Grey: no messages.'].every((text) => window.texts.includes(text))")?;
    tab.expect("window.texts.some((text) => text.startsWith('Receiver'))")?;
    tab.expect("window.texts.some((text) => /^\\d+  messages/.test(text))")
}

/// Checks the page of a counter: the colours of the whole recording, the mark of the row that differs, the
/// filter, the table of the rows and an edited link.
pub(super) fn sampled(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect(&format!("{SECTION}.dataset.rows === '5'"))?;
    tab.expect(NOTE_TEXTS)?;
    // The last third of the first half: the values do not change, and neither do their colours.
    let colour = format!("{PIXEL}('.tracks', 0.5, 0.4)");
    let select = |from: u32, span: u32| {
        format!(
            "(() => {{ location.hash = 'timeline?from={from}&span={span}&open=0'; return true; }})()"
        )
    };
    let follows = |from: u32, span: u32| {
        format!("{SECTION}.dataset.from === '{from}' && {SECTION}.dataset.span === '{span}'")
    };
    let mut colours = Vec::new();
    for (from, span) in [(0, 900_000), (300_000, 150_000), (400_000, 1_000)] {
        tab.value("void (window.texts = [])")?;
        tab.expect(&select(from, span))?;
        tab.wait(&follows(from, span))?;
        tab.expect(
            "['101 W', '325 W'].every((end) => window.texts.some((text) => text.startsWith(end)))",
        )?;
        colours.push(tab.text(&colour)?);
    }
    if colours[1] != colours[2] {
        return Err(format!("a value has several colours: {colours:?}"));
    }
    // Without a selection the page shows all again.
    tab.value("void (location.hash = '')")?;
    tab.wait(&follows(0, 1_000_000))?;
    // One folded row has a mark, and says which of its members differs.
    tab.expect("document.querySelectorAll('.row .unusual').length === 1")?;
    tab.expect(
        "document.querySelector('.row .unusual').title.startsWith('Differs most: MPI Rank 37')",
    )?;
    tab.expect("!document.querySelector('.legend .unusual').hidden")?;
    let choose = |class: &str, value: &str, event: &str| {
        format!(
            "(() => {{ const f = document.querySelector('{class}'); f.value = '{value}'; f.dispatchEvent(new Event('{event}')); return true; }})()"
        )
    };
    tab.expect(&choose(".order", "differs", "change"))?;
    tab.expect("document.querySelectorAll('.row')[1].querySelector('.unusual') !== null")?;
    // The filter opens the folded row of a rank.
    tab.expect(&choose(".filter", "rank 37", "input"))?;
    tab.expect("[...document.querySelectorAll('.row .name')].map((e) => e.title.split(':')[0].split(',')[0]).join('|') === 'All threads|node0002|MPI Rank 37'")?;
    tab.expect("(() => { document.querySelector('.table').open = true; return true; })()")?;
    tab.calm()?;
    tab.expect("document.querySelectorAll('.table tbody tr').length === 3")?;
    tab.expect(&choose(".filter", "nothing", "input"))?;
    tab.expect("document.querySelector('.status').textContent.startsWith('No row matches')")?;
    tab.expect(&choose(".filter", "", "input"))?;
    tab.expect(&format!("{SECTION}.dataset.rows === '5'"))
}

pub(super) fn many(tab: &mut Tab<'_>) -> Result<(), String> {
    // A single row opens unfolded.
    tab.expect(&format!("{SECTION}.dataset.rows === '65'"))?;
    tab.click("section[data-view=timeline] .row[data-group='0'] button")?;
    tab.expect(&format!("{SECTION}.dataset.rows === '1'"))?;
    tab.click("section[data-view=timeline] .row[data-group='0'] button")?;
    tab.expect(&format!("Number({SECTION}.dataset.bundles) > 10"))?;
    // If there are too many messages for the page, one message of each bundle is drawn and the others
    // are counted.
    tab.expect(NOTE_LINES)?;
    closest(tab)?;
    tab.expect(LINES_ARE_TRUE)?;
    tab.expect(&format!("Number({SECTION}.dataset.hidden) > 0"))?;
    tab.expect("document.querySelector('.view').textContent.includes('more are not drawn')")
}
