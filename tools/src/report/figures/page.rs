//! One page of figures, with the pictures inside.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reporting::diagnostic::Failure;

use super::charts::Chart;
use super::runs::{FairRun, distinct};

const HEAD: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
content=\"width=device-width,initial-scale=1\"><style>\
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:1rem auto;max-width:75rem;\
padding:0 1rem}img{max-width:100%;height:auto;background:#fff}.scroll{overflow-x:auto}\
td,th{padding:.25rem;text-align:center}figure{display:inline-block;margin:.5rem;max-width:30rem}\
figure.wide{max-width:100%}\
</style>";

/// The whole page.
pub(super) fn page(title: &str, sections: &[String]) -> String {
    let sections = sections.concat();
    format!("{HEAD}<title>{title}</title><h1>{title}</h1>{sections}</html>\n")
}

/// Charts with their captions.
pub(super) fn charts(charts: &[Chart]) -> String {
    let mut text = String::new();
    for chart in charts {
        let wide = if chart.file.ends_with("panels.svg") {
            " class=\"wide\""
        } else {
            ""
        };
        let _ = write!(
            text,
            "<figure{wide}>{}<figcaption>{}</figcaption></figure>",
            picture(&chart.bytes, &chart.caption),
            chart.caption
        );
    }
    text
}

/// The part of one task: its charts, then the outputs by group, a row a budget and a column a weight.
pub(super) fn section(kind: &str, runs: &[&FairRun], charts: &[Chart]) -> Result<String, Failure> {
    let mut text = format!("<h2>{kind}</h2>{}", self::charts(charts));
    let seed = runs.iter().map(|r| r.seed).min().unwrap_or(0);
    let plain: Vec<&&FairRun> = runs
        .iter()
        .filter(|r| r.seed == seed && r.is_plain())
        .collect();
    let alphas = distinct(plain.iter().map(|r| r.alpha));
    let _ = write!(text, "<div class=\"scroll\"><table><tr><th></th>");
    for alpha in &alphas {
        let _ = write!(text, "<th>alpha {alpha}</th>");
    }
    for budget in distinct(plain.iter().map(|r| r.budget())) {
        let _ = write!(text, "</tr><tr><th>{budget}</th>");
        for &alpha in &alphas {
            let run = plain
                .iter()
                .find(|r| r.alpha == alpha && r.budget() == budget);
            let _ = write!(text, "<td>");
            if let Some(run) = run {
                for name in ["group.svg", "group-class-1.svg"] {
                    let path = run.folder.join(name);
                    if path.exists() {
                        let bytes = std::fs::read(&path)
                            .map_err(|e| Failure::failed(format!("{}: {e}", path.display())))?;
                        let caption = format!("{kind}, {budget}, alpha {alpha}");
                        text.push_str(&picture(&bytes, &caption));
                    }
                }
                text.push_str(&line(run));
            }
            let _ = write!(text, "</td>");
        }
    }
    text.push_str("</tr></table></div>");
    Ok(text)
}

/// The numbers under a picture, as Rodriguez-Vitores et al. have them above theirs.
fn line(run: &FairRun) -> String {
    let mut parts = Vec::new();
    for (label, name) in [
        ("loss", "loss"),
        ("W", "penalty"),
        ("ACC", "accuracy"),
        ("DI", "disparate_impact"),
        ("EO0", "eo0"),
        ("EO1", "eo1"),
        ("OD0", "od0"),
        ("OD1", "od1"),
        ("RL_C", "rl_core"),
    ] {
        if let Some(value) = run.score(name) {
            parts.push(format!("{label} {value:.3}"));
        }
    }
    format!("<br><small>{}</small>", parts.join(", "))
}

fn picture(bytes: &[u8], caption: &str) -> String {
    let data = STANDARD.encode(bytes);
    format!("<img alt=\"{caption}\" src=\"data:image/svg+xml;base64,{data}\">")
}
