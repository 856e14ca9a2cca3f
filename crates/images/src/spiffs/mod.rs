//! Images of SPIFFS, read as they stand: pages that say of which object they are, and which part of it.
//!
//! **Follows.** `spiffs_nucleus.h` of SPIFFS (headers of pages, look-up pages, magic numbers), `spiffs_config.h` as ESP-IDF has it (names of
//! 32 B). The tables of pages in index pages are not needed: each page says what it is.
//!
//! **Leaves out.** Images without magic numbers, whose sizes nothing tells.

mod pages;

use crate::format::{Evidence, Given, ImageFormat, ImageFs, Layout};
use crate::scan::Scanned;
use crate::tree::room::{Names, Room};
use crate::tree::{Content, CutOff, Tree, TreeEntry, TreeError};
use ffslab_fs::{FileKind, Ino};
use pages::{Geometry, Object, Pages};
use std::collections::BTreeMap;
use std::ops::Range;

/// How they are recognised, read and explained.
pub struct InImages;

impl ImageFormat for InImages {
    fn sign(&self) -> &'static str {
        "SPIFFS magic number"
    }

    fn evidence(&self) -> &'static [Evidence] {
        &[Evidence::Headers]
    }

    fn recognise(&self, fs: ImageFs, image: &[u8], given: &Given, _evidence: Evidence) -> Option<Layout> {
        if given.oob_bytes.unwrap_or(0) > 0 || given.has_oob == Some(true) || given.endian.is_some() {
            return None;
        }
        let found = Geometry::find(image, given.page_bytes, given.block_bytes)?;
        let Geometry { page_bytes, block_bytes } = found;
        let layout = Layout::new(fs, page_bytes as u32, 0, block_bytes as u32, image);
        let layout = layout.unchecked("SPIFFS has no check sums: a changed bit of a file or a name does not show");
        Some(layout.because(format!(
            "pages of {page_bytes} B and blocks of {block_bytes} B are those with which most blocks have its magic number"
        )))
    }

    fn begins_at(&self, image: &[u8], layout: Option<&Layout>) -> Option<usize> {
        if layout.is_some() {
            return None;
        }
        Geometry::behind(image)
    }

    fn places(&self, image: &[u8]) -> Vec<Range<usize>> {
        let mut places: Vec<Range<usize>> = Vec::new();
        let mut at = 0;
        while let Some(bytes) = Geometry::find(&image[at..], None, None).and_then(|found| found.bytes_of(&image[at..]))
        {
            let end = image.len().min(at + bytes);
            places.push(at..end);
            at = end;
        }
        places
    }

    fn read(&self, image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError> {
        let pages = Pages::of(image, geometry(layout));
        Ok(Tree { entries: tree(&pages, content), ..Tree::default() })
    }

    fn scan(&self, image: &[u8], layout: &Layout, scanned: &mut Scanned) {
        let pages = Pages::of(image, geometry(layout));
        let count = |is_it: fn(&Object) -> bool| pages.objects.values().filter(|object| is_it(object)).count();
        scanned.fact("page size, B", layout.page_bytes);
        scanned.fact("block size, B", layout.block_bytes);
        scanned.fact("files", count(|object| object.name.is_some()));
        scanned.fact("pages in use", pages.used_count);
        scanned.fact("pages deleted", pages.deleted_count);
        scanned.fact("pages free", pages.free_count);
        for (facts, block) in scanned.blocks.iter_mut().zip(&pages.blocks) {
            facts.erases = block.erases.map(u32::from);
            facts.holds = if block.used_count > 0 { "pages" } else { "no page in use" }.to_string();
        }
        for (&id, object) in pages.objects.iter().filter(|(_, object)| object.name.is_none()) {
            let at = object.first_at_bytes as u64;
            let block = (at / u64::from(layout.block_bytes)) as u32;
            scanned.damaged(
                block,
                at,
                format!("pages of the object {id:#x}, which has no index header and so no name"),
            );
        }
    }

    fn cut_off(&self, image: &[u8], layout: &Layout) -> Option<CutOff> {
        let (here, all) = (image.len(), geometry(layout).bytes_of(image)?);
        let what = format!("the image has {here} of the {all} B of its file system");
        (here < all).then_some(CutOff { offset: here as u64, what })
    }
}

