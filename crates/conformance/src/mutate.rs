//! Damage to an image, chosen by a seed.

use crate::content::Random;
use ffslab_flash::Geometry;

/// One piece of damage. Pages are counted from the start of the image, offsets from the start of the page's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mutation {
    FlipBits {
        page: u32,
        bits: Vec<u32>,
    },
    /// Random out-of-band bytes.
    OobNoise {
        page: u32,
        seed: u64,
    },
    SwapPages {
        a: u32,
        b: u32,
    },
    CopyPage {
        from: u32,
        to: u32,
    },
    CopyBlock {
        from: u32,
        to: u32,
    },
    EraseBlock {
        block: u32,
    },
    /// The rest of the page from here on becomes erased.
    Truncate {
        page: u32,
        offset: u32,
    },
    Noise {
        page: u32,
        offset: u32,
        bytes: u32,
        seed: u64,
    },
    Zeros {
        page: u32,
        offset: u32,
        bytes: u32,
    },
    /// A 32-bit word is replaced by a value of the kind that breaks checks of lengths.
    Word {
        page: u32,
        offset: u32,
        value: u32,
    },
    /// A 16-bit word is replaced in the same way.
    HalfWord {
        page: u32,
        offset: u32,
        value: u16,
    },
    /// The data from here on are shifted, and their end is lost.
    Shift {
        page: u32,
        offset: u32,
        bytes: u32,
    },
}

const WORDS: &[u32] =
    &[0, 1, 2, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0xFFFF_FFF0, 0x0001_0000, 0x0002_0000, 0x4000_0000, 4096, 255];

/// Chooses `count` mutations, mostly of pages that are not erased.
pub fn choose(image: &[u8], geometry: Geometry, random: &mut Random, count: u32) -> Vec<Mutation> {
    let used: Vec<u32> = (0..geometry.pages()).filter(|&page| !is_erased(image, geometry, page)).collect();
    (0..count).map(|_| choose_one(geometry, &used, random)).collect()
}

fn choose_one(geometry: Geometry, used: &[u32], random: &mut Random) -> Mutation {
    let pick = |random: &mut Random| {
        if used.is_empty() || random.below(10) == 0 {
            random.below(u64::from(geometry.pages())) as u32
        } else {
            used[random.below(used.len() as u64) as usize]
        }
    };
    let page = pick(random);
    let offset = random.below(u64::from(geometry.page_bytes)) as u32;
    // In most formats headers are at the start of pages.
    let offset = if random.below(2) == 0 { offset % 64 } else { offset };
    let word_offset = offset & !3;
    let bytes = 1 + random.below(200) as u32;
    let block_of = |page: u32| page / geometry.pages_per_block;
    match random.below(20) {
        0..=3 => {
            let bits =
                (0..1 + random.below(4)).map(|_| random.below(u64::from(geometry.page_bytes) * 8) as u32).collect();
            Mutation::FlipBits { page, bits }
        }
        4 => Mutation::OobNoise { page, seed: random.draw() },
        5 => Mutation::SwapPages { a: page, b: pick(random) },
        6 => Mutation::CopyPage { from: page, to: pick(random) },
        7 => Mutation::CopyBlock { from: block_of(page), to: block_of(pick(random)) },
        8 => Mutation::EraseBlock { block: block_of(page) },
        9 => Mutation::Truncate { page, offset },
        10 => Mutation::Noise { page, offset, bytes, seed: random.draw() },
        11 => Mutation::Zeros { page, offset, bytes },
        12..=15 => {
            let value = match random.below(3) {
                0 => random.below(64) as u32,
                _ => WORDS[random.below(WORDS.len() as u64) as usize],
            };
            Mutation::Word { page, offset: word_offset, value }
        }
        16..=18 => {
            let value = [0, 1, 0x7FFF, 0xFFFF, random.draw() as u16][random.below(5) as usize];
            Mutation::HalfWord { page, offset: offset & !1, value }
        }
        _ => Mutation::Shift { page, offset: word_offset, bytes: 4 * (1 + random.below(8) as u32) },
    }
}

