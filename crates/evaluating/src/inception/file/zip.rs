//! The zip archives that `torch.save` writes: members stored without compression.

/// One stored member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member<'a> {
    pub(super) name: &'a str,
    pub(super) bytes: &'a [u8],
}

/// The first bytes of an archive.
pub(super) const MAGIC: &[u8] = b"PK\x03\x04";

/// The signature of the record at the end of an archive, and its length without the comment.
const END: (&[u8], usize) = (b"PK\x05\x06", 22);
/// The longest comment that may follow it.
const COMMENT: usize = 65_535;
/// The signature of an entry of the directory, and its length without its names.
const ENTRY: (&[u8], usize) = (b"PK\x01\x02", 46);
/// The length of the header in front of a member, without its names.
const LOCAL: usize = 30;

/// The members of an archive, in the order of its directory.
///
/// # Errors
///
/// A sentence for an archive that is cut off, compressed, or of the 64-bit form.
pub(super) fn members(archive: &[u8]) -> Result<Vec<Member<'_>>, String> {
    let end = last_record(archive).ok_or("the zip archive has no end: the file is cut off")?;
    let count = u16_at(archive, end + 10)?;
    let mut at = u32_at(archive, end + 16)?;
    if count == 0xffff || at == 0xffff_ffff {
        return Err("this is a 64-bit zip archive, which is not supported".into());
    }
    let mut members = Vec::with_capacity(count);
    for _ in 0..count {
        if slice(archive, at, 4)? != ENTRY.0 {
            return Err("the directory of the zip archive is damaged".into());
        }
        let (method, size) = (u16_at(archive, at + 10)?, u32_at(archive, at + 24)?);
        let stored = u32_at(archive, at + 20)?;
        let name_length = u16_at(archive, at + 28)?;
        let others = u16_at(archive, at + 30)? + u16_at(archive, at + 32)?;
        let header = u32_at(archive, at + 42)?;
        let name = std::str::from_utf8(slice(archive, at + ENTRY.1, name_length)?)
            .map_err(|_| "a name in the zip archive is not UTF-8")?;
        if method != 0 || stored != size {
            return Err(format!(
                "member {name} of the zip archive is compressed; torch.save stores it plainly"
            ));
        }
        if slice(archive, header, 4)? != MAGIC {
            return Err(format!("member {name} of the zip archive is damaged"));
        }
        // The lengths in front of the member may differ from those in the directory.
        let start = header + LOCAL + u16_at(archive, header + 26)? + u16_at(archive, header + 28)?;
        members.push(Member {
            name,
            bytes: slice(archive, start, size)?,
        });
        at += ENTRY.1 + name_length + others;
    }
    Ok(members)
}

fn last_record(archive: &[u8]) -> Option<usize> {
    let last = archive.len().checked_sub(END.1)?;
    (last.saturating_sub(COMMENT)..=last)
        .rev()
        .find(|&at| archive[at..].starts_with(END.0))
}

fn slice(archive: &[u8], start: usize, length: usize) -> Result<&[u8], String> {
    start
        .checked_add(length)
        .and_then(|end| archive.get(start..end))
        .ok_or_else(|| "the zip archive is cut off".into())
}

fn u16_at(archive: &[u8], at: usize) -> Result<usize, String> {
    let bytes = slice(archive, at, 2)?;
    Ok(usize::from(u16::from_le_bytes([bytes[0], bytes[1]])))
}

fn u32_at(archive: &[u8], at: usize) -> Result<usize, String> {
    let b = slice(archive, at, 4)?;
    Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
}
