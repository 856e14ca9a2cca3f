//! Nodes whose checksums are right and whose lengths are nonsense: found by the fuzzer.

use ffslab_fs::{Errno, FileSystem, PAGE_BYTES};

use super::{audit, Bench, BLOCK_BYTES};
use crate::format::{crc32, Endian, RawInode, COMPR_LZO, HEADER_BYTES, INODE_BYTES, TYPE_INODE};
use crate::Options;

const E: Endian = Endian::Little;

/// Programs the start of a block that was never written to, as the file system would have, and mounts anew.
fn mount_with(start: &[u8]) -> Bench {
    let mut bench = Bench::new(16, Options::default());
    bench.create("file").unwrap();
    let used = bench.fs.store.space.next_block.unwrap();
    let mut page = vec![0xFF; bench.mtd.page_bytes() as usize];
    page[..start.len()].copy_from_slice(start);
    bench.mtd.write(u64::from((used + 1) % 16 * BLOCK_BYTES), &page).unwrap();
    bench.remount(true);
    bench
}

/// The scan jumped from a node to the next one by a length that was rounded up past 32 bits, to 0: it never came to
/// an end.
#[test]
fn a_node_as_long_as_32_bits_allow_ends_the_scan() {
    let mut header = [0; HEADER_BYTES as usize];
    E.put_header(&mut header, TYPE_INODE, u32::MAX - 1);
    let mut bench = mount_with(&header);
    audit(&bench.fs.store);
    assert!(bench.fs.lookup(1, b"file").is_ok());
}

/// The length of the data, with that of the header, was rounded up past 32 bits.
#[test]
fn data_as_long_as_32_bits_allow_are_no_part_of_the_file() {
    let ino = 2;
    let mut node = RawInode { ino, version: 9, mode: 0o100_644, ..RawInode::default() }.encode(E);
    E.put32(&mut node, 48, u32::MAX - INODE_BYTES);
    let node_crc = crc32(0, &node[..60]);
    E.put32(&mut node, 64, node_crc);
    let mut bench = mount_with(&node);
    assert_eq!(bench.fs.lookup(1, b"file"), Ok(ino));
    assert_eq!(bench.fs.getattr(ino).unwrap().size_bytes, 0);
    audit(&bench.fs.store);
}

/// A node without stored data may claim to cover anything, as holes do; with a compressor's code it was made room for,
/// two gigabytes, before the compressor said no.
#[test]
fn data_that_cannot_be_decompressed_get_no_memory() {
    let ino = 2;
    let raw = RawInode {
        ino,
        version: 9,
        mode: 0o100_644,
        file_bytes: PAGE_BYTES as u32,
        data_bytes: i32::MAX as u32,
        compression: COMPR_LZO,
        ..RawInode::default()
    };
    let mut bench = mount_with(&raw.encode(E));
    let mut page = [0; PAGE_BYTES];
    assert_eq!(bench.fs.read_page(ino, 0, &mut page), Err(Errno::Io));
    assert!(bench.fs.store.reader.plain.capacity() <= BLOCK_BYTES as usize);
}

/// No version can follow the highest one.
#[test]
fn a_file_with_the_highest_version_can_be_written() {
    let ino = 2;
    let raw = RawInode { ino, version: u32::MAX, mode: 0o100_644, ..RawInode::default() };
    let mut bench = mount_with(&raw.encode(E));
    assert_eq!(bench.fs.lookup(1, b"file"), Ok(ino));
    bench.write(ino, 0, &[7; 100]).unwrap();
    assert_eq!(bench.read(ino), [7; 100]);
    audit(&bench.fs.store);
}
