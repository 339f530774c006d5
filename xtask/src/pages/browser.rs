//! [`Browser`]: headless browser that is controlled by the DevTools protocol; [`Tab`]: open page,
//! with scripts, simulated clicks and keys, waiting and screenshots.
//!
//! Messages are JSON, each terminated by a zero byte, over two pipes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Maximum time to wait for an answer. A screenshot takes most of a minute on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// Shell script that connects descriptors 3 and 4 to pipes. The browser reads commands from descriptor 3
/// and answers on descriptor 4.
const PIPES: &str = "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null";

/// Flags that enable WebGL without a screen and a graphics card.
const FLAGS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--no-first-run",
    "--disable-background-networking",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
];

/// Headless browser.
pub(super) struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    next: u64,
    profile: PathBuf,
    /// Errors of the page in the open tab, and its unexpected requests.
    complaints: Vec<String>,
    /// `true` once the page has loaded.
    loaded: bool,
    /// Address of the server to which the page may send requests; `None` for a page in a file.
    server: Option<String>,
}

impl Browser {
    /// Starts a browser with a new profile.
    pub(super) fn start(program: &str, profile: &Path) -> Result<Self, String> {
        let _ = std::fs::remove_dir_all(profile);
        let mut child = Command::new("sh")
            .args(["-c", PIPES, "sh", program])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{program}: {error}"))?;
        let to = child.stdin.take().ok_or("no pipe to the browser")?;
        let pipe = child.stdout.take().ok_or("no pipe from the browser")?;
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let mut pipe = BufReader::new(pipe);
            let mut message = Vec::new();
            while let Ok(1..) = pipe.read_until(0, &mut message) {
                message.pop();
                let value = serde_json::from_slice(&message);
                message.clear();
                if value.is_ok_and(|value| sender.send(value).is_err()) {
                    return;
                }
            }
        });
        Ok(Browser {
            child,
            to,
            from,
            next: 0,
            profile: profile.to_path_buf(),
            complaints: Vec::new(),
            loaded: false,
            server: None,
        })
    }

    /// Opens a file in a window of this size, and waits until its views are drawn.
    pub(super) fn open(&mut self, page: &Path, size: (u32, u32)) -> Result<Tab<'_>, String> {
        self.server = None;
        self.open_url(&format!("file://{}", page.display()), size)
    }

    /// Opens the page of a server, to which it may send requests, in a window of this size.
    pub(super) fn open_served(
        &mut self,
        server: &str,
        rest: &str,
        size: (u32, u32),
    ) -> Result<Tab<'_>, String> {
        self.server = Some(server.to_string());
        self.open_url(&format!("{server}{rest}"), size)
    }

    fn open_url(&mut self, url: &str, (width, height): (u32, u32)) -> Result<Tab<'_>, String> {
        let target = self.call(None, "Target.createTarget", json!({"url": "about:blank"}))?;
        let target = text(&target, "targetId")?;
        let session = json!({"targetId": target, "flatten": true});
        let session = text(
            &self.call(None, "Target.attachToTarget", session)?,
            "sessionId",
        )?;
        let mut tab = Tab {
            browser: self,
            target,
            session,
        };
        for domain in ["Page", "Runtime", "Network", "Log"] {
            tab.call(&format!("{domain}.enable"), json!({}))?;
        }
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        tab.call("Emulation.setDeviceMetricsOverride", metrics)?;
        tab.browser.complaints.clear();
        tab.browser.loaded = false;
        tab.call("Page.navigate", json!({"url": url}))?;
        let begin = Instant::now();
        while !tab.browser.loaded {
            tab.browser.receive(begin)?;
        }
        tab.calm()?;
        Ok(tab)
    }

    /// Stops the browser.
    pub(super) fn stop(mut self) -> Result<(), String> {
        // The browser may exit before it answers.
        let _ = self.call(None, "Browser.close", json!({}));
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
        Ok(())
    }

    fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, String> {
        self.next += 1;
        let id = self.next;
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        let sent = self.to.write_all(&bytes).and_then(|()| self.to.flush());
        sent.map_err(|error| format!("{method}: {error}"))?;
        let begin = Instant::now();
        loop {
            let answer = self
                .receive(begin)
                .map_err(|error| format!("{method}: {error}"))?;
            if answer["id"] == id {
                return match answer.get("error") {
                    Some(error) => Err(format!("{method}: {error}")),
                    None => Ok(answer["result"].clone()),
                };
            }
        }
    }

    /// Returns the next message from the browser, and records errors of the page. Waits at most until [`PATIENCE`]
    /// after `begin`.
    fn receive(&mut self, begin: Instant) -> Result<Value, String> {
        let left = PATIENCE.saturating_sub(begin.elapsed());
        let message = self.from.recv_timeout(left);
        let message = message.map_err(|_| "no answer from the browser".to_string())?;
        let params = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "Page.loadEventFired" => self.loaded = true,
            "Runtime.exceptionThrown" => {
                self.complaints
                    .push(format!("exception: {}", params["exceptionDetails"]));
            }
            "Runtime.consoleAPICalled" if params["type"] == "error" => {
                self.complaints.push(format!("console: {}", params["args"]));
            }
            "Log.entryAdded" if params["entry"]["level"] == "error" => {
                self.complaints
                    .push(format!("log: {}", params["entry"]["text"]));
            }
            "Network.requestWillBeSent" => {
                let url = params["request"]["url"].as_str().unwrap_or_default();
                // Allowed are the page itself, embedded data, workers made from the page, and its server.
                let server = self.server.as_deref();
                let is_own = server.is_some_and(|server| url.starts_with(server));
                let is_embedded = url.starts_with("data:") || url.starts_with("blob:");
                if params["type"] != "Document" && !is_embedded && !is_own {
                    self.complaints.push(format!("request: {url}"));
                }
            }
            _ => {}
        }
        Ok(message)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The process may have ended already, so errors are ignored.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Open page.
