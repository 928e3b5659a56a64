//! The pages in a real browser: they render whole, fit a telephone, ask for nothing, and follow the
//! reader's colour scheme. Where there is no browser the tests say so and pass; set `CHROMIUM` to a
//! browser to insist on it.

use std::fs;

use crate::browser::{Browser, program};
use crate::report::pages;
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

/// Boxes that scroll by themselves and can be reached without a mouse.
const SCROLLING: &str = "[...document.querySelectorAll('.scroll, pre')].filter(e => \
    e.scrollWidth > e.clientWidth && e.tabIndex === 0).length";

fn numbers(browser: &mut Browser, expression: &str) -> Vec<f64> {
    let value = browser.evaluate(expression).expect("evaluated");
    let items = value.as_array().expect("a list");
    items
        .iter()
        .map(|item| item.as_f64().unwrap_or(f64::NAN))
        .collect()
}

fn check(browser: &mut Browser, place: &str, width: u32, scheme: &str) {
    browser.look(width, scheme).expect("shown");
    let pictures = browser.evaluate(PICTURES).expect("evaluated");
    let pictures = pictures.as_array().expect("a list");
    assert!(!pictures.is_empty(), "{place}: no picture");
    for picture in pictures {
        assert_eq!(picture[0], true, "{place}: {picture}");
        let sizes = (1..5).map(|size| picture[size].as_f64());
        assert!(sizes.min_by(|a, b| a.partial_cmp(b).expect("numbers")) > Some(Some(0.0)));
    }
    let widths = numbers(browser, WIDTHS);
    let fits = widths[..2].iter().all(|&w| w <= f64::from(width));
    assert!(fits, "{place}: content of {widths:?}");
    let back = numbers(browser, BACKGROUND);
    let bright = back.iter().sum::<f64>() / 3.0;
    let dark = scheme == "dark";
    assert!(
        if dark { bright < 60.0 } else { bright > 220.0 },
        "{place}: {back:?}"
    );
    let worst = browser.evaluate(CONTRAST).expect("evaluated");
    assert!(worst[0].as_f64() >= Some(4.5), "{place}: contrast {worst}");
}

/// Each page is opened once, and looked at on every screen.
#[test]
fn pages_render_whole_on_any_screen() {
    let Some(mut browser) = browser() else {
        return;
    };
    let root = tempfile::tempdir().expect("a folder");
    for page in pages(root.path()) {
        let own = format!("file://{}", page.display());
        browser.open(&page).expect("opened");
        for width in [TELEPHONE, 1200] {
            for scheme in ["light", "dark"] {
                let place = format!("{own} at {width} px, {scheme}");
                check(&mut browser, &place, width, scheme);
                let scrolling = browser.evaluate(SCROLLING).expect("evaluated");
                assert!(
                    width > TELEPHONE || scrolling.as_u64() >= Some(1),
                    "{place}"
                );
            }
        }
        for request in browser.requests() {
            assert!(
                request == own || request.starts_with("data:image/"),
                "{request}"
            );
        }
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{own}");
        assert_eq!(browser.evaluate("document.scripts.length"), Ok(0.into()));
        let printed = browser.call("Page.printToPDF", serde_json::json!({}));
        let printed = printed.expect("printed");
        // Base64 of "%PDF".
        let pdf = printed["data"].as_str().unwrap_or_default();
        assert!(pdf.starts_with("JVBERi") && pdf.len() > 10_000);
    }
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
    browser.look(TELEPHONE, "dark").expect("shown");
    browser.open(&page).expect("opened");
    assert!(numbers(&mut browser, WIDTHS)[0] > f64::from(TELEPHONE));
    let pictures: Value = browser.evaluate(PICTURES).expect("evaluated");
    assert_eq!(pictures[0][1], 0);
    let requests = browser.requests();
    assert!(requests.iter().any(|r| r.ends_with("missing.png")));
    assert!(browser.evaluate(CONTRAST).expect("evaluated")[0].as_f64() < Some(4.5));
}

/// Reports are made without the browser: its absence or death costs the look at them alone.
#[test]
fn a_browser_that_dies_or_is_not_there_is_an_error() {
    let root = tempfile::tempdir().expect("a folder");
    // A program that is no browser ends without an answer.
    for (program, says) in [
        (root.path().join("no-browser"), "no such file"),
        ("/bin/true".into(), "went away"),
    ] {
        let refused = Browser::start(&program).err().expect("refused");
        assert!(refused.contains(says), "{refused}");
    }
    let Some(mut browser) = browser() else {
        return;
    };
    let page = pages(root.path()).remove(0);
    let before = fs::read(&page).expect("readable");
    browser.open(&page).expect("opened");
    browser.kill();
    let gone = browser.open(&page).expect_err("it is dead");
    assert!(gone.contains("went away"), "{gone}");
    let again = write(page.parent().expect("a folder")).expect("rebuilt");
    assert_eq!(fs::read(again).expect("readable"), before);
}
