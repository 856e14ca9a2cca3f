//! Each contradiction on the medium is told with its place: inode, erase block, offset in it.

use ffslab_flash::NorFlash;
use ffslab_fs::{Errno, FileKind, FileSystem, NewNode, NoPageCache, PAGE_BYTES};
use ffslab_mtd::Mtd;
use ffslab_sim::{Sim, SimConfig};

use crate::causes;
use crate::damage::{Damage, Flaw, Place};
use crate::format::{crc32, Endian, RawInode, COMPR_LZO, FEATURE_INCOMPAT, HEADER_BYTES, INODE_BYTES};
use crate::ledger::Share;
use crate::{Jffs2, MountError, Options};

const E: Endian = Endian::Little;
const BLOCK_BYTES: u32 = 64 << 10;
/// A block that the new file system of a test does not use, and where in it a node is put: behind the clean marker and a first
/// node.
const BLOCK: u32 = 9;
const FIRST_AT: u32 = HEADER_BYTES;
const AT: u32 = FIRST_AT + INODE_BYTES;
const INO: u32 = 2;
const FILE: u32 = 0o100_644;

struct Bench {
    mtd: Mtd,
    host: NoPageCache,
}

impl Bench {
    /// A medium with one file, on which nodes can be written and spoiled at any place.
    fn new() -> Bench {
        let sim = Sim::new(SimConfig::default());
        let mtd: Mtd = NorFlash::new(sim, BLOCK_BYTES, 16).into();
        let mut bench = Bench { mtd, host: NoPageCache::default() };
        let mut fs = bench.mount().unwrap();
        assert_eq!(fs.create(&mut bench.host, 1, b"file", &NewNode::of(FileKind::File)), Ok(INO));
        assert!(fs.store.space.next_block.unwrap() != BLOCK);
        fs.unmount(&mut bench.host).unwrap();
        bench
    }

    /// The same with a node of the file that is newer than all others.
    fn with(node: RawInode, data: &[u8]) -> Bench {
        let bench = Bench::new();
        let first = RawInode { ino: INO, version: 500, mode: FILE, ..RawInode::default() };
        bench.put(FIRST_AT, &first.encode(E));
        let data_crc = crc32(0, data);
        let ino = if node.ino == 0 { INO } else { node.ino };
        bench.put(AT, &RawInode { ino, version: 900, data_crc, ..node }.encode(E));
        if !data.is_empty() {
            bench.put(AT + INODE_BYTES, data);
        }
        bench
    }

    fn put(&self, at: u32, bytes: &[u8]) {
        self.mtd.write(u64::from(BLOCK * BLOCK_BYTES + at), bytes).unwrap();
    }

    fn mount(&self) -> Result<Jffs2, MountError> {
        Jffs2::mount(self.mtd.clone(), Options { direct: true, ..Options::default() })
    }
}

fn at_node(flaw: Flaw) -> Option<Damage> {
    Some(Damage { flaw, ino: Some(INO), place: Some(Place { block: BLOCK, offset: AT }) })
}

/// What reading the first page of the file says, and what was found. `spoil` works on the medium while the file is in memory.
fn read_of(bench: &Bench, spoil: impl FnOnce(&Bench)) -> Option<Damage> {
    let mut fs = bench.mount().unwrap();
    assert_eq!(fs.lookup(1, b"file"), Ok(INO));
    assert_eq!(fs.damage(), None);
    spoil(bench);
    let mut page = [0; PAGE_BYTES];
    assert_eq!(fs.read_page(INO, 0, &mut page), Err(Errno::Io));
    fs.damage()
}

const DATA: [u8; 200] = [7; 200];

fn of_data(data_bytes: u32) -> RawInode {
    RawInode { mode: FILE, file_bytes: 200, compressed_bytes: 200, data_bytes, ..RawInode::default() }
}

#[test]
fn data_with_a_wrong_check_sum() {
    let found = read_of(&Bench::with(of_data(200), &DATA), |bench| bench.put(AT + INODE_BYTES + 100, &[0; 4]));
    let mut spoilt = DATA;
    spoilt[100..104].fill(0);
    assert_eq!(found, at_node(Flaw::Data { found: crc32(0, &spoilt), expected: crc32(0, &DATA) }));
    let text = found.unwrap().to_string();
    assert!(text.starts_with("data have check sum 0x") && text.ends_with("(inode 2, block 9, offset 0x50)"), "{text}");
}

#[test]
fn a_header_with_a_wrong_check_sum() {
    let found = read_of(&Bench::with(of_data(200), &DATA), |bench| bench.put(AT + 20, &[0; 4]));
    assert_eq!(found, at_node(Flaw::Header));
}

