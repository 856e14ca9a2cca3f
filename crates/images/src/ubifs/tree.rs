//! Images of UBI whose volume holds UBIFS: attached with the places that their headers name, then mounted and walked.

use crate::format::Layout;
use crate::on_chip::chip_of;
use crate::tree::{tree_in, Content, Tree, TreeError};
use ffslab_flash::{Geometry, NorFlash};
use ffslab_mtd::Mtd;
use ffslab_sim::{Sim, SimConfig};
use ffslab_ubi::{AttachError, BadReserve, Ubi, UbiOptions, Volume};
use ffslab_ubifs::Ubifs;

/// First bytes of a UBIFS node (`fs/ubifs/ubifs-media.h`); every volume begins with one, the superblock.
pub const NODE_MAGIC: [u8; 4] = 0x0610_1831_u32.to_le_bytes();
/// Where UBI puts header and data on a medium that is programmed byte by byte (`drivers/mtd/ubi/build.c`, `io_init`).
pub const OFFSETS_OF_NOR: (u32, u32) = (64, 128);
/// Where the superblock has the number of LEBs and the number that it can grow to, 4 bytes each.
const LEB_CNT_AT: usize = 40;
const MAX_LEB_CNT_AT: usize = 44;
/// A volume need not grow by more: no journal is larger.
const GROWTH_LEBS_MAX: u32 = 8192;
/// What a damaged volume table asks for must not take more memory than this.
const BLOCKS_MAX: u32 = 1 << 17;
/// The volume table twice, a block to move data to, a block to change a LEB in.
const BLOCKS_MIN: u32 = 4;

/// How UBI is attached to an image whose volume identifier headers stand at `offset`.
pub fn ubi_options(page_bytes: u32, offset: u32) -> UbiOptions {
    UbiOptions {
        vid_header_offset_bytes: Some(offset),
        subpage_writes: !offset.is_multiple_of(page_bytes),
        bad_reserve: BadReserve::Per1024OfChip(1),
        ..UbiOptions::default()
    }
}

/// UBI attached to an image, and its first volume with UBIFS.
pub fn attach(image: &[u8], layout: &Layout) -> Result<(Ubi, Volume, Geometry), TreeError> {
    let (ubi, geometry) = attach_all(image, layout)?;
    let mut others = Vec::new();
    for info in ubi.volumes() {
        if wanted_lebs(&ubi, info.id)?.is_some() {
            let volume = ubi.open(info.id).map_err(TreeError::refused)?;
            return Ok((ubi, volume, geometry));
        }
        others.push(format!("\"{}\"", info.name));
    }
    Err(TreeError::NoUbifs { volumes: others })
}

/// `ubinize` writes only the blocks that hold data: the volumes may need more, and a volume that takes what is available
/// must have as many that the journal fits (`fs/ubifs/sb.c`, `validate_sb`), whose size follows from the largest volume.
pub fn attach_all(image: &[u8], layout: &Layout) -> Result<(Ubi, Geometry), TreeError> {
    let (offset, _) = layout.ubi_at_bytes.ok_or(TreeError::NoUbiHeader)?;
    let settings = ubi_options(layout.page_bytes, offset);
    let is_of_nor = layout.ubi_at_bytes == Some(OFFSETS_OF_NOR);
    let mut geometry = if is_of_nor {
        Geometry {
            page_bytes: layout.page_bytes,
            oob_bytes: 0,
            pages_per_block: layout.block_bytes / layout.page_bytes,
            blocks: layout.blocks.max(BLOCKS_MIN),
        }
    } else {
        layout.geometry(image, BLOCKS_MIN)?
    };
    let mut lebs_before = 0;
    loop {
        let medium = if is_of_nor { nor_with(image, geometry) } else { chip_of(image, layout, geometry)? };
        let missing_blocks = match Ubi::attach(medium, &settings) {
            Ok(ubi) => {
                let (mut lebs, mut missing) = (0, 0);
                for info in ubi.volumes() {
                    if info.update_interrupted {
                        ubi.forget_interrupted_update(info.id).map_err(TreeError::refused)?;
                    }
                    if let Some(wanted) = wanted_lebs(&ubi, info.id)? {
                        lebs += info.lebs;
                        missing += wanted.saturating_sub(info.lebs);
                    }
                }
                // Only a volume that takes what is available grows.
                if missing == 0 || lebs == lebs_before {
                    return Ok((ubi, geometry));
                }
                lebs_before = lebs;
                ubi.detach();
                missing
            }
            Err(AttachError::NoSpace { needed, available, .. }) => needed.saturating_sub(available).max(1),
            Err(error) => return Err(TreeError::refused(error)),
        };
        geometry.blocks = geometry.blocks.saturating_add(missing_blocks);
        if geometry.blocks > BLOCKS_MAX {
            return Err(TreeError::TooManyBlocks { blocks: geometry.blocks, most: BLOCKS_MAX });
        }
    }
}

/// NOR that holds an image, erased behind it.
fn nor_with(image: &[u8], geometry: Geometry) -> Mtd {
    let chip = NorFlash::new(Sim::new(SimConfig::default()), geometry.block_bytes(), geometry.blocks);
    chip.load_at(0, image);
    chip.into()
}

/// The number of LEBs that the file system of a volume would like to have. `None`: it does not begin with a superblock.
pub fn wanted_lebs(ubi: &Ubi, id: u32) -> Result<Option<u32>, TreeError> {
    let mut start = [0; MAX_LEB_CNT_AT + 4];
    let volume = ubi.open(id).map_err(TreeError::refused)?;
    if volume.read(0, 0, &mut start).is_err() || !start.starts_with(&NODE_MAGIC) {
        return Ok(None);
    }
    let word = |at: usize| u32::from_le_bytes([start[at], start[at + 1], start[at + 2], start[at + 3]]);
    let (lebs, lebs_max) = (word(LEB_CNT_AT), word(MAX_LEB_CNT_AT));
    Ok(Some(lebs_max.min(lebs.saturating_add(GROWTH_LEBS_MAX))))
}

pub fn read_volume(ubi: &Ubi, volume: Volume, content: Content) -> Result<Tree, TreeError> {
    let mut fs = Ubifs::mount(ubi, volume, ffslab_ubifs::Options::default(), 0).map_err(TreeError::refused)?;
    let mut tree = tree_in(&mut fs, content, Vec::new());
    tree.notes.extend(fs.check().err().map(|text| format!("UBIFS's accounting is wrong: {text}")));
    Ok(tree)
}
