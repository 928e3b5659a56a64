//! `images.npz`: a zip archive of NPY files that are stored as they are.
//!
//! Each member is a local header, then its bytes; the directory of all members follows them. Sizes are known before;
//! a checksum is put into its header when its member ends.
//!
//! Source: PKWARE, "APPNOTE.TXT - .ZIP File Format Specification", sections 4.3 and 4.4.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::PathBuf;

use flate2::Crc;

use super::{Layout, cannot};
use crate::{DataError, npy};

/// 1980-01-01: the first date that the format has, so that equal images make equal archives.
const DATE: u16 = 0x21;
/// Where the checksum lies in a local header.
const CHECKSUM: u64 = 14;

struct Member {
    name: &'static str,
    start: u64,
    size: u32,
    crc: Crc,
}

impl Member {
    /// What a local header and an entry of the directory have in common, from the version that reads it on.
    fn fields(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        // Version 2.0, no flags, stored, midnight.
        for word in [20_u16, 0, 0, 0, DATE] {
            fields.extend(word.to_le_bytes());
        }
        for word in [self.crc.sum(), self.size, self.size] {
            fields.extend(word.to_le_bytes());
        }
        for word in [self.name.len() as u16, 0] {
            fields.extend(word.to_le_bytes());
        }
        fields
    }
}

/// The archive at work: images as they come, labels at its end.
pub(super) struct Npz {
    path: PathBuf,
    file: BufWriter<File>,
    at: u64,
    members: Vec<Member>,
    labels: Option<Vec<u8>>,
}

impl Npz {
    pub(super) fn create(path: PathBuf, layout: &Layout) -> Result<Self, DataError> {
        let file = File::create(&path).map_err(cannot(&path, "create the file"))?;
        let mut npz = Self {
            path,
            file: BufWriter::new(file),
            at: 0,
            members: Vec::new(),
            labels: layout.labels.then(Vec::new),
        };
        let mut shape = vec![layout.count, layout.sides[0], layout.sides[1]];
        if layout.channels > 1 {
            shape.push(layout.channels);
        }
        let begun = npz.begin("images.npy", &shape);
        begun.map_err(cannot(&npz.path, "write the file"))?;
        Ok(npz)
    }

    pub(super) fn append(&mut self, pixels: &[u8], labels: &[u8]) -> Result<(), DataError> {
        if let Some(all) = &mut self.labels {
            all.extend(labels);
        }
        let written = self.body(pixels);
        written.map_err(cannot(&self.path, "write the file"))
    }

    pub(super) fn finish(mut self) -> Result<(), DataError> {
        let path = self.path.clone();
        self.end().map_err(cannot(&path, "write the file"))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn begin(&mut self, name: &'static str, shape: &[usize]) -> io::Result<()> {
        let lengths: Vec<u64> = shape.iter().map(|&length| length as u64).collect();
        let header = npy::header("|u1", &lengths, 0)?;
        let size = header.len() + shape.iter().product::<usize>();
        let member = Member {
            name,
            start: self.at,
            size: u32::try_from(size).map_err(io::Error::other)?,
            crc: Crc::new(),
        };
        self.write(b"PK\x03\x04")?;
        self.write(&member.fields())?;
        self.write(name.as_bytes())?;
        self.members.push(member);
        self.body(&header)
    }

    fn body(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(member) = self.members.last_mut() {
            member.crc.update(bytes);
        }
        self.write(bytes)
    }

    fn end(&mut self) -> io::Result<()> {
        if let Some(labels) = self.labels.take() {
            self.begin("labels.npy", &[labels.len()])?;
            self.body(&labels)?;
        }
        let members = std::mem::take(&mut self.members);
        let start = self.at;
        for member in &members {
            self.write(b"PK\x01\x02")?;
            // Made by version 2.0.
            self.write(&20_u16.to_le_bytes())?;
            self.write(&member.fields())?;
            // No comment, disk 0, no attributes.
            self.write(&[0; 10])?;
            self.write(&(member.start as u32).to_le_bytes())?;
            self.write(member.name.as_bytes())?;
        }
        let length = self.at - start;
        let count = (members.len() as u16).to_le_bytes();
        self.write(b"PK\x05\x06")?;
        self.write(&[0; 4])?;
        self.write(&count)?;
        self.write(&count)?;
        self.write(&(length as u32).to_le_bytes())?;
        self.write(&(start as u32).to_le_bytes())?;
        self.write(&[0; 2])?;
        for member in &members {
            self.file.seek(SeekFrom::Start(member.start + CHECKSUM))?;
            self.file.write_all(&member.crc.sum().to_le_bytes())?;
        }
        self.file.flush()?;
        self.file.get_ref().sync_all()
    }
}
