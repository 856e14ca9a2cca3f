//! Images of UBI whose volume holds UBIFS: attached with the places that their headers name, then mounted and walked.

use super::{chip_with, geometry_of, stored_block_bytes, tree_in, Content, ImageOptions, Tree};
use ffslab_flash::Geometry;
use ffslab_ubi::{AttachError, BadReserve, Ubi, UbiOptions, Volume};
use ffslab_ubifs::Ubifs;

/// First bytes of a UBIFS node (`fs/ubifs/ubifs-media.h`); every volume begins with one, the superblock.
const NODE_MAGIC: [u8; 4] = 0x0610_1831_u32.to_le_bytes();
/// Where the superblock has the number of LEBs and the number that it can grow to, 4 bytes each.
const LEB_CNT_AT: usize = 40;
const MAX_LEB_CNT_AT: usize = 44;
/// A volume need not grow by more: no journal is larger.
const GROWTH_LEBS_MAX: u32 = 8192;
/// What a damaged volume table asks for must not take more memory than this.
const BLOCKS_MAX: u32 = 1 << 17;
/// The volume table twice, a block to move data to, a block to change a LEB in.
const BLOCKS_MIN: u32 = 4;

/// Where UBI's headers say that the volume identifier headers stand; `None`: this is no image of UBI.
pub fn vid_header_offset(image: &[u8], options: &ImageOptions) -> Option<u32> {
    let stored_bytes = stored_block_bytes(options).ok()?;
    image.chunks(stored_bytes).find_map(ffslab_ubi::vid_header_offset)
}

/// Is this an image of UBI, or a volume that no `ubinize` has put into one?
pub fn looks_like(image: &[u8], options: &ImageOptions) -> bool {
    vid_header_offset(image, options).is_some() || image.starts_with(&NODE_MAGIC)
}

pub fn read(image: &[u8], options: &ImageOptions, content: Content) -> Result<Tree, String> {
    let Some(offset) = vid_header_offset(image, options) else {
        return Err(if image.starts_with(&NODE_MAGIC) {
            "this is a UBIFS volume without UBI; ubinize makes an image of it".to_string()
        } else {
            let kib = options.block_bytes >> 10;
            format!("there is no erase counter header of UBI at the start of any erase block of {kib} KiB")
        });
    };
    let (ubi, volume, _) = attach(image, options, offset)?;
    let tree = read_volume(&ubi, volume, content);
    ubi.detach();
    tree
}

/// How UBI is attached to an image whose volume identifier headers stand at `offset`.
pub fn ubi_options(options: &ImageOptions, offset: u32) -> UbiOptions {
    UbiOptions {
        vid_header_offset_bytes: Some(offset),
        subpage_writes: !offset.is_multiple_of(options.page_bytes),
        bad_reserve: BadReserve::Per1024OfChip(1),
        ..UbiOptions::default()
    }
}

/// `ubinize` writes only the blocks that hold data: the volumes may need more, and a volume that takes what is available
/// must have as many that the journal fits (`fs/ubifs/sb.c`, `validate_sb`), whose size follows from the largest volume.
pub fn attach(image: &[u8], options: &ImageOptions, offset: u32) -> Result<(Ubi, Volume, Geometry), String> {
    let settings = ubi_options(options, offset);
    let mut geometry = geometry_of(image, options, BLOCKS_MIN)?;
    let mut lebs_before = 0;
    loop {
        let missing_blocks = match Ubi::attach(chip_with(image, geometry, options.oob)?, &settings) {
            Ok(ubi) => {
                let (volume, wanted_lebs) = find_volume(&ubi)?;
                let lebs = volume.lebs();
                if wanted_lebs <= lebs || lebs == lebs_before {
                    return Ok((ubi, volume, geometry));
                }
                lebs_before = lebs;
                ubi.detach();
                wanted_lebs - lebs
            }
            Err(AttachError::NoSpace { needed, available, .. }) => needed.saturating_sub(available).max(1),
            Err(error) => return Err(error.to_string()),
        };
        geometry.blocks = geometry.blocks.saturating_add(missing_blocks);
        if geometry.blocks > BLOCKS_MAX {
            return Err(format!("its volumes want {} erase blocks, {BLOCKS_MAX} is the limit here", geometry.blocks));
        }
    }
}

/// The first volume that begins with a superblock, and the number of LEBs that its file system would like to have.
fn find_volume(ubi: &Ubi) -> Result<(Volume, u32), String> {
    let mut names = Vec::new();
    for info in ubi.volumes() {
        let mut start = [0; MAX_LEB_CNT_AT + 4];
        let volume = ubi.open(info.id).map_err(|error| error.to_string())?;
        if volume.read(0, 0, &mut start).is_ok() && start.starts_with(&NODE_MAGIC) {
            let word = |at| u32::from_le_bytes([start[at], start[at + 1], start[at + 2], start[at + 3]]);
            let (lebs, lebs_max) = (word(LEB_CNT_AT), word(MAX_LEB_CNT_AT));
            return Ok((volume, lebs_max.min(lebs.saturating_add(GROWTH_LEBS_MAX))));
        }
        names.push(format!("\"{}\"", info.name));
    }
    let names = if names.is_empty() { "there is none".to_string() } else { names.join(", ") };
    Err(format!("no volume of UBI holds UBIFS: {names}"))
}

fn read_volume(ubi: &Ubi, volume: Volume, content: Content) -> Result<Tree, String> {
    let mut fs = Ubifs::mount(ubi, volume, ffslab_ubifs::Options::default(), 0).map_err(|error| error.to_string())?;
    let mut tree = tree_in(&mut fs, content, Vec::new());
    tree.notes.extend(fs.check().err().map(|text| format!("UBIFS's accounting is wrong: {text}")));
    Ok(tree)
}
