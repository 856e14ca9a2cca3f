//! YAFFS2 as the conformance kit and the fuzz target see it.

use ffslab_conformance::Subject;
use ffslab_flash::Geometry;
use ffslab_fs::FileSystem;
use ffslab_mtd::Mtd;
use ffslab_policy::{VictimSpec, Victims};
use ffslab_yaffs2::{victim_table, Options, Yaffs2};

/// YAFFS2 with some options on some chip.
pub struct Yaffs2Subject {
    /// The victim policy.
    pub policy: &'static str,
    pub options: Options,
    pub geometry: Geometry,
}

impl Subject for Yaffs2Subject {
    fn name(&self) -> &str {
        "yaffs2"
    }

    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn mount(&self, mtd: Mtd) -> Result<Box<dyn FileSystem>, String> {
        let victims = VictimSpec::parse(self.policy).map_err(|error| error.to_string())?;
        let victims = Victims::of(&victims, 1, victim_table(mtd.pages_per_block()));
        match Yaffs2::mount(mtd, self.options) {
            Ok(mut fs) => {
                if let Some(victims) = victims {
                    fs.collects_by(victims);
                }
                Ok(Box::new(fs))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    fn own_entries(&self) -> &[&[u8]] {
        &[b"lost+found"]
    }

    /// A dirty file is stamped with the present time when it is flushed, at close at the latest (`yaffs_flush_file`,
    /// `update_time`).
    fn keeps_set_times(&self) -> bool {
        false
    }

    /// The object takes the name of one of its hard links over, and only then that link is deleted
    /// (`yaffs_unlink_worker`). A mount after a cut in between finds both (`yaffs_link_fixup` compares no names).
    fn unlink_may_double_a_name(&self) -> bool {
        true
    }

    /// Truncation deletes chunks first and writes the header afterwards (`yaffs_resize_file`): without a summary the block
    /// of the last chunk is erased in between, and the header of before finds an older chunk. Where whole chunks bypass
    /// the short-op cache they reach flash before the shorter ones in front of them: a gap after a cut, which
    /// no shrink header guards when the file grows again.
    fn older_data_may_return(&self) -> bool {
        self.options.cache_bypass_aligned
    }

    fn reseal(&self, image: &mut [u8]) {
        let page_bytes = self.geometry.page_bytes as usize;
        let stride = page_bytes + self.geometry.oob_bytes as usize;
        let inband = self.options.inband_tags;
        if !inband {
            for page in image.chunks_exact_mut(stride) {
                reseal_tags(&mut page[page_bytes..]);
            }
        }
        let tags_offset = if inband { page_bytes - INBAND_BYTES } else { page_bytes + TAGS_AT };
        reseal_checkpoint(image, stride, page_bytes.min(tags_offset), tags_offset);
    }
}

/// In-band tags are the last bytes of a page, and have no ECC.
const INBAND_BYTES: usize = 16;
/// Tags stand behind the two bytes of the bad block mark.
const TAGS_AT: usize = 2;

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Makes the ECC over the tags of a page right, from its definition bit by bit.
fn reseal_tags(oob: &mut [u8]) {
    if oob[TAGS_AT..TAGS_AT + 4] == [0xFF; 4] {
        return;
    }
    let (mut pairs, mut line, mut inverse) = (0u8, 0u32, 0u32);
    for i in 0..16 {
        let byte = oob[TAGS_AT + i];
        if byte.count_ones() % 2 == 1 {
            line ^= i as u32;
            inverse ^= !(i as u32);
        }
        for k in (0..8).filter(|k| byte >> k & 1 == 1) {
            for digit in 0..3 {
                pairs ^= 1 << (2 * digit + u8::from(k >> digit & 1 == 1));
            }
        }
    }
    oob[TAGS_AT + 16] = pairs;
    put(oob, TAGS_AT + 20, line);
    put(oob, TAGS_AT + 24, inverse);
}

/// Makes the running sums of a checkpoint's pages right, in the order of their numbers.
fn reseal_checkpoint(image: &mut [u8], stride: usize, data_bytes: usize, tags_offset: usize) {
    let mut pages: Vec<(u32, usize)> = Vec::new();
    for (index, page) in image.chunks_exact(stride).enumerate() {
        if word(page, tags_offset) == 0x21 {
            pages.push((word(page, tags_offset + 8), index));
        }
    }
    pages.sort_unstable();
    let (mut sum, mut xor) = (0u32, 0u32);
    for (_, index) in pages {
        let page = &mut image[index * stride..index * stride + data_bytes];
        put(page, 8, sum);
        put(page, 12, xor);
        for &byte in &page[16..] {
            sum = sum.wrapping_add(u32::from(byte));
            xor ^= u32::from(byte);
        }
    }
}
