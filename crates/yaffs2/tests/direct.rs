//! The direct interface: no page cache above, any length at any place.

use crate::support;

use ffslab_flash::{Chip, Geometry, Rules, Timing};
use ffslab_fs::{Errno, FileKind, FileSystem, NewNode, NoPageCache};
use ffslab_mtd::{Driver, Mtd, Nand};
use ffslab_sim::{Sim, SimConfig};
use ffslab_yaffs2::{Options, Yaffs2};
use support::content;

fn partition() -> Mtd {
    let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: 80 };
    let timing = Timing { read_ns: 25_000, program_ns: 200_000, erase_ns: 500_000, bus_ps_per_byte: 50_000 };
    let rules = Rules { partial_programs_max: 1, in_order: true };
    let chip = Chip::new(Sim::new(SimConfig::default()), geometry, timing, rules).unwrap();
    Mtd::new(&Nand::new(chip, Driver::default()).unwrap(), 0, 80).unwrap()
}

fn mounted(mtd: &Mtd) -> Yaffs2 {
    Yaffs2::mount(mtd.clone(), Options { background: None, direct: true, ..Options::default() }).unwrap()
}

#[test]
fn what_was_written_is_read_after_a_remount() {
    let mtd = partition();
    let mut host = NoPageCache::default();
    let mut fs = mounted(&mtd);
    let ino = fs.create(&mut host, fs.root(), b"file", &NewNode::of(FileKind::File)).unwrap();
    let data = content(0, 30_011);
    for (at, piece) in (0..).step_by(777).zip(data.chunks(777)) {
        assert_eq!(fs.write_at(ino, at, piece), Ok(piece.len()));
    }
    fs.close(&mut host, ino).unwrap();
    fs.release(ino);
    fs.unmount(&mut host).unwrap();
    drop(fs);

    let mut fs = mounted(&mtd);
    let ino = fs.lookup(fs.root(), b"file").unwrap();
    let mut read = vec![0; 40_000];
    assert_eq!(fs.read_at(ino, 0, &mut read), Ok(data.len()));
    assert_eq!(read[..data.len()], data);
    assert_eq!(fs.read_at(ino, 30_000, &mut read[..5]), Ok(5));
    assert_eq!(read[..5], data[30_000..30_005]);
    assert_eq!(fs.read_at(ino, 30_011, &mut read), Ok(0));
}

/// Through the page cache a piece that is not cached is read first; here a whole new chunk costs no read.
#[test]
fn short_writes_meet_in_the_short_op_cache() {
    let mtd = partition();
    let sim = mtd.sim().clone();
    let mut host = NoPageCache::default();
    let mut fs = mounted(&mtd);
    let ino = fs.create(&mut host, fs.root(), b"file", &NewNode::of(FileKind::File)).unwrap();
    let before = sim.total();
    for i in 0..16 {
        fs.write_at(ino, i * 128, &[i as u8; 128]).unwrap();
    }
    assert_eq!((sim.total() - before).operations(), 0);
    fs.close(&mut host, ino).unwrap();
    let close = sim.total() - before;
    // The chunk and the header; the old header is read for its name.
    assert_eq!((close.page_programs, close.page_reads), (2, 1));
}

#[test]
fn a_file_that_nobody_holds_goes_with_its_name() {
    let mtd = partition();
    let mut host = NoPageCache::default();
    let mut fs = mounted(&mtd);
    let ino = fs.create(&mut host, fs.root(), b"file", &NewNode::of(FileKind::File)).unwrap();
    fs.write_at(ino, 0, &[1; 5000]).unwrap();
    fs.close(&mut host, ino).unwrap();
    fs.release(ino);
    let before = fs.space().free_pages;
    fs.unlink(&mut host, fs.root(), b"file").unwrap();
    // Three data chunks and the header; the header that says so was written and freed on the way.
    assert_eq!(fs.space().free_pages, before + 4);
    assert_eq!(fs.write_at(ino, 0, &[1]), Err(Errno::NoEnt));
}

#[test]
fn a_full_partition_reports_no_space_and_garbage_can_be_collected() {
    let mtd = partition();
    let mut host = NoPageCache::default();
    let mut fs = mounted(&mtd);
    let ino = fs.create(&mut host, fs.root(), b"file", &NewNode::of(FileKind::File)).unwrap();
    let data = content(0, 65536);
    let mut at = 0;
    let end = loop {
        match fs.write_at(ino, at, &data) {
            Ok(written) => at += written as u64,
            Err(error) => break error,
        }
    };
    assert_eq!(end, Errno::NoSpc);
    fs.setattr(&mut host, ino, &ffslab_fs::SetAttr { size_bytes: Some(0), ..Default::default() }).unwrap();
    while !fs.collect_garbage().unwrap() {}
    assert!(fs.space().erased_blocks > 35, "{:?}", fs.space());
}
