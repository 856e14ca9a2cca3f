//! ESP-IDF's NVS, the store of keys and values of ESP32s: pages of 4096 B with entries of 32 B.
//!
//! **Follows.** Of ESP-IDF `components/nvs_flash`: `src/nvs_page.cpp` and `nvs_page.hpp` (pages, states, what a start finds),
//! `src/nvs_types.cpp` and `nvs_types.hpp` (items, their check sums, what sizes go together), `src/nvs_pagemanager.cpp` (order of pages,
//! what a power cut leaves), `src/nvs_storage.cpp` (namespaces, blobs of several chunks), `include/nvs.h` (types),
//! `nvs_partition_tool/nvs_parser.py` (words).
//!
//! **Leaves out.** Encrypted partitions, whose keys stand elsewhere: they are named.

mod found;
mod page;
mod store;

use crate::format::{Evidence, Given, ImageFormat, ImageFs, Layout};
use crate::key_values::{self, is_possible, layout};
use crate::scan::Scanned;
use crate::tree::{Content, CutOff, Tree, TreeError};
use page::{Page, PageState, ENTRIES, PAGE_BYTES};
use store::{stats, PageFacts, Partition};

/// How they are recognised, read and explained.
pub struct InImages;

/// In a page whose header is damaged so many items with right check sums show what it is.
const ITEMS_SHOW: usize = 3;

/// Pages that hold something, and those of them that NVS has written.
fn pages(image: &[u8]) -> (usize, usize) {
    let has_items = |page: &Page<'_>| {
        let right = (0..page.entries()).filter(|&entry| page.head(entry).is_some_and(|(_, right)| right));
        right.take(ITEMS_SHOW).count() == ITEMS_SHOW
    };
    let is_its = |page: &Page<'_>| page.is_header_right() || has_items(page);
    let used = || Page::all(image).filter(|page| !page.is_erased());
    (used().count(), used().filter(is_its).count())
}

impl ImageFormat for InImages {
    fn sign(&self) -> &'static str {
        "page of ESP-IDF's NVS"
    }

    fn evidence(&self) -> &'static [Evidence] {
        &[Evidence::Headers]
    }

    fn recognise(&self, fs: ImageFs, image: &[u8], given: &Given, _evidence: Evidence) -> Option<Layout> {
        if !is_possible(given) || given.block_bytes.is_some_and(|bytes| bytes as usize != PAGE_BYTES) {
            return None;
        }
        let (used, its) = pages(image);
        if its == 0 || (2 * its < used && given.fs.is_none()) {
            return None;
        }
        let layout = layout(fs, PAGE_BYTES as u32, image, given).unchecked(
            "ESP-IDF's NVS has no check sums over the states of its entries: one wrong bit makes an entry look erased, or brings back one \
             that was not wiped",
        );
        Some(layout.because(format!(
            "{its} of {used} pages that are not erased have its header or items, with right check sums"
        )))
    }

    /// Behind something else, of whatever length: in a dump whose table is missing, or with the header of a tool before it.
    fn begins_at(&self, image: &[u8], layout: Option<&Layout>) -> Option<usize> {
        // Entries look alike in every page, however far that is out of step.
        let is_out_of_step = |found: &Layout| {
            found.block_bytes as usize == PAGE_BYTES
                && found.oob_bytes == 0
                && pages(image).1 > 0
                && !Page::all(image).any(|page| page.is_header_right())
        };
        if layout.is_some_and(|found| !is_out_of_step(found)) {
            return None;
        }
        let is_header = |at: &usize| Page::at(image, *at).is_header_right();
        (1..image.len().saturating_sub(PAGE_BYTES)).find(|at| image[*at + 1..].starts_with(&[0xFF; 3]) && is_header(at))
    }

    fn read(&self, image: &[u8], _layout: &Layout, content: Content) -> Result<Tree, TreeError> {
        Ok(key_values::tree(&Partition::of(image).store, image, content))
    }

    fn scan(&self, image: &[u8], layout: &Layout, scanned: &mut Scanned) {
        let partition = Partition::of(image);
        facts(&partition, scanned);
        for (facts, page) in scanned.blocks.iter_mut().zip(&partition.pages) {
            facts.sequence = page.sequence;
            facts.holds = holds(page).to_string();
        }
        key_values::scan(&partition.store, image, layout, scanned);
    }

    fn cut_off(&self, image: &[u8], _layout: &Layout) -> Option<CutOff> {
        let rest = image.len() % PAGE_BYTES;
        let offset = (image.len() - rest) as u64;
        (rest > 0)
            .then(|| CutOff { offset, what: format!("the image ends after {rest} of the {PAGE_BYTES} B of a page") })
    }
}

fn holds(page: &PageFacts) -> &'static str {
    match page.state {
        _ if page.is_erased => "erased",
        _ if page.sequence.is_none() => "damaged",
        PageState::Active => "active",
        PageState::Full => "full",
        PageState::Freeing => "being freed",
        PageState::Unused | PageState::Impossible => "damaged",
    }
}

fn facts(partition: &Partition, scanned: &mut Scanned) {
    let pages = &partition.pages;
    let used = || pages.iter().filter(|page| page.sequence.is_some());
    if let Some(version) = used().map(|page| page.version).max() {
        scanned.fact("format", version);
    }
    scanned.fact("page size, B", PAGE_BYTES);
    scanned.fact("pages", pages.len());
    let in_state = |word: &str| pages.iter().filter(|page| holds(page) == word).count();
    for word in ["active", "full", "being freed", "erased", "damaged"] {
        if in_state(word) > 0 {
            scanned.fact(&format!("pages {word}"), in_state(word));
        }
    }
    let sum = |count: fn(&PageFacts) -> usize| pages.iter().filter(|page| !page.is_erased).map(count).sum::<usize>();
    scanned.fact("entries written", sum(|page| page.written_count));
    scanned.fact("entries erased", sum(|page| page.erased_count));
    let (_, available) = stats(pages);
    scanned.fact("entries an application can write", available);
    scanned.fact("entries of a page", ENTRIES);
    scanned.fact("namespaces", partition.namespaces_count);
    if in_state("erased") == 0 {
        scanned
            .notes
            .push("no page is erased: ESP-IDF starts this partition only if it is for reading alone".to_string());
    }
    if in_state("active") > 1 {
        scanned.notes.push("several pages are active, where ESP-IDF writes one at a time".to_string());
    }
    if let Some(most) = used().filter_map(|page| page.sequence).max() {
        scanned.notes.push(format!(
            "pages were begun {} times since the partition was erased (the highest sequence number is {most}), each time but the first {} \
             after an erase",
            u64::from(most) + 1,
            pages.len().min(most as usize + 1)
        ));
    }
}
