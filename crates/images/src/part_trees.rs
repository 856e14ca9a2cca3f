//! The files of each partition of the file of an image.

use crate::dump::Dump;
use crate::file::ImageError;
use crate::format::{ImageFs, Layout};
use crate::recognise::part::Part;
use crate::recognise::parts::Wanted;
use crate::scan::damage_of;
use crate::tree::{Content, Tree, TreeError};
use crate::unrecognised::Unrecognised;
use std::path::Path;
use thiserror::Error;

/// The files of a partition of an image.
#[derive(Clone, Debug)]
pub struct PartTree {
    pub part: Part,
    /// `None`: it is not known what the partition holds.
    pub tree: Option<Tree>,
}

/// Why a partition cannot be read, and where the image breaks off.
#[derive(Debug, Error)]
#[error("{why}{}", cut.as_ref().map(|cut| format!("; {cut}")).unwrap_or_default())]
struct Unreadable {
    why: TreeError,
    cut: Option<String>,
}

/// Reads all files of an image by mounting a copy of it on a simulated chip. If the image is the dump of a whole chip,
/// this is done for each wanted partition. The file is not changed.
///
/// Errors: one line; the file cannot be read, the image is not what was given, no chip has such a geometry, or the file
/// system refuses the image.
pub fn read_trees(path: &Path, wanted: &Wanted, formats: &[ImageFs]) -> Result<Vec<PartTree>, ImageError> {
    let mut dump = Dump::read(path, wanted)?;
    let refused = |why: Unrecognised| ImageError::refused(path, why);
    let parts = dump.parts(wanted, formats).map_err(refused)?;
    let image = dump.image;
    let is_one = parts.len() == 1;
    let mut trees = Vec::new();
    for part in parts {
        let tree = match &part.layout {
            Ok(layout) => match read_part(&image[part.place_bytes.clone()], &part, layout) {
                Ok(tree) => Some(tree),
                Err(error) if is_one => {
                    // What stands before it may say more.
                    let named = crate::named::named(&image).map(|what| format!("{what}; "));
                    return Err(ImageError::refused(path, format!("{}{error}", named.unwrap_or_default())));
                }
                // The other partitions can be read nevertheless, so this one gets a note.
                Err(error) => Some(Tree { notes: vec![part.named(&error.to_string())], ..Tree::default() }),
            },
            Err(why) if is_one => return Err(refused(why.clone())),
            Err(_) => None,
        };
        trees.push(PartTree { part, tree });
    }
    for tree in trees.iter_mut().filter_map(|read| read.tree.as_mut()) {
        tree.notes.iter_mut().for_each(|note| *note = format!("{}: {note}", path.display()));
    }
    Ok(trees)
}

/// Errors: one line; with where the image breaks off, if it does.
fn read_part(image: &[u8], part: &Part, layout: &Layout) -> Result<Tree, Unreadable> {
    let cut = layout.fs.format().cut_off(image, layout);
    let cut = cut.map(|cut| format!("{:#x}: {}", part.place_bytes.start as u64 + cut.offset, cut.what));
    let read = layout.tree(image, Content::Keep);
    let mut tree = read.map_err(|why| Unreadable { why, cut: cut.clone() })?;
    let damage = damage_of(image, layout, part.place_bytes.start);
    tree.notes.extend(layout.doubts.iter().cloned().chain(cut).chain(damage));
    tree.notes.iter_mut().for_each(|note| *note = part.named(note));
    Ok(tree)
}
