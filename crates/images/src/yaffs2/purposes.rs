//! For which objects the pages of an erase block were written.

use crate::format::{BlockLook, BlockReader};
use crate::lost::history::Name;
use crate::written::{Purpose, Written};
use ffslab_fs::FileKind;
use ffslab_yaffs2::probe::{self, Known, Layout, PageKind};
use ffslab_yaffs2::{DELETED_ID, UNLINKED_ID};

pub fn reader(block: &BlockLook<'_>) -> Option<BlockReader> {
    let known = Known { page_bytes: Some(block.page_bytes), oob_bytes: Some(block.oob_bytes), ..Known::default() };
    let layout = probe::layout(block.stored, &known)?;
    Some(Box::new(move |block, written| tell(&layout, block.stored, written)))
}

fn tell(layout: &Layout, stored: &[u8], written: &mut Written) {
    for (at, page) in (0..).zip(stored.chunks_exact(layout.stride_bytes())) {
        let Some(tags) = layout.look(page) else { continue };
        let purpose = match tags.kind {
            PageKind::Data => Purpose::File(tags.object),
            PageKind::Header => {
                let order = u64::from(tags.sequence) << 32 | at;
                written_name(layout, page, tags.object, order).into_iter().for_each(|name| written.named(name));
                Purpose::File(tags.object)
            }
            PageKind::Checkpoint => Purpose::Own("checkpoint"),
            PageKind::Summary => Purpose::Own("block summary"),
            PageKind::BadBlock | PageKind::Damage(_) => continue,
        };
        written.adds(purpose, layout.page_bytes);
    }
}

/// The name in an object header. What was deleted keeps the one that it had before.
fn written_name(layout: &Layout, page: &[u8], ino: u32, sequence: u64) -> Option<Name> {
    let header = layout.header(page)?;
    let is_there = header.is_object() && !matches!(header.parent, DELETED_ID | UNLINKED_ID);
    let kind = FileKind::from_mode(header.attributes.mode).unwrap_or(FileKind::File);
    is_there.then_some(Name { parent: header.parent, name: header.name, ino, kind, sequence })
}
