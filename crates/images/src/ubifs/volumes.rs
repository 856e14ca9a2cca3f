//! All volumes of UBI: one of UBIFS alone has its files at the root; of several each has a folder of its name, and a volume that
//! holds something else is a file.

use super::scan;
use super::tree::{attach_all, read_volume, wanted_lebs};
use crate::recognise::Layout;
use crate::tree::room::Room;
use crate::tree::{Content, Tree, TreeEntry, TreeError, FILE_BYTES_MAX};
use ffslab_fs::{FileKind, Ino};
use ffslab_ubi::{Ubi, VolumeInfo, VolumeKind};
use std::collections::BTreeSet;

pub fn read(image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError> {
    let (ubi, _) = attach_all(image, layout)?;
    let read = of_volumes(&ubi, image, layout, content);
    ubi.detach();
    read
}

fn of_volumes(ubi: &Ubi, image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError> {
    let mut notes = notes(image, layout);
    let mut mounted = Vec::new();
    let mut other = Vec::new();
    for info in ubi.volumes() {
        if wanted_lebs(ubi, info.id)?.is_some() {
            mounted.push(info);
        } else if held_lebs(ubi, &info)? > 0 || info.kind == VolumeKind::Static {
            other.push(info);
        }
    }
    if let ([only], []) = (mounted.as_slice(), other.as_slice()) {
        let volume = ubi.open(only.id).map_err(TreeError::refused)?;
        let mut tree = read_volume(ubi, volume, content)?;
        tree.notes.splice(0..0, notes);
        return Ok(tree);
    }
    if mounted.is_empty() && other.is_empty() {
        return Err(TreeError::NoUbifs { volumes: Vec::new() });
    }
    let mut room = Room::of(image.len() as u64);
    let mut names = BTreeSet::new();
    let mut root = TreeEntry::new(Vec::new(), 1, FileKind::Directory);
    (root.permissions, root.links) = (0o755, 1);
    let mut tree = Tree { entries: vec![root], ..Tree::default() };
    let mut parts: Vec<(Vec<u8>, Vec<TreeEntry>)> = Vec::new();
    for info in mounted {
        let volume = ubi.open(info.id).map_err(TreeError::refused)?;
        match read_volume(ubi, volume, content) {
            Ok(read) => {
                if tree.space.is_empty() {
                    tree.space = read.space;
                }
                notes.extend(read.notes.into_iter().map(|note| format!("volume \"{}\": {note}", info.name)));
                parts.push((name_of(&info, &mut names), read.entries));
            }
            Err(error) => {
                notes.push(format!(
                    "volume \"{}\": its files cannot be read ({error}): it is written as a file",
                    info.name
                ));
                other.push(info);
            }
        }
    }
    for info in other {
        let name = name_of(&info, &mut names);
        parts.push((Vec::new(), vec![file(ubi, &info, name, content, &mut room)?]));
    }
    for (number, (folder, entries)) in (0..).zip(parts) {
        tree.entries.extend(entries.into_iter().map(|entry| below(&folder, entry, number)));
    }
    // Directories before what they hold, and that next to them.
    tree.entries.sort_by(|a, b| a.path.split(|&byte| byte == b'/').cmp(b.path.split(|&byte| byte == b'/')));
    tree.notes = notes;
    Ok(tree)
}

/// Inodes of different volumes may have the same number, and links are known by it.
fn below(folder: &[u8], mut entry: TreeEntry, number: Ino) -> TreeEntry {
    entry.ino = entry.ino.wrapping_mul(128).wrapping_add(number + 2);
    entry.path = match (folder, entry.path.as_slice()) {
        ([], path) => path.to_vec(),
        (folder, []) => folder.to_vec(),
        (folder, path) => [folder, b"/", path].concat(),
    };
    entry
}

/// The name of a volume, as a file can have it.
fn name_of(info: &VolumeInfo, taken: &mut BTreeSet<Vec<u8>>) -> Vec<u8> {
    let name = info.name.replace(['/', '\0'], "_");
    let is_free = !matches!(name.as_str(), "" | "." | "..") && !taken.contains(name.as_bytes());
    let name = if is_free { name.into_bytes() } else { format!("volume-{}", info.id).into_bytes() };
    taken.insert(name.clone());
    name
}

/// One more than the number of the last LEB that holds something.
fn held_lebs(ubi: &Ubi, info: &VolumeInfo) -> Result<u32, TreeError> {
    let volume = ubi.open(info.id).map_err(TreeError::refused)?;
    Ok((0..info.lebs).rev().find(|&leb| volume.is_mapped(leb)).map_or(0, |leb| leb + 1))
}

/// A volume as a file. UBI knows how much a static one holds; of a dynamic one it is what is not erased at its end.
fn file(
    ubi: &Ubi,
    info: &VolumeInfo,
    name: Vec<u8>,
    content: Content,
    room: &mut Room,
) -> Result<TreeEntry, TreeError> {
    let mut entry = TreeEntry::new(name, 1, FileKind::File);
    (entry.permissions, entry.links) = (0o644, 1);
    let all_bytes = match info.kind {
        VolumeKind::Static => info.used_bytes,
        VolumeKind::Dynamic => u64::from(held_lebs(ubi, info)?) * u64::from(info.leb_bytes),
    };
    entry.size_bytes = all_bytes;
    if all_bytes > FILE_BYTES_MAX || room.take_content(all_bytes, content).is_err() {
        entry.error = Some(format!("a volume of {all_bytes} B: that is more than is read here"));
        return Ok(entry);
    }
    let volume = ubi.open(info.id).map_err(TreeError::refused)?;
    let mut data = Vec::with_capacity(all_bytes as usize);
    while (data.len() as u64) < all_bytes {
        let leb = data.len() as u64 / u64::from(info.leb_bytes);
        let mut piece = vec![0xFF; (all_bytes - data.len() as u64).min(u64::from(info.leb_bytes)) as usize];
        if let Err(error) = volume.read(leb as u32, 0, &mut piece) {
            entry.error = Some(format!("LEB {leb}: {error}"));
            return Ok(entry);
        }
        data.extend_from_slice(&piece);
    }
    if info.kind == VolumeKind::Dynamic {
        data.truncate(data.iter().rposition(|&byte| byte != 0xFF).map_or(0, |last| last + 1));
    }
    entry.size_bytes = data.len() as u64;
    if content == Content::Keep {
        entry.data = data;
    }
    Ok(entry)
}

/// What Linux would say of the volumes.
fn notes(image: &[u8], layout: &Layout) -> Vec<String> {
    let interrupted = scan::interrupted(image, layout).into_iter().map(|name| {
        format!(
            "volume \"{name}\" has the update marker: its last update was interrupted, and Linux refuses it (EBADF)"
        )
    });
    interrupted.collect()
}
