//! What was deleted or overwritten, as far as the flash still has it.
//!
//! File systems of flash write elsewhere and erase later, so old nodes stay until their erase block is collected. A format
//! hands over what is left of the past of each file ([`history`]); it is repeated here, the same for all (`content`), and gets the
//! paths that were its own (`paths`).

mod content;
pub mod history;
pub mod hits;
pub(crate) mod paths;

use crate::dump::Dump;
use crate::file::ImageError;
use crate::format::{ImageFs, Layout};
use crate::recognise::part::Part;
use crate::recognise::parts::Wanted;
use crate::tree::room::Room;
use crate::tree::{Content, Tree};
use crate::unrecognised::Unrecognised;
pub use content::State;
use content::{Repeat, Version};
use ffslab_fs::FileKind;
use ffslab_text::quoting::{as_text, quoted};
use history::{History, Past};
use paths::Paths;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// At most so many versions of each file are kept: the newest.
const VERSIONS_MAX: usize = 8;
/// Of a smaller image content may take so much memory nevertheless.
const PAGES_BYTES_MIN: u64 = 8 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    Deleted,
    /// An earlier version of a file.
    Overwritten,
}

/// A file that is gone, or an earlier version of one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LostFile {
    /// The last path that it had. `#57` stands for a name that is not known, of the object with this number.
    pub path: String,
    #[serde(skip)]
    pub path_bytes: Vec<u8>,
    pub kind: &'static str,
    pub ino: u32,
    pub why: Why,
    pub state: State,
    /// `None`: nothing tells how large it was.
    #[serde(rename = "size_B")]
    pub size_bytes: Option<u64>,
    /// Bytes of it that are there.
    #[serde(rename = "held_B")]
    pub held_bytes: u64,
    /// Where bytes are missing: the first, and the first that is there again.
    #[serde(rename = "missing_B")]
    pub missing_bytes: Vec<[u64; 2]>,
    /// Time of its last modification, in seconds since 1970, if a node says so.
    pub modified_s: Option<i64>,
    /// When it was deleted or overwritten, if a node says so.
    pub ended_s: Option<i64>,
    /// The number of the last step that is in it, in the file system's own count: a higher one is later.
    pub version: u64,
    /// By which versions of a path are sorted.
    #[serde(skip)]
    age: (i64, u32, u64),
    #[serde(skip)]
    pub permissions: u32,
    #[serde(skip)]
    pub owner: (u32, u32),
    /// Content, or target of a symbolic link, if it is kept and there is any; missing bytes are zeros.
    #[serde(skip)]
    pub data: Option<Vec<u8>>,
}

/// What a partition has lost.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Lost {
    /// By path, the newest version first.
    pub files: Vec<LostFile>,
    pub notes: Vec<String>,
}

/// Looks for what was deleted or overwritten. `tree`: the files that are there; `None`: they cannot be read, and whatever
/// is found counts as lost.
pub fn find(image: &[u8], layout: &Layout, tree: Option<&Tree>, keep: Content) -> Lost {
    let mut room = Room::of(image.len() as u64);
    let volumes = layout.fs.format().volumes(image, layout);
    if volumes.is_empty() {
        return find_in_one(image, layout, tree, keep, &mut room);
    }
    let mut lost = Lost::default();
    for (folder, layout) in volumes {
        let tree = layout.tree(image, Content::Check).ok();
        let found = find_in_one(image, &layout, tree.as_ref(), keep, &mut room);
        lost.files.extend(found.files.into_iter().map(|file| file.below(&folder)));
        lost.notes.extend(found.notes.into_iter().map(|note| format!("volume {}: {note}", quoted(&folder))));
    }
    lost
}

