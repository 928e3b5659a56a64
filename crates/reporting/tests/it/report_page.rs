//! The pages in a real browser: they render whole, fit a telephone, ask for nothing, and follow the
//! reader's colour scheme. Where there is no browser the tests say so and pass; set `CHROMIUM` to a
//! browser to insist on it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::browser::{Browser, BrowserError, program};
use crate::runs;
use reporting::report::write;
use serde_json::Value;

/// The width of a telephone, in CSS pixels.
const TELEPHONE: u32 = 390;

/// A browser, or `None` where this machine has none and none was asked for.
fn browser() -> Option<Browser> {
    let Some(program) = program() else {
        test_support::skipped("browser", "install chromium, or set CHROMIUM");
        return None;
    };
    Some(Browser::start(&program).expect("the browser starts"))
}

/// One page of each kind: a finished run, a run that was cut off.
fn pages(root: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for (name, epsilon, score) in [("one", 1.0, 130.0), ("two", 10.0, 120.0)] {
        let run = runs::finished(3, epsilon, score);
        let folder = runs::write(&root.join("swae").join(name), Some(&run));
        pages.push(write(&folder).expect("a page"));
    }
    let cut = runs::write(&root.join("swae/a-run-that-was-cut-off"), None);
    pages.push(write(&cut).expect("a page"));
    pages
}

/// Smallest contrast (WCAG 2) between a text and what lies behind it, and that text.
const CONTRAST: &str = r#"(() => {
  const rgb = c => c.match(/[\d.]+/g).map(Number);
  const lin = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const lum = c => 0.2126 * lin(c[0]) + 0.7152 * lin(c[1]) + 0.0722 * lin(c[2]);
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0.99) return c;
    }
    return [255, 255, 255];
  };
  let worst = [99, ""];
  for (const e of document.querySelectorAll("main *")) {
    const text = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join("").trim();
    if (!text) continue;
    const [a, b] = [lum(rgb(getComputedStyle(e).color)), lum(behind(e))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < worst[0]) worst = [contrast, text];
  }
  return worst;
})()"#;

const PICTURES: &str = "[...document.images].map(i => \
    [i.complete, i.naturalWidth, i.naturalHeight, i.getBoundingClientRect().width, i.alt.length])";

/// Width of the page's content and of the screen.
const WIDTHS: &str =
    "[document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]";

const BACKGROUND: &str =
    "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)";

fn numbers(value: &Value) -> Vec<f64> {
    let items = value.as_array().expect("a list");
    items
        .iter()
        .map(|item| item.as_f64().unwrap_or(f64::NAN))
        .collect()
}

fn check(browser: &mut Browser, page: &Path, width: u32, scheme: &str) -> Result<(), BrowserError> {
    let place = format!("{} at {width} px, {scheme}", page.display());
    browser.open(page, width, scheme)?;

    let pictures = browser.evaluate(PICTURES)?;
    let pictures = pictures.as_array().expect("a list");
    assert!(!pictures.is_empty(), "{place}: no picture");
    for picture in pictures {
        assert_eq!(picture[0], true, "{place}: {picture}");
        for size in 1..5 {
            assert!(picture[size].as_f64() > Some(0.0), "{place}: {picture}");
        }
    }

    let widths = numbers(&browser.evaluate(WIDTHS)?);
    assert!(
        widths[0] <= f64::from(width) && widths[1] <= f64::from(width),
        "{place}: content of {widths:?}"
    );

    let own = format!("file://{}", page.display());
    for request in browser.requests() {
        assert!(
            request == own || request.starts_with("data:image/"),
            "{place} asked for {request}"
        );
    }
    assert_eq!(browser.complaints(), Vec::<String>::new(), "{place}");
    assert_eq!(browser.evaluate("document.scripts.length")?, 0, "{place}");

    let back = numbers(&browser.evaluate(BACKGROUND)?);
    let bright = back.iter().sum::<f64>() / 3.0;
    match scheme {
        "dark" => assert!(bright < 60.0, "{place}: {back:?}"),
        _ => assert!(bright > 220.0, "{place}: {back:?}"),
    }
    let worst = browser.evaluate(CONTRAST)?;
    assert!(worst[0].as_f64() >= Some(4.5), "{place}: contrast {worst}");
    Ok(())
}

