//! Text and JSON of images, as the command prints them.

use ffslab_fs::{civil_time, FileKind};
use ffslab_images::{Layout, Tree, TreeEntry};
use ffslab_text::quoting::{as_text, printable, quoted};
use serde_json::{json, Value};

/// A path below the root as it is shown.
pub fn path_text(path: &[u8]) -> String {
    quoted(&[b"/", path].concat())
}

/// Text that controls no terminal.
pub fn one_line(text: &str) -> String {
    printable(text.as_bytes(), true).into_owned()
}

/// Bytes for people: "512 B", "4.0 KiB".
pub fn size_text(bytes: u64) -> String {
    for (unit, shift) in [("MiB", 20), ("KiB", 10)] {
        if bytes >= 1 << shift {
            return format!("{:.1} {unit}", bytes as f64 / (1u64 << shift) as f64);
        }
    }
    format!("{bytes} B")
}

/// What was done to the bytes before they were read, and what the format cannot show of flipped bits, a line each.
pub fn notes(layout: &Layout) -> impl Iterator<Item = String> + '_ {
    let unchecked = layout.unchecked.as_deref().into_iter();
    layout.undone.iter().map(String::as_str).chain(unchecked).map(|text| format!("note: {text}"))
}

/// Format and sizes in a line.
pub fn layout_text(layout: &Layout) -> String {
    let fs = layout.fs;
    if fs.format().is_volume() {
        let areas = if layout.blocks == 1 { "area" } else { "areas" };
        return format!("{}, {} {areas} of {}", fs.title(), layout.blocks, size_text(layout.block_bytes.into()));
    }
    if layout.lacks_ubi {
        return format!("UBIFS without UBI: {} LEBs of {} B", layout.blocks, layout.block_bytes);
    }
    let oob = if layout.oob_bytes > 0 { format!(" + {} B OOB", layout.oob_bytes) } else { String::new() };
    let name = if layout.ubi_at_bytes.is_some() { "UBI with UBIFS" } else { fs.title() };
    let order = match layout.endian {
        Some(ffslab_jffs2::Endian::Big) => ", big-endian",
        Some(ffslab_jffs2::Endian::Little) => ", little-endian",
        None => "",
    };
    let (page_bytes, blocks) = (layout.page_bytes, layout.blocks);
    if !layout.block_sizes_that_fit_bytes.is_empty() {
        let kib: Vec<_> = layout.block_sizes_that_fit_bytes.iter().map(|bytes| (bytes >> 10).to_string()).collect();
        let kib = kib.join(", ");
        return format!(
            "{name}{order}: pages of {page_bytes} B{oob}, erase blocks of {kib} KiB fit and cannot be told apart"
        );
    }
    let plural = if blocks == 1 { "" } else { "s" };
    let block = size_text(layout.block_bytes.into());
    format!("{name}{order}: {blocks} erase block{plural} of {block}, pages of {page_bytes} B{oob}")
}

/// An entry as `ls -l` shows it, with its full path; times are UTC.
pub fn listing_line(entry: &TreeEntry) -> String {
    let size = match entry.kind {
        FileKind::CharDevice | FileKind::BlockDevice => {
            let (major, minor) = device_numbers(entry.device);
            format!("{major},{minor}")
        }
        _ => entry.size_bytes.to_string(),
    };
    let target = match entry.kind {
        FileKind::Symlink => format!(" -> {}", quoted(&entry.data)),
        _ => String::new(),
    };
    let TreeEntry { links, uid, gid, .. } = entry;
    let (mode, when, path) = (mode_text(entry), when_text(entry.modified_s), path_text(&entry.path));
    format!("{mode} {links:3} {uid:5} {gid:5} {size:>10} {when} {path}{target}")
}

/// Major and minor number in Linux's 32-bit encoding (`new_decode_dev` of `include/linux/kdev_t.h`).
pub fn device_numbers(device: u32) -> (u32, u32) {
    ((device & 0xF_FF00) >> 8, (device & 0xFF) | ((device >> 12) & 0xF_FF00))
}

/// Kind and permissions in ten letters, as `ls -l` has them.
fn mode_text(entry: &TreeEntry) -> String {
    let kind = match entry.kind {
        FileKind::File => '-',
        FileKind::Directory => 'd',
        FileKind::Symlink => 'l',
        FileKind::CharDevice => 'c',
        FileKind::BlockDevice => 'b',
        FileKind::Fifo => 'p',
        FileKind::Socket => 's',
    };
    let mut text = String::from(kind);
    // Who, the bit that changes the third letter, and that letter where all may execute and where they may not.
    for (shift, special, letters) in [(6, 0o4000, ('s', 'S')), (3, 0o2000, ('s', 'S')), (0, 0o1000, ('t', 'T'))] {
        let bits = entry.permissions >> shift;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        text.push(match (entry.permissions & special != 0, bits & 1 != 0) {
            (true, true) => letters.0,
            (true, false) => letters.1,
            (false, true) => 'x',
            (false, false) => '-',
        });
    }
    text
}

/// A time in UTC; "@SECONDS" outside the years 1 to 9999.
fn when_text(modified_s: i64) -> String {
    let ((year, month, day), (hour, minute, second)) = civil_time(modified_s);
    if !(1..=9999).contains(&year) {
        return format!("{:>19}", format!("@{modified_s}"));
    }
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// The entries as plain values, without content.
pub fn table(tree: &Tree) -> Vec<Value> {
    let row = |entry: &TreeEntry| {
        json!({
            "path": as_text(&entry.path),
            "kind": entry.kind.name(),
            "ino": entry.ino,
            "mode": format!("{:04o}", entry.permissions),
            "uid": entry.uid,
            "gid": entry.gid,
            "links": entry.links,
            "device": entry.device,
            "size_B": entry.size_bytes,
            "modified_s": entry.modified_s,
            "target": (entry.kind == FileKind::Symlink).then(|| as_text(&entry.data)),
            "error": entry.error,
            "missing": entry.missing,
        })
    };
    tree.entries.iter().map(row).collect()
}

/// JSON for a file or a pipe.
pub fn pretty(value: &Value) -> Result<String, String> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|error| error.to_string())
}
