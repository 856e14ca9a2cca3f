//! Each contradiction on the medium is told with its place: object, erase block of the partition, page in it.

use std::ops::Range;

use ffslab_flash::ImageLayout;
use ffslab_fs::{Errno, FileKind, FileSystem, NewNode};

use super::{Bench, PAGES_PER_BLOCK};
use crate::blocks::BlockState;
use crate::damage::{Damage, Flaw, Place};
use crate::headers::HeaderUpdate;
use crate::objects::Obj;
use crate::{Options, Yaffs2};

const BLOCKS: u32 = 192;
const PAGE_BYTES: usize = 2048;
const PAGE_WITH_OOB_BYTES: usize = PAGE_BYTES + 64;
const WITH_OOB: ImageLayout = ImageLayout { oob: true, hamming_ecc: false };
/// Each page of a checkpoint begins with a header.
const PAGE_HEADER_BYTES: usize = 16;

fn options() -> Options {
    Options { direct: true, ..Options::default() }
}

/// A medium with a checkpoint that takes more than one block, and the blocks of the partition that hold it.
fn checkpointed() -> (Bench, Vec<u32>) {
    let mut bench = Bench::new(BLOCKS, options());
    for i in 0..600 {
        let ino = bench.create(&format!("small {i}")).unwrap();
        bench.fs.write_at(ino, 0, b"content").unwrap();
        bench.fs.close(&mut bench.host, ino).unwrap();
    }
    bench.fs.unmount(&mut bench.host).unwrap();
    let blocks = &bench.fs.device.chunks.blocks;
    let holders = blocks.all().filter(|&block| blocks.info(block).state == BlockState::Checkpoint);
    let holders: Vec<u32> = holders.map(|block| block - 1).collect();
    assert!(holders.len() > 1, "{holders:?}");
    (bench, holders)
}

/// Bytes of a page in an image with out-of-band areas.
fn page(block: u32, page: u32) -> Range<usize> {
    let start = (block * PAGES_PER_BLOCK + page) as usize * PAGE_WITH_OOB_BYTES;
    start..start + PAGE_WITH_OOB_BYTES
}

/// Changes the image of a medium, and says why its checkpoint is refused then. The files are found by a scan.
fn refused(bench: Bench, change: impl FnOnce(&mut [u8])) -> Damage {
    let mut image = Vec::new();
    bench.mtd.nand().unwrap().with_chip(|chip| chip.write_image(&mut image, 0..BLOCKS, WITH_OOB)).unwrap();
    change(&mut image);
    let other = Bench::new(BLOCKS, Options { read_only: true, ..options() });
    other.mtd.nand().unwrap().with_chip(|chip| chip.load_bytes("image", &image, 0..BLOCKS, WITH_OOB)).unwrap();
    let mut fs = Yaffs2::mount(other.mtd.clone(), other.options).unwrap();
    assert!(fs.lookup(1, b"small 599").is_ok());
    fs.damage().unwrap()
}

#[test]
fn a_sound_checkpoint_is_not_refused() {
    let (mut bench, _) = checkpointed();
    bench.fs = Yaffs2::mount(bench.mtd.clone(), bench.options).unwrap();
    assert!(bench.fs.device.chunks.checkpoint.is_valid);
    assert_eq!(bench.fs.damage(), None);
}

#[test]
fn a_value_that_cannot_be() {
    let (bench, blocks) = checkpointed();
    // The second word is the magic number.
    let damage = refused(bench, |image| image[page(blocks[0], 0)][PAGE_HEADER_BYTES + 4..][..4].fill(0));
    let flaw = Flaw::CheckpointValue { what: "magic number", found: 0 };
    assert_eq!(damage, Damage { flaw, object: None, place: Some(Place { block: blocks[0], page: 0 }) });
    let expected = format!("a checkpoint states 0x0 as magic number, which cannot be (block {}, page 0)", blocks[0]);
    assert_eq!(damage.to_string(), expected);
}

#[test]
fn a_page_that_does_not_follow() {
    let (bench, blocks) = checkpointed();
    let damage = refused(bench, |image| image[page(blocks[0], 3)][..4].fill(0));
    assert_eq!(
        damage,
        Damage {
            flaw: Flaw::CheckpointPage { page: 3 },
            object: None,
            place: Some(Place { block: blocks[0], page: 3 })
        }
    );
}

