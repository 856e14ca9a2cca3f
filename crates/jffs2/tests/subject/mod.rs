//! JFFS2 as the conformance kit and the fuzz target see it.

use ffslab_conformance::{Features, Subject};
use ffslab_flash::Geometry;
use ffslab_fs::FileSystem;
use ffslab_jffs2::{victim_table, Jffs2, Options};
use ffslab_mtd::Mtd;
use ffslab_policy::{VictimSpec, Victims};

/// JFFS2 with some options on some chip.
pub struct Jffs2Subject {
    /// The victim policy.
    pub policy: &'static str,
    pub options: Options,
    pub geometry: Geometry,
}

impl Subject for Jffs2Subject {
    fn name(&self) -> &str {
        "jffs2"
    }

    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn mount(&self, mtd: Mtd) -> Result<Box<dyn FileSystem>, String> {
        let victims = VictimSpec::parse(self.policy).map_err(|error| error.to_string())?;
        let victims = Victims::of(&victims, 1, victim_table(mtd.erase_block_bytes()));
        match Jffs2::mount(mtd, self.options) {
            Ok(mut fs) => {
                if let Some(victims) = victims {
                    fs.collects_by(victims);
                }
                Ok(Box::new(fs))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Linux refuses ("Cowardly refusing to erase blocks on filesystem with no valid JFFS2 nodes", `fs/jffs2/scan.c`): a
    /// torn clean marker on an otherwise empty medium looks like foreign data.
    fn may_refuse_unfinished_format(&self) -> bool {
        true
    }

    /// `fs/jffs2/dir.c`, `jffs2_rename`: the new name is written first, then the old one is deleted. After a cut in
    /// between Linux mounts with both, a directory included (`fs/jffs2/build.c`: "is also hard linked from").
    fn rename_may_leave_both_names(&self) -> bool {
        true
    }

    /// `fs/jffs2/nodemgmt.c`, `jffs2_reserve_space`: what is left of the block that is written to does not count, so with
    /// one block in erasure and none free a deletion is refused until the thread has emptied another.
    fn unlink_may_want_time(&self) -> bool {
        true
    }

    /// `fs/jffs2/xattr.c`: when an attribute is replaced, or an inode deleted, only memory says that the old reference is dead
    /// (`delete_xattr_ref`), so it counts again at a mount if the newer one was removed since; a real 6.1 does the same.
    /// fsync writes nothing for attributes, whose nodes are written for no inode (`save_xattr_ref`, `jffs2_flash_writev` with
    /// inode 0). And of an attribute that garbage collection copies the mount takes the newer copy though only its header
    /// is whole (`jffs2_scan_xattr_node` of `fs/jffs2/scan.c` does not look at the rest).
    fn older_xattrs_may_return(&self) -> bool {
        true
    }

    /// `fs/jffs2/xattr.c`, `do_jffs2_setxattr`.
    fn xattrs_reserve_space_first(&self) -> bool {
        true
    }

    fn features(&self) -> Features {
        Features { xattrs: true, ..Features::NONE }
    }

    fn reseal(&self, image: &mut [u8]) {
        if self.geometry.oob_bytes == 0 {
            let block_bytes = self.geometry.block_bytes() as usize;
            return reseal(image, block_bytes, block_bytes);
        }
        reseal(image, (self.geometry.page_bytes + self.geometry.oob_bytes) as usize, self.geometry.page_bytes as usize);
    }
}

/// Makes the CRCs of nodes that lie within one page, or one block of NOR, right again (`include/uapi/linux/jffs2.h`).
fn reseal(image: &mut [u8], stride: usize, page_bytes: usize) {
    for page in image.chunks_exact_mut(stride) {
        let data = &mut page[..page_bytes];
        let mut at = 0;
        while at + 12 <= data.len() {
            at += reseal_node(&mut data[at..]);
        }
    }
}

/// Returns how far the next node may be.
fn reseal_node(data: &mut [u8]) -> usize {
    let half = |data: &[u8], at: usize| u16::from_le_bytes([data[at], data[at + 1]]);
    let word = |data: &[u8], at: usize| u32::from_le_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]]);
    if half(data, 0) != 0x1985 {
        return 4;
    }
    put(data, 8, crc(&data[..8]));
    let length = word(data, 4) as usize;
    // An inode node has 68 bytes before its data, a directory entry 40 before its name.
    match half(data, 2) {
        0xE002 if data.len() >= 68 => {
            let stored = word(data, 48) as usize;
            if let Some(stored) = data.get(68..68usize.saturating_add(stored)) {
                let sum = crc(stored);
                put(data, 60, sum);
            }
            put(data, 64, crc(&data[..60]));
        }
        0xE001 if data.len() >= 40 => {
            if let Some(name) = data.get(40..40 + usize::from(data[28])) {
                let sum = crc(name);
                put(data, 36, sum);
            }
            put(data, 32, crc(&data[..32]));
        }
        // An extended attribute, 32 bytes before its name and value, and a reference to one, 28 bytes.
        0xE008 if data.len() >= 32 => {
            if let Some(content) = data.get(32..33 + usize::from(data[21]) + usize::from(half(data, 22))) {
                let sum = crc(content);
                put(data, 24, sum);
            }
            let sum = crc(&data[..28]);
            put(data, 28, sum);
        }
        0xE009 if data.len() >= 28 => {
            let sum = crc(&data[..24]);
            put(data, 24, sum);
        }
        _ => {}
    }
    if length >= 12 && length < data.len() {
        (length + 3) & !3
    } else {
        4
    }
}

/// CRC-32 as JFFS2 uses it: start value 0, no final inversion.
fn crc(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(!0);
    hasher.update(bytes);
    !hasher.finalize()
}

fn put(data: &mut [u8], at: usize, value: u32) {
    data[at..at + 4].copy_from_slice(&value.to_le_bytes());
}
