//! What an image is in which no file system that is read here was found: a word about it, and what to do next.
//!
//! **Follows.** The magic numbers of `file(1)`; `SPEC.md` of
//! littlefs 1; `include/uapi/linux/jffs2.h`.

use crate::little_endian::u32_at;
use ffslab_mtd::is_erased;

/// First bytes, and what begins with them.
const BEGINNINGS: [(&[u8], &str); 12] = [
    (&[0x1F, 0x8B, 8], "gzip data: unpack it first (gunzip)"),
    (b"\xFD7zXZ\0", "xz data: unpack it first (unxz)"),
    (b"BZh", "bzip2 data: unpack it first (bunzip2)"),
    (&[0x28, 0xB5, 0x2F, 0xFD], "zstd data: unpack it first (unzstd)"),
    (&[0x04, 0x22, 0x4D, 0x18], "lz4 data: unpack it first (unlz4)"),
    (b"PK\x03\x04", "a zip archive: unpack it first (unzip)"),
    (&[0xDE, 0xAD, 0xC0, 0xDE], "OpenWrt's mark: here the overlay begins at the first boot"),
    (
        &[0x27, 0x05, 0x19, 0x56],
        "a uImage of U-Boot, whose data begin at 64 B: --offset 64 looks for a file system there",
    ),
    (&[0xD0, 0x0D, 0xFE, 0xED], "a device tree or FIT image: dumpimage reads it"),
    (b"HDR0", "a TRX image: its parts begin at the offsets in its header"),
    (b"\x7FELF", "an ELF program, and no image"),
    (b"070701", "a cpio archive: cpio -i reads it"),
];
const EXT_MAGIC: [u8; 2] = [0x53, 0xEF];
const EXT_AT: usize = 1080;
const LITTLEFS: &[u8] = b"littlefs";
/// A superblock of littlefs 1 stands behind the head of its directory; that of littlefs 2 at 8.
const LITTLEFS1_WITHIN: usize = 128;

/// What begins with these bytes, and what to do about it.
fn by_magic(bytes: &[u8]) -> Option<&'static str> {
    BEGINNINGS.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, what)| *what)
}

/// What begins with these bytes, without what to do about it.
pub fn beginning(bytes: &[u8]) -> Option<&'static str> {
    by_magic(bytes)?.split([':', ',']).next()
}

/// What the image is, in words. `None`: nobody knows.
pub fn named(image: &[u8]) -> Option<String> {
    let (bytes, all) = (image.len(), |value: u8| image.iter().all(|&byte| byte == value));
    if is_erased(image) {
        return Some(format!("erased flash: all of its {bytes} B are 0xFF"));
    }
    if all(image[0]) {
        return Some(format!("no image: all of its {bytes} B are {:#04x}", image[0]));
    }
    if let Some(what) = by_magic(image) {
        return Some(format!("it is {what}"));
    }
    if image.get(EXT_AT..EXT_AT + 2) == Some(&EXT_MAGIC) {
        return Some("it is ext2, 3 or 4: debugfs reads it".to_string());
    }
    cramfs(image).or_else(|| text_of_bytes(image)).or_else(|| littlefs1(image))
}

/// `include/uapi/linux/cramfs_fs.h`: behind the magic number stand size, flags, and behind the signature check sum, edition, blocks and files.
fn cramfs(image: &[u8]) -> Option<String> {
    let (order, of): (&str, fn(u32) -> u32) = match image.first_chunk()? {
        [0x45, 0x3D, 0xCD, 0x28] => ("", |word| word),
        [0x28, 0xCD, 0x3D, 0x45] => (" in big-endian order", u32::swap_bytes),
        _ => return None,
    };
    let (bytes, files) = (of(u32_at(image, 4)?), of(u32_at(image, 44)?));
    Some(format!("it is cramfs{order} of {bytes} B with {files} files, which is not read: cramfsck -x does on a machine of that order"))
}

/// Files that say bytes in hexadecimal digits, a record a line.
fn text_of_bytes(image: &[u8]) -> Option<String> {
    let line = &image[..image.iter().position(|byte| byte.is_ascii_control())?.min(600)];
    let has_digits = |from: usize| line.len() > from + 8 && line[from..].iter().all(u8::is_ascii_hexdigit);
    let what = match line.first()? {
        b':' if has_digits(1) => "an Intel HEX file: make bytes of it (objcopy -I ihex -O binary)",
        b'S' if has_digits(1) => "a file of S-records: make bytes of it (objcopy -I srec -O binary)",
        _ => return None,
    };
    Some(format!("it is {what}"))
}

/// On-disk version 1.x: the version stands right before the magic word.
fn littlefs1(image: &[u8]) -> Option<String> {
    let start = &image[..image.len().min(LITTLEFS1_WITHIN)];
    let at = start.windows(LITTLEFS.len()).position(|bytes| bytes == LITTLEFS)?;
    let version: [u8; 4] = start.get(at.checked_sub(4)?..at)?.try_into().ok()?;
    let version = u32::from_le_bytes(version);
    (version >> 16 == 1)
        .then(|| format!("it is littlefs of on-disk version 1.{}, whose superblock is damaged", version & 0xFFFF))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_named_by_what_is_in_it() {
        let says = |image: &[u8], word: &str| assert!(named(image).unwrap().contains(word), "{word}");
        says(&[0xFF; 100], "erased");
        says(&[0; 100], "0x00");
        says(b"\xDE\xAD\xC0\xDE and more", "first boot");
        says(b":10000000000102030405060708090A0B0C0D0E0F78\n", "Intel HEX");
        let mut image = vec![0xA5; 1 << 16];
        image[0] = 0x5A;
        assert_eq!(named(&image), None);
        image[36..40].copy_from_slice(&0x0001_0001_u32.to_le_bytes());
        image[40..48].copy_from_slice(LITTLEFS);
        says(&image, "version 1.1");
    }
}