pub(super) struct Tab<'a> {
    browser: &'a mut Browser,
    target: String,
    session: String,
}

impl Tab<'_> {
    fn call(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let session = self.session.clone();
        self.browser.call(Some(&session), method, params)
    }

    /// Evaluates an expression in the page.
    pub(super) fn value(&mut self, script: &str) -> Result<Value, String> {
        let params = json!({"expression": script, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", params)?;
        match answer.get("exceptionDetails") {
            Some(error) => Err(format!("{script}: {}", error["exception"]["description"])),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    pub(super) fn number(&mut self, script: &str) -> Result<f64, String> {
        let value = self.value(script)?;
        value
            .as_f64()
            .ok_or(format!("{script} is {value}, no number"))
    }

    pub(super) fn text(&mut self, script: &str) -> Result<String, String> {
        let value = self.value(script)?;
        let text = value.as_str().map(String::from);
        text.ok_or(format!("{script} is {value}, no text"))
    }

    /// Checks that an expression is true in the page.
    pub(super) fn expect(&mut self, script: &str) -> Result<(), String> {
        match self.value(script)? {
            Value::Bool(true) => Ok(()),
            other => Err(format!("expected, but {other}: {script}")),
        }
    }

    /// Waits until two animation frames are drawn.
    pub(super) fn calm(&mut self) -> Result<(), String> {
        let wait = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))";
        self.value(wait).map(|_| ())
    }

    /// Clicks on the middle of an element with simulated mouse events.
    pub(super) fn click(&mut self, selector: &str) -> Result<(), String> {
        let at = self.middle(selector)?;
        self.mouse("mouseMoved", at)?;
        self.mouse("mousePressed", at)?;
        self.mouse("mouseReleased", at)?;
        self.calm()
    }

    /// Clicks on a position of an element, given as fractions of its width and height.
    pub(super) fn click_at(&mut self, selector: &str, share: [f64; 2]) -> Result<(), String> {
        let at = self.place(selector, share)?;
        self.mouse("mouseMoved", at)?;
        self.mouse("mousePressed", at)?;
        self.mouse("mouseReleased", at)?;
        self.calm()
    }

    /// Moves the pointer to a position of an element, given as fractions of its width and height.
    pub(super) fn hover(&mut self, selector: &str, share: [f64; 2]) -> Result<(), String> {
        let at = self.place(selector, share)?;
        self.mouse("mouseMoved", at)?;
        self.calm()
    }

    /// Drags from one position of an element to another.
    pub(super) fn drag(
        &mut self,
        selector: &str,
        from: [f64; 2],
        to: [f64; 2],
    ) -> Result<(), String> {
        let from = self.place(selector, from)?;
        self.mouse("mouseMoved", from)?;
        self.mouse("mousePressed", from)?;
        let to = self.place(selector, to)?;
        self.mouse("mouseMoved", to)?;
        self.mouse("mouseReleased", to)?;
        self.calm()
    }

    fn mouse(&mut self, kind: &str, [x, y]: [f64; 2]) -> Result<(), String> {
        let held = i32::from(kind != "mouseMoved");
        let params = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": held});
        self.call("Input.dispatchMouseEvent", params).map(|_| ())
    }

    fn middle(&mut self, selector: &str) -> Result<[f64; 2], String> {
        self.place(selector, [0.5, 0.5])
    }

    fn place(&mut self, selector: &str, share: [f64; 2]) -> Result<[f64; 2], String> {
        let name = json!(selector);
        let script = format!(
            "(() => {{ const e = document.querySelector({name}); if (!e) return null;
            const all = e.getBoundingClientRect();
            if (all.top < 0 || all.top + {1} * all.height > innerHeight - 4) e.scrollIntoView({{block: 'center'}});
            const x = all.left + {0} * all.width;
            if (x < 0 || x > innerWidth) e.scrollIntoView({{block: 'nearest', inline: 'center'}});
            const r = e.getBoundingClientRect();
            return [r.left + {0} * r.width, r.top + {1} * r.height]; }})()",
            share[0], share[1]
        );
        let place = self.value(&script)?;
        match (place[0].as_f64(), place[1].as_f64()) {
            (Some(x), Some(y)) => Ok([x, y]),
            _ => Err(format!("there is no {selector}")),
        }
    }

    /// Emulates a medium: `print` or the screen.
    pub(super) fn media(&mut self, media: &str) -> Result<(), String> {
        self.call("Emulation.setEmulatedMedia", json!({"media": media}))?;
        self.calm()
    }

    /// Presses a key.
    pub(super) fn key(&mut self, key: &str) -> Result<(), String> {
        let code = match key {
            "Enter" => 13,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let mut params = json!({"type": "keyDown", "key": key, "windowsVirtualKeyCode": code});
        if key.chars().count() == 1 {
            params["text"] = json!(key);
        }
        self.call("Input.dispatchKeyEvent", params)?;
        let params = json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code});
        self.call("Input.dispatchKeyEvent", params)?;
        self.calm()
    }

    /// Takes a screenshot of the whole page, for visual inspection.
    pub(super) fn shot(&mut self, path: &Path) -> Result<(), String> {
        let size = self.value(
            "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]",
        )?;
        let height = size[1].as_f64().unwrap_or(900.0).min(6000.0);
        let clip = json!({"x": 0, "y": 0, "width": size[0], "height": height, "scale": 1});
        let params = json!({"captureBeyondViewport": true, "clip": clip});
        let data = text(&self.call("Page.captureScreenshot", params)?, "data")?;
        let bytes = STANDARD.decode(data).map_err(|error| error.to_string())?;
        std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Reloads the page at its current address.
    pub(super) fn reload(&mut self) -> Result<(), String> {
        self.browser.loaded = false;
        self.call("Page.reload", json!({}))?;
        let begin = Instant::now();
        while !self.browser.loaded {
            self.browser.receive(begin)?;
        }
        self.calm()
    }

    /// Waits until an expression is true, at most 60 s.
    pub(super) fn wait(&mut self, script: &str) -> Result<(), String> {
        let poll = format!(
            "new Promise((done) => {{ const begin = Date.now(); const look = () => {{
            let is = false; try {{ is = Boolean({script}); }} catch (error) {{ is = false; }}
            if (is || Date.now() - begin > 60000) done(is); else setTimeout(look, 50); }}; look(); }})"
        );
        match self.value(&poll)? {
            Value::Bool(true) => Ok(()),
            _ => Err(format!("waited in vain for {script}")),
        }
    }

    /// Discards errors that contain `part`, which a check caused on purpose.
    pub(super) fn forgive(&mut self, part: &str) {
        self.browser.complaints.retain(|one| !one.contains(part));
    }

    /// Returns the errors and unexpected requests of the page so far.
    pub(super) fn complaints(&self) -> &[String] {
        &self.browser.complaints
    }

    /// Closes the page. Returns an error if the page had errors.
    pub(super) fn close(self) -> Result<(), String> {
        let params = json!({"targetId": self.target});
        self.browser.call(None, "Target.closeTarget", params)?;
        if self.browser.complaints.is_empty() {
            Ok(())
        } else {
            Err(self.browser.complaints.join("; "))
        }
    }
}

fn text(value: &Value, name: &str) -> Result<String, String> {
    let found = value[name].as_str().map(String::from);
    found.ok_or(format!("the browser answered without {name}"))
}
