//! All volumes of UBI: one of UBIFS alone has its files at the root; of several each has a folder of its name, and a volume that
//! holds squashfs or EROFS, too; one that holds something else is a file.

use super::nodes::{self, Lebs};
use super::scan::{self, is_wanted, without_table};
use super::tree::{attach_all, read_volume, wanted_lebs, OFFSETS_OF_NOR};
use crate::format::Layout;
use crate::tree::room::Room;
use crate::tree::{Content, Tree, TreeEntry, TreeError, FILE_BYTES_MAX};
use crate::{erofs, squashfs};
use ffslab_fs::{FileKind, Ino};
use ffslab_text::quoting::quoted;
use ffslab_ubi::probe::Leb;
use ffslab_ubi::{PebUse, Ubi, VolumeInfo, VolumeKind};
use ffslab_ubifs::probe::LEB_BYTES_MIN;
use std::collections::{BTreeMap, BTreeSet};

pub fn read(image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError> {
    if layout.lacks_ubi {
        return Ok(nodes::read(&nodes::cut(image, layout.block_bytes), content, &layout.keys));
    }
    let (ubi, _) = match attach_all(image, layout) {
        Ok(attached) => attached,
        Err(why) => return by_headers(image, layout, content, why),
    };
    let read = of_volumes(&ubi, image, layout, content);
    ubi.detach();
    read
}

/// `known`: the names of those that are there.
fn no_volume(layout: &Layout, known: impl Iterator<Item = String>) -> TreeError {
    let name = layout.volume.as_ref().map_or(String::new(), |name| quoted(name.as_bytes()).to_string());
    TreeError::NoVolumeOfName { name, known: known.collect::<Vec<_>>().join(", ") }
}

/// So many LEBs hold the 4 KiB of a superblock, however small they are.
const SUPERBLOCK_LEBS_MAX: usize = 32;
/// LEBs of both copies of the master node (`fs/ubifs/ubifs.h`, `UBIFS_MST_LNUM`).
const MASTER_LEBS: [u32; 2] = [1, 2];

/// A volume that was read, under its name: as a folder or a file.
struct ReadVolume {
    name: String,
    id: u32,
    /// Of a file the only one, without a path.
    entries: Vec<TreeEntry>,
    is_folder: bool,
}

fn of_volumes(ubi: &Ubi, image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError> {
    let mut notes = notes(image, layout);
    let mut space = Vec::new();
    let mut found = Vec::new();
    let mut room = Room::of(image.len() as u64);
    let (mut others, mut empty) = (Vec::new(), Vec::new());
    let volumes = ubi.volumes();
    if volumes.iter().all(|info| !is_wanted(layout, &info.name, info.id)) {
        let known = volumes.iter().map(|info| format!("{} ({})", quoted(info.name.as_bytes()), info.id));
        return Err(no_volume(layout, known));
    }
    for info in volumes.into_iter().filter(|info| is_wanted(layout, &info.name, info.id)) {
        if wanted_lebs(ubi, info.id)?.is_some() || lacks_superblock(ubi, info.id, image, layout)? {
            let mut read = mounted(ubi, &info, image, layout, content)?;
            if space.is_empty() {
                space = std::mem::take(&mut read.space);
            }
            notes.extend(read.notes.into_iter().map(|note| (info.name.clone(), note)));
            found.push(ReadVolume { name: info.name, id: info.id, entries: read.entries, is_folder: true });
        } else if held_lebs(ubi, &info)? > 0 || info.kind == VolumeKind::Static {
            others.push(info);
        } else {
            empty.push(quoted(info.name.as_bytes()).to_string());
        }
    }
    for info in others {
        let (read, told) = not_ubifs(ubi, info, content, &mut room)?;
        notes.extend(told.into_iter().map(|note| (read.name.clone(), note)));
        found.push(read);
    }
    if found.is_empty() && !empty.is_empty() {
        return Err(TreeError::EmptyVolumes { volumes: empty });
    }
    if found.is_empty() {
        return Err(TreeError::NoUbifs { volumes: Vec::new() });
    }
    Ok(Tree { space, ..together(found, notes) })
}

/// Volumes of UBIFS, each with the folder that [`together`] gives it and what is read of it alone; none if it is the only volume.
pub fn of_ubifs(image: &[u8], layout: &Layout) -> Vec<(Vec<u8>, Layout)> {
    let Some((_, data_offset)) = layout.ubi_at_bytes else { return Vec::new() };
    let lebs: Vec<(u32, Leb)> = scan::lebs(image, layout).collect();
    let held: BTreeSet<u32> = lebs.iter().map(|(_, leb)| leb.volume_id).collect();
    let mut all = scan::all_volumes(image, layout);
    all.retain(|id, name| is_wanted(layout, name, *id) && held.contains(id));
    if all.len() < 2 {
        return Vec::new();
    }
    let mut taken = BTreeSet::new();
    let ubifs = scan::volumes_of(layout, &lebs, &|block| scan::leb_data(image, layout, data_offset, block));
    let alone = |(id, _): (u32, _)| {
        let name = all.get(&id).map_or("", String::as_str);
        (name_of(name, id, &mut taken), Layout { volume: Some(id.to_string()), ..layout.clone() })
    };
    ubifs.into_iter().map(alone).collect()
}

/// The files of a volume as a mount shows them; by its nodes if it cannot be mounted, or if more are found so.
fn mounted(ubi: &Ubi, info: &VolumeInfo, image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError> {
    // A mount may move them.
    let blocks = blocks_of(ubi, info.id);
    let first = lebs_at(image, layout, blocks.get(&0).map(|&block| (0, block)))?;
    let mut superblock = first.get(&0).and_then(|leb| ffslab_ubifs::probe::superblock(leb));
    if superblock.is_none() && info.leb_bytes < LEB_BYTES_MIN {
        // It is larger than such a LEB.
        let lebs = lebs_at(image, layout, blocks.iter().take(SUPERBLOCK_LEBS_MAX).map(|(leb, block)| (*leb, *block)))?;
        superblock = ffslab_ubifs::probe::superblock(&in_a_row(&lebs, info.leb_bytes));
    }
    let misfit = superblock.as_ref().and_then(|found| nodes::misfit(found, info.leb_bytes, layout.page_bytes));
    let misfit = misfit.filter(|_| layout.ubi_at_bytes != Some(OFFSETS_OF_NOR));
    let read = match &misfit {
        Some(misfit) => Err(misfit.clone()),
        None => {
            read_volume(ubi, ubi.open(info.id).map_err(TreeError::refused)?, content).map_err(|why| why.to_string())
        }
    };
    let errors = |tree: &Tree| tree.entries.iter().filter(|entry| entry.error.is_some()).count();
    let by_nodes = |why: Option<String>| -> Result<Tree, TreeError> {
        let lebs = lebs_at(image, layout, blocks.clone())?;
        let made_for = superblock.as_ref().map(|found| found.leb_bytes);
        // Smaller ones no UBIFS has, whatever a superblock says.
        let leb_bytes = made_for.filter(|&bytes| bytes >= LEB_BYTES_MIN).unwrap_or(info.leb_bytes);
        let mut tree = if leb_bytes == info.leb_bytes {
            nodes::read(&lebs, content, &layout.keys)
        } else {
            nodes::read(&nodes::cut(&in_a_row(&lebs, info.leb_bytes), leb_bytes), content, &layout.keys)
        };
        tree.notes.splice(0..0, why);
        Ok(tree)
    };
    match read {
        Ok(tree) if errors(&tree) == 0 => Ok(tree),
        Ok(mut tree) => {
            let other = by_nodes(None)?;
            let whole = |tree: &Tree| tree.entries.len() - errors(tree);
            if whole(&other) > whole(&tree) {
                tree.notes.extend(other.notes);
                tree.entries = other.entries;
                tree.notes.push("more files than a mount shows were read by their nodes".to_string());
            }
            Ok(tree)
        }
        // A signature protects, and hides nothing; what is encrypted is told of each file.
        Err(_)
            if misfit.is_none() && superblock.as_ref().is_some_and(|found| found.is_signed || found.is_encrypted) =>
        {
            by_nodes(None)
        }
        Err(why) => by_nodes(Some(format!("{why}; its files are read by its nodes"))),
    }
}

/// Whether a volume of UBIFS has lost the start of its superblock: its master nodes stand where they belong.
fn lacks_superblock(ubi: &Ubi, id: u32, image: &[u8], layout: &Layout) -> Result<bool, TreeError> {
    let mut blocks = blocks_of(ubi, id);
    blocks.retain(|leb, _| MASTER_LEBS.contains(leb));
    Ok(lebs_at(image, layout, blocks)?.values().any(|data| ffslab_ubifs::probe::is_sound(data)))
}

/// The blocks that hold the LEBs of a volume, by the numbers of these.
fn blocks_of(ubi: &Ubi, id: u32) -> BTreeMap<u32, u32> {
    let uses = (0..).zip(ubi.look_at_pebs());
    let of_volume = |(block, peb): (u32, PebUse)| match peb {
        PebUse::Leb { address, .. } if address.volume_id == id => Some((address.leb_number, block)),
        _ => None,
    };
    uses.filter_map(of_volume).collect()
}

/// What the image holds of LEBs that stand in these blocks.
fn lebs_at<'i>(
    image: &'i [u8],
    layout: &Layout,
    blocks: impl IntoIterator<Item = (u32, u32)>,
) -> Result<Lebs<'i>, TreeError> {
    let (_, data_offset) = layout.ubi_at_bytes.ok_or(TreeError::NoUbiHeader)?;
    let held = |(leb, block)| (leb, scan::leb_data(image, layout, data_offset, block));
    Ok(blocks.into_iter().filter(|(_, block)| *block < layout.blocks).map(held).collect())
}

/// All LEBs one after the other, erased where there is none.
fn in_a_row(lebs: &Lebs<'_>, leb_bytes: u32) -> Vec<u8> {
    let mut all = Vec::new();
    for (&leb, data) in lebs {
        all.resize(leb as usize * leb_bytes as usize, 0xFF);
        all.extend_from_slice(data);
    }
    all
}

/// The volumes by the headers of the erase blocks, because UBI does not attach.
fn by_headers(image: &[u8], layout: &Layout, content: Content, why: TreeError) -> Result<Tree, TreeError> {
    let mut volumes: BTreeMap<u32, BTreeMap<u32, (u64, u32)>> = BTreeMap::new();
    for (block, leb) in scan::lebs(image, layout).filter(|(_, leb)| !leb.is_internal()) {
        let lebs = volumes.entry(leb.volume_id).or_default();
        let newest = lebs.entry(leb.leb_number).or_insert((leb.sequence_number, block));
        *newest = (*newest).max((leb.sequence_number, block));
    }
    let mut notes = Vec::new();
    let mut found = Vec::new();
    let by_number = |id: &u32| without_table(*id);
    if !volumes.is_empty() && volumes.keys().all(|id| !is_wanted(layout, &by_number(id), *id)) {
        return Err(no_volume(layout, volumes.keys().map(by_number)));
    }
    volumes.retain(|id, _| is_wanted(layout, &by_number(id), *id));
    for (id, lebs) in volumes {
        let lebs = lebs_at(image, layout, lebs.into_iter().map(|(leb, (_, block))| (leb, block)))?;
        let name = without_table(id);
        if !lebs.values().any(|leb| ffslab_ubifs::probe::is_sound(leb)) {
            notes.push((
                name,
                "it holds no UBIFS and is left out, because only the volume table knows its size".to_string(),
            ));
            continue;
        }
        let tree = nodes::read(&lebs, content, &layout.keys);
        notes.extend(tree.notes.into_iter().map(|note| (name.clone(), note)));
        found.push(ReadVolume { name, id, entries: tree.entries, is_folder: true });
    }
    if found.iter().all(|volume| volume.entries.len() < 2) {
        return Err(why);
    }
    let mut tree = together(found, notes);
    tree.notes.insert(0, format!("{why}: volumes are read by the headers of erase blocks"));
    Ok(tree)
}

/// The tree of all volumes: that of UBIFS which is alone is the whole.
fn together(mut found: Vec<ReadVolume>, notes: Vec<(String, String)>) -> Tree {
    if let [ReadVolume { is_folder: true, .. }] = found.as_slice() {
        let notes = notes.into_iter().map(|(_, note)| note).collect();
        return Tree { entries: found.remove(0).entries, notes, ..Tree::default() };
    }
    let mut names = BTreeSet::new();
    let mut root = TreeEntry::new(Vec::new(), 1, FileKind::Directory);
    (root.permissions, root.links) = (0o755, 1);
    let mut entries = vec![root];
    for (number, volume) in (0..).zip(found) {
        let folder = name_of(&volume.name, volume.id, &mut names);
        entries.extend(volume.entries.into_iter().map(|entry| below(&folder, entry, number)));
    }
    // Directories before what they hold, and that next to them.
    entries.sort_by(|a, b| a.path.split(|&byte| byte == b'/').cmp(b.path.split(|&byte| byte == b'/')));
    let notes = notes.into_iter().map(|(name, note)| match name.as_str() {
        "" => note,
        name => format!("volume {}: {note}", quoted(name.as_bytes())),
    });
    Tree { entries, notes: notes.collect(), ..Tree::default() }
}

/// Inodes of different volumes may have the same number, and links are known by it.
fn below(folder: &[u8], mut entry: TreeEntry, number: Ino) -> TreeEntry {
    entry.ino = entry.ino.wrapping_mul(128).wrapping_add(number + 2);
    entry.path = match entry.path.as_slice() {
        [] => folder.to_vec(),
        path => [folder, b"/", path].concat(),
    };
    entry
}

/// The name of a volume, as a file can have it.
fn name_of(name: &str, id: u32, taken: &mut BTreeSet<Vec<u8>>) -> Vec<u8> {
    let name = name.replace(['/', '\0'], "_");
    let is_free = !matches!(name.as_str(), "" | "." | "..") && !taken.contains(name.as_bytes());
    let name = if is_free { name.into_bytes() } else { without_table(id).into_bytes() };
    taken.insert(name.clone());
    name
}

/// One more than the number of the last LEB that holds something.
fn held_lebs(ubi: &Ubi, info: &VolumeInfo) -> Result<u32, TreeError> {
    let volume = ubi.open(info.id).map_err(TreeError::refused)?;
    Ok((0..info.lebs).rev().find(|&leb| volume.is_mapped(leb)).map_or(0, |leb| leb + 1))
}

/// A volume that holds no UBIFS: squashfs and EROFS as their files, anything else as a file. Also what is to be said of it.
fn not_ubifs(
    ubi: &Ubi,
    info: VolumeInfo,
    content: Content,
    room: &mut Room,
) -> Result<(ReadVolume, Vec<String>), TreeError> {
    let mut file = file(ubi, &info, room)?;
    let (name, id) = (info.name, info.id);
    let tree = squashfs::files(&file.data, content).or_else(|| erofs::files(&file.data, content));
    if let Some(tree) = tree.filter(|_| file.error.is_none()) {
        return Ok((ReadVolume { name, id, entries: tree.entries, is_folder: true }, tree.notes));
    }
    if content == Content::Check {
        file.data = Vec::new();
    }
    Ok((ReadVolume { name, id, entries: vec![file], is_folder: false }, Vec::new()))
}

/// A volume as a file, with its content. UBI knows how much a static one holds; of a dynamic one it is what is not erased at its end.
fn file(ubi: &Ubi, info: &VolumeInfo, room: &mut Room) -> Result<TreeEntry, TreeError> {
    let mut entry = TreeEntry::new(Vec::new(), 1, FileKind::File);
    (entry.permissions, entry.links) = (0o644, 1);
    let all_bytes = match info.kind {
        VolumeKind::Static => info.used_bytes,
        VolumeKind::Dynamic => u64::from(held_lebs(ubi, info)?) * u64::from(info.leb_bytes),
    };
    entry.size_bytes = all_bytes;
    if all_bytes > FILE_BYTES_MAX || room.take_content(all_bytes, Content::Keep).is_err() {
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
    entry.data = data;
    Ok(entry)
}

/// What Linux would say of the volumes. They are named in it.
fn notes(image: &[u8], layout: &Layout) -> Vec<(String, String)> {
    let says = |name: &str| {
        let name = quoted(name.as_bytes());
        format!("volume {name} has the update marker: its last update was interrupted, and Linux refuses it (EBADF)")
    };
    let interrupted = scan::interrupted(image, layout);
    interrupted
        .iter()
        .filter(|(id, name)| is_wanted(layout, name, *id))
        .map(|(_, name)| (String::new(), says(name)))
        .collect()
}
