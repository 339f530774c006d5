//! What each page must do.

use super::browser::Tab;

/// Uses a page; an error says what it did not do.
pub(super) type Check = fn(&mut Tab<'_>) -> Result<(), String>;

/// The pages, the place in them that a link leads to, and what is done with each.
pub(super) const PAGES: &[(&str, &str, Check)] = &[
    ("timeline", "", timeline),
    ("hostile", "", hostile),
    ("many", "", many),
    ("topology", "", topology),
    ("large", "", large),
    ("track", "", track),
    ("track-many", "", track_many),
    ("anomaly", "", anomaly),
    ("anomaly-many", "", anomaly_many),
    ("report", "", report),
    ("track", "#clusters?object=2&frame=1&x=1&y=0", linked_track),
    ("anomaly", "#anomalies?rank=7&step=13", linked_anomaly),
    ("tour/index", "", tour),
];

/// What every page keeps: all views are drawn, nothing is wider than the window, all that can be pressed
/// or seen has a name, no complaint.
pub(super) fn common(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect("[...document.querySelectorAll('section[data-view]')].every((s) => s.dataset.view === 'text' || s.dataset.ready === '1')")?;
    tab.expect("document.documentElement.scrollWidth <= innerWidth")?;
    tab.expect(
        "[...document.querySelectorAll('button, select, input, canvas')].every((e) =>
        e.textContent.trim() || e.getAttribute('aria-label') || e.closest('label') || e.getAttribute('alt'))",
    )?;
    tab.expect("[...document.querySelectorAll('canvas, img')].every((e) => e.getAttribute('aria-label') || e.alt)")?;
    tab.expect("document.querySelectorAll('h1').length === 1")?;
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

/// Text in a theme whose contrast with what it is on is below 4.5: the first few.
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

/// The colours of some pixels of the first canvas of a selector: red, green, blue.
const PIXEL: &str = "((selector, x, y) => { const c = document.querySelector(selector);
    return [...c.getContext('2d').getImageData(Math.round(x * c.width), Math.round(y * c.height), 1, 1).data].slice(0, 3).join(); })";

const SECTION: &str = "document.querySelector('section[data-view=timeline]')";

fn timeline(tab: &mut Tab<'_>) -> Result<(), String> {
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

fn hostile(tab: &mut Tab<'_>) -> Result<(), String> {
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

fn many(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect(&format!("{SECTION}.dataset.rows === '1'"))?;
    tab.click("section[data-view=timeline] .row[data-group='0'] button")?;
    tab.expect(&format!("{SECTION}.dataset.rows === '65'"))?;
    tab.expect(&format!("Number({SECTION}.dataset.bundles) > 10"))
}

const CUBES: &str = "document.querySelector('section[data-view=topology]')";

/// How many pixels of a canvas differ from its first, as a share.
const INKED: &str = "((selector) => { const c = document.querySelector(selector), d = document.createElement('canvas');
    [d.width, d.height] = [c.width, c.height]; const x = d.getContext('2d'); x.drawImage(c, 0, 0);
    const p = x.getImageData(0, 0, d.width, d.height).data; let n = 0;
    for (let i = 0; i < p.length; i += 4) n += p[i] !== p[0] || p[i + 1] !== p[1] || p[i + 2] !== p[2];
    return n / (p.length / 4); })";

