//! Checks of the live page: selection from a rank to a call, during a run, across a restart, and in a replay.

use super::browser::{Browser, Tab};
use super::running::Running;
use super::{WIDTHS, root};
use crate::ci::program;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Checks the page at all widths.
pub(super) fn run(browser: &mut Browser, folder: &Path) -> Result<(), String> {
    let program = program("perfkit-live")?;
    let database = folder.join("live.sqlite");
    remove(&database);
    let (mut server, url) = start(&program, "serve", &database, "127.0.0.1:0")?;
    let recording = root().join("data/recordings/nwchem-md-4");
    let _ranks = simulate(&program, &url, &database, &recording)?;
    for size in WIDTHS {
        let begin = Instant::now();
        let mut tab = browser.open_served(&url, "/", size)?;
        shown(&mut tab, folder, |tab| funnel(tab, true))?;
        let (wide, _) = size;
        tab.shot(&folder.join(format!("live-{wide}.png")))?;
        if size == WIDTHS[0] {
            let address = url.trim_start_matches("http://").to_string();
            server = restart(&mut tab, server, &program, (&database, &address))?;
        }
        tab.close()?;
        let took = begin.elapsed().as_secs_f64();
        println!("{:<14} {wide:>4} wide: {took:.1} s", "live");
    }
    drop(server);
    let (_over, url) = start(&program, "replay", &database, "127.0.0.1:0")?;
    for size in WIDTHS {
        let begin = Instant::now();
        let mut tab = browser.open_served(&url, "/", size)?;
        shown(&mut tab, folder, |tab| funnel(tab, false))?;
        tab.close()?;
        let took = begin.elapsed().as_secs_f64();
        println!("{:<14} {:>4} wide: {took:.1} s", "replay", size.0);
    }
    counters(browser, folder, &program)
}

/// Name of a counter of [`counters`] that is no HTML.
const COUNTER: &str =
    "<img src=x> of a very_long_name_of_a_counter_without_an_end_that_is_cut_somewhere";

/// Checks the table of counters of a stream that has some, during a run and in a replay.
fn counters(browser: &mut Browser, folder: &Path, program: &Path) -> Result<(), String> {
    let stream = folder.join("counters.tsv");
    let mut rows =
        String::from("step\tts_us\tprogram\trank\tthread\tkind\tname\ttag\tpartner\tbytes\n");
    for call in 0..400 {
        let (step, at) = (call / 40, 1000 * call);
        for (kind, name, after, value) in [
            ("ENTRY", "solve", 0, String::new()),
            ("COUNTER", COUNTER, 1, (call % 7).to_string()),
            ("COUNTER", "cycles", 2, (5000 * call).to_string()),
            ("EXIT", "solve", 100, String::new()),
        ] {
            let at = at + after;
            rows += &format!("{step}\t{at}\t0\t0\t0\t{kind}\t{name}\t\t\t{value}\n");
        }
    }
    std::fs::write(&stream, rows).map_err(|error| error.to_string())?;
    let database = folder.join("counters.sqlite");
    remove(&database);
    let (server, url) = start(program, "serve", &database, "127.0.0.1:0")?;
    let ranks = simulate(program, &url, &database, &stream)?;
    table_of_counters(browser, &url, folder)?;
    drop((ranks, server));
    let (_over, url) = start(program, "replay", &database, "127.0.0.1:0")?;
    table_of_counters(browser, &url, folder)
}

/// Checks the table of counters at all widths: names are text, and a click on a column sorts it.
fn table_of_counters(browser: &mut Browser, url: &str, folder: &Path) -> Result<(), String> {
    let rows = "[...document.querySelectorAll('#counters tbody tr')]";
    for size in WIDTHS {
        let mut tab = browser.open_served(url, "/", size)?;
        shown(&mut tab, folder, |tab| {
            tab.wait(&format!(
                "!document.querySelector('#counters').hidden && {rows}.length === 2"
            ))?;
            // The order of the server depends on the values so far.
            tab.expect(&format!(
                "{rows}.some((row) => row.children[0].title.startsWith('<img src=x> of'))"
            ))?;
            tab.wait("document.querySelector('#counters-status').textContent.includes('2 counters; counters that only increase')")?;
            let sorted = |order: &str| {
                format!("document.querySelector('#counters thead th').ariaSort === '{order}'")
            };
            tab.click("#counters thead th:nth-child(1) button")?;
            tab.wait(&sorted("descending"))?;
            tab.expect(&format!("{rows}[0].children[0].textContent === 'cycles' && {rows}[0].children[3].textContent === ''"))?;
            tab.click("#counters thead th:nth-child(1) button")?;
            tab.wait(&sorted("ascending"))?;
            tab.expect(&format!(
                "{rows}[0].children[0].title.startsWith('<img src=x> of')"
            ))?;
            tab.expect("document.querySelectorAll('main img').length === 0 && document.documentElement.scrollWidth <= innerWidth")?;
            match tab.complaints() {
                [] => Ok(()),
                all => Err(all.join("; ")),
            }
        })?;
        tab.shot(&folder.join(format!("counters-{}.png", size.0)))?;
        tab.close()?;
    }
    Ok(())
}

