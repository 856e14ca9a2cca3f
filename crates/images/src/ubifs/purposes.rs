//! For what the LEB in an erase block was written: a structure of UBI or UBIFS, or the files of its data nodes.

use crate::format::{BlockLook, BlockReader};
use crate::lost::history::Name;
use crate::written::{Purpose, Written};
use ffslab_mtd::is_erased;
use ffslab_ubifs::probe::records::{self, Record};
use ffslab_ubifs::probe::walk;

pub fn reader(block: &BlockLook<'_>) -> Option<BlockReader> {
    let (vid, data_offset) = ffslab_ubi::probe::offsets(block.data)?;
    Some(Box::new(move |block, written| tell(vid, data_offset, block.data, written)))
}

fn tell(vid: u32, data_offset: u32, data: &[u8], written: &mut Written) {
    let Some(leb) = ffslab_ubi::probe::headers(data, vid, data_offset).leb else { return };
    let all_bytes = data.len() as u32;
    if leb.is_internal() {
        let what = match leb {
            _ if leb.is_layout() => "UBI's volume table",
            _ if leb.is_fastmap() => "UBI's fastmap",
            _ => "UBI's own",
        };
        return written.adds(Purpose::Own(what), all_bytes);
    }
    let data = data.get(data_offset as usize..).unwrap_or_default();
    walk(data, &mut |offset, kind, damage| {
        if damage.is_none() {
            tell_node(kind, &data[offset as usize..], written);
        }
    });
    // The space tables are the one structure of UBIFS that is not made of nodes (`fs/ubifs/lpt.c`).
    if written.is_empty() && !is_erased(data) {
        written.adds(Purpose::Own("space tables (LPT)"), all_bytes);
    }
}

fn tell_node(kind: &str, node: &[u8], written: &mut Written) {
    let purpose = match records::record(node) {
        Record::Inode(inode) => Purpose::File(inode.ino),
        Record::Data { ino, .. } | Record::Truncation { ino, .. } => Purpose::File(ino),
        Record::Entry { parent, ino, kind, name } => {
            // An entry without an inode takes a name away.
            if ino != 0 {
                written.named(Name { parent, name, ino, kind, sequence: records::sequence_number(node) });
            }
            Purpose::File(parent)
        }
        Record::Attribute { .. } | Record::AttributeValue { .. } | Record::Other => Purpose::Own(match kind {
            "superblock" => "superblock",
            "master" => "master nodes",
            "reference" | "commit start" => "log",
            "orphan" => "orphans",
            "index" => "index",
            "inode" | "extended attribute entry" => "extended attributes",
            // Padding, and what says nothing of where it stands.
            _ => return,
        }),
    };
    written.adds(purpose, records::length(node).next_multiple_of(8));
}
