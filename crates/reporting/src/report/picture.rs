//! Pictures inside a page.

use std::path::{Component, Path};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::run_file::FigureFile;

/// A picture whose width is at least this multiple of its height gets a row of its own.
const WIDE: f64 = 1.8;

/// A picture that contains its file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Picture {
    pub source: String,
    pub width: u32,
    pub height: u32,
    pub wide: bool,
    pub caption: String,
    pub alt: String,
}

impl Picture {
    /// Makes a picture from the bytes of a PNG or SVG file.
    pub(super) fn of(bytes: &[u8], caption: &str, alt: &str) -> Result<Self, String> {
        let (kind, (width, height)) = if let Some(size) = png_size(bytes) {
            ("png", size)
        } else if let Some(size) = svg_size(bytes) {
            ("svg+xml", size)
        } else {
            return Err("it is neither a PNG nor an SVG with a size".into());
        };
        Ok(Self {
            source: format!("data:image/{kind};base64,{}", STANDARD.encode(bytes)),
            width,
            height,
            wide: f64::from(width) >= WIDE * f64::from(height),
            caption: caption.to_string(),
            alt: alt.to_string(),
        })
    }

    /// Reads a picture from a run's folder.
    pub(super) fn read(folder: &Path, figure: &FigureFile) -> Result<Self, String> {
        let name = Path::new(&figure.file);
        let inside = name
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !inside || figure.file.is_empty() {
            return Err("it does not lie in the run's folder".into());
        }
        let bytes = std::fs::read(folder.join(name)).map_err(|error| error.to_string())?;
        let alt = figure.alt.as_ref().unwrap_or(&figure.caption);
        Self::of(&bytes, &figure.caption, alt)
    }
}

/// Returns the width and the height in the header of a PNG.
fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let header = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")?;
    let number = |at: usize| -> Option<u32> {
        let four = header.get(at..at + 4)?;
        Some(u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
    };
    let size = (number(0)?, number(4)?);
    (size.0 > 0 && size.1 > 0).then_some(size)
}

/// Returns the width and the height in the first tag of an SVG.
fn svg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]).into_owned();
    let tag = head.get(head.find("<svg")?..)?;
    let tag = &tag[..tag.find('>')?];
    let number = |name: &str| -> Option<f64> {
        let rest = tag.split_once(&format!(" {name}=\""))?.1;
        rest[..rest.find('"')?].trim_end_matches("px").parse().ok()
    };
    let size = number("width").zip(number("height")).or_else(|| {
        let rest = tag.split_once(" viewBox=\"")?.1;
        let mut numbers = rest[..rest.find('"')?].split_whitespace().skip(2);
        let mut next = || numbers.next()?.parse().ok();
        Some((next()?, next()?))
    })?;
    (size.0 >= 1.0 && size.1 >= 1.0).then_some((size.0 as u32, size.1 as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        let svg = br#"<svg xmlns="x" width="560" height="360px" viewBox="0 0 1 1"></svg>"#;
        assert_eq!(svg_size(svg), Some((560, 360)));
        let boxed = br#"<svg viewBox="0 0 720 440" font-size="13">"#;
        assert_eq!(svg_size(boxed), Some((720, 440)));
        assert_eq!(svg_size(b"<svg>"), None);
        assert_eq!(svg_size(b""), None);
        assert_eq!(png_size(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0"), None);
    }

    #[test]
    fn only_pictures_of_the_folder_are_shown() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["../secret.png", "/etc/passwd", "", "gone.png"] {
            assert!(Picture::read(folder.path(), &FigureFile::new(name, "c")).is_err());
        }
        std::fs::write(folder.path().join("text.png"), "no picture").unwrap();
        let refused = Picture::read(folder.path(), &FigureFile::new("text.png", "c"));
        assert!(refused.unwrap_err().contains("neither"));
    }
}