/// Removes a database.
fn remove(database: &Path) {
    for end in ["", "-wal", "-shm"] {
        let mut name = database.as_os_str().to_os_string();
        name.push(end);
        // Usually there is none.
        let _ = std::fs::remove_file(name);
    }
}

/// Checks a page. On failure, stores a screenshot and adds the state of the page to the error.
fn shown(
    tab: &mut Tab<'_>,
    folder: &Path,
    use_it: impl FnOnce(&mut Tab<'_>) -> Result<(), String>,
) -> Result<(), String> {
    use_it(tab).map_err(|error| {
        let picture = folder.join("live-failed.png");
        // An error of the screenshot is ignored, because the first error is reported.
        let _ = tab.shot(&picture);
        let address = tab.text("location.hash").unwrap_or_default();
        let complaints = tab.complaints().join("; ");
        format!(
            "{error}; at {address}; {complaints}; see {}",
            picture.display()
        )
    })
}

/// Starts a server and returns it with the address that it prints.
fn start(
    program: &Path,
    command: &str,
    database: &Path,
    address: &str,
) -> Result<(Running, String), String> {
    let mut server = Command::new(program);
    server.arg(command).arg(database);
    let (running, line) = Running::saying(server.args(["--listen", address]))?;
    let url = line.strip_prefix("listening on ");
    let url = url.ok_or_else(|| format!("{command} says `{line}`"))?;
    Ok((running, url.to_string()))
}

/// Starts simulated ranks that play a recording until the returned value is dropped.
fn simulate(
    program: &Path,
    url: &str,
    database: &Path,
    recording: &Path,
) -> Result<Running, String> {
    let mut token = database.as_os_str().to_os_string();
    token.push(".token");
    let mut ranks = Command::new(program);
    ranks
        .args([
            "simulate",
            url,
            "--ranks",
            "24",
            "--updates",
            "100000",
            "--period",
            "0.5",
        ])
        // Slow calls recur with the recording, and must do so while the page is looked at.
        .args(["--steps", "30", "--connections", "1"])
        .arg("--from")
        .arg(recording)
        .arg("--token-file")
        .arg(PathBuf::from(token))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Running::start(&mut ranks)
}

/// Selects a rank, one of its steps, a function of the step, and a call with its stack. Then checks the
/// query, a link to the selection and, during a run, a pause.
fn funnel(tab: &mut Tab<'_>, is_live: bool) -> Result<(), String> {
    tab.wait("document.body.dataset.ready === '1'")?;
    // Until a rank has an anomaly there is nothing to select.
    tab.wait("document.querySelectorAll('.bars button').length > 3 && parseFloat(document.querySelector('.bars .value').textContent) > 0")?;
    tab.expect("document.documentElement.scrollWidth <= innerWidth")?;
    tab.expect("[...document.querySelectorAll('button, select, input')].every((e) => e.textContent.trim() || e.closest('label'))")?;
    if is_live {
        tab.wait("document.querySelector('#state').textContent === 'live'")?;
        let before = tab.text("document.body.dataset.news")?;
        tab.wait(&format!(
            "Number(document.body.dataset.news) > {before} + 2"
        ))?;
    } else {
        tab.wait("document.querySelector('#state').textContent === 'finished run'")?;
        tab.expect("document.querySelector('#pause').hidden")?;
    }
    // The worst call with its rank and step is selected at first, and the query is answered.
    tab.wait("document.querySelector('.bars button[aria-pressed=true]') && location.hash.includes('record=')")?;
    tab.wait("document.querySelector('#call .stack .abnormal') && document.querySelectorAll('#records tbody tr').length > 0")?;
    heat_map(tab, is_live)?;
    tab.click(".bars button[aria-pressed=false]")?;
    tab.wait("document.querySelectorAll('.bars button[aria-pressed=true]').length > 1")?;
    tab.wait("Number(document.querySelector('#steps > canvas').dataset.points) > 0")?;
    // Select the first point by the keyboard, then by mouse.
    tab.value("document.querySelector('#steps > canvas').focus()")?;
    tab.key("Home")?;
    tab.wait("document.querySelector('#steps-status').textContent.includes('too slow')")?;
    let at = "document.querySelector('#steps > canvas').dataset.at.split(',').map(Number)";
    let [x, y] = [0, 1].map(|axis| format!("{at}[{axis}] / document.querySelector('#steps > canvas').getBoundingClientRect()[['width', 'height'][{axis}]]"));
    let share = [tab.number(&x)?, tab.number(&y)?];
    tab.click_at("#steps > canvas", share)?;
    tab.wait("Number(document.querySelector('#functions').dataset.functions) > 0 && location.hash.includes('step=')")?;
    tab.wait("Number(document.querySelector('#functions > canvas').dataset.points) > 0")?;
    let choose = "(() => { const s = document.querySelector('#x'); s.value = 'exclusive'; s.dispatchEvent(new Event('change')); return location.hash.includes('x=exclusive'); })()";
    tab.expect(choose)?;
    tab.wait("document.querySelector('#functions > canvas').getAttribute('aria-label').includes('by exclusive')")?;
    tab.value("document.querySelector('#functions > canvas').focus()")?;
    // The points are sorted by the x axis: the last one is the longest call.
    tab.key("End")?;
    tab.key("Enter")?;
    tab.wait("Number(document.querySelector('#call .body').dataset.frames) > 0 && location.hash.includes('record=')")?;
    tab.wait("document.querySelector('#call .stack .abnormal') && document.querySelector('#call .frame.red')")?;
    // Names are shown as text, regardless of their content.
    tab.expect("document.querySelectorAll('main img, main iframe, main object').length === 0")?;
    tab.click("#records form button")?;
    tab.wait("document.querySelectorAll('#records tbody tr').length > 0")?;
    tab.click("#records tbody tr:last-child button")?;
    tab.wait(
        "location.hash.includes('record=' + document.querySelector('#call .body').dataset.record)",
    )?;
    // A link shows the same selection again.
    let shown = tab.text("document.querySelector('#call dl').textContent")?;
    tab.reload()?;
    tab.wait("document.body.dataset.ready === '1' && document.querySelector('#call dl')")?;
    if tab.text("document.querySelector('#call dl').textContent")? != shown {
        return Err("a link shows another call".into());
    }
    tab.wait("Number(document.querySelector('#functions > canvas').dataset.points) > 0")?;
    if is_live {
        tab.wait("Number(document.body.dataset.news) > 1")?;
        tab.click("#pause")?;
        let paused = "new Promise((done) => { const was = document.body.dataset.news; setTimeout(() => done(document.body.dataset.news === was), 1500); })";
        tab.expect(paused)?;
        tab.click("#pause")?;
        tab.wait("document.querySelector('#state').textContent === 'live'")?;
    }
    lists(tab)?;
    match tab.complaints() {
        [] => Ok(()),
        all => Err(all.join("; ")),
    }
}

/// Checks that the page opens on the worst cell of the heat map, that updates keep the selection, and that the
/// keyboard and the pointer select cells and functions.
fn heat_map(tab: &mut Tab<'_>, is_live: bool) -> Result<(), String> {
    let heat = "document.querySelector('#lost .heat')";
    tab.wait(&format!("Number({heat}.dataset.cells) > 1"))?;
    tab.expect(
        "document.querySelector('#lost .note').textContent.includes('The cells add up to')",
    )?;
    tab.expect("document.querySelectorAll('#lost .legend .entry').length > 0 && !document.querySelector('#lost .stacked').hidden")?;
    let step = "new URLSearchParams(location.hash.slice(1)).get('step')";
    if is_live {
        let (drawn, selected) = (tab.text(&format!("{heat}.dataset.drawn"))?, tab.text(step)?);
        tab.wait(&format!("Number({heat}.dataset.drawn) > {drawn} + 1"))?;
        if tab.text(step)? != selected {
            return Err("an update changes the selection".into());
        }
    } else {
        tab.expect(&format!("{step} === {heat}.dataset.worst"))?;
    }
    tab.value(&format!("{heat}.focus()"))?;
    tab.key("ArrowRight")?;
    tab.key("ArrowRight")?;
    tab.key("Enter")?;
    let is_said = format!(
        "(([, rank, step], said) => said.includes('rank ' + rank + ', step ' + step + ':') || said.includes('rank ' + rank + ' in step ' + step + '.'))({step}.split('.'), document.querySelector('#lost .status').textContent)"
    );
    tab.wait(&is_said)?;
    // A click at a function shows its calls on all ranks.
    tab.click("#lost .legend button")?;
    tab.wait("location.hash.includes('within=all') && document.querySelector('#lost .legend button[aria-pressed=true]')")?;
    tab.wait("document.querySelector('#scope').textContent.includes('all ranks')")?;
    // A click at a cell shows its calls. The place of a cell is found with the pointer.
    let place = format!(
        "(() => {{ const heat = {heat}, said = document.querySelector('#lost .status'), box = heat.getBoundingClientRect();
         const at = (x, y) => {{ said.textContent = ''; heat.dispatchEvent(new PointerEvent('pointermove', {{ clientX: box.left + x, clientY: box.top + y }})); return said.textContent; }};
         for (let y = 0; y < box.height; y += 2) for (let x = 0; x < box.width; x++) {{
           const text = at(x, y);
           let end = x;
           while (text && at(end + 1, y) === text) end++;
           if (text) return [(x + end) / 2 / box.width, (y + 4) / box.height];
         }} return [0, 0]; }})()"
    );
    let share = [
        tab.number(&format!("{place}[0]"))?,
        tab.number(&format!("{place}[1]"))?,
    ];
    tab.click_at("#lost .heat", share)?;
    tab.wait(&format!(
        "!location.hash.includes('within=all') && {is_said}"
    ))?;
    Ok(())
}

