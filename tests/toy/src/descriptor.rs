//! What the laboratory knows of the toy.

use crate::log::{self, Record};
use crate::Toy;
use ffslab_fs::{FileSystem, PAGE_BYTES};
use ffslab_images::format::{BlockLook, BlockOwner, Evidence, Given, ImageFormat, ImageFs, Layout};
use ffslab_images::on_chip::chip_with;
use ffslab_images::recognise::{strides, BLOCK_BYTES_USUAL};
use ffslab_images::scan::Scanned;
use ffslab_images::tree::{tree_in, Content, OnChip, Tree, TreeError};
use ffslab_lab::SystemError;
use ffslab_machine::file_systems::{Descriptor, Ground, Mountable, Promises, Settings};
use ffslab_machine::mount_options::{no_options, MountOptions};
use ffslab_machine::stack_keys::StackKeys;
use ffslab_machine::MachineError;
use ffslab_profiles::Profile;
use std::sync::Arc;

pub static TOY: Descriptor = Descriptor {
    name: "toy",
    title: "Toy",
    about: "a log of records on one half of the partition at a time; it is there for tests",
    mountable: Some(&OnLinux),
    on_rtems: None,
    on_bare: None,
    image: Some(&InImages),
    promises: Promises::SYNCED,
};

struct OnLinux;

impl Mountable for OnLinux {
    fn settings(&self, _keys: &mut StackKeys, _board: &Profile) -> Result<Arc<dyn Settings>, MachineError> {
        Ok(Arc::new(ToySettings))
    }
}

#[derive(Debug)]
struct ToySettings;

impl Settings for ToySettings {
    fn fs(&self) -> &'static Descriptor {
        &TOY
    }

    fn mount(&self, ground: &Ground<'_>, options: &MountOptions) -> Result<Box<dyn FileSystem>, SystemError> {
        no_options(TOY.name, &options.others)?;
        Ok(Box::new(Toy::mount(ground.mtd.clone(), options.read_only).map_err(SystemError::unusable)?))
    }
}

struct InImages;

/// A partition has at least a block in each half, and one to spare.
const BLOCKS_MIN: u32 = 4;

impl ImageFormat for InImages {
    fn sign(&self) -> &'static str {
        "toy record"
    }

    fn evidence(&self) -> &'static [Evidence] {
        &[Evidence::Headers]
    }

    fn recognise(&self, fs: ImageFs, image: &[u8], given: &Given, _evidence: Evidence) -> Option<Layout> {
        // The sizes with which most pages begin with a record, and a record of several pages is whole.
        let whole = |&(page, oob): &(u32, u32)| {
            let pages = image.chunks((page + oob) as usize).enumerate();
            let headers = pages.filter(|(_, page)| page.starts_with(&log::MAGIC)).map(|(number, _)| number);
            let layout = Layout::new(fs, page, oob, page, image);
            headers.take(64).filter(|&at| record_at(image, &layout, at as u32).is_some()).count()
        };
        let sizes: Vec<(u32, u32)> = strides(given).collect();
        let &(page, oob) = sizes.iter().rev().max_by_key(|sizes| whole(sizes)).filter(|sizes| whole(sizes) > 0)?;
        let block_bytes = given.block_bytes.unwrap_or(BLOCK_BYTES_USUAL);
        let layout = Layout::new(fs, page, oob, block_bytes, image);
        Some(layout.because(format!("with pages of {page} + {oob} B records of the toy are whole")))
    }

    fn block_owner<'a>(&self, _image: &'a [u8], _page_bytes: u32, _oob_bytes: u32) -> Option<BlockOwner<'a>> {
        Some(Box::new(|block: &BlockLook<'_>| block.data.starts_with(&log::MAGIC).then_some(0)))
    }

    fn read(&self, image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError> {
        let geometry = self.on_chip(image, layout)?.geometry;
        let mut fs = Toy::mount(chip_with(image, geometry, layout.oob_bytes > 0)?, true).map_err(TreeError::refused)?;
        Ok(tree_in(&mut fs, content, Vec::new()))
    }

    fn scan(&self, image: &[u8], layout: &Layout, scanned: &mut Scanned) {
        let pages_per_block = layout.pages_per_block();
        let (mut records, mut generation) = (0, 0);
        for block in 0..layout.blocks {
            let first = block * pages_per_block;
            let found: Vec<Record> =
                (first..first + pages_per_block).filter_map(|page| record_at(image, layout, page)).collect();
            records += found.len();
            generation = found.iter().map(|record| record.generation).fold(generation, u32::max);
            scanned.blocks[block as usize].holds = format!("{} records", found.len());
        }
        scanned.fact("records", records);
        scanned.fact("generation", generation);
    }

    fn on_chip<'i>(&self, image: &'i [u8], layout: &Layout) -> Result<OnChip<'i>, TreeError> {
        layout.as_it_is(image, BLOCKS_MIN)
    }
}

/// The record that begins with a page. Of several pages: if the blocks that they stand in are neighbours.
fn record_at(image: &[u8], layout: &Layout, page: u32) -> Option<Record> {
    let stride = layout.stride_bytes();
    let rest = image.get(page as usize * stride..)?;
    if !rest.starts_with(&log::MAGIC) {
        return None;
    }
    // No record is longer than the content of a few pages and the names with it.
    let pages = rest.chunks(stride).take(16 * PAGE_BYTES / layout.page_bytes as usize + 16);
    let bytes: Vec<u8> = pages.flat_map(|page| page.iter().take(layout.page_bytes as usize)).copied().collect();
    log::decoded(&bytes).map(|(record, _)| record)
}
