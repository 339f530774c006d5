//! Checks of the pages with severities on grids: cubes, camera, slices, lists of correlated views,
//! large grids, and views that the page correlates itself.

use super::{CUBES, INKED, Tab};

/// Returns the selector of the box of an axis, the first of which has the number 1.
fn box_of(axis: usize) -> String {
    format!("section[data-view=topology] .filter .weight:nth-child({axis}) label input")
}

/// Waits until grids, bounds of chance, spectrum and trees follow a new list.
fn settle(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.wait(&format!("{CUBES}.dataset.settled === ({CUBES}.dataset.order ?? '') && !document.querySelector('.listed').textContent.includes('decoded')"))
}

/// The bounds of chance of smooth and skewed views and of outliers are those of the library.
fn chances(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.click(&box_of(2))?;
    for name in ["solve", "skewed", "hot"] {
        tab.expect(&format!("(() => {{ const s = document.querySelector('.reference'); s.value = [...s.options].find((o) => o.title.endsWith('> {name}, time')).value;
            s.dispatchEvent(new Event('change')); return true; }})()"))?;
        settle(tab)?;
        // Coded values are rounded, and p depends exponentially on r.
        tab.expect(&format!("(() => {{ const all = [...document.querySelectorAll('#chances p')].map((p) => p.textContent.split(': '));
            const want = new Map(all.filter(([reference]) => reference.endsWith('> {name}, time')).map(([, view, p]) => [view, Number(p)]));
            const rows = [...document.querySelectorAll('.found tbody tr')].map((row) => [row.querySelector('button').title, Number(row.lastChild.dataset.p)]);
            return rows.length > 6 && rows.some(([, p]) => p < 1) && rows.every(([view, p]) => Math.abs(Math.log(p / want.get(view))) < 1e-3); }})()"))?;
    }
    Ok(())
}

pub(super) fn topology(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect(&format!("{CUBES}.dataset.webgl === '1'"))?;
    tab.expect("document.querySelector('.stills').hidden")?;
    tab.expect(&format!("{CUBES}.dataset.cubes === '1728,1728'"))?;
    for side in ["left", "right"] {
        let inked = tab.number(&format!("{INKED}('.{side} > canvas')"))?;
        if !(0.15..0.95).contains(&inked) {
            return Err(format!("cubes at the {side} cover {inked} of their pane"));
        }
    }
    // The cube with the highest value is selected at first.
    tab.expect(
        "/^rank \\d+, node \\d+, x \\d+/.test(document.querySelector('.status').textContent)",
    )?;
    // The strongest match is the opposite wave; along the second axis alone, another view is the strongest.
    tab.expect("document.querySelector('.found tbody tr td').textContent.startsWith('-0.9')")?;
    tab.expect("document.querySelector('.right figcaption').title.startsWith('waiting')")?;
    tab.click(&box_of(1))?;
    tab.click(&box_of(3))?;
    tab.expect(&format!("{CUBES}.dataset.mask === '2'"))?;
    tab.expect("document.querySelector('.right figcaption').title.startsWith('stripes')")?;
    // There is no list without an axis, so the last axis cannot be switched off.
    let is_fixed = format!("document.querySelector('{}').disabled", box_of(2));
    tab.expect(&is_fixed)?;
    tab.click(&box_of(1))?;
    tab.expect(&format!("!{is_fixed}"))?;
    tab.click(&box_of(2))?;
    tab.expect(&format!("{CUBES}.dataset.mask === '1'"))?;
    // Names of users are shown as text.
    tab.expect("[...document.querySelectorAll('.found tbody button')].some((b) => b.textContent.includes('<img src=x'))")?;
    tab.expect("document.querySelectorAll('img[src=x]').length === 0")?;
    // A click on the middle of the pane shows the details of the cube.
    tab.click("section[data-view=topology] .left > canvas")?;
    tab.expect("/^rank \\d+, node \\d+, x \\d+, y \\d+, z \\d+: .*waiting/.test(document.querySelector('.status').textContent)")?;
    // A filter by value hides low values, and cubes behind them appear.
    let before = tab.number(&format!("{INKED}('.left > canvas')"))?;
    let slide = "(() => { const s = document.querySelector('.low'); s.value = 600; s.dispatchEvent(new Event('input')); return true; })()";
    tab.expect(slide)?;
    tab.calm()?;
    let after = tab.number(&format!("{INKED}('.left > canvas')"))?;
    tab.expect(&format!(
        "Number({CUBES}.dataset.cubes.split(',')[0]) < 1000"
    ))?;
    if after >= before {
        return Err(format!(
            "a brush hides nothing: {before} of the pane, then {after}"
        ));
    }
    tab.click("section[data-view=topology] .home")?;
    tab.expect(&format!("{CUBES}.dataset.cubes === '1728,1728'"))?;
    // Cut one axis and aggregate another.
    let slice =
        "(() => { const [a, b] = document.querySelectorAll('.axes input'); a.value = b.value = 3;
        for (const e of [a, b]) e.dispatchEvent(new Event('input')); return true; })()";
    tab.expect(slice)?;
    tab.expect(&format!("{CUBES}.dataset.cubes === '144,144'"))?;
    let role = "(() => { const s = document.querySelectorAll('.axes select')[1]; s.value = 'mean'; s.dispatchEvent(new Event('change')); return true; })()";
    tab.expect(role)?;
    tab.expect(&format!("{CUBES}.dataset.cubes === '12,12'"))?;
    // Both panes have one camera: a drag rotates both.
    let camera = tab.text(&format!("{CUBES}.dataset.camera"))?;
    tab.drag(
        "section[data-view=topology] .right > canvas",
        [0.4, 0.5],
        [0.7, 0.6],
    )?;
    tab.expect(&format!("{CUBES}.dataset.camera !== '{camera}'"))?;
    let inked = tab.number(&format!("{INKED}('.waves')"))?;
    if inked > 0.2 {
        Ok(())
    } else {
        Err(format!("the spectrum covers {inked} of its canvas"))
    }
}