fn topology(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect(&format!("{CUBES}.dataset.webgl === '1'"))?;
    tab.expect("document.querySelector('.stills').hidden")?;
    tab.expect(&format!("{CUBES}.dataset.cubes === '1728,1728'"))?;
    for side in ["left", "right"] {
        let inked = tab.number(&format!("{INKED}('.{side} > canvas')"))?;
        if !(0.15..0.95).contains(&inked) {
            return Err(format!("cubes at the {side} cover {inked} of their pane"));
        }
    }
    // The strongest is the opposite wave; along the second axis alone it is another.
    tab.expect("document.querySelector('.found tbody tr td').textContent.startsWith('-0.9')")?;
    tab.expect("document.querySelector('.right figcaption').textContent.startsWith('waiting')")?;
    tab.click("section[data-view=topology] .filter label:nth-child(1) input")?;
    tab.click("section[data-view=topology] .filter label:nth-child(3) input")?;
    tab.expect(&format!("{CUBES}.dataset.mask === '2'"))?;
    tab.expect("document.querySelector('.right figcaption').textContent.startsWith('stripes')")?;
    tab.click("section[data-view=topology] .filter label:nth-child(2) input")?;
    tab.expect("document.querySelector('.found tbody').textContent.includes('No axis counts')")?;
    tab.click("section[data-view=topology] .filter label:nth-child(1) input")?;
    // Names of users are text.
    tab.expect("[...document.querySelectorAll('.found tbody button')].some((b) => b.textContent.includes('<img src=x'))")?;
    tab.expect("document.querySelectorAll('img[src=x]').length === 0")?;
    // A click asks a cube: the one in the middle of the pane.
    tab.click("section[data-view=topology] .left > canvas")?;
    tab.expect("/^rank \\d+, node \\d+, x \\d+, y \\d+, z \\d+: .*waiting/.test(document.querySelector('.status').textContent)")?;
    // A brush hides what is low, and what was hidden behind it is drawn.
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
    // A slice, and an axis taken together.
    let slice =
        "(() => { const [a, b] = document.querySelectorAll('.axes input'); a.value = b.value = 3;
        for (const e of [a, b]) e.dispatchEvent(new Event('input')); return true; })()";
    tab.expect(slice)?;
    tab.expect(&format!("{CUBES}.dataset.cubes === '144,144'"))?;
    let role = "(() => { const s = document.querySelectorAll('.axes select')[1]; s.value = 'mean'; s.dispatchEvent(new Event('change')); return true; })()";
    tab.expect(role)?;
    tab.expect(&format!("{CUBES}.dataset.cubes === '12,12'"))?;
    // One camera: a drag turns both.
    let camera = tab.text(&format!("{CUBES}.dataset.camera"))?;
    tab.drag(
        "section[data-view=topology] .right > canvas",
        [0.4, 0.5],
        [0.7, 0.6],
    )?;
    tab.expect(&format!("{CUBES}.dataset.camera !== '{camera}'"))?;
    let inked = tab.number(&format!("{INKED}('.waves')"))?;
    match inked > 0.2 {
        true => Ok(()),
        false => Err(format!("the spectrum covers {inked} of its canvas")),
    }
}

fn large(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect(&format!(
        "Number({CUBES}.dataset.cubes.split(',')[0]) <= 20000"
    ))?;
    tab.expect("document.querySelector('section[data-view=topology] .note').textContent.includes('1,835,008 cells')")?;
    // The one slow rank is gone from the means and there among the largest.
    let ends = "document.querySelector('.left .ends').lastChild.textContent";
    let mean = tab.text(ends)?;
    let largest = "(() => { const s = document.querySelector('.kind'); s.value = 1; s.dispatchEvent(new Event('change')); return true; })()";
    tab.expect(largest)?;
    match tab.text(ends)? {
        same if same == mean => Err(format!("the largest is {same}, as the mean")),
        _ => Ok(()),
    }
}

const TRACK: &str = "document.querySelector('section[data-view=track]')";

