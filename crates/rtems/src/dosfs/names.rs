//! Names: short or long, conversions, check sums; DOS dates.
//!
//! Follows `msdos_misc.c`, `msdos_conv.c` and the default converter `msdos_conv_default.c`, which knows ASCII only: long
//! names with other characters are refused (EINVAL).

use ffslab_fs::Errno;

/// Bytes of an 8.3 name in a directory entry.
pub(super) const SHORT_NAME_BYTES: usize = 11;
/// UTF-16 characters in a long entry.
pub(super) const LONG_ENTRY_CHARS: usize = 13;
const NAME_MAX: usize = 255;
/// Bytes of a name including a dot (`MSDOS_NAME_MAX_LFN_WITH_DOT`).
pub(super) const NAME_MAX_WITH_DOT: usize = 260;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameType {
    Short,
    Long,
    Invalid,
}

fn char_type(c: u8) -> NameType {
    match c {
        b' ' | b'+' | b',' | b';' | b'=' | b'[' | b']' => NameType::Long,
        b'.' | b'$' | b'%' | b'\'' | b'-' | b'_' | b'@' | b'~' | b'`' | b'!' => NameType::Short,
        b'(' | b')' | b'{' | b'}' | b'^' | b'#' | b'&' => NameType::Short,
        _ if c.is_ascii_alphanumeric() || c > 127 => NameType::Short,
        _ => NameType::Invalid,
    }
}

/// `msdos_name_type`: 8.3 names in one case are short.
fn name_type(name: &[u8]) -> NameType {
    let mut dot: Option<usize> = None;
    let (mut lower, mut upper) = (false, false);
    for (at, &c) in name.iter().enumerate() {
        let is_dot = c == b'.';
        match char_type(c) {
            NameType::Short => {}
            other => return other,
        }
        match dot {
            Some(dot) if is_dot || at - dot > 3 => return NameType::Long,
            None if at == 8 && !is_dot => return NameType::Long,
            _ => {}
        }
        if is_dot {
            dot = Some(at);
        }
        lower |= c.is_ascii_lowercase();
        upper |= c.is_ascii_uppercase();
    }
    if lower && upper {
        NameType::Long
    } else {
        NameType::Short
    }
}

/// What a character of a short name becomes.
fn short_char(c: u8) -> u8 {
    let c = c.to_ascii_uppercase();
    let valid = match c {
        b' ' | b'!' | b'#'..=b')' | b'-' | b'0'..=b'9' | b'@'..=b'Z' | b'^'..=b'`' | b'{' | b'}' | b'~' => true,
        _ => c > 127,
    };
    if valid {
        c
    } else {
        b'_'
    }
}

/// `msdos_filename_utf8_to_short_name_for_save`: the eleven bytes in a directory entry.
fn short_for_save(name: &[u8]) -> Option<[u8; SHORT_NAME_BYTES]> {
    let mut short = [b' '; SHORT_NAME_BYTES];
    if name == b"." || name == b".." {
        short[..name.len()].copy_from_slice(name);
        return Some(short);
    }
    let name = &name[name.iter().position(|&c| c != b'.')?..];
    // The converter works on a buffer of twelve bytes and ignores the rest of the name.
    let name = &name[..name.len().min(SHORT_NAME_BYTES + 1)];
    let base = 1 + name[1..].iter().take(7).take_while(|&&c| c != b'.').count();
    for (to, &from) in short.iter_mut().zip(&name[..base]) {
        *to = short_char(from);
    }
    short[0] = match name[0] {
        b' ' => b'_',
        0xe5 => 0x05,
        c => short_char(c),
    };
    let rest = name[base..].strip_prefix(b".").unwrap_or(&name[base..]);
    for (to, &from) in short[8..].iter_mut().zip(rest) {
        *to = short_char(from);
    }
    Some(short)
}