#[test]
fn two_lengths_of_the_same_data() {
    let bench = Bench::with(RawInode { file_bytes: 300, ..of_data(300) }, &DATA);
    assert_eq!(read_of(&bench, |_| ()), at_node(Flaw::Length { stored_bytes: 200, data_bytes: 300 }));
}

#[test]
fn data_that_do_not_expand() {
    let bench = Bench::with(RawInode { compression: COMPR_LZO, ..of_data(200) }, &DATA);
    assert_eq!(read_of(&bench, |_| ()), at_node(Flaw::Compression { compression: COMPR_LZO, data_bytes: 200 }));
}

#[test]
fn more_data_than_a_block_holds() {
    let bytes = 5 * BLOCK_BYTES;
    let raw =
        RawInode { mode: FILE, file_bytes: bytes, data_bytes: bytes, compression: COMPR_LZO, ..RawInode::default() };
    let found = read_of(&Bench::with(raw, &[]), |_| ());
    assert_eq!(found, at_node(Flaw::TooLong { bytes, block_bytes: BLOCK_BYTES }));
}

/// What bringing the file into memory finds.
fn found_by_lookup(bench: &Bench) -> Option<Damage> {
    let mut fs = bench.mount().unwrap();
    assert_eq!(fs.lookup(1, b"file"), Err(Errno::Io));
    fs.damage()
}

#[test]
fn a_mode_of_no_kind_of_file() {
    let bench = Bench::with(RawInode { mode: 0o644, ..RawInode::default() }, &[]);
    assert_eq!(found_by_lookup(&bench), at_node(Flaw::Mode { mode: 0o644 }));
}

#[test]
fn a_symbolic_link_without_a_target() {
    let bench = Bench::with(RawInode { mode: 0o120_777, ..RawInode::default() }, &[]);
    assert_eq!(found_by_lookup(&bench), at_node(Flaw::DataNodes { nodes: 0 }));
}

#[test]
fn an_inode_of_which_no_node_is_left() {
    let bench = Bench::new();
    let mut fs = bench.mount().unwrap();
    let offset = fs.store.space.refs[fs.store.space.inode_caches[&INO].first].offset();
    bench.mtd.write(u64::from(offset) + 20, &[0; 4]).unwrap();
    assert_eq!(fs.lookup(1, b"file"), Err(Errno::Io));
    assert_eq!(fs.damage(), Some(Damage { flaw: Flaw::NoNode, ino: Some(INO), place: None }));
    // It is told once.
    let told = "names lead to an inode of which no sound node is left (inode 2)";
    assert_eq!(fs.take_damage().as_deref(), Some(told));
    assert_eq!(fs.take_damage(), None);
}

#[test]
fn bytes_that_no_inode_owns() {
    let mut bench = Bench::new();
    let mut fs = bench.mount().unwrap();
    while fs.store.space.blocks.totals().unchecked_bytes() != 0 {
        fs.gc_pass(&mut bench.host, &causes::CALLER).unwrap();
    }
    fs.store.space.blocks.shift(BLOCK, Share::Free, Share::Unchecked, 100);
    assert_eq!(fs.gc_pass(&mut bench.host, &causes::CALLER), Err(Errno::NoSpc));
    assert_eq!(
        fs.damage(),
        Some(Damage { flaw: Flaw::Unowned { bytes: 100 }, ino: None, place: Some(Place { block: BLOCK, offset: 0 }) })
    );
}

#[test]
fn a_mount_that_fails_says_where() {
    let root = Bench::with(RawInode { ino: 1, mode: 0o644, ..RawInode::default() }, &[]);
    let damage =
        Damage { flaw: Flaw::Mode { mode: 0o644 }, ino: Some(1), place: Some(Place { block: BLOCK, offset: AT }) };
    assert_eq!(root.mount().err(), Some(MountError::Damaged(damage)));
    let text = root.mount().err().unwrap().to_string();
    assert!(text.ends_with("mode 0o644 is that of no kind of file (inode 1, block 9, offset 0x50)"), "{text}");

    let foreign = Bench::with(RawInode::default(), &[]);
    let mut header = [0; HEADER_BYTES as usize];
    let node_type = FEATURE_INCOMPAT | 0x2000 | 0x55;
    E.put_header(&mut header, node_type, HEADER_BYTES);
    foreign.put(AT + INODE_BYTES, &header);
    let expected = MountError::Incompatible { node_type, block: BLOCK, offset: AT + INODE_BYTES };
    assert_eq!(foreign.mount().err(), Some(expected));

    let sim = Sim::new(SimConfig::default());
    let mtd: Mtd = NorFlash::new(sim, BLOCK_BYTES, 16).into();
    mtd.write(u64::from(3 * BLOCK_BYTES), b"an image of something else").unwrap();
    let other = Bench { mtd, host: NoPageCache::default() };
    assert_eq!(other.mount().err(), Some(MountError::NotJffs2 { block: 3 }));
}
