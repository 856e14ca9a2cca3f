//! How large the erase blocks of an image are. No byte of the image states it, so it is derived from where blocks begin
//! and end.
//!
//! A block is written from its first page on, all of it under one sequence number that no other block has
//! (`yaffs_guts.c`, `yaffs_find_alloc_block`, `yaffs_alloc_chunk`). So a run of pages with one number that ends where
//! another begins is one block, and so is a run that ends with a block's summary (`yaffs_summary.c`). A page of a
//! checkpoint says which block it stands in (`yaffs_checkptrw.c`, the hint where to look next). Where none of this is in an
//! image, several sizes remain.

use super::{Layout, PageKind, BLOCK_PAGES};
use crate::chunks::SEQUENCE_CHECKPOINT;
use crate::scan::SEQUENCE_LOWEST;
use std::collections::BTreeMap;

/// The sizes that an image can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    /// Pages per erase block, ascending, powers of two; one: that is it.
    pub pages: Vec<u32>,
    pub because: &'static str,
}

/// A size is rejected if more than one in this number of places contradicts it. A few may do so because of damage.
const DAMAGED_SHARE: usize = 8;
/// The same limit for a size that a whole block speaks for.
const DAMAGED_SHARE_VOTED: usize = 2;
/// All pages of an image of `mkyaffs2image` have this number; blocks that YAFFS2 takes begin with the next one.
const SEQUENCE_OF_MKYAFFS2IMAGE: u32 = SEQUENCE_LOWEST;

/// What stands in a page, as far as the borders of blocks depend on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Page {
    Erased,
    /// Tags that make no sense.
    Damaged,
    Sequence(u32),
}

/// Neighbouring pages with the same sequence number.
struct Run {
    start: usize,
    pages: usize,
    sequence: u32,
    /// The page behind them.
    next: Option<Page>,
}

impl Run {
    fn is_checkpoint(&self) -> bool {
        self.sequence == SEQUENCE_CHECKPOINT
    }
}

/// The sizes that suit an image. `None`: none does.
pub fn block_sizes(image: &[u8], layout: &Layout) -> Option<BlockSizes> {
    let pages: Vec<Page> = image.chunks_exact(layout.stride_bytes()).map(|page| page_of(layout, page)).collect();
    let runs = runs(&pages);
    let places = Places::of(image, layout, &pages, &runs);
    let mut votes: BTreeMap<u32, (usize, &'static str)> = BTreeMap::new();
    for run in &runs {
        if let Some((size, because)) = vote(image, layout, run) {
            votes.entry(size).or_insert((0, because)).0 += 1;
        }
    }
    let mut voted: Vec<_> = votes.into_iter().collect();
    voted.sort_by_key(|&(size, (count, _))| std::cmp::Reverse((count, size)));
    if let Some(&(size, (_, because))) = voted.iter().find(|(size, _)| places.suit(*size, DAMAGED_SHARE_VOTED)) {
        return Some(BlockSizes { pages: vec![size], because });
    }
    let fits: Vec<u32> = sizes().filter(|&size| places.suit(size, DAMAGED_SHARE)).collect();
    let whole: Vec<u32> = fits.iter().copied().filter(|&size| pages.len().is_multiple_of(size as usize)).collect();
    // What ends erased is the dump of a partition, which has whole blocks; an image of a build tool ends with its last page.
    let is_dump = pages.last() == Some(&Page::Erased);
    let fits = if is_dump && !whole.is_empty() { whole } else { fits };
    let because = if fits.len() == 1 { "no other size suits where blocks begin" } else { "nothing tells them apart" };
    (!fits.is_empty()).then_some(BlockSizes { pages: fits, because })
}

fn sizes() -> impl Iterator<Item = u32> {
    let (least, most) = BLOCK_PAGES;
    std::iter::successors(Some(least), |pages| Some(pages * 2)).take_while(move |&pages| pages <= most)
}

fn page_of(layout: &Layout, page: &[u8]) -> Page {
    match layout.look(page).map(|tags| (tags.kind, tags.sequence)) {
        None => Page::Erased,
        Some((PageKind::Damage(_) | PageKind::BadBlock, _)) => Page::Damaged,
        Some((_, sequence)) => Page::Sequence(sequence),
    }
}

fn runs(pages: &[Page]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut start = 0;
    for group in pages.chunk_by(|a, b| a == b) {
        let end = start + group.len();
        if let Page::Sequence(sequence) = group[0] {
            runs.push(Run { start, pages: group.len(), sequence, next: pages.get(end).copied() });
        }
        start = end;
    }
    runs
}

/// The size that a run says by itself, and how.
fn vote(image: &[u8], layout: &Layout, run: &Run) -> Option<(u32, &'static str)> {
    let look = |page: usize| layout.look(&image[page * layout.stride_bytes()..][..layout.stride_bytes()]);
    let is_size = |pages: usize| sizes().any(|size| size as usize == pages) && run.start.is_multiple_of(pages);
    if run.is_checkpoint() {
        // The hint is the number of the next block, and Linux counts blocks from 1 (`yaffs_guts.c`, block_offset).
        let block = look(run.start)?.object.checked_sub(2).filter(|&block| block > 0)?;
        let size = sizes().find(|&size| run.start == block as usize * size as usize)?;
        return Some((size, "a checkpoint says in which block it stands"));
    }
    if !is_size(run.pages) {
        return None;
    }
    let size = run.pages as u32;
    if matches!(run.next, Some(Page::Sequence(_))) {
        return Some((size, "the sequence number changes there"));
    }
    let last = look(run.start + run.pages - 1)?;
    (last.kind == PageKind::Summary).then_some((size, "there stand the summaries of blocks"))
}

/// Places in an image that are borders of blocks, or cannot be.
struct Places {
    /// Pages with which a block begins.
    starts: Vec<usize>,
    /// Lengths of runs that are at most a block each.
    within: Vec<usize>,
    /// Pages with the mark of a bad block, the first of neighbours.
    marks: Vec<usize>,
}

impl Places {
    fn of(image: &[u8], layout: &Layout, pages: &[Page], runs: &[Run]) -> Places {
        let before = |run: &Run| run.start.checked_sub(1).map(|page| pages[page]);
        let starts = runs.iter().filter(|run| before(run) != Some(Page::Damaged)).map(|run| run.start).collect();
        let within = runs.iter().filter(|run| !run.is_checkpoint() && run.sequence != SEQUENCE_OF_MKYAFFS2IMAGE);
        // The first byte of the OOB area marks a bad block, unless the tags stand there.
        let has_mark = |page: &[u8]| {
            layout.tags_offset > layout.page_bytes && page.get(layout.page_bytes as usize).is_some_and(|&b| b != 0xFF)
        };
        let marked: Vec<bool> = image.chunks_exact(layout.stride_bytes()).map(has_mark).collect();
        let marks = (0..marked.len()).filter(|&page| marked[page] && (page == 0 || !marked[page - 1])).collect();
        Places { starts, within: within.map(|run| run.pages).collect(), marks }
    }

    /// Whether most places can be what they are with so many pages per block.
    fn suit(&self, size: u32, share: usize) -> bool {
        let size = size as usize;
        let most = |wrong: usize, all: usize| wrong * share <= all;
        most(self.starts.iter().filter(|&&page| page % size != 0).count(), self.starts.len())
            && most(self.within.iter().filter(|&&pages| pages > size).count(), self.within.len())
            // A block is marked in its first or second page.
            && most(self.marks.iter().filter(|&&page| page % size > 1).count(), self.marks.len())
    }
}