fn geometry(layout: &Layout) -> Geometry {
    Geometry { page_bytes: layout.page_bytes as usize, block_bytes: layout.block_bytes as usize }
}

/// What stands under a name of a directory.
enum Below {
    Folder(BTreeMap<Vec<u8>, Below>),
    File(u16),
}

/// The files. SPIFFS has no directories: slashes are part of names, and here they become folders.
fn tree(pages: &Pages<'_>, content: Content) -> Vec<TreeEntry> {
    let mut root = BTreeMap::new();
    let mut missing = Vec::new();
    for (&id, object) in &pages.objects {
        let Some(name) = &object.name else { continue };
        let words: Vec<&[u8]> = name.split(|&byte| byte == b'/').filter(|word| !word.is_empty()).collect();
        if !put(&mut root, &words, id) {
            missing
                .push(format!("object {id:#x}: its name is there twice, or is that of a folder, too: it is left out"));
        }
    }
    let mut walk = Walk { pages, content, room: Room::of(pages.image.len() as u64), entries: Vec::new() };
    walk.folder(Vec::new(), &root, missing);
    walk.entries
}

/// Enters an object below the folders of its name. False: there is no place for it.
fn put(folder: &mut BTreeMap<Vec<u8>, Below>, words: &[&[u8]], id: u16) -> bool {
    match words {
        [] => false,
        [name] => {
            let is_free = !folder.contains_key(*name);
            if is_free {
                folder.insert(name.to_vec(), Below::File(id));
            }
            is_free
        }
        [name, rest @ ..] => match folder.entry(name.to_vec()).or_insert_with(|| Below::Folder(BTreeMap::new())) {
            Below::Folder(below) => put(below, rest, id),
            Below::File(_) => false,
        },
    }
}

struct Walk<'p, 'i> {
    pages: &'p Pages<'i>,
    content: Content,
    room: Room,
    entries: Vec<TreeEntry>,
}

impl Walk<'_, '_> {
    /// Names have 32 B, so that folders are nested no deeper than that.
    fn folder(&mut self, path: Vec<u8>, below: &BTreeMap<Vec<u8>, Below>, missing: Vec<String>) {
        let mut entry = TreeEntry::new(path.clone(), self.entries.len() as Ino + 1, FileKind::Directory);
        (entry.permissions, entry.links, entry.missing) = (0o755, 1, missing);
        let number = self.entries.len();
        self.entries.push(entry);
        let mut names = Names::new(&mut self.room, &path);
        let paths: Vec<Option<Vec<u8>>> = below.keys().map(|name| names.follow(name)).collect();
        let left_out = names.left_out();
        self.entries[number].missing.extend(left_out);
        for (path, below) in paths.into_iter().zip(below.values()) {
            match (path, below) {
                (Some(path), Below::Folder(below)) => self.folder(path, below, Vec::new()),
                (Some(path), Below::File(id)) => self.file(path, *id),
                (None, _) => {}
            }
        }
    }

    fn file(&mut self, path: Vec<u8>, id: u16) {
        let mut entry = TreeEntry::new(path, self.entries.len() as Ino + 1, FileKind::File);
        (entry.permissions, entry.links) = (0o644, 1);
        let object = &self.pages.objects[&id];
        entry.size_bytes = object.bytes.into();
        let taken = self.room.take_content(entry.size_bytes, self.content).map_err(|why| why.to_string());
        match taken.and_then(|()| self.pages.content(object)) {
            Ok(data) if self.content == Content::Keep => entry.data = data,
            Ok(_) => {}
            Err(why) => entry.error = Some(why),
        }
        self.entries.push(entry);
    }
}
