//! JFFS2 on media that can do different things: the conformance kit on NOR under Linux, and what the medium's capabilities
//! change on flash.

use crate::subject;

use ffslab_conformance::{must, power_cuts, sequences, Failure, Features, Subject};
use ffslab_flash::{Geometry, NorFlash, NorProgram, NorRead, NorTiming};
use ffslab_fs::{FileKind, FileSystem, NewNode, NoPageCache};
use ffslab_jffs2::{Compression, Jffs2, Options};
use ffslab_mtd::{ram, Mtd};
use ffslab_sim::{Sim, SimConfig};
use subject::Jffs2Subject;

/// 24 erase blocks of 32 KiB, as NOR flash.
const SIZES: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks: 24 };

/// The usual subject on NOR instead of NAND.
struct OnNor(Jffs2Subject);

impl Subject for OnNor {
    fn name(&self) -> &str {
        "jffs2 on NOR"
    }

    fn geometry(&self) -> Geometry {
        self.0.geometry()
    }

    fn medium(&self, sim: &Sim) -> Result<Mtd, Failure> {
        Ok(nor(sim))
    }

    fn mount(&self, mtd: Mtd) -> Result<Box<dyn FileSystem>, String> {
        self.0.mount(mtd)
    }

    fn older_xattrs_may_return(&self) -> bool {
        self.0.older_xattrs_may_return()
    }

    fn xattrs_reserve_space_first(&self) -> bool {
        self.0.xattrs_reserve_space_first()
    }

    fn features(&self) -> Features {
        self.0.features()
    }

    fn may_refuse_unfinished_format(&self) -> bool {
        self.0.may_refuse_unfinished_format()
    }

    fn rename_may_leave_both_names(&self) -> bool {
        self.0.rename_may_leave_both_names()
    }

    fn unlink_may_want_time(&self) -> bool {
        self.0.unlink_may_want_time()
    }
}

fn nor(sim: &Sim) -> Mtd {
    // JFFS2 chooses by the clock what it collects, so time must pass.
    let timing = NorTiming {
        read: NorRead::Serial { ps_per_byte: 20_000 },
        load_ps_per_byte: 0,
        program: NorProgram { unit_bytes: SIZES.block_bytes(), unit_ns: 1_000_000, least_bytes: 1, least_ns: 10_000 },
        erase_ns: 300_000_000,
        suspend_ns: None,
    };
    NorFlash::new(sim.clone(), SIZES.block_bytes(), SIZES.blocks).with_timing(timing).into()
}

fn on_nor(options: Options) -> OnNor {
    OnNor(Jffs2Subject { policy: "kernel", options, geometry: SIZES })
}

#[test]
fn on_nor_random_sequences_behave_like_the_model() {
    let options = sequences::Options { seed: 11, ..sequences::Options::default() };
    must(sequences::check(&on_nor(Options::default()), &options));
}

#[test]
fn on_nor_power_cuts_lose_nothing_that_was_safe() {
    let options = power_cuts::Options { points_max: 12, ..power_cuts::Options::default() };
    let report = must(power_cuts::check(&on_nor(Options::default()), &options));
    assert!(report.cut_points() > 250, "{report}");
    let zlib = Options { compression: Compression::Zlib, ..Options::default() };
    let options = power_cuts::Options { points_max: 5, ..power_cuts::Options::default() };
    must(power_cuts::check(&on_nor(zlib), &options));
}

/// A file through the calls of a caller without a page cache, and what is found after a mount.
fn written_directly(mtd: &Mtd) -> Vec<u8> {
    let options = Options { direct: true, ..Options::default() };
    let data: Vec<u8> = (0..10_000u32).map(|i| ((i * i) >> 3) as u8).collect();
    let host = &mut NoPageCache::default();
    let ino = {
        let mut fs = Jffs2::mount(mtd.clone(), options).unwrap();
        let root = fs.root();
        let ino = fs.create(host, root, b"file", &NewNode::of(FileKind::File)).unwrap();
        fs.take_inode(ino).unwrap();
        assert_eq!(fs.write_at(host, ino, 0, &data), Ok(data.len()));
        fs.fsync(host, ino, false).unwrap();
        fs.unmount(host).unwrap();
        ino
    };
    mtd.restart();
    let mut fs = Jffs2::mount(mtd.clone(), options).unwrap();
    fs.take_inode(ino).unwrap();
    let mut found = vec![0; data.len()];
    assert_eq!(fs.read_at(ino, 0, &mut found), Ok(data.len()));
    assert_eq!(found, data);
    let mut image = vec![0; mtd.size_bytes() as usize];
    mtd.look(0, &mut image).unwrap();
    image
}

