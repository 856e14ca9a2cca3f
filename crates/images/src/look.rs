//! A partition looked into: its bytes as they stand, block by block, beside the files that a mounted copy has.

use crate::format::Layout;
use crate::lost::{find, hits, Lost};
use crate::scan::{scan, Scanned};
use crate::tree::{Content, Tree};

/// What was found in a partition.
pub struct Look {
    pub scanned: Scanned,
    /// Without content; its notes stand in `scanned`. Empty if the files cannot be read.
    pub tree: Tree,
    /// Why the files may be others than are read, or more of them, in a sentence each; they are among the notes, too.
    pub doubts: Vec<String>,
    is_read: bool,
}

impl Look {
    /// Looks into a partition that begins at `starts_at_bytes` in its file.
    pub fn at(image: &[u8], layout: &Layout, starts_at_bytes: usize) -> Look {
        let mut scanned = scan(image, layout);
        let mut doubts = layout.doubts.clone();
        let read = layout.tree(image, Content::Check);
        let is_read = read.is_ok();
        let mut tree = read.unwrap_or_else(|error| {
            scanned.notes.push(format!("its files cannot be read: {error}"));
            Tree::default()
        });
        doubts.append(&mut tree.notes);
        scanned.notes.extend(doubts.iter().cloned());
        for (facts, held) in scanned.blocks.iter_mut().zip(&tree.space) {
            facts.valid_bytes = Some(held.valid_bytes);
            facts.invalid_bytes = Some(held.invalid_bytes);
            facts.free_bytes = Some(held.free_bytes);
        }
        if let Some(cut) = layout.fs.format().cut_off(image, layout) {
            let block = cut.offset / layout.stored_block_bytes() as u64;
            scanned.damaged(block.min(u64::from(layout.blocks.saturating_sub(1))) as u32, cut.offset, cut.what);
        }
        layout.fs.format().put_right(layout, &mut scanned);
        scanned.damage.iter_mut().for_each(|damage| damage.offset += starts_at_bytes as u64);
        Look { scanned, tree, doubts, is_read }
    }

    /// Says which files damage hits.
    pub fn complete(&mut self, image: &[u8], layout: &Layout) {
        hits::complete(&mut self.scanned.damage, image, layout, self.is_read.then_some(&self.tree));
    }

    /// What was deleted or overwritten, without content.
    pub fn lost(&self, image: &[u8], layout: &Layout) -> Lost {
        find(image, layout, self.is_read.then_some(&self.tree), Content::Check)
    }
}
