//! The surface that charts are drawn on: SVG in memory.

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::style::WHITE;

use super::text;
use crate::diagnostic::Failure;

/// Units of the surface for one pixel of a figure's nominal size. The backend counts in whole units,
/// so curves are as smooth as this number is large.
pub(super) const UNIT: u32 = 4;
/// Most nominal pixels of a figure, so that a slip in a size cannot ask for all memory.
const MOST_PIXELS: u32 = 4_000_000;

/// A picture, and how many values could not be drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// The file's content.
    pub bytes: Vec<u8>,
    /// Values that were left out: not finite, or not positive on a logarithmic axis.
    pub skipped: usize,
}

/// What charts are drawn on; text stays text, in the reader's own sans-serif font.
pub(super) type Canvas<'a> = SVGBackend<'a>;
/// The area that figures draw on.
pub(super) type Area<'a> = DrawingArea<Canvas<'a>, Shift>;
/// What goes wrong while drawing.
type Trouble = plotters::drawing::DrawingAreaErrorKind<std::io::Error>;

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        Self::failed(format!("a picture could not be drawn: {trouble}"))
    }
}

/// Draws a figure of `width` by `height` nominal pixels on white, as SVG.
pub(super) fn render(
    (width, height): (u32, u32),
    draw: impl FnOnce(&Area<'_>) -> Result<(), Failure>,
) -> Result<Vec<u8>, Failure> {
    if width == 0 || height == 0 || width.saturating_mul(height) > MOST_PIXELS {
        return Err(Failure::failed(format!(
            "a figure of {width} by {height} pixels cannot be drawn: it must have between 1 and \
             {MOST_PIXELS}"
        )));
    }
    text::register()?;
    let size = (width * UNIT, height * UNIT);
    let mut svg = String::new();
    {
        let area = Canvas::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE)?;
        draw(&area)?;
        area.present()?;
    }
    // The surface's units are finer than pixels; the picture's own size is the nominal one.
    let fine = format!("<svg width=\"{}\" height=\"{}\"", size.0, size.1);
    let nominal = format!("<svg width=\"{width}\" height=\"{height}\"");
    Ok(svg.replacen(&fine, &nominal, 1).into_bytes())
}
