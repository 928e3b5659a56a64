//! One page of figures, with the pictures inside.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reporting::diagnostic::Failure;
use reporting::report::escaped;

use super::charts::Drawing;
use super::runs::{FairRun, distinct};

const HEAD: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
content=\"width=device-width,initial-scale=1\"><style>\
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:1rem auto;max-width:75rem;\
padding:0 1rem}img{max-width:100%;height:auto;background:#fff}.scroll{overflow-x:auto}\
td,th{padding:.25rem;text-align:center}figure{display:inline-block;margin:.5rem;max-width:30rem}\
</style>";

/// The whole page.
pub(super) fn page(title: &str, sections: &str) -> String {
    format!("{HEAD}<title>{title}</title><h1>{title}</h1>{sections}</html>\n")
}

/// Charts with their captions.
pub(super) fn charts(charts: &[Drawing]) -> String {
    let figure = |chart: &Drawing| {
        let picture = picture(&chart.bytes, &chart.caption);
        let caption = escaped(&chart.caption);
        format!("<figure>{picture}<figcaption>{caption}</figcaption></figure>")
    };
    charts.iter().map(figure).collect()
}

/// The part of one task: its charts, then the outputs by group, a row a budget and a column a weight.
pub(super) fn section(
    kind: &str,
    runs: &[&FairRun],
    charts: &[Drawing],
) -> Result<String, Failure> {
    let mut text = format!("<h2>{}</h2>{}", escaped(kind), self::charts(charts));
    let seed = runs.iter().map(|r| r.seed).min().unwrap_or(0);
    let plain: Vec<&&FairRun> = runs
        .iter()
        .filter(|r| r.seed == seed && r.is_plain())
        .collect();
    let alphas = distinct(plain.iter().map(|r| r.alpha));
    let cells = alphas.iter().map(|alpha| format!("<th>alpha {alpha}</th>"));
    text += "<div class=\"scroll\"><table><tr><th></th>";
    text.extend(cells);
    for budget in distinct(plain.iter().map(|r| r.budget())) {
        text += &format!("</tr><tr><th>{}</th>", escaped(&budget));
        for &alpha in &alphas {
            let here = |r: &&&&FairRun| r.alpha == alpha && r.budget() == budget;
            let caption = format!("{kind}, {budget}, alpha {alpha}");
            text += "<td>";
            if let Some(run) = plain.iter().find(here) {
                text += &cell(run, &caption)?;
            }
            text += "</td>";
        }
    }
    Ok(text + "</tr></table></div>")
}

/// The pictures of a run, and its numbers.
fn cell(run: &FairRun, caption: &str) -> Result<String, Failure> {
    let mut text = String::new();
    for name in ["group.svg", "group-class-1.svg"] {
        let path = run.folder.join(name);
        if path.exists() {
            let bytes = std::fs::read(&path)
                .map_err(|e| Failure::failed(format!("{}: {e}", path.display())))?;
            text += &picture(&bytes, caption);
        }
    }
    Ok(text + &line(run))
}

/// The numbers under a picture, as Rodriguez-Vitores et al. have them above theirs.
fn line(run: &FairRun) -> String {
    let scores = [
        ("loss", "loss"),
        ("W", "penalty"),
        ("ACC", "accuracy"),
        ("DI", "disparate_impact"),
        ("EO0", "eo0"),
        ("EO1", "eo1"),
        ("OD0", "od0"),
        ("OD1", "od1"),
        ("RL_C", "rl_core"),
    ];
    let part = |(label, name)| Some(format!("{label} {:.3}", run.score(name)?));
    let parts: Vec<String> = scores.into_iter().filter_map(part).collect();
    format!("<br><small>{}</small>", parts.join(", "))
}

fn picture(bytes: &[u8], caption: &str) -> String {
    let data = STANDARD.encode(bytes);
    let caption = escaped(caption);
    format!("<img alt=\"{caption}\" src=\"data:image/svg+xml;base64,{data}\">")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_folder_are_text() {
        let drawing = Drawing {
            file: String::new(),
            caption: "\"<b> &".into(),
            bytes: Vec::new(),
        };
        let page = section("<i>", &[], &[drawing]).expect("a section");
        let tags = page
            .replace("&quot;&lt;b&gt; &amp;", "A")
            .replace("&lt;i&gt;", "B");
        assert!(
            tags.starts_with("<h2>B</h2><figure><img alt=\"A\""),
            "{page}"
        );
        assert!(tags.contains("<figcaption>A</figcaption>"), "{page}");
    }
}
