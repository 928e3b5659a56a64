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

/// Why the browser could not be asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BrowserError {
    /// There is none to start.
    #[error("{program}: no browser could be started: {reason}")]
    Absent {
        /// What was tried.
        program: String,
        /// Why it did not start.
        reason: String,
    },
    /// It ended, or stopped answering.
    #[error("the browser went away during {method}: {reason}")]
    Gone {
        /// What was asked.
        method: String,
        /// What happened.
        reason: String,
    },
    /// It refused.
    #[error("the browser refused {method}: {reason}")]
    Refused {
        /// What was asked.
        method: String,
        /// Its answer.
        reason: String,
    },
}

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
    pub(crate) fn start(program: &Path) -> Result<Self, BrowserError> {
        let absent = |reason: String| BrowserError::Absent {
            program: program.display().to_string(),
            reason,
        };
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
        let attached = browser.call(
            "Target.attachToTarget",
            json!({"targetId": target["targetId"], "flatten": true}),
        )?;
        browser.session = attached["sessionId"].as_str().map(str::to_string);
        for domain in ["Page", "Network", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}))?;
        }
        Ok(browser)
    }

    /// Asks the browser, and waits for the answer.
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Result<Value, BrowserError> {
        let gone = |reason: String| BrowserError::Gone {
            method: method.to_string(),
            reason,
        };
        self.asked += 1;
        let id = self.asked;
        let mut question = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            question["sessionId"] = json!(session);
        }
        self.to
            .write_all(format!("{question}\0").as_bytes())
            .and_then(|()| self.to.flush())
            .map_err(|e| gone(e.to_string()))?;
        loop {
            let message = self
                .from
                .recv_timeout(PATIENCE)
                .map_err(|e| gone(e.to_string()))?;
            if message["id"] == json!(id) {
                if let Some(error) = message.get("error") {
                    return Err(BrowserError::Refused {
                        method: method.to_string(),
                        reason: error.to_string(),
                    });
                }
                return Ok(message["result"].clone());
            }
            self.events.push(message);
        }
    }

    /// Opens a page for a screen of so many pixels and a colour scheme, and waits until all of it is
    /// there.
    pub(crate) fn open(
        &mut self,
        page: &Path,
        width: u32,
        scheme: &str,
    ) -> Result<(), BrowserError> {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": 844, "deviceScaleFactor": 2, "mobile": width < 500}),
        )?;
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        self.call("Emulation.setEmulatedMedia", json!({"features": [feature]}))?;
        self.events.clear();
        let address = format!("file://{}", page.display());
        self.call("Page.navigate", json!({"url": address}))?;
        while !self
            .events
            .iter()
            .any(|e| e["method"] == "Page.loadEventFired")
        {
            let event = self
                .from
                .recv_timeout(PATIENCE)
                .map_err(|e| BrowserError::Gone {
                    method: format!("loading {address}"),
                    reason: e.to_string(),
                })?;
            self.events.push(event);
        }
        Ok(())
    }

    /// The value of an expression in the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Result<Value, BrowserError> {
        let answer = self.call(
            "Runtime.evaluate",
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true}),
        )?;
        if let Some(thrown) = answer.get("exceptionDetails") {
            return Err(BrowserError::Refused {
                method: expression.to_string(),
                reason: thrown.to_string(),
            });
        }
        Ok(answer["result"]["value"].clone())
    }

    /// Addresses asked for since the page was opened.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.events("Network.requestWillBeSent", |event| {
            event["params"]["request"]["url"].clone()
        })
    }

    /// What the browser complained of since the page was opened.
    pub(crate) fn complaints(&self) -> Vec<String> {
        self.events("Log.entryAdded", |event| {
            event["params"]["entry"]["text"].clone()
        })
    }

    fn events(&self, method: &str, what: impl Fn(&Value) -> Value) -> Vec<String> {
        let events = self.events.iter().filter(|event| event["method"] == method);
        events
            .map(|event| what(event).as_str().unwrap_or_default().to_string())
            .collect()
    }

    /// Ends the browser's process at once, as a crash would.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.kill();
    }
}
