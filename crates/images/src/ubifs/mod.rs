//! Images of UBIFS, on UBI.

mod fastmap;
pub mod fscrypt;
mod nodes;
mod past;
mod purposes;
mod recognise;
mod scan;
mod shipped;
mod tree;
mod volumes;

pub(crate) use recognise::{headers, headers_in_step};
pub(crate) use scan::all_volumes;
pub use shipped::shipped;
pub use tree::ubi_options;

use crate::format::{BlockLook, BlockOwner, BlockReader, Evidence, Given, ImageFormat, ImageFs, Layout};
use crate::lost::history::History;
use crate::scan::Scanned;
use crate::tree::{Content, CutOff, OnChip, Tree, TreeError};
use std::ops::Range;

/// How they are recognised, read and explained.
pub struct InImages;

impl ImageFormat for InImages {
    fn sign(&self) -> &'static str {
        "UBI header"
    }

    fn evidence(&self) -> &'static [Evidence] {
        &[Evidence::Superblock, Evidence::Headers, Evidence::FewHeaders]
    }

    fn recognise(&self, fs: ImageFs, image: &[u8], given: &Given, evidence: Evidence) -> Option<Layout> {
        if evidence == Evidence::Superblock {
            return recognise::volume_alone(fs, image);
        }
        let mut layout = recognise::recognise(fs, image, given)?;
        layout.unchecked = recognise::unchecked(image, &layout);
        let (headers, used) = recognise::headers_of_used(image, &layout);
        (evidence == Evidence::FewHeaders || 2 * headers >= used).then_some(layout)
    }

    fn begins_at(&self, image: &[u8], layout: Option<&Layout>) -> Option<usize> {
        match layout {
            Some(layout) if layout.ubi_at_bytes.is_some() => recognise::starts_late(image, layout),
            Some(_) => None,
            None => recognise::first_header(image),
        }
    }

    fn runs(&self, image: &[u8]) -> Vec<Range<usize>> {
        recognise::runs(image)
    }

    fn marks_every_block(&self) -> bool {
        true
    }

    fn block_owner<'a>(&self, _image: &'a [u8], _page_bytes: u32, _oob_bytes: u32) -> Option<BlockOwner<'a>> {
        Some(Box::new(|block: &BlockLook<'_>| ffslab_ubi::probe::image_number(block.data)))
    }

    fn block_reader(&self, block: &BlockLook<'_>) -> Option<BlockReader> {
        purposes::reader(block)
    }

    fn read(&self, image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError> {
        volumes::read(image, layout, content)
    }

    fn scan(&self, image: &[u8], layout: &Layout, scanned: &mut Scanned) {
        scan::scan(image, layout, scanned);
    }

    fn history<'i>(&self, image: &'i [u8], layout: &'i Layout) -> Option<History<'i>> {
        past::history(image, layout)
    }

    fn volumes(&self, image: &[u8], layout: &Layout) -> Vec<(Vec<u8>, Layout)> {
        volumes::of_ubifs(image, layout)
    }

    /// The attach of a copy has moved the volume table and dropped the fastmap.
    fn put_right(&self, layout: &Layout, scanned: &mut Scanned) {
        for facts in scanned.blocks.iter_mut().filter(|facts| facts.valid_bytes.is_some()) {
            if [scan::VOLUME_TABLE, fastmap::ANCHOR, fastmap::DATA].contains(&facts.holds.as_str()) {
                (facts.valid_bytes, facts.invalid_bytes, facts.free_bytes) =
                    (Some(layout.block_bytes), Some(0), Some(0));
            }
        }
    }

    fn cut_off(&self, image: &[u8], layout: &Layout) -> Option<CutOff> {
        cut_off(image, layout)
    }

    /// With room for the volumes, which may be larger than what they hold.
    fn on_chip<'i>(&self, image: &'i [u8], layout: &Layout) -> Result<OnChip<'i>, TreeError> {
        let (ubi, volume, geometry) = tree::attach(image, layout)?;
        drop(volume);
        ubi.detach();
        Ok(layout.as_it_is_on(geometry, image))
    }
}

fn cut_off(image: &[u8], layout: &Layout) -> Option<CutOff> {
    let all = layout.stored_block_bytes();
    let here = image.len() % all;
    let what = format!(
        "the image is cut off in this erase block, which has only {here} of {all} B: what stood behind it is missing"
    );
    (here > 0).then(|| CutOff { offset: (image.len() - here) as u64, what })
}