fn is_erased(image: &[u8], geometry: Geometry, page: u32) -> bool {
    image[data_range(geometry, page)].iter().all(|&byte| byte == 0xFF)
}

fn stride(geometry: Geometry) -> usize {
    (geometry.page_bytes + geometry.oob_bytes) as usize
}

fn page_range(geometry: Geometry, page: u32) -> std::ops::Range<usize> {
    let start = page as usize * stride(geometry);
    start..start + stride(geometry)
}

fn data_range(geometry: Geometry, page: u32) -> std::ops::Range<usize> {
    let start = page as usize * stride(geometry);
    start..start + geometry.page_bytes as usize
}

fn noise(bytes: &mut [u8], seed: u64) {
    let mut random = Random(seed);
    bytes.fill_with(|| random.draw() as u8);
}

/// Damages an image of pages with their out-of-band bytes.
pub fn apply(image: &mut [u8], geometry: Geometry, mutation: &Mutation) {
    let part = |image: &mut [u8], page: u32, offset: u32, bytes: u32, change: &mut dyn FnMut(&mut [u8])| {
        let data = &mut image[data_range(geometry, page)];
        let end = (offset + bytes).min(geometry.page_bytes) as usize;
        change(&mut data[offset as usize..end]);
    };
    match mutation {
        Mutation::FlipBits { page, bits } => {
            let data = &mut image[data_range(geometry, *page)];
            for bit in bits {
                data[*bit as usize / 8] ^= 1 << (bit % 8);
            }
        }
        Mutation::OobNoise { page, seed } => {
            let range = page_range(geometry, *page);
            noise(&mut image[range][geometry.page_bytes as usize..], *seed);
        }
        Mutation::SwapPages { a, b } => {
            let (first, second) = (image[page_range(geometry, *a)].to_vec(), image[page_range(geometry, *b)].to_vec());
            image[page_range(geometry, *a)].copy_from_slice(&second);
            image[page_range(geometry, *b)].copy_from_slice(&first);
        }
        Mutation::CopyPage { from, to } => {
            image.copy_within(page_range(geometry, *from), page_range(geometry, *to).start);
        }
        Mutation::CopyBlock { from, to } => {
            let bytes = stride(geometry) * geometry.pages_per_block as usize;
            let start = *from as usize * bytes;
            image.copy_within(start..start + bytes, *to as usize * bytes);
        }
        Mutation::EraseBlock { block } => {
            let bytes = stride(geometry) * geometry.pages_per_block as usize;
            image[*block as usize * bytes..][..bytes].fill(0xFF);
        }
        Mutation::Truncate { page, offset } => {
            part(image, *page, *offset, geometry.page_bytes, &mut |data| data.fill(0xFF));
        }
        Mutation::Noise { page, offset, bytes, seed } => {
            part(image, *page, *offset, *bytes, &mut |data| noise(data, *seed));
        }
        Mutation::Zeros { page, offset, bytes } => part(image, *page, *offset, *bytes, &mut |data| data.fill(0)),
        Mutation::Word { page, offset, value } => {
            part(image, *page, *offset, 4, &mut |data| data.copy_from_slice(&value.to_le_bytes()[..data.len()]));
        }
        Mutation::HalfWord { page, offset, value } => {
            part(image, *page, *offset, 2, &mut |data| data.copy_from_slice(&value.to_le_bytes()[..data.len()]));
        }
        Mutation::Shift { page, offset, bytes } => {
            part(image, *page, *offset, geometry.page_bytes, &mut |data| {
                let by = (*bytes as usize).min(data.len());
                data.copy_within(..data.len() - by, by);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutation_stays_in_the_image_and_nearly_all_change_it() {
        let geometry = Geometry { page_bytes: 512, oob_bytes: 16, pages_per_block: 8, blocks: 4 };
        let image = crate::content::pattern(5, 0, 528 * 32);
        let mut changed = 0;
        for seed in 0..500 {
            let mutations = choose(&image, geometry, &mut Random(seed), 1);
            let mut damaged = image.clone();
            apply(&mut damaged, geometry, &mutations[0]);
            changed += u32::from(damaged != image);
        }
        assert!(changed > 400, "{changed} of 500 mutations changed something");
    }
}