fn track(tab: &mut Tab<'_>) -> Result<(), String> {
    let cloud = "section[data-view=track] .cloud";
    let status = "document.querySelector('section[data-view=track] .status').textContent";
    tab.expect(&format!("{status}.startsWith('4 tasks: 480 bursts')"))?;
    let inked = tab.number(&format!("{INKED}('{cloud}')"))?;
    if !(0.02..0.6).contains(&inked) {
        return Err(format!("points cover {inked} of their canvas"));
    }
    // The slider goes from frame to frame, and between them.
    let slide = |to: f64| {
        format!(
            "(() => {{ const s = document.querySelector('section[data-view=track] .at'); s.value = {to};
            s.dispatchEvent(new Event('input')); return {TRACK}.dataset.frame === '{to}'; }})()"
        )
    };
    let image = format!("document.querySelector('{cloud}').toDataURL()");
    let mut pictures = vec![tab.text(&image)?];
    for to in [0.5, 1.0, 3.0] {
        tab.expect(&slide(to))?;
        let next = tab.text(&image)?;
        if pictures.contains(&next) {
            return Err(format!("frame {to} looks like one before"));
        }
        pictures.push(next);
    }
    tab.expect(&format!("{status}.startsWith('32 tasks: 3840 bursts')||{status}.startsWith('32 tasks: 3,840 bursts')"))?;
    // Keys choose an object and tell every vote for it.
    tab.value(&format!("document.querySelector('{cloud}').focus()"))?;
    tab.key("ArrowDown")?;
    tab.expect(&format!("{TRACK}.dataset.object === '1'"))?;
    tab.expect(&format!("/object 1 in 32 tasks.* continues as .*confidence .*forward .*callers before/.test({status})"))?;
    tab.key("ArrowLeft")?;
    tab.expect(&format!(
        "{TRACK}.dataset.frame === '2' && {status}.includes('16 <tasks>')"
    ))?;
    tab.key("Escape")?;
    tab.expect(&format!("{TRACK}.dataset.object === ''"))?;
    // A burst under the pointer says what it is: the middle of an object's disc.
    let middle = format!(
        "(() => {{ const s = document.querySelector('section[data-view=track] .at'); s.value = 0; s.dispatchEvent(new Event('input'));
        const data = JSON.parse({TRACK}.querySelector('script').textContent), c = data.objects[0].centres[0][0];
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
        "/a burst of instructions .*, ipc .*object 1 in 4 tasks/.test({status})"
    ))?;
    // Other axes paint another picture.
    let before = tab.text(&image)?;
    tab.expect("(() => { const s = document.querySelector('section[data-view=track] select.x'); s.value = 1; s.dispatchEvent(new Event('change')); return true; })()")?;
    tab.expect("(() => { const s = document.querySelector('section[data-view=track] select.y'); s.value = 0; s.dispatchEvent(new Event('change')); return true; })()")?;
    if before == tab.text(&image)? {
        return Err("other axes look alike".into());
    }
    // Lines, boxes, relative: three pictures of a metric.
    let trend = "document.querySelector('section[data-view=track] .trend').toDataURL()";
    let lines = tab.text(trend)?;
    tab.expect("(() => { const s = document.querySelector('section[data-view=track] .kind'); s.value = 'boxes'; s.dispatchEvent(new Event('change')); return true; })()")?;
    let boxes = tab.text(trend)?;
    tab.click("section[data-view=track] .relative")?;
    if lines == boxes || boxes == tab.text(trend)? {
        return Err("lines, boxes and what is relative look alike".into());
    }
    // The vote behind each match, where one points at a cell of a matrix.
    tab.hover(
        "section[data-view=track] .matrix tbody tr:nth-child(2) td:nth-child(3) button",
        [0.5, 0.5],
    )?;
    tab.expect("/^2 of 4 tasks and 2 of 8 tasks: both are object \\d+. evidence .*forward .*duration/.test(document.querySelector('.votes').textContent)")?;
    tab.expect("document.querySelectorAll('section[data-view=track] img').length === 0")?;
    // The link to what is shown.
    tab.click("section[data-view=track] .objects tbody tr:nth-child(2) button")?;
    tab.value("new Promise((done) => setTimeout(() => done(1), 400))")?;
    tab.expect("location.hash.includes('object=2') && location.hash.includes('x=1')")?;
    // It plays by itself.
    tab.click("section[data-view=track] .play")?;
    tab.value("new Promise((done) => setTimeout(() => done(1), 2300))")?;
    tab.expect(&format!("Number({TRACK}.dataset.frame) > 0"))?;
    tab.click("section[data-view=track] .play")
}

fn track_many(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect("document.querySelector('.aggregated').textContent.startsWith('2,400,000 bursts are drawn as')")?;
    let inked = tab.number(&format!("{INKED}('section[data-view=track] .cloud')"))?;
    match inked > 0.02 {
        true => Ok(()),
        false => Err(format!("points cover {inked} of their canvas")),
    }
}

const FOUND: &str = "document.querySelector('section[data-view=anomaly]')";

fn anomaly(tab: &mut Tab<'_>) -> Result<(), String> {
    let inside = |selector: &str| format!("section[data-view=anomaly] {selector}");
    let status = format!("{FOUND}.querySelector('.status').textContent");
    let choose = |selector: &str, value: usize| {
        format!(
            "(() => {{ const s = document.querySelector('section[data-view=anomaly] {selector}'); s.value = {value};
            s.dispatchEvent(new Event('change')); return s.value === '{value}'; }})()"
        )
    };
    tab.expect(&format!("{status}.startsWith('All ranks and steps: ')"))?;
    // The rank that lost most, and the one with most anomalies, are bars; so are all twelve.
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
    // From a rank to its steps.
    let steps = format!("document.querySelector('{}').toDataURL()", inside(".steps"));
    let before = tab.text(&steps)?;
    tab.click(&inside(".ranks button[data-rank='7']"))?;
    tab.expect(&format!(
        "{FOUND}.dataset.rank === '7' && {status}.startsWith('rank 7: ')"
    ))?;
    if before == tab.text(&steps)? {
        return Err("a rank that is chosen looks like all".into());
    }
    // From a step to its functions: the keyboard goes from one to the next.
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
    // From a function to its executions, in other axes.
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
        "{FOUND}.querySelector('.distribution').getAttribute('aria-label').includes('mode 1 to')"
    ))?;
    // From an execution to its call stack, with arrows to the lines of ranks 3 and 8.
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
    // The link to it, and back to all.
    tab.value("new Promise((done) => setTimeout(() => done(1), 400))")?;
    tab.expect("/rank=7&step=\\d+&function=\\d+&call=\\d+/.test(location.hash)")?;
    tab.click(&inside(".all"))?;
    tab.expect(&format!(
        "{FOUND}.dataset.rank === '' && {status}.startsWith('All ranks and steps')"
    ))
}

