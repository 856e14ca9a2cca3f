//! YAFFS2.

mod on_rtems;
mod recognise;
mod scan;
mod tree;

use super::images::{BlockLook, BlockOwner, Evidence, ImageFormat};
use super::{Descriptor, Direct, Ground, Mountable, Refusal, Settings};
use crate::case::Case;
use crate::error::LabError;
use crate::inspect::Scanned;
use crate::mount_options::{MountOptions, GENERIC};
use crate::profile::Profile;
use crate::recognise::arranged::Arranged;
use crate::recognise::{Given, Layout};
use crate::stack::StackSpec;
use crate::stack_keys::{StackKeys, Yaffs2Version};
use crate::tree::{Content, CutOff, OnChip, Tree};
use ffslab_fs::{DirectFileSystem, FileSystem};
use ffslab_mtd::is_erased;
use ffslab_workload::quoting::quoted;
use ffslab_yaffs2::probe::{self, Known, PageKind};
use ffslab_yaffs2::{Background, Generation, Options, Yaffs2};
use std::sync::Arc;

pub static YAFFS2: Descriptor = Descriptor {
    name: "yaffs2",
    title: "YAFFS2",
    about: "a log of pages with tags in their out-of-band areas; a checkpoint makes mounts fast",
    mountable: Some(&OnLinux),
    on_rtems: Some(&on_rtems::RtemsPort),
    image: Some(&InImages),
};

struct OnLinux;

impl Mountable for OnLinux {
    fn own_keys(&self) -> &'static [&'static str] {
        &["yaffs2_version", "inband_tags"]
    }

    fn is_called_directly(&self) -> bool {
        true
    }

    fn settings(&self, keys: &mut StackKeys, board: &Profile) -> Result<Arc<dyn Settings>, LabError> {
        let version = *keys.yaffs2_version.get_or_insert(board.yaffs2_version());
        let tick_rate_hz = keys.tick_rate_hz.unwrap_or(board.tick_rate_hz());
        Ok(Arc::new(Yaffs2Settings(Options {
            inband_tags: keys.inband_tags,
            background: Some(Background::linux(tick_rate_hz)),
            ..Options::of(generation(version))
        })))
    }

    fn stack_of_case(&self, case: &Case) -> Result<StackSpec, String> {
        Ok(case.yaffs2_stack())
    }

    fn complete_case(&self, case: &mut Case) {
        case.add_unsaid_steps();
    }
}

/// Settings of YAFFS2 for a stack.
#[derive(Debug)]
pub struct Yaffs2Settings(pub Options);

impl Settings for Yaffs2Settings {
    fn fs(&self) -> &'static Descriptor {
        &YAFFS2
    }

    fn mount(&self, ground: &Ground<'_>, options: &MountOptions) -> Result<Box<dyn FileSystem>, Refusal> {
        let settings = with_options(Options { read_only: options.read_only, ..self.0 }, &options.others)?;
        Ok(Box::new(Yaffs2::mount(ground.mtd.clone(), settings).map_err(|error| error.to_string())?))
    }

    fn direct(&self) -> Option<&dyn Direct> {
        Some(self)
    }

    fn check_image(&self, found: &Arranged) -> Result<(), String> {
        let is = found.is_inband();
        if found.layout.is_some() && is != self.0.inband_tags {
            let not = if is { "" } else { "not " };
            return Err(format!("its tags are {not}in-band: set inband_tags = {is} in [stack]"));
        }
        Ok(())
    }

    fn adapted_to(&self, layout: &Layout) -> Option<Arc<dyn Settings>> {
        let tags_ecc = layout.yaffs2?.tags_ecc;
        Some(Arc::new(Yaffs2Settings(Options { tags_ecc, ..self.0 })))
    }
}

impl Direct for Yaffs2Settings {
    fn mount_direct(&self, ground: &Ground<'_>, options: &MountOptions) -> Result<Box<dyn DirectFileSystem>, Refusal> {
        let direct = Options { background: None, direct: true, read_only: options.read_only, ..self.0 };
        let settings = with_options(direct, &options.others)?;
        Ok(Box::new(Yaffs2::mount(ground.mtd.clone(), settings).map_err(|error| error.to_string())?))
    }
}

