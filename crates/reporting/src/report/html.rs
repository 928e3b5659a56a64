//! HTML from templates; all values that are put into a template are escaped.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use crate::diagnostic::Failure;

const TEMPLATES: [(&str, &str); 3] = [
    (
        "figures.html.jinja",
        include_str!("templates/figures.html.jinja"),
    ),
    (
        "layout.html.jinja",
        include_str!("templates/layout.html.jinja"),
    ),
    ("run.html.jinja", include_str!("templates/run.html.jinja")),
];

/// Fills the template called `name` with `content`.
pub(super) fn render(name: &str, content: &impl Serialize) -> Result<String, Failure> {
    let broken = |error: minijinja::Error| Failure::failed(format!("{name}: {error:#}"));
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true);
    environment.set_syntax(syntax.build().map_err(broken)?);
    for (name, text) in TEMPLATES {
        environment.add_template(name, text).map_err(broken)?;
    }
    let template = environment.get_template(name).map_err(broken)?;
    template.render(Serde(content)).map_err(broken)
}

/// Escapes a text for HTML, between tags and in attributes.
pub fn escaped(text: &str) -> String {
    minijinja::HtmlEscape(text).to_string()
}