/// `msdos_long_to_short`: how a name must be stored, and its short form.
pub(super) fn classify(name: &[u8]) -> (NameType, [u8; SHORT_NAME_BYTES]) {
    let blank = [b' '; SHORT_NAME_BYTES];
    if name != b"." && name != b".." && name.iter().all(|&c| c == b' ' || c == b'.') {
        return (NameType::Invalid, blank);
    }
    let kind = if name == b"." || name == b".." { NameType::Short } else { name_type(name) };
    match (kind, short_for_save(name)) {
        (NameType::Invalid, _) | (_, None) => (NameType::Invalid, blank),
        (kind, Some(short)) => (kind, short),
    }
}

/// The form in which names are compared: `msdos_filename_utf8_to_short_name_for_compare` and
/// `..._to_long_name_for_compare`.
pub(super) fn for_compare(name: &[u8], kind: NameType) -> Result<Vec<u8>, Errno> {
    if name == b"." || name == b".." {
        return Ok(name.to_vec());
    }
    let end = |name: &[u8]| name.iter().rposition(|&c| c != b'.').map(|at| at + 1);
    let trimmed = match kind {
        NameType::Short => name.iter().position(|&c| c != b'.').map(|start| &name[start..]),
        NameType::Long => end(name).map(|end| &name[..end]),
        NameType::Invalid => None,
    };
    Ok(trimmed.ok_or(Errno::Inval)?.to_ascii_lowercase())
}

/// `msdos_filename_utf8_to_long_name_for_save`: what goes into long entries.
pub(super) fn long_for_save(name: &[u8]) -> Result<Vec<u16>, Errno> {
    let end = name.iter().rposition(|&c| c != b'.').ok_or(Errno::Inval)? + 1;
    let name = &name[..end];
    if name.len() > NAME_MAX {
        return Err(Errno::NameTooLong);
    }
    let valid = |c: u8| {
        c.is_ascii_lowercase() || matches!(c, b'+' | b',' | b'.' | b';' | b'=' | b'[' | b']') || short_char(c) == c
    };
    let good = name.iter().all(|&c| c.is_ascii() && valid(c));
    if good {
        Ok(name.iter().map(|&c| u16::from(c)).collect())
    } else {
        Err(Errno::Inval)
    }
}

/// `msdos_short_name_hex`: makes the short name that stands for a long one: two characters, the number of the slot,
/// "~1".
pub(super) fn make_alias(short: &mut [u8], slot: u32) {
    for c in &mut short[..2] {
        if *c == b' ' || *c == b'.' {
            *c = b'_';
        }
    }
    let digits = format!("{:04X}", slot & 0xffff);
    short[2..6].copy_from_slice(digits.as_bytes());
    short[6..8].copy_from_slice(b"~1");
}

/// `msdos_lfn_checksum`.
pub(super) fn checksum(short: &[u8]) -> u8 {
    short[..SHORT_NAME_BYTES].iter().fold(0u8, |sum, &c| sum.rotate_right(1).wrapping_add(c))
}

/// `msdos_format_dirent_with_dot`: a short entry's name as it is shown and compared.
pub(super) fn short_to_name(short: &[u8]) -> Vec<u8> {
    let part = |bytes: &[u8]| {
        let end = bytes.iter().rposition(|&c| c != b' ').map_or(0, |at| at + 1);
        bytes[..end].to_ascii_lowercase()
    };
    let mut name = part(&short[..8]);
    let extension = part(&short[8..SHORT_NAME_BYTES]);
    if !extension.is_empty() {
        name.push(b'.');
        name.extend(extension);
    }
    if let Some(first) = name.first_mut().filter(|first| **first == 0x05) {
        *first = 0xe5;
    }
    name
}

/// `msdos_get_utf16_string_from_long_entry`: the characters of a long entry; only the first one may end earlier.
pub(super) fn long_chars(entry: &[u8], is_first: bool) -> Vec<u16> {
    let bytes = entry[1..11].iter().chain(&entry[14..26]).chain(&entry[28..32]).copied().collect::<Vec<u8>>();
    let chars = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    if is_first {
        chars.take_while(|&c| c != 0).collect()
    } else {
        chars.collect()
    }
}