fn find_in_one(image: &[u8], layout: &Layout, tree: Option<&Tree>, keep: Content, room: &mut Room) -> Lost {
    let Some(history) = layout.fs.format().history(image, layout) else {
        let title = layout.fs.title();
        return Lost { files: Vec::new(), notes: vec![format!("{title}: what was deleted is not looked for")] };
    };
    let History { mut pasts, names, missing, root_ino, mut fetch, notes } = history;
    // Of some files nothing is left but the name.
    let mut known: BTreeSet<u32> = pasts.iter().map(|past| past.ino).chain([root_ino]).collect();
    pasts.extend(names.iter().filter(|name| known.insert(name.ino)).map(|name| Past::new(name.ino, name.kind)));
    let paths = Paths::new(&names, root_ino, tree);
    let mut repeat = Repeat {
        missing: &missing,
        fetch: &mut fetch,
        keeps: keep == Content::Keep,
        pages_bytes_max: (image.len() as u64).max(PAGES_BYTES_MIN),
        versions_count_max: VERSIONS_MAX,
    };
    let mut lost = Lost { files: Vec::new(), notes };
    let mut without_room = 0;
    for past in pasts.iter() {
        let is_gone = past.is_ended || !paths.is_live(past.ino);
        for version in repeat.versions(past, is_gone) {
            let mut file = LostFile::of(past, version, &paths);
            if file.held_bytes == 0 && !paths.has_name(past.ino) {
                continue;
            }
            let bytes = file.data.as_ref().map_or(0, |data| data.len() as u64);
            if room.take_content(bytes, keep).is_err() {
                (file.data, without_room) = (None, without_room + 1);
            }
            lost.files.push(file);
        }
    }
    if without_room > 0 {
        lost.notes.push(format!("the content of {without_room} files is left out: all together is too large here"));
    }
    if tree.is_none() {
        lost.notes.push("the files that are there cannot be read, so all that is found counts as lost".to_string());
    }
    lost.files.sort_by(|a, b| a.path_bytes.cmp(&b.path_bytes).then_with(|| b.age.cmp(&a.age)));
    lost
}

/// What a partition of an image has lost; `None`: it is not known what the partition holds.
pub type PartLost = (Part, Option<Lost>);

/// Looks for what was deleted or overwritten in each partition of an image, with content. The file is not changed.
///
/// Errors: those of [`read_trees`](crate::part_trees::read_trees), but an image whose files cannot be read is looked at, too.
pub fn read_lost(path: &Path, wanted: &Wanted, formats: &[ImageFs]) -> Result<Vec<PartLost>, ImageError> {
    let mut dump = Dump::read(path, wanted)?;
    let refused = |why: Unrecognised| ImageError::refused(path, why);
    let parts = dump.parts(wanted, formats).map_err(refused)?;
    let image = dump.image;
    let is_one = parts.len() == 1;
    let lost_of = |part: Part| {
        let lost = match part.layout.clone().and_then(Layout::whole) {
            Ok(layout) => {
                let image = &image[part.place_bytes.clone()];
                Some(find(image, &layout, layout.tree(image, Content::Check).ok().as_ref(), Content::Keep))
            }
            Err(why) if is_one => return Err(refused(why)),
            Err(_) => None,
        };
        Ok((part, lost))
    };
    parts.into_iter().map(lost_of).collect()
}

impl LostFile {
    /// As it is where the files of its volume stand in a folder.
    fn below(self, folder: &[u8]) -> LostFile {
        let path_bytes = [folder, b"/", self.path_bytes.as_slice()].concat();
        LostFile { path: as_text(&path_bytes), path_bytes, ..self }
    }

    fn of(past: &Past, version: Version, paths: &Paths<'_>) -> LostFile {
        let path_bytes = paths.of(past.ino);
        let missing_bytes: Vec<[u64; 2]> = version.missing_bytes.iter().map(|range| [range.start, range.end]).collect();
        let lacking_bytes: u64 = missing_bytes.iter().map(|[from, to]| to - from).sum();
        let (state, size_bytes, data) = match (past.kind, &past.target) {
            (FileKind::File, _) => (version.state, version.size_bytes, version.data),
            (FileKind::Symlink, Some(target)) => (State::Whole, Some(target.len() as u64), Some(target.clone())),
            (FileKind::Symlink, None) => (State::Partial, None, None),
            _ => (State::Whole, Some(0), None),
        };
        LostFile {
            path: as_text(&path_bytes),
            path_bytes,
            kind: past.kind.name(),
            ino: past.ino,
            why: if version.is_last { Why::Deleted } else { Why::Overwritten },
            state,
            size_bytes,
            held_bytes: size_bytes.unwrap_or(0).saturating_sub(lacking_bytes),
            missing_bytes,
            modified_s: version.modified_s,
            ended_s: version.ended_s,
            version: version.sequence,
            age: match past.missing {
                // Steps count in one inode only, and inodes are numbered in their order.
                Some(_) => (version.ended_s.unwrap_or(i64::MAX), past.ino, version.sequence),
                None => (0, 0, version.sequence),
            },
            permissions: past.permissions,
            owner: (past.uid, past.gid),
            data,
        }
    }
}