/// Checks the list of causes, whose entries open their calls or steps, and the table of functions with its order and
/// filter.
fn lists(tab: &mut Tab<'_>) -> Result<(), String> {
    tab.wait("document.querySelector('#causes .sentence').textContent.includes(' lost, ')")?;
    tab.wait("document.querySelectorAll('#causes .found li').length > 0")?;
    let before = tab.text("location.hash")?;
    // The first cause lasts; a later one may have a single step, in which the ranks have no anomaly.
    tab.click("#causes .found li:first-child button")?;
    tab.wait(&format!(
        "location.hash !== '{}' && (location.hash.includes('within=all') || location.hash.includes('within=rank'))",
        before.replace('\'', "\\'")
    ))?;
    // The recording has no counters.
    tab.expect("document.querySelector('#counters').hidden")?;
    tab.wait("document.querySelectorAll('#profile tbody tr').length > 3")?;
    let calls = "[...document.querySelectorAll('#profile tbody tr')].map((row) => Number(row.children[1].textContent.replace(/\\D/g, '')))";
    for (order, mark) in [(">=", "descending"), ("<=", "ascending")] {
        tab.click("#profile thead th:nth-child(2) button")?;
        tab.wait(&format!(
            "document.querySelector('#profile thead th:nth-child(2)').getAttribute('aria-sort') === '{mark}'"
        ))?;
        tab.wait(&format!(
            "{calls}.every((one, at, all) => !at || all[at - 1] {order} one)"
        ))?;
    }
    let filter = "(() => { const s = document.querySelector('#filter'); s.value = 'mpi_'; s.dispatchEvent(new Event('input')); return location.hash.includes('filter=mpi_'); })()";
    tab.expect(filter)?;
    tab.wait("document.querySelectorAll('#profile tbody tr').length > 0 && [...document.querySelectorAll('#profile tbody th')].every((one) => one.textContent.includes('MPI_'))")
}

/// Kills and restarts the server, and checks that the page reconnects by itself. Returns the new server.
fn restart(
    tab: &mut Tab<'_>,
    server: Running,
    program: &Path,
    (database, address): (&Path, &str),
) -> Result<Running, String> {
    let calls =
        "Number(document.querySelector('#sums').textContent.split(' ')[0].replace(/,/g, ''))";
    let before = tab.number(calls)?;
    drop(server);
    tab.wait("document.querySelector('#state').classList.contains('gone')")?;
    let (server, _) = start(program, "serve", database, address)?;
    tab.wait("document.querySelector('#state').textContent === 'live'")?;
    tab.wait(&format!("{calls} > {before}"))?;
    tab.wait("Number(document.querySelector('#steps > canvas').dataset.points) > 0")?;
    tab.forgive("ERR_CONNECTION_REFUSED");
    tab.forgive("ERR_INCOMPLETE_CHUNKED_ENCODING");
    tab.forgive("ERR_CONNECTION_RESET");
    Ok(server)
}
