//! The partitions that U-Boot hands to the kernel: `mtdparts` in its environment, which stands in the dump, often in two copies.
//!
//! **Follows.** `include/env_internal.h` and `env/common.c` (`env_check_redund`) of U-Boot: a CRC32, in two copies a byte that tells the
//! newer one, then `name=value` texts with a NUL behind each, and another one at the end.

use super::super::mtdparts::{self, Defined};
use super::look::{Entry, Look};

const NAME: &str = "U-Boot's environment";
/// It begins with an erase sector.
const APART_BYTES: usize = 4096;
const CRC_BYTES: usize = 4;
/// Its size is a multiple of this, and no larger than that.
const STEP_BYTES: usize = 512;
const BYTES_MAX: usize = 256 << 10;
const VARIABLE: &[u8] = b"mtdparts=";
const NAME_MAX: usize = 64;

/// A copy whose CRC is right.
struct Copy<'i> {
    at: usize,
    bytes: usize,
    /// Of two copies: what tells the newer one.
    flag: Option<u8>,
    texts: &'i [u8],
}

pub(super) fn find(image: &[u8]) -> Option<Look> {
    let copies: Vec<Copy> = (0..image.len()).step_by(APART_BYTES).filter_map(|at| copy(image, at)).collect();
    let used = copies.iter().reduce(|one, other| if is_newer(other.flag, one.flag) { other } else { one })?;
    let text = used.texts.split(|&byte| byte == 0).find_map(|text| text.strip_prefix(VARIABLE))?;
    let text = std::str::from_utf8(text).ok()?;
    // Of several chips nobody knows which one this is.
    let parts = mtdparts::parse(text, image.len() as u64).ok()?;
    if !parts.iter().any(|part| holds_it(part, used.at as u64)) {
        return None;
    }
    let mut doubts: Vec<String> = mtdparts::beyond(&parts, text, NAME).into_iter().collect();
    doubts.extend(damaged_copy(image, used));
    let entries =
        parts.into_iter().map(|Defined { name, offset_bytes, size_bytes }| Entry { name, offset_bytes, size_bytes });
    Some(Look { table: NAME, entries: entries.collect(), doubts })
}

/// What an image is that begins with an environment. `None`: it does not.
pub fn environment(image: &[u8]) -> Option<String> {
    let found = copy(image, 0)?;
    let variables = found.texts.split(|&byte| byte == 0).take_while(|text| !text.is_empty()).count();
    let bytes = found.bytes;
    Some(format!(
        "it is {NAME}: {variables} variables in {bytes} B, whose CRC is right (the command strings lists them)"
    ))
}

/// Whether the environment stands where such things stand by its own list. Otherwise it is a file in a file system, about another chip.
fn holds_it(part: &Defined, at: u64) -> bool {
    let name = part.name.to_ascii_lowercase();
    let is_its_own = ["env", "boot", "nvram", "config"].iter().any(|word| name.contains(word));
    is_its_own && (part.offset_bytes..part.offset_bytes + part.size_bytes).contains(&at)
}

/// Whether the flag of one copy says that it was written after the other one: 0 comes after 255.
fn is_newer(flag: Option<u8>, than: Option<u8>) -> bool {
    match (flag, than) {
        (Some(0), Some(255)) => true,
        (Some(255), Some(0)) => false,
        (Some(flag), Some(than)) => flag > than,
        _ => false,
    }
}

/// The copy that begins there, without or with a flag, of whatever size.
fn copy(image: &[u8], at: usize) -> Option<Copy<'_>> {
    [CRC_BYTES, CRC_BYTES + 1].into_iter().find_map(|head| {
        let bytes = size(image, at, head)?;
        let flag = (head > CRC_BYTES).then(|| image[at + CRC_BYTES]);
        Some(Copy { at, bytes, flag, texts: &image[at + head..at + bytes] })
    })
}

/// With how many bytes the CRC is right. It is computed as on the device, whose byte order may be either.
fn size(image: &[u8], at: usize, head: usize) -> Option<usize> {
    let all = &image[at..image.len().min(at + BYTES_MAX)];
    if !begins_with_name(all.get(head..)?) {
        return None;
    }
    let said = *all.first_chunk::<CRC_BYTES>()?;
    let mut crc = crc32fast::Hasher::new();
    let mut from = head;
    for end in (STEP_BYTES..=all.len()).step_by(STEP_BYTES) {
        crc.update(&all[from..end]);
        from = end;
        let found = crc.clone().finalize();
        if said == found.to_le_bytes() || said == found.to_be_bytes() {
            return Some(end);
        }
    }
    None
}

fn begins_with_name(bytes: &[u8]) -> bool {
    let bytes = &bytes[..bytes.len().min(NAME_MAX)];
    let name = bytes.split(|&byte| byte == b'=').next().unwrap_or_default();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    (1..bytes.len()).contains(&name.len()) && name.iter().all(is_part)
}

/// A copy beside the one that is used, with texts and a wrong CRC.
fn damaged_copy(image: &[u8], used: &Copy) -> Option<String> {
    used.flag?;
    let places = [used.at.checked_sub(used.bytes), used.at.checked_add(used.bytes)];
    let is_damaged =
        |at: &usize| copy(image, *at).is_none() && image.get(at + CRC_BYTES + 1..).is_some_and(begins_with_name);
    let at = places.into_iter().flatten().filter(|at| *at < image.len()).find(is_damaged)?;
    Some(format!("the copy of {NAME} at {at:#x} has a wrong CRC: that at {:#x} is used", used.at))
}
