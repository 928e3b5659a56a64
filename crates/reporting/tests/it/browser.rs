//! A headless Chromium, driven over a pipe by the DevTools protocol: no port, no download, and no
//! crate beyond JSON.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// How long a hung browser is waited for; one that works answers long before.
const PATIENCE: Duration = Duration::from_secs(120);

/// What was asked, or what is not there, and why it has no answer.
pub(crate) type Answer<T> = Result<T, String>;

/// The browser of this machine: `CHROMIUM` if that is set, else the first on the path.
pub(crate) fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROMIUM").filter(|name| !name.is_empty()) {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|candidate| candidate.is_file())
}

/// One browser with one page.
pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: Option<String>,
    asked: u64,
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts `program` with an empty page.
    pub(crate) fn start(program: &Path) -> Answer<Self> {
        let absent = |why: String| format!("{}: no browser: {why}", program.display());
        if !program.is_file() {
            return Err(absent("there is no such file".into()));
        }
        let profile = tempfile::tempdir().map_err(|e| absent(e.to_string()))?;
        // The browser speaks on descriptors 3 and 4; only a shell can move ours there safely.
        let mut child = Command::new("sh")
            .arg("-c")
            .arg("exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null")
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| absent(e.to_string()))?;
        let (Some(to), Some(out)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(absent("its pipes are missing".into()));
        };
        let (sender, from) = channel();
        // Ends with the browser, which closes the pipe.
        std::thread::spawn(move || {
            for message in BufReader::new(out).split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else {
                    break;
                };
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self {
            child,
            to,
            from,
            session: None,
            asked: 0,
            events: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))?;
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", target)?;
        browser.session = attached["sessionId"].as_str().map(str::to_string);
        for domain in ["Page", "Network", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}))?;
        }
        Ok(browser)
    }

    /// Asks the browser, and waits for the answer.
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Answer<Value> {
        self.asked += 1;
        let id = self.asked;
        let mut question = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            question["sessionId"] = json!(session);
        }
        let question = format!("{question}\0");
        let sent = self.to.write_all(question.as_bytes());
        sent.and_then(|()| self.to.flush())
            .map_err(|why| gone(method, why))?;
        loop {
            let message = self.from.recv_timeout(PATIENCE);
            let message = message.map_err(|why| gone(method, why))?;
            if message["id"] == json!(id) {
                return match message.get("error") {
                    Some(error) => Err(format!("{method}: {error}")),
                    None => Ok(message["result"].clone()),
                };
            }
            self.events.push(message);
        }
    }

    /// Opens a page, and waits until all of it is there.
    pub(crate) fn open(&mut self, page: &Path) -> Answer<()> {
        self.events.clear();
        let address = format!("file://{}", page.display());
        self.call("Page.navigate", json!({"url": address}))?;
        while !self
            .events
            .iter()
            .any(|e| e["method"] == "Page.loadEventFired")
        {
            let event = self.from.recv_timeout(PATIENCE);
            self.events.push(event.map_err(|why| gone(&address, why))?);
        }
        Ok(())
    }

    /// Shows the page on a screen of so many pixels and in a colour scheme.
    pub(crate) fn look(&mut self, width: u32, scheme: &str) -> Answer<()> {
        let screen =
            json!({"width": width, "height": 844, "deviceScaleFactor": 2, "mobile": width < 500});
        self.call("Emulation.setDeviceMetricsOverride", screen)?;
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        self.call("Emulation.setEmulatedMedia", json!({"features": [feature]}))?;
        Ok(())
    }

    /// The value of an expression in the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Answer<Value> {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", asked)?;
        match answer.get("exceptionDetails") {
            Some(thrown) => Err(format!("{expression}: {thrown}")),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// Addresses asked for since the page was opened.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.events("Network.requestWillBeSent", "/params/request/url")
    }

    /// What the browser complained of since the page was opened.
    pub(crate) fn complaints(&self) -> Vec<String> {
        self.events("Log.entryAdded", "/params/entry/text")
    }

    fn events(&self, method: &str, what: &str) -> Vec<String> {
        let events = self.events.iter().filter(|event| event["method"] == method);
        let texts = events.map(|event| event.pointer(what).and_then(Value::as_str));
        texts.map(|text| text.unwrap_or_default().into()).collect()
    }

    /// Ends the browser's process at once, as a crash would.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn gone(method: &str, why: impl std::fmt::Display) -> String {
    format!("the browser went away during {method}: {why}")
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.kill();
    }
}