pub(super) fn large(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect(&format!(
        "Number({CUBES}.dataset.cubes.split(',')[0]) <= 20000"
    ))?;
    tab.expect("document.querySelector('section[data-view=topology] .note').textContent.includes('1 835 008 cells')")?;
    // The only slow rank is invisible in the means and visible in the maxima.
    let ends = "document.querySelector('.left .ends').lastChild.textContent";
    let mean = tab.text(ends)?;
    let largest = "(() => { const s = document.querySelector('.kind'); s.value = 1; s.dispatchEvent(new Event('change')); return true; })()";
    tab.expect(largest)?;
    match tab.text(ends)? {
        same if same == mean => Err(format!("the largest is {same}, as the mean")),
        _ => Ok(()),
    }
}

/// Script that returns the items of a tree of the profile as text.
const ITEMS: &str =
    "((name) => [...document.querySelectorAll('.profile .' + name + ' [role=treeitem]')])";

/// The page computes the correlations of any reference, and its trees select the reference.
pub(super) fn explored(tab: &mut Tab<'_>) -> Result<(), String> {
    let selected = "JSON.parse(document.querySelector('.profile').dataset.selected)";
    let title = "document.querySelector('.left figcaption').title";
    settle(tab)?;
    tab.expect(&format!("{title} === 'main > solve, time'"))?;
    tab.expect(&format!(
        "{selected}.slice(0, 3).join() === 'time,solve,true'"
    ))?;
    // Another reference and another filter: the numbers are those of the library.
    tab.expect("(() => { const s = document.querySelector('.reference'); s.value = [...s.options].find((o) => o.title.includes('MPI_Waitall')).value;
        s.dispatchEvent(new Event('change')); return true; })()")?;
    tab.click(&box_of(2))?;
    tab.expect(&format!("{CUBES}.dataset.mask === '1'"))?;
    settle(tab)?;
    tab.expect(&format!("(() => {{ const want = [...document.querySelectorAll('#expected p')].map((p) => p.textContent.split(': '));
        const found = JSON.parse({CUBES}.dataset.computed);
        return found.length > 2 && found.every(([name, r], at) => want.some(([other, value]) => other === name && Math.abs(value - r) < 1e-6)); }})()"))?;
    tab.expect(&format!(
        "{selected}.slice(0, 3).join() === 'time,MPI_Waitall,true'"
    ))?;
    tab.expect("document.querySelectorAll('.found tbody td:last-child').length > 2")?;
    // A flat grid is a map, whose axes are named and keep their directions.
    tab.expect(&format!("{CUBES}.dataset.camera.startsWith('0.000,1.571')"))?;
    tab.expect("[...document.querySelectorAll('.left .axis:not([hidden])')].map((e) => e.textContent).join() === 'x →,y →'")?;
    chances(tab)?;
    find(tab)?;
    // A collapsed call path contains the paths below it; an expanded one does not.
    let total =
        |name: &str| format!("{ITEMS}('calls').find((e) => e.lastChild.textContent === '{name}')");
    tab.expect(&format!(
        "(() => {{ {}.click(); return true; }})()",
        total("solve")
    ))?;
    let exclusive = tab.number(&format!("{selected}[3]"))?;
    settle(tab)?;
    tab.expect(&format!(
        "(() => {{ {}.firstChild.click(); return true; }})()",
        total("solve")
    ))?;
    tab.expect(&format!(
        "{selected}.slice(0, 3).join() === 'time,solve,false'"
    ))?;
    let inclusive = tab.number(&format!("{selected}[3]"))?;
    if inclusive < 1.2 * exclusive {
        return Err(format!("inclusive {inclusive}, exclusive {exclusive}"));
    }
    // A sum of grids is a reference too.
    settle(tab)?;
    tab.expect(&format!("{title}.startsWith('solve, time (inclusive')"))?;
    tab.expect(&format!(
        "Number({CUBES}.dataset.found) > 0 && {CUBES}.dataset.cubes === '96,96'"
    ))?;
    // The system shows the selection, and its leaves are the cells.
    let item =
        |name: &str| format!("{ITEMS}('system').find((e) => e.lastChild.textContent === '{name}')");
    tab.expect(&format!(
        "(() => {{ const node = {}; if (node.ariaExpanded === 'false') node.firstChild.click(); {}.click(); return true; }})()",
        item("node 0"),
        item("rank 2")
    ))?;
    tab.expect("document.querySelector('.status').textContent.startsWith('x 0, y 2: ')")?;
    // Keys: up to the caller, which is selected.
    tab.expect("(() => { const tree = document.querySelector('.calls [role=tree]'); tree.focus();
        for (const key of ['Home', 'Enter']) tree.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })); return true; })()")?;
    tab.expect(&format!(
        "{selected}.slice(0, 3).join() === 'time,main,true'"
    ))?;
    tab.expect("document.querySelector('.calls [role=treeitem][aria-selected=true]').id === document.querySelector('.calls [role=tree]').getAttribute('aria-activedescendant')")?;
    settle(tab)?;
    // Values per cent and per call.
    for (kind, text) in [("share", "%"), ("call", "s")] {
        tab.expect(&format!("(() => {{ const s = document.querySelector('.as'); s.value = '{kind}'; s.dispatchEvent(new Event('change')); return true; }})()"))?;
        tab.expect(&format!(
            "{ITEMS}('calls')[1].children[2].textContent.endsWith('{text}')"
        ))?;
    }
    // Metrics of other units have shares of their own totals.
    tab.expect("(() => { const s = document.querySelector('.as'); s.value = 'share'; s.dispatchEvent(new Event('change')); return true; })()")?;
    tab.expect(&format!(
        "{ITEMS}('metrics').filter((e) => e.ariaLevel === '1').every((e) => ['100 %', '-'].includes(e.children[2].textContent))"
    ))?;
    // The filter by value of one grid hides the same cells in both.
    tab.expect(&format!(
        "(() => {{ {}.click(); return true; }})()",
        total("output")
    ))?;
    settle(tab)?;
    tab.expect("(() => { const s = document.querySelector('.low'); s.value = 500; s.dispatchEvent(new Event('input')); return true; })()")?;
    tab.expect(&format!("(() => {{ const [a, b] = {CUBES}.dataset.cubes.split(',').map(Number); return a === b && a > 0 && a < 96; }})()"))
}

