//! The audits see each kind of mistake, and they are not asleep: a medium that agrees with itself is trusted.

use ffslab_fs::FileSystem;

use super::Bench;
use crate::blocks::BlockState;
use crate::device::Device;
use crate::{Generation, Options};

#[test]
fn what_a_mount_makes_is_audited() {
    for generation in [Generation::Y2010, Generation::Y2011, Generation::Y2012, Generation::Today] {
        for (blocks, checkpoint_read) in [(30, true), (64, true), (64, false)] {
            let options = Options { checkpoint_read, direct: true, ..Options::of(generation) };
            let mut bench = Bench::used(blocks, options);
            assert!(bench.fs.device.chunks.blocks.is_trusted, "{generation:?}, {blocks} blocks");
            bench.remount();
            assert!(bench.fs.device.chunks.blocks.is_trusted, "{generation:?}, {blocks} blocks, after a mount");
        }
    }
}

/// Breaks something and lets everything be written out, which ends with an audit.
fn after(breaks: impl FnOnce(&mut Device)) {
    let mut bench = Bench::used(30, Options { direct: true, ..Options::default() });
    breaks(&mut bench.fs.device);
    bench.fs.sync(&mut bench.host).unwrap();
}

fn full_block(device: &Device) -> u32 {
    device.chunks.blocks.all().find(|&block| device.chunks.blocks.info(block).state == BlockState::Full).unwrap()
}

fn page_in_use(device: &Device, block: u32) -> u32 {
    device.chunks.blocks.next_in_use(block, 0).unwrap()
}

#[test]
fn nothing_is_said_about_what_is_right() {
    after(|_| ());
}

#[test]
#[should_panic(expected = "chunks are free")]
fn a_free_chunk_too_many_is_found() {
    after(|device| device.chunks.blocks.found_free());
}

#[test]
#[should_panic(expected = "blocks are erased")]
fn an_erased_block_that_is_not_counted_is_found() {
    after(|device| {
        let empty = device
            .chunks
            .blocks
            .all()
            .find(|&block| device.chunks.blocks.info(block).state == BlockState::Empty)
            .unwrap();
        device.chunks.blocks.info_mut(empty).state = BlockState::Unknown;
    });
}

#[test]
#[should_panic(expected = "is not in use")]
fn a_chunk_that_goes_out_of_use_twice_is_found() {
    after(|device| {
        let block = full_block(device);
        let page = page_in_use(device, block);
        device.chunks.blocks.drop_chunk(block, page);
        device.chunks.blocks.drop_chunk(block, page);
    });
}

#[test]
#[should_panic(expected = "is free or has two owners")]
fn a_chunk_that_a_file_has_lost_is_found() {
    after(|device| {
        let block = full_block(device);
        let page = page_in_use(device, block);
        device.chunks.blocks.drop_chunk(block, page);
    });
}

#[test]
#[should_panic(expected = "that nobody owns")]
fn a_chunk_that_nobody_owns_is_found() {
    after(|device| {
        device.chunks.blocks.open_block();
        device.chunks.blocks.take_chunk().unwrap();
    });
}

#[test]
#[should_panic(expected = "the list of changed directories")]
fn a_directory_that_is_not_in_its_list_is_found() {
    after(|device| {
        let other = device.objects.lost_and_found;
        device.objects[other].in_dirty_list = true;
    });
}

#[test]
#[should_panic(expected = "and counts")]
fn a_file_that_miscounts_its_chunks_is_found() {
    after(|device| {
        let file = device.objects.children(device.objects.root)[0];
        device.objects[file].file.chunks += 1;
    });
}