/// Converts to ASCII; `None` when a character is not ASCII.
pub(super) fn to_ascii(chars: &[u16]) -> Option<Vec<u8>> {
    chars.iter().map(|&c| u8::try_from(c).ok().filter(u8::is_ascii)).collect()
}

/// A long entry: `number` counts from 1, the last one comes first on disk.
pub(super) fn long_entry(name: &[u16], number: usize, is_last: bool, checksum: u8) -> [u8; 32] {
    let mut entry = [0; 32];
    let start = (number - 1) * LONG_ENTRY_CHARS;
    entry[0] = number as u8 | if is_last { 0x40 } else { 0 };
    entry[11] = 0x0f;
    entry[13] = checksum;
    for i in 0..LONG_ENTRY_CHARS {
        let at = match i {
            0..=4 => 1 + 2 * i,
            5..=10 => 14 + 2 * (i - 5),
            _ => 28 + 2 * (i - 11),
        };
        // Behind the name: one 0, then 0xffff.
        let value = match name.get(start + i) {
            Some(&c) => c,
            None if start + i == name.len() => 0,
            None => 0xffff,
        };
        entry[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }
    entry
}

const DAY_S: u32 = 86_400;

fn days_of_year(year: u32) -> u32 {
    if year.is_multiple_of(4) {
        366
    } else {
        365
    }
}

fn days_of_month(year: u32, month: u32) -> u32 {
    match month {
        2 => days_of_year(year) - 337,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// `msdos_date_unix2dos`: date and time with two seconds' resolution.
pub(super) fn dos_time(unix_s: u32) -> (u16, u16) {
    let time = (unix_s % 60 / 2) | (unix_s / 60 % 60) << 5 | (unix_s / 3600 % 24) << 11;
    let (mut days, mut year, mut month) = (unix_s / DAY_S, 1970, 1);
    while days >= days_of_year(year) {
        days -= days_of_year(year);
        year += 1;
    }
    while days >= days_of_month(year, month) {
        days -= days_of_month(year, month);
        month += 1;
    }
    let date = (days + 1) | month << 5 | year.saturating_sub(1980) << 9;
    (date as u16, time as u16)
}

/// `msdos_date_dos2unix`.
pub(super) fn unix_time(date: u16, time: u16) -> u32 {
    let (date, time) = (u32::from(date), u32::from(time));
    let (year, month, day) = (1980 + (date >> 9), (date >> 5 & 15).clamp(1, 12), (date & 31).max(1));
    let years: u32 = (1970..year).map(days_of_year).sum();
    let months: u32 = (1..month).map(|month| days_of_month(year, month)).sum();
    let in_day_s = (time >> 11) * 3600 + (time >> 5 & 63) * 60 + (time & 31) * 2;
    // Years after 2106 overflow 32 bits, as they do in RTEMS.
    (years + months + day - 1).wrapping_mul(DAY_S).wrapping_add(in_day_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_or_long() {
        assert_eq!(classify(b"file00.txt"), (NameType::Short, *b"FILE00  TXT"));
        assert_eq!(classify(b"README"), (NameType::Short, *b"README     "));
        assert_eq!(classify(b"Readme").0, NameType::Long);
        assert_eq!(classify(b"a b").0, NameType::Long);
        assert_eq!(classify(b"a.text").0, NameType::Long);
        assert_eq!(classify(b"a*b").0, NameType::Invalid);
        assert_eq!(classify(b" . ").0, NameType::Invalid);
    }

    #[test]
    fn dates_go_and_come_back() {
        for unix_s in [567_993_600, 946_684_800, 1_077_926_400, 1_533_081_600] {
            let (date, time) = dos_time(unix_s);
            assert_eq!(unix_time(date, time), unix_s);
        }
    }
}