/// The clean marker of a block, little-endian (`struct jffs2_unknown_node`).
const CLEAN_MARKER: [u8; 8] = [0x85, 0x19, 0x03, 0x20, 0x0C, 0, 0, 0];

fn blocks_with_marker(image: &[u8], block_bytes: u32) -> usize {
    image.chunks_exact(block_bytes as usize).filter(|block| block.starts_with(&CLEAN_MARKER)).count()
}

#[test]
fn a_caller_without_page_cache_works_on_nand_and_nor() {
    let sim = Sim::new(SimConfig::default());
    let (nor, nand) = (nor(&sim), ram::flash(&sim, 8 * 256 * 1024).unwrap());
    let (on_nor, on_nand) = (written_directly(&nor), written_directly(&nand));
    // On NOR each erased block begins with its marker, on NAND the markers stand in the out-of-band area.
    assert!(blocks_with_marker(&on_nor, nor.erase_block_bytes()) > 15);
    assert_eq!(blocks_with_marker(&on_nand, nand.erase_block_bytes()), 0);
    let mut marker = [0; 8];
    nand.read_oob_free(7 * u64::from(nand.erase_block_bytes()), &mut marker).unwrap();
    assert_eq!(marker[..4], CLEAN_MARKER[..4]);
}

/// Reads of the second mount of a partition with a file of some blocks, and what the medium held then.
fn mounted_again(summary: bool) -> (u64, Vec<u8>) {
    let sim = Sim::new(SimConfig::default());
    let (mtd, host) = (nor(&sim), &mut NoPageCache::default());
    let options = Options { summary, ..Options::default() };
    let mut fs = Jffs2::mount(mtd.clone(), options).unwrap();
    let root = fs.root();
    let ino = fs.create(host, root, b"file", &NewNode::of(FileKind::File)).unwrap();
    for at in (0..200_000).step_by(4096) {
        // The first page is superseded again and again.
        fs.write_at(host, ino, at, &[at as u8; 4096]).unwrap();
        fs.write_at(host, ino, 0, &[at as u8; 4096]).unwrap();
    }
    fs.unmount(host).unwrap();
    let before = sim.total().page_reads;
    drop(Jffs2::mount(mtd.clone(), options).unwrap());
    let reads = sim.total().page_reads - before;
    let mut image = vec![0; mtd.size_bytes() as usize];
    mtd.look(0, &mut image).unwrap();
    (reads, image)
}

/// A kernel that writes summaries marks no node on NOR (`jffs2_can_mark_obsolete`), and its summaries say that the block begins
/// with a clean marker.
#[test]
fn with_summaries_nothing_is_marked_on_nor_and_a_mount_reads_the_ends_of_blocks() {
    let [(reads, with), (all_reads, without)] = [true, false].map(mounted_again);
    let marked = |image: &[u8]| image.chunks_exact(4).filter(|word| *word == [0x85, 0x19, 0x02, 0xC0]).count();
    assert_eq!(marked(&with), 0);
    assert!(marked(&without) > 40, "{}", marked(&without));
    let summarised =
        with.chunks_exact(SIZES.block_bytes() as usize).filter(|block| block.ends_with(&[0x85, 0x18, 0x85, 0x02]));
    let marker_bytes = summarised.map(|block| {
        let place = u32::from_le_bytes(block[block.len() - 8..][..4].try_into().unwrap()) as usize;
        u32::from_le_bytes(block[place + 16..][..4].try_into().unwrap())
    });
    let marker_bytes: Vec<u32> = marker_bytes.collect();
    assert!(marker_bytes.len() > 9 && marker_bytes.iter().all(|&bytes| bytes == 12), "{marker_bytes:?}");
    assert!(reads < all_reads, "{reads} of {all_reads}");
}