fn anomaly_many(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect(&format!(
        "{FOUND}.querySelector('.aggregated').textContent.includes('are shown together')"
    ))?;
    // The one rank that is unlike all others is seen by itself.
    tab.expect(&format!(
        "{FOUND}.querySelector('.ranks button').textContent.startsWith('rank 1234')"
    ))?;
    tab.click("section[data-view=anomaly] .ranks button")?;
    tab.expect(&format!("{FOUND}.dataset.rank === '1234'"))
}

fn report(tab: &mut Tab<'_>) -> Result<(), String> {
    // Each script is there once, whatever the number of sections that use it.
    tab.expect("document.querySelectorAll('script:not([type])').length === 3")?;
    tab.expect("[...document.querySelectorAll('nav a')].map((a) => a.getAttribute('href')).join() === '#summary,#overview,#timeline,#topology'")?;
    tab.click("nav a[href='#topology']")?;
    tab.expect("location.hash === '#topology' && Math.abs(document.querySelector('#topology').getBoundingClientRect().top) < innerHeight")?;
    // Two timelines do not disturb one another.
    tab.click("#timeline .row[data-group='0'] button")?;
    tab.expect("document.querySelector('#timeline').dataset.rows === '14' && document.querySelector('#overview').dataset.rows === '1'")?;
    // Four axes: the fourth is taken together, until it is cut and put beside the first.
    tab.expect(&format!("{CUBES}.dataset.cubes === '64,64'"))?;
    let beside = "(() => { const s = document.querySelectorAll('#topology .axes select')[3]; s.value = 'x'; s.dispatchEvent(new Event('change')); return true; })()";
    tab.expect(beside)?;
    tab.expect(&format!("{CUBES}.dataset.cubes === '256,256'"))
}

fn linked_track(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect(&format!(
        "{TRACK}.dataset.object === '2' && {TRACK}.dataset.frame === '1'"
    ))?;
    tab.expect(&format!("{TRACK}.querySelector('select.x').value === '1' && {TRACK}.querySelector('select.y').value === '0'"))?;
    tab.expect(&format!(
        "{TRACK}.querySelector('.status').textContent.startsWith('object 2 in 8 tasks')"
    ))
}

fn linked_anomaly(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.expect(&format!(
        "{FOUND}.querySelector('.status').textContent.startsWith('rank 7, step 13: 1 abnormal')"
    ))?;
    tab.expect(&format!("{FOUND}.querySelector('.call figcaption').textContent.startsWith('MPI_Wait on rank 7, thread 0, step 13')"))
}

fn tour(tab: &mut Tab<'_>) -> Result<(), String> {
    // An overview first: a card with a picture for each part.
    tab.expect("document.querySelector('main > section').id === 'overview'")?;
    tab.expect("document.querySelectorAll('.card').length === 6 && [...document.querySelectorAll('.card')].every((card) => document.querySelector(card.getAttribute('href')))")?;
    tab.expect("[...document.querySelectorAll('.card')].every((card) => card.querySelectorAll('img').length === 2 && [...card.querySelectorAll('img')].filter((img) => img.checkVisibility()).length === 1)")?;
    tab.expect("['timeline', 'topology', 'track', 'anomaly'].every((view) => document.querySelector(`section[data-view=${view}]`))")?;
    tab.expect("document.querySelectorAll('script:not([type])').length === 5")?;
    tab.click(".card[href='#phases']")?;
    tab.expect("location.hash === '#phases' && Math.abs(document.querySelector('#phases').getBoundingClientRect().top) < innerHeight")?;
    // Real recordings: an object is followed, and a call has its stack.
    tab.click("#phases .objects tbody tr button")?;
    tab.expect("document.querySelector('#phases').dataset.object === '1' && document.querySelector('#phases .status').textContent.includes('forward')")?;
    tab.click("#anomalies .functions tbody tr button")?;
    tab.click("#anomalies .calls tbody tr button")?;
    tab.expect("document.querySelector('#anomalies .call figcaption').textContent.startsWith('MPI_Barrier on rank')")?;
    tab.click("#theme")?;
    tab.expect("[...document.querySelectorAll('.card')].every((card) => [...card.querySelectorAll('img')].filter((img) => img.checkVisibility()).length === 1)")?;
    // On paper there is nothing to press, and nothing is wider than it.
    tab.media("print")?;
    tab.expect("[...document.querySelectorAll('nav, .tools')].every((e) => !e.checkVisibility()) && document.documentElement.scrollWidth <= innerWidth")?;
    tab.expect("getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)'")?;
    tab.media("screen")
}