/// References are found by words, and lists can be extended.
fn find(tab: &mut Tab<'_>) -> Result<(), String> {
    let seek = |text: &str, key: &str| {
        format!(
            "(() => {{ const s = document.querySelector('.seek'); s.value = '{text}'; s.dispatchEvent(new Event('input'));
            if ('{key}') s.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true }})); return true; }})()"
        )
    };
    let title = "document.querySelector('.left figcaption').title";
    let offered = "[...document.querySelectorAll('.reference option:not([hidden])')]";
    let all = tab.number(&format!("{offered}.length"))?;
    tab.expect(&seek("TIME output", ""))?;
    // The reference itself stays in the list.
    tab.expect(&format!(
        "{offered}.length === 3 && {offered}.some((o) => o.title.includes('output'))"
    ))?;
    tab.expect(&seek("TIME output", "Enter"))?;
    tab.wait(&format!("{title}.endsWith('output, time')"))?;
    tab.expect(&seek("no such view", "Enter"))?;
    tab.expect(&format!("{title}.endsWith('output, time')"))?;
    tab.expect("document.querySelector('.offered').textContent.startsWith('0 of ')")?;
    tab.expect(&seek("waitall time", "Enter"))?;
    tab.wait(&format!("{title}.includes('MPI_Waitall')"))?;
    tab.expect(&seek("", ""))?;
    tab.expect(&format!("{offered}.length === {all}"))?;
    // The function of a call path is never cut away, and different names stay different.
    let names = "(() => { const of = (a) => `main > lib::step<int> > lib::detail::${a}<double, lib::tile<8>, lib::scheme_a<3>>`;
        const [a, b, c] = perfkit.pathNames([of('solve_all'), of('other_one'), of('solve_all').replace('int', 'long')], 40);
        return a.endsWith(' > solve_all<scheme_a>') && c.includes('long') && a !== c && b === 'main > step > other_one<scheme_a>'; })()";
    tab.expect(names)?;
    tab.expect("perfkit.pathNames(['a > b'], 9)[0] === 'a > b'")
}
