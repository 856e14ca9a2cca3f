//! Images of YAFFS2.

mod past;
mod purposes;
mod recognise;
mod scan;
mod tree;

use crate::format::{BlockLook, BlockOwner, BlockReader, Evidence, Given, ImageFormat, ImageFs, Layout};
use crate::lost::history::History;
use crate::scan::Scanned;
use crate::tree::{Content, CutOff, OnChip, Tree, TreeError};
use ffslab_mtd::is_erased;
use ffslab_text::quoting::quoted;
use ffslab_yaffs2::probe::{self, Known, PageKind};

/// Headers stand at the beginning of pages, whose size nothing tells.
const SMALLEST_PAGE_BYTES: usize = 512;
const HEADERS_LOOKED_AT: usize = 4;

/// How they are recognised, read and explained.
pub struct InImages;

impl ImageFormat for InImages {
    fn sign(&self) -> &'static str {
        "YAFFS2 object header"
    }

    fn evidence(&self) -> &'static [Evidence] {
        &[Evidence::Tags]
    }

    fn recognise(&self, fs: ImageFs, image: &[u8], given: &Given, _evidence: Evidence) -> Option<Layout> {
        recognise::recognise(fs, image, given)
    }

    fn hint(&self, fs: ImageFs, image: &[u8], given: &Given) -> Option<String> {
        if recognise::lacks_blocks(fs, image, given) {
            let text = "pages side by side have different sequence numbers: no size of erase blocks suits the image";
            return Some(text.to_string());
        }
        if given.fs.is_none() && image.chunks_exact(SMALLEST_PAGE_BYTES).any(is_header_without_tags) {
            let text = "nothing can be read of it, but it has object headers of YAFFS2: the image needs the OOB areas of its pages, where their \
                        tags are (nanddump --oob; `oob = true` of the step save_image)";
            return Some(text.to_string());
        }
        given.fs.map(|_| {
            "there is no YAFFS2 object header in the image: without in-band tags it needs its OOB areas".to_string()
        })
    }

    fn begins_at(&self, image: &[u8], layout: Option<&Layout>) -> Option<usize> {
        if layout.is_some() {
            return None;
        }
        // In a dump of several partitions the first of these may stand in something else.
        let firsts = probe::foreign::header_places(image).take(HEADERS_LOOKED_AT);
        // What ends where a page does may be damaged pages of it.
        firsts.filter(|&at| at > 0).find(|&at| {
            probe::layout(&image[at..], &Known::default()).is_some_and(|found| !at.is_multiple_of(found.stride_bytes()))
        })
    }

    /// Most of its pages have tags that make sense.
    fn block_owner<'a>(&self, image: &'a [u8], page_bytes: u32, oob_bytes: u32) -> Option<BlockOwner<'a>> {
        let known = Known { page_bytes: Some(page_bytes), oob_bytes: Some(oob_bytes), ..Known::default() };
        let tags = probe::layout(image, &known)?;
        Some(Box::new(move |block: &BlockLook<'_>| {
            // In-band tags stand in the data; what is erased but for its OOB areas has no tags of data either.
            if is_erased(block.data) {
                return None;
            }
            let looked = block.stored.chunks_exact(tags.stride_bytes()).filter_map(|page| tags.look(page));
            let (mut sound, mut wrong) = (0, 0);
            looked.for_each(|page| if matches!(page.kind, PageKind::Damage(_)) { wrong += 1 } else { sound += 1 });
            (sound > wrong).then_some(0)
        }))
    }

    fn block_reader(&self, block: &BlockLook<'_>) -> Option<BlockReader> {
        purposes::reader(block)
    }

    fn read(&self, image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError> {
        tree::read(image, layout, content)
    }

    fn scan(&self, image: &[u8], layout: &Layout, scanned: &mut Scanned) {
        scan::scan(image, layout, scanned);
    }

    fn history<'i>(&self, image: &'i [u8], layout: &'i Layout) -> Option<History<'i>> {
        Some(past::history(image, layout, layout.yaffs2?))
    }

    fn cut_off(&self, image: &[u8], layout: &Layout) -> Option<CutOff> {
        cut_off(image, layout)
    }

    fn on_chip<'i>(&self, image: &'i [u8], layout: &Layout) -> Result<OnChip<'i>, TreeError> {
        // A checkpoint is one of so many blocks; an image that is too small for a partition has none.
        let spare_blocks = tree::SPARE_BLOCKS.saturating_sub(layout.blocks);
        let found = layout.yaffs2.ok_or(TreeError::NoTags)?;
        let (geometry, anew) = tree::laid_out(image, layout, &found, spare_blocks)?;
        Ok(OnChip { geometry, bytes: anew.left_bytes(), pages: Box::new(anew), oob: true })
    }
}

/// Whether a page looks like the header of an object, the file or directory of an image without OOB areas: a kind, a parent, the check
/// sum of names that is not used any more, and a name (`struct yaffs_obj_hdr`).
fn is_header_without_tags(page: &[u8]) -> bool {
    let number = |at: usize| u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]]);
    (1..=5).contains(&number(0))
        && (1..0x4_0000).contains(&number(4))
        && page[8..10] == [0xFF, 0xFF]
        && page[10].is_ascii_graphic()
}

fn cut_off(image: &[u8], layout: &Layout) -> Option<CutOff> {
    let rest = image.len() % layout.stride_bytes();
    let offset = (image.len() - rest) as u64;
    if rest > 0 {
        let what = "the image is cut off in this page: it and what stood behind it are missing".to_string();
        return Some(CutOff { offset, what });
    }
    // Where the size of the blocks is not known, nothing says that there are whole ones.
    let is_whole = image.len().is_multiple_of(layout.stored_block_bytes());
    let file = probe::unfinished(image, &layout.yaffs2?)?;
    // A file that ends in a hole may be the last of a full partition: who makes a hole writes a header, with the size, last.
    if is_whole && layout.block_sizes_that_fit_bytes.is_empty() && !file.ends_with_data {
        return None;
    }
    let (name, held, all) = (quoted(&file.name), file.held_bytes, file.file_bytes);
    let what =
        format!("the image is cut off in the file {name}: {held} of its {all} B are there, and nothing behind it");
    Some(CutOff { offset, what })
}
