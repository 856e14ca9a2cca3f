//! Page data and OOB areas, which stand side by side in the dump of a chip.

use std::borrow::Cow;

/// The page data of an image, without the OOB areas.
pub(crate) fn data_areas(image: &[u8], page_bytes: usize, oob_bytes: usize) -> Cow<'_, [u8]> {
    if oob_bytes == 0 {
        return Cow::Borrowed(image);
    }
    let pages = image.chunks(page_bytes + oob_bytes);
    let mut data = Vec::with_capacity(pages.len() * page_bytes);
    pages.for_each(|page| data.extend_from_slice(&page[..page_bytes.min(page.len())]));
    data.into()
}

/// The page data of each erase block, one block at a time, because a copy of all of them might not fit in memory.
/// `block_bytes` is a multiple of `page_bytes`.
pub(crate) fn block_data(
    image: &[u8],
    page_bytes: u32,
    oob_bytes: u32,
    block_bytes: u32,
) -> impl Iterator<Item = Cow<'_, [u8]>> {
    let (page, oob) = (page_bytes as usize, oob_bytes as usize);
    let stored_bytes = (block_bytes / page_bytes).max(1) as usize * (page + oob);
    image.chunks(stored_bytes).map(move |block| data_areas(block, page, oob))
}
