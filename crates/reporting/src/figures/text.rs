//! Text in pictures, by a font that the program carries: no font of the machine is needed.
//!
//! The font is Ubuntu Light (Ubuntu Font Licence 1.0) from the crate `epaint_default_fonts`.

use std::sync::OnceLock;

use ab_glyph::{Font, FontRef, PxScale, ScaleFont, point};
use epaint_default_fonts::UBUNTU_LIGHT;
use plotters::style::register_font;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{BackendColor, BackendCoord, BackendTextStyle, FontStyle};

use crate::diagnostic::Failure;

/// plotters gives the height of a line of text; an em is this much smaller.
const LINE_OF_EM: f64 = 1.24;
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
///
/// # Errors
///
/// [`Failure::Failed`] where the font cannot be read.
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

/// Draws a line of text pixel by pixel, placed like the SVG backend places it.
pub(super) fn draw<T: BackendTextStyle, E>(
    text: &str,
    style: &T,
    at: BackendCoord,
    mut pixel: impl FnMut(BackendCoord, BackendColor) -> Result<(), E>,
) -> Result<(), E> {
    let Some(font) = font() else { return Ok(()) };
    let em = (style.size() / LINE_OF_EM) as f32;
    let scaled = font.as_scaled(scale(font, em));
    let mut x = match style.anchor().h_pos {
        HPos::Left => 0.0,
        HPos::Center => -0.5 * width(text, em),
        HPos::Right => -width(text, em),
    };
    // An ex is half an em.
    let baseline = match style.anchor().v_pos {
        VPos::Top => 0.76 * em,
        VPos::Center => 0.25 * em,
        VPos::Bottom => -0.25 * em,
    };
    let turn = style.transform();
    let colour = style.color();
    let mut last = None;
    for c in text.chars() {
        let glyph = scaled.glyph_id(c);
        x += last.map_or(0.0, |last| scaled.kern(last, glyph));
        let placed = glyph.with_scale_and_position(scaled.scale(), point(x, baseline));
        x += scaled.h_advance(glyph);
        last = Some(glyph);
        let Some(outline) = font.outline_glyph(placed) else {
            continue;
        };
        let corner = outline.px_bounds().min;
        let mut failed = Ok(());
        outline.draw(|column, row, coverage| {
            if failed.is_ok() && coverage > 0.0 {
                let (dx, dy) = (
                    corner.x as i32 + column as i32,
                    corner.y as i32 + row as i32,
                );
                let (dx, dy) = turn.transform(dx, dy);
                let shade = BackendColor {
                    alpha: colour.alpha * f64::from(coverage.min(1.0)),
                    rgb: colour.rgb,
                };
                failed = pixel((at.0 + dx, at.1 + dy), shade);
            }
        });
        failed?;
    }
    Ok(())
}
