//! The list of an archive: OpenWrt's `sysupgrade.bin` for NAND is a tar with a kernel and a root in it, and so are updates of others. Its
//! members stand in it as they are.
//!
//! **Follows.** POSIX.1-1988, "ustar"; `package/base-files/files/lib/upgrade/nand.sh` of OpenWrt for what is in it.

use super::look::{Entry, Look};

const NAME: &str = "a tar archive";
const BLOCK_BYTES: usize = 512;
const MAGIC_AT: usize = 257;
const MAGIC: &[u8] = b"ustar";
/// Of the name, the size and the check sum in a header, and its kind.
const NAME_BYTES: usize = 100;
const SIZE: std::ops::Range<usize> = 124..136;
const SUM: std::ops::Range<usize> = 148..156;
const KIND_AT: usize = 156;
const PREFIX: std::ops::Range<usize> = 345..500;
/// So many members have the archives that hold images; in others nobody looks for one.
const MEMBERS_MAX: usize = 256;

pub(super) fn find(image: &[u8]) -> Option<Look> {
    let mut entries = Vec::new();
    let mut doubts = Vec::new();
    let mut at = 0;
    while let Some(header) = image.get(at..at + BLOCK_BYTES) {
        if header.iter().all(|&byte| byte == 0) {
            break;
        }
        let Some((size_bytes, is_file)) = member(header) else {
            if at > 0 {
                doubts
                    .push(format!("the list of {NAME} breaks off at {at:#x}: what stands behind it is not looked at"));
            }
            break;
        };
        if is_file && size_bytes > 0 {
            entries.push(Entry { name: name(header), offset_bytes: (at + BLOCK_BYTES) as u64, size_bytes });
        }
        if entries.len() > MEMBERS_MAX {
            return None;
        }
        let data_bytes = usize::try_from(size_bytes).ok()?.checked_next_multiple_of(BLOCK_BYTES)?;
        at = at.checked_add(BLOCK_BYTES + data_bytes)?;
    }
    (!entries.is_empty()).then_some(Look { table: NAME, entries, doubts })
}

/// How many bytes follow this header, and whether they are a file. `None`: it is none.
fn member(header: &[u8]) -> Option<(u64, bool)> {
    if !header[MAGIC_AT..].starts_with(MAGIC) {
        return None;
    }
    let byte = |(at, &byte): (usize, &u8)| u64::from(if SUM.contains(&at) { b' ' } else { byte });
    let is_right = octal(&header[SUM]) == Some(header.iter().enumerate().map(byte).sum());
    let size_bytes = octal(&header[SIZE]).filter(|_| is_right)?;
    Some((size_bytes, matches!(header[KIND_AT], b'0' | 0 | b'7')))
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    u64::from_str_radix(text, 8).ok()
}

fn name(header: &[u8]) -> String {
    let text = |field: &[u8]| {
        let bytes = field.split(|&byte| byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    match text(&header[PREFIX]) {
        prefix if prefix.is_empty() => text(&header[..NAME_BYTES]),
        prefix => format!("{prefix}/{}", text(&header[..NAME_BYTES])),
    }
}