#[test]
fn pages_render_whole_on_any_screen() {
    let Some(mut browser) = browser() else {
        return;
    };
    let root = tempfile::tempdir().expect("a folder");
    for page in pages(root.path()) {
        for width in [TELEPHONE, 1200] {
            for scheme in ["light", "dark"] {
                check(&mut browser, &page, width, scheme).expect("the browser answers");
            }
        }
        let printed = browser
            .call("Page.printToPDF", serde_json::json!({}))
            .expect("printed");
        // Base64 of "%PDF".
        let pdf = printed["data"].as_str().unwrap_or_default();
        assert!(pdf.starts_with("JVBERi") && pdf.len() > 10_000);
    }
}

#[test]
fn wide_tables_scroll_in_their_own_box() {
    let Some(mut browser) = browser() else {
        return;
    };
    let root = tempfile::tempdir().expect("a folder");
    let page = pages(root.path()).remove(0);
    let mut scrolling = |width: u32| -> Value {
        browser.open(&page, width, "light").expect("opened");
        browser
            .evaluate(
                "[...document.querySelectorAll('.scroll, pre')].filter(e => \
                 e.scrollWidth > e.clientWidth && e.tabIndex === 0).length",
            )
            .expect("evaluated")
    };
    assert!(scrolling(TELEPHONE).as_u64() >= Some(2));
    let faces = browser
        .evaluate("getComputedStyle(document.querySelector('.box.private')).borderTopStyle")
        .expect("evaluated");
    assert_eq!(faces, "solid");
}

/// The checks above can fail: a page that breaks each rule is caught.
#[test]
fn a_page_that_breaks_the_rules_is_caught() {
    let Some(mut browser) = browser() else {
        return;
    };
    let root = tempfile::tempdir().expect("a folder");
    let page = root.path().join("bad.html");
    let html = "<!doctype html><meta name=viewport content='width=device-width'><body><main>\
        <div style='width:800px;color:#ccc;background:#fff'>pale</div>\
        <img src='missing.png' alt=x></main></body>";
    fs::write(&page, html).expect("written");
    browser.open(&page, TELEPHONE, "dark").expect("opened");
    let widths = numbers(&browser.evaluate(WIDTHS).expect("evaluated"));
    assert!(widths[0] > f64::from(TELEPHONE));
    let pictures = browser.evaluate(PICTURES).expect("evaluated");
    assert_eq!(pictures[0][1], 0);
    assert!(
        browser
            .requests()
            .iter()
            .any(|r| r.ends_with("missing.png"))
    );
    assert!(browser.evaluate(CONTRAST).expect("evaluated")[0].as_f64() < Some(4.5));
}

/// Reports are made without the browser: its absence or death costs the look at them alone.
#[test]
fn a_browser_that_dies_or_is_not_there_is_an_error() {
    let root = tempfile::tempdir().expect("a folder");
    let absent = Browser::start(&root.path().join("no-browser"))
        .err()
        .expect("refused");
    let message = absent.to_string();
    assert!(
        message.contains("no-browser") && message.contains("no such file"),
        "{message}"
    );
    // A program that is no browser ends without an answer.
    let gone = Browser::start(Path::new("/bin/true"))
        .err()
        .expect("refused");
    assert!(gone.to_string().contains("went away"), "{gone}");

    let Some(mut browser) = browser() else {
        return;
    };
    let page = pages(root.path()).remove(0);
    let before = fs::read(&page).expect("readable");
    browser.open(&page, 800, "light").expect("opened");
    browser.kill();
    let gone = browser.open(&page, 800, "light").expect_err("it is dead");
    assert!(matches!(gone, BrowserError::Gone { .. }), "{gone}");
    assert!(gone.to_string().contains("went away"), "{gone}");
    assert_eq!(fs::read(&page).expect("readable"), before);
    let again = write(page.parent().expect("a folder")).expect("rebuilt");
    assert_eq!(fs::read(again).expect("readable"), before);
}