#[test]
fn a_wrong_sum() {
    let (bench, blocks) = checkpointed();
    // The last page that is written ends with the sum, and what is behind it is zero.
    let is_written =
        |image: &[u8], number: u32| image[page(blocks[1], number)][..PAGE_BYTES].iter().any(|&byte| byte != 0xFF);
    let mut last = 0;
    let damage = refused(bench, |image| {
        last = (0..PAGES_PER_BLOCK).rev().find(|&number| is_written(image, number)).unwrap();
        let data = &mut image[page(blocks[1], last)][..PAGE_BYTES];
        let end = data.iter().rposition(|&byte| byte != 0).unwrap();
        data[end] ^= 1;
    });
    let Flaw::CheckpointSum { found, expected } = damage.flaw else { panic!("{damage}") };
    assert_eq!((found ^ expected).count_ones(), 1, "{damage}");
    assert_eq!(damage.place, Some(Place { block: blocks[1], page: last }));
}

#[test]
fn a_checkpoint_that_ends_early() {
    let (bench, blocks) = checkpointed();
    let damage = refused(bench, |image| {
        for &block in &blocks[1..] {
            image[page(block, 0).start..page(block, PAGES_PER_BLOCK).start].fill(0xFF);
        }
    });
    let place = Some(Place { block: blocks[0], page: PAGES_PER_BLOCK - 1 });
    assert_eq!(damage, Damage { flaw: Flaw::CheckpointEnds { page: PAGES_PER_BLOCK }, object: None, place });
}

/// Lets the header of an object say something wrong, and mounts anew by a scan. Returns the object's number and the place of its
/// header.
fn with_wrong_header(bench: &mut Bench, name: &str, change: impl FnOnce(&mut Yaffs2, Obj)) -> (u32, Place) {
    bench.options.checkpoint_read = false;
    let root = bench.fs.device.objects.root;
    let obj = bench.fs.device.find_by_name(root, name.as_bytes()).unwrap().unwrap();
    change(&mut bench.fs, obj);
    bench.fs.device.update_header(obj, HeaderUpdate { force: true, ..HeaderUpdate::default() }).unwrap();
    let object = &bench.fs.device.objects[obj];
    let (id, chunk) = (object.id, object.header_chunk);
    bench.remount();
    (id, Place { block: chunk / PAGES_PER_BLOCK - 1, page: chunk % PAGES_PER_BLOCK })
}

#[test]
fn a_mode_of_no_kind_of_file() {
    let mut bench = Bench::new(30, options());
    let device = NewNode { device: 0x0103, ..NewNode::of(FileKind::CharDevice) };
    bench.fs.create(&mut bench.host, 1, b"null", &device).unwrap();
    let (id, place) = with_wrong_header(&mut bench, "null", |fs, obj| fs.device.objects[obj].attributes.mode = 0o644);
    let ino = bench.fs.lookup(1, b"null").unwrap();
    assert_eq!(bench.fs.getattr(ino).err(), Some(Errno::Io));
    let expected = Damage { flaw: Flaw::Mode { mode: 0o644 }, object: Some(id), place: Some(place) };
    assert_eq!(bench.fs.damage(), Some(expected));
    assert_eq!(bench.fs.take_damage(), Some(expected.to_string()));
    assert_eq!(bench.fs.damage(), None);
}

#[test]
fn a_hard_link_to_nothing() {
    let mut bench = Bench::new(30, options());
    let ino = bench.create("file").unwrap();
    bench.fs.link(&mut bench.host, ino, 1, b"link").unwrap();
    let (id, place) = with_wrong_header(&mut bench, "link", |fs, obj| fs.device.objects[obj].equivalent_id = 9999);
    assert_eq!(bench.fs.lookup(1, b"link"), Err(Errno::NoEnt));
    let expected = Damage { flaw: Flaw::Link { target: 9999 }, object: Some(id), place: Some(place) };
    assert_eq!(bench.fs.damage(), Some(expected));
}
