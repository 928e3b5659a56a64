//! One surface for both kinds of picture: what is drawn once comes out as PNG or as SVG.

use plotters::backend::{BitMapBackend, SVGBackend};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::style::WHITE;
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};

use super::text;
use crate::diagnostic::Failure;

/// Units of the surface for one pixel of a figure's nominal size. The backends count in whole units,
/// so curves are as smooth as this number is large.
pub(super) const UNIT: u32 = 4;
/// Pixels of a PNG for one pixel of the nominal size: sharp on dense screens and in print.
const DENSITY: u32 = 2;
/// Most nominal pixels of a figure, so that a slip in a size cannot ask for all memory.
const MOST_PIXELS: u32 = 4_000_000;

/// The kind of picture that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Pixels, two for each nominal one, in 8-bit RGB.
    Png,
    /// Scalable Vector Graphics; text stays text, in the reader's own sans-serif font.
    Svg,
}

impl Format {
    /// The ending of file names.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Svg => "svg",
        }
    }
}

/// A picture, and how many values could not be drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// The file's content.
    pub bytes: Vec<u8>,
    /// Values that were left out: not finite, or not positive on a logarithmic axis.
    pub skipped: usize,
}

/// A drawing error of either kind of surface.
#[derive(Debug, thiserror::Error)]
#[error("a picture could not be drawn: {0}")]
pub struct CanvasError(String);

type Outcome = Result<(), DrawingErrorKind<CanvasError>>;

/// The area that figures draw on.
pub(super) type Area<'a> = DrawingArea<Canvas<'a>, Shift>;
/// What goes wrong while drawing.
pub(super) type Trouble = plotters::drawing::DrawingAreaErrorKind<CanvasError>;

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        Self::failed(trouble)
    }
}

/// A drawing surface of either kind.
pub(super) enum Canvas<'a> {
    /// Pixels in memory.
    Png(BitMapBackend<'a>),
    /// SVG text in memory.
    Svg(SVGBackend<'a>),
}

/// Draws a figure of `width` by `height` nominal pixels on white.
///
/// # Errors
///
/// [`Failure::Failed`] for a size of nothing or too large, and where drawing fails.
pub(super) fn render(
    format: Format,
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
    match format {
        Format::Png => {
            let mut pixels = vec![255; (size.0 * size.1 * 3) as usize];
            let canvas = Canvas::Png(BitMapBackend::with_buffer(&mut pixels, size));
            finish(canvas.into_drawing_area(), draw)?;
            let shrunk = shrink(&pixels, size.0 as usize, (UNIT / DENSITY) as usize);
            super::png::encode(
                &shrunk,
                width * DENSITY,
                height * DENSITY,
                super::png::ColorType::Rgb,
            )
        }
        Format::Svg => {
            let mut svg = String::new();
            let canvas = Canvas::Svg(SVGBackend::with_string(&mut svg, size));
            finish(canvas.into_drawing_area(), draw)?;
            // The surface's units are finer than pixels; the picture's own size is the nominal one.
            let fine = format!("<svg width=\"{}\" height=\"{}\"", size.0, size.1);
            let nominal = format!("<svg width=\"{width}\" height=\"{height}\"");
            Ok(svg.replacen(&fine, &nominal, 1).into_bytes())
        }
    }
}

fn finish(
    area: Area<'_>,
    draw: impl FnOnce(&Area<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    area.fill(&WHITE)?;
    draw(&area)?;
    area.present()?;
    Ok(())
}

/// The mean colour of each square of `side` by `side` pixels: smooth edges.
fn shrink(pixels: &[u8], width: usize, side: usize) -> Vec<u8> {
    let height = pixels.len() / (3 * width);
    let (columns, rows) = (width / side, height / side);
    let mut shrunk = Vec::with_capacity(columns * rows * 3);
    for row in 0..rows {
        for column in 0..columns {
            for channel in 0..3 {
                let mut sum = 0;
                for y in row * side..(row + 1) * side {
                    for x in column * side..(column + 1) * side {
                        sum += usize::from(pixels[(y * width + x) * 3 + channel]);
                    }
                }
                shrunk.push((sum / (side * side)) as u8);
            }
        }
    }
    shrunk
}

fn convert<E: std::error::Error + Send + Sync>(result: Result<(), DrawingErrorKind<E>>) -> Outcome {
    result.map_err(|error| DrawingErrorKind::DrawingError(CanvasError(error.to_string())))
}

/// The same call on whichever surface it is.
macro_rules! either {
    ($self:ident, $surface:ident => $call:expr) => {
        match $self {
            Canvas::Png($surface) => convert($call),
            Canvas::Svg($surface) => convert($call),
        }
    };
}

impl DrawingBackend for Canvas<'_> {
    type ErrorType = CanvasError;

    fn get_size(&self) -> (u32, u32) {
        match self {
            Self::Png(pixels) => pixels.get_size(),
            Self::Svg(svg) => svg.get_size(),
        }
    }

    fn ensure_prepared(&mut self) -> Outcome {
        either!(self, surface => surface.ensure_prepared())
    }

    fn present(&mut self) -> Outcome {
        either!(self, surface => surface.present())
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Outcome {
        either!(self, surface => surface.draw_pixel(point, color))
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Outcome {
        either!(self, surface => surface.draw_line(from, to, style))
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Outcome {
        either!(self, surface => surface.draw_rect(upper_left, bottom_right, style, fill))
    }

    /// The bitmap backend fills the outline of a thick path as one polygon, which leaves holes where
    /// it crosses itself: here each piece is drawn by itself, with round joints.
    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Outcome {
        match self {
            Self::Svg(svg) => convert(svg.draw_path(path, style)),
            Self::Png(pixels) => {
                let mut last: Option<BackendCoord> = None;
                for point in path {
                    if let Some(last) = last {
                        convert(pixels.draw_path([last, point], style))?;
                    }
                    if style.stroke_width() > 3 {
                        let radius = (style.stroke_width() - 1) / 2;
                        convert(pixels.draw_circle(point, radius, &style.color(), true))?;
                    }
                    last = Some(point);
                }
                Ok(())
            }
        }
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Outcome {
        either!(self, surface => surface.draw_circle(center, radius, style, fill))
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        vert: I,
        style: &S,
    ) -> Outcome {
        either!(self, surface => surface.fill_polygon(vert, style))
    }

    fn draw_text<T: BackendTextStyle>(
        &mut self,
        content: &str,
        style: &T,
        pos: BackendCoord,
    ) -> Outcome {
        match self {
            Self::Svg(svg) => convert(svg.draw_text(content, style, pos)),
            Self::Png(pixels) => text::draw(content, style, pos, |point, color| {
                convert(pixels.draw_pixel(point, color))
            }),
        }
    }
}
