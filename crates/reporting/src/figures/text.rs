//! The width of text in pictures, by a font that the program carries: no font of the machine is needed.
//!
//! The font is Ubuntu Light (Ubuntu Font Licence 1.0) from the crate `epaint_default_fonts`.

use std::sync::OnceLock;

use ab_glyph::{Font, FontRef, PxScale, ScaleFont};
use epaint_default_fonts::UBUNTU_LIGHT;
use plotters::style::{FontStyle, register_font};

use crate::diagnostic::Failure;

/// The family that SVG names, and that the font is known by.
pub(super) const FAMILY: &str = "sans-serif";

static FONT: OnceLock<Option<FontRef<'static>>> = OnceLock::new();

fn font() -> Option<&'static FontRef<'static>> {
    FONT.get_or_init(|| {
        // plotters keeps its own copy, to measure by.
        register_font(FAMILY, FontStyle::Normal, UBUNTU_LIGHT).ok()?;
        FontRef::try_from_slice(UBUNTU_LIGHT).ok()
    })
    .as_ref()
}

/// Makes the font known.
pub(super) fn register() -> Result<(), Failure> {
    match font() {
        Some(_) => Ok(()),
        None => Err(Failure::failed("the font of the pictures cannot be read")),
    }
}

fn scale(font: &FontRef<'_>, em: f32) -> PxScale {
    let units = font.units_per_em().unwrap_or(1000.0);
    PxScale::from(em * font.height_unscaled() / units)
}

/// Width of a line of text of size `em`, in the units of `em`.
pub(super) fn width(text: &str, em: f32) -> f32 {
    let Some(font) = font() else {
        return em * text.chars().count() as f32;
    };
    let scaled = font.as_scaled(scale(font, em));
    let mut last = None;
    let mut width = 0.0;
    for c in text.chars() {
        let glyph = scaled.glyph_id(c);
        width += scaled.h_advance(glyph) + last.map_or(0.0, |last| scaled.kern(last, glyph));
        last = Some(glyph);
    }
    width
}

/// `text` in lines of at most `most` units, broken between words.
pub(super) fn wrapped(text: &str, em: f32, most: f32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), em) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}
