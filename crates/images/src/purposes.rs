//! For what the pages of an erase block were written: which file, or which structure of the file system itself.
//!
//! A format tells of each written block how many bytes stand for whom, still valid or not, and which names it holds
//! (`Written`). [`Purposes`] takes the one with most bytes for the purpose of the block, and makes paths of the names.

use crate::format::{BlockLook, BlockReader, ImageFs};
use crate::lost::history::Name;
use crate::lost::paths::Paths;
pub use crate::written::Purpose;
use crate::written::Written;
use ffslab_mtd::is_erased;
use ffslab_text::quoting::quoted;
use std::collections::BTreeMap;

/// Number of the root directory in JFFS2, UBIFS and YAFFS2 (`JFFS2_ROOT_INO`, `UBIFS_ROOT_INO`, `YAFFS_OBJECTID_ROOT`).
const ROOT_INO: u32 = 1;

/// The purposes of the blocks of one file system, and all names that were seen.
pub struct Purposes {
    formats: Vec<ImageFs>,
    /// That of the first block of which a format knew how it is written.
    reader: Option<BlockReader>,
    names: BTreeMap<u32, Name>,
}

impl Purposes {
    /// `formats` are those that may be found.
    pub fn new(formats: Vec<ImageFs>) -> Purposes {
        Purposes { formats, reader: None, names: BTreeMap::new() }
    }

    /// For what most bytes of the block were written. `None`: it is erased, or nobody knows.
    pub fn of(&mut self, block: &BlockLook<'_>) -> Option<Purpose> {
        if is_erased(block.data) {
            return None;
        }
        if self.reader.is_none() {
            self.reader = self.formats.iter().find_map(|fs| fs.format().block_reader(block));
        }
        let mut written = Written::default();
        self.reader.as_ref()?(block, &mut written);
        for name in written.names {
            // Damage and deleted entries have names that are older than one that is known.
            if self.names.get(&name.ino).is_none_or(|known| name.sequence >= known.sequence) {
                self.names.insert(name.ino, name);
            }
        }
        // Of equals the first one, so that the same block always gives the same answer.
        written.bytes.into_iter().rev().max_by_key(|&(_, bytes)| bytes).map(|(purpose, _)| purpose)
    }

    /// These purposes as people read them: the last path that a file had, quoted as `ls` quotes it.
    pub fn texts(&self, purposes: impl IntoIterator<Item = Purpose>) -> BTreeMap<Purpose, String> {
        let names: Vec<Name> = self.names.values().cloned().collect();
        let paths = Paths::new(&names, ROOT_INO, None);
        let text = |purpose| match purpose {
            Purpose::File(ino) => quoted(&[b"/", paths.of(ino).as_slice()].concat()),
            Purpose::Own(what) => what.to_string(),
        };
        purposes.into_iter().map(|purpose| (purpose, text(purpose))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::ImageFormat;
    use crate::jffs2;
    use ffslab_fs::FileKind;

    #[test]
    fn the_last_path_of_a_file_is_told_and_what_has_no_name_by_its_number() {
        let mut purposes = Purposes::new(Vec::new());
        for (ino, parent, name, sequence) in [(5, 1, "dir", 1), (6, 5, "a b", 2)] {
            let name = name.as_bytes().to_vec();
            purposes.names.insert(ino, Name { parent, name, ino, kind: FileKind::File, sequence });
        }
        let all = [1, 6, 9].map(Purpose::File);
        let texts = purposes.texts(all.into_iter().chain([Purpose::Own("index")]));
        assert_eq!(texts.into_values().collect::<Vec<_>>(), ["/", "'/dir/a b'", "/#9", "index"]);
    }

    #[test]
    fn what_is_erased_or_unknown_has_no_purpose() {
        let mut purposes = Purposes::new(vec![ImageFs::new("jffs2", "JFFS2", Some(&jffs2::InImages))]);
        for bytes in [vec![0xFF; 4096], vec![0xA5; 4096]] {
            let block = BlockLook { stored: &bytes, data: &bytes, page_bytes: 2048, oob_bytes: 0 };
            assert_eq!(purposes.of(&block), None);
            assert!(jffs2::InImages.block_reader(&block).is_none());
        }
    }
}
