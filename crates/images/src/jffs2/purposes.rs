//! For which inodes the nodes of an erase block were written.

use crate::format::{BlockLook, BlockReader};
use crate::lost::history::Name;
use crate::written::{Purpose, Written};
use ffslab_jffs2::probe::{self, nodes, nodes::Found};
use ffslab_jffs2::Endian;

pub fn reader(block: &BlockLook<'_>) -> Option<BlockReader> {
    let endian = probe::byte_order(block.data)?;
    Some(Box::new(move |block, written| tell(endian, block.data, written)))
}

fn tell(endian: Endian, data: &[u8], written: &mut Written) {
    nodes::walk(endian, data, &mut |place| {
        let ino = match place.found {
            Found::Inode { ino, .. } => ino,
            Found::Dirent { parent, .. } => {
                if let Some((raw, Some(name))) = nodes::dirent(endian, &data[place.offset as usize..]) {
                    let (ino, kind, sequence) = (raw.ino, raw.kind(), u64::from(raw.version));
                    // An entry without an inode takes a name away.
                    if ino != 0 {
                        written.named(Name { parent, name: name.to_vec(), ino, kind, sequence });
                    }
                }
                parent
            }
            _ => return,
        };
        written.adds(Purpose::File(ino), place.total_bytes);
    });
}