/// Mount options of the Linux port that change what a mount does.
///
/// Errors: one line about an option that it does not have.
fn with_options(settings: Options, options: &[String]) -> Result<Options, String> {
    let mut settings = settings;
    for option in options {
        match option.as_str() {
            "no-checkpoint-read" => settings.checkpoint_read = false,
            "no-checkpoint-write" => settings.checkpoint_write = false,
            "no-checkpoint" => (settings.checkpoint_read, settings.checkpoint_write) = (false, false),
            "disable-summary" => settings.block_summaries = false,
            "no-cache" => settings.short_op_cache_pages = 0,
            "lazy-loading-off" => settings.lazy_loading = false,
            "tags-ecc-off" => settings.tags_ecc = false,
            "empty-lost-and-found-off" => settings.empty_lost_and_found = false,
            _ => {
                return Err(format!(
                    "unknown mount option \"{option}\": yaffs2 has no-checkpoint, no-checkpoint-read, \
                     no-checkpoint-write, disable-summary, no-cache, lazy-loading-off, tags-ecc-off, \
                     empty-lost-and-found-off, {GENERIC}"
                ))
            }
        }
    }
    Ok(settings)
}

/// YAFFS2's name for the age of its sources.
fn generation(version: Yaffs2Version) -> Generation {
    match version {
        Yaffs2Version::Y2010 => Generation::Y2010,
        Yaffs2Version::Y2011 => Generation::Y2011,
        Yaffs2Version::Y2012 => Generation::Y2012,
        Yaffs2Version::Today => Generation::Today,
    }
}

struct InImages;

impl ImageFormat for InImages {
    fn sign(&self) -> &'static str {
        "YAFFS2 object header"
    }

    fn evidence(&self) -> &'static [Evidence] {
        &[Evidence::Tags]
    }

    fn recognise(&self, image: &[u8], given: &Given, _evidence: Evidence) -> Option<Layout> {
        recognise::recognise(image, given)
    }

    fn hint(&self, image: &[u8], given: &Given) -> Option<String> {
        if recognise::lacks_blocks(image, given) {
            let text = "pages side by side have different sequence numbers: no size of erase blocks suits the image";
            return Some(text.to_string());
        }
        given.fs.map(|_| {
            "there is no YAFFS2 object header in the image: without in-band tags it needs its OOB areas".to_string()
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

    fn read(&self, image: &[u8], layout: &Layout, content: Content) -> Result<Tree, String> {
        tree::read(image, layout, content)
    }

    fn scan(&self, image: &[u8], layout: &Layout, scanned: &mut Scanned) {
        scan::scan(image, layout, scanned);
    }

    fn cut_off(&self, image: &[u8], layout: &Layout) -> Option<CutOff> {
        cut_off(image, layout)
    }

    fn on_chip<'i>(&self, image: &'i [u8], layout: &Layout) -> Result<OnChip<'i>, String> {
        // A checkpoint is one of so many blocks; an image that is too small for a partition has none.
        let spare_blocks = tree::SPARE_BLOCKS.saturating_sub(layout.blocks);
        let found = layout.yaffs2.ok_or("where its tags stand is not known")?;
        let (geometry, anew) = tree::laid_out(image, layout, &found, spare_blocks)?;
        Ok(OnChip { geometry, bytes: anew.left_bytes(), pages: Box::new(anew), oob: true })
    }
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
    if is_whole && layout.block_sizes_that_fit_bytes.is_empty() {
        return None;
    }
    let file = probe::unfinished(image, &layout.yaffs2?)?;
    let (name, held, all) = (quoted(&file.name), file.held_bytes, file.file_bytes);
    let what =
        format!("the image is cut off in the file {name}: {held} of its {all} B are there, and nothing behind it");
    Some(CutOff { offset, what })
}
