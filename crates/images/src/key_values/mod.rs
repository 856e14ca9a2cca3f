//! Stores of keys and values in images: what their readers hand over, how it becomes files, and the table that `inspect` shows.
//!
//! A reader ([`crate::esp_nvs`], [`crate::zephyr_nvs`], [`crate::zephyr_zms`], [`crate::zephyr_fcb`]) is a function over the bytes of a partition. It finds items, the oldest first, and
//! says of each whether it counts. Values stay where they stand in the image until somebody wants them: damaged sizes, of which
//! many may name the same bytes, take no memory.

pub mod facts;

pub use facts::{KeyFacts, KeyState};

use crate::format::{Given, Layout};
use crate::scan::Scanned;
use crate::tree::room::Room;
use crate::tree::{Content, CutOff, Tree, TreeEntry};
use ffslab_fs::{BlockSpace, FileKind};
use ffslab_text::quoting::as_text;
use std::collections::BTreeMap;
use std::ops::Range;

/// Characters of a text, and bytes of anything else, that the table shows.
const TEXT_SHOWN_MAX: usize = 40;
const BYTES_SHOWN_MAX: usize = 16;

/// Where a value is.
pub enum Value {
    /// A number, in decimal digits.
    Number(String),
    /// Pieces of the image. `is_text`: a text, whose last NUL is not part of it.
    Bytes { places: Vec<Range<usize>>, is_text: bool },
}

/// What a reader found.
pub struct Item {
    pub namespace: Option<Vec<u8>>,
    pub key: Vec<u8>,
    pub kind: &'static str,
    /// Bytes of it in the store, with the NUL of a text.
    pub size_bytes: u64,
    pub value: Value,
    pub state: KeyState,
    pub block: u32,
    pub number: u32,
    /// Why the value cannot be read.
    pub error: Option<String>,
}

/// Damage: the block, the place in it, what it is.
pub struct Flaw {
    pub block: u32,
    pub at_bytes: u32,
    pub what: String,
}

/// All of a store.
#[derive(Default)]
pub struct Store {
    /// The oldest first.
    pub items: Vec<Item>,
    pub flaws: Vec<Flaw>,
    /// Why the values may be others than are read, in a sentence each.
    pub doubts: Vec<String>,
    /// Remarks, in a sentence each.
    pub notes: Vec<String>,
    pub space: Vec<BlockSpace>,
}

impl Item {
    /// The content of its file: a number as a line, a text without its NUL, all else as it stands.
    fn content(&self, image: &[u8]) -> Vec<u8> {
        match &self.value {
            Value::Number(digits) => format!("{digits}\n").into_bytes(),
            Value::Bytes { places, is_text } => {
                let mut bytes = places.iter().flat_map(|place| &image[place.clone()]).copied().collect::<Vec<u8>>();
                if *is_text && bytes.last() == Some(&0) {
                    bytes.pop();
                }
                bytes
            }
        }
    }

    fn file_bytes(&self, image: &[u8]) -> u64 {
        match &self.value {
            Value::Number(digits) => digits.len() as u64 + 1,
            Value::Bytes { places, is_text } => {
                let last = places.iter().rfind(|place| !place.is_empty()).map(|place| image[place.end - 1]);
                let bytes: usize = places.iter().map(Range::len).sum();
                bytes as u64 - u64::from(*is_text && last == Some(0))
            }
        }
    }

    /// The value in short, for people.
    fn shown(&self, image: &[u8]) -> String {
        let (places, is_text) = match &self.value {
            Value::Number(digits) => return digits.clone(),
            Value::Bytes { places, is_text } => (places, is_text),
        };
        let all: usize = places.iter().map(Range::len).sum();
        let most = if *is_text { 4 * TEXT_SHOWN_MAX } else { BYTES_SHOWN_MAX };
        let bytes: Vec<u8> = places.iter().flat_map(|place| &image[place.clone()]).copied().take(most).collect();
        if *is_text {
            let text = as_text(bytes.strip_suffix(&[0]).filter(|_| all == bytes.len()).unwrap_or(&bytes));
            let short: String = text.chars().take(TEXT_SHOWN_MAX).collect();
            let more = if short.len() < text.len() || all > bytes.len() { "..." } else { "" };
            return format!("\"{short}\"{more}");
        }
        let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        digits.join(" ") + if all > bytes.len() { " ..." } else { "" }
    }

    fn facts(&self, image: &[u8]) -> KeyFacts {
        KeyFacts {
            namespace: self.namespace.as_deref().map(as_text),
            key: as_text(&self.key),
            kind: self.kind,
            size_bytes: self.size_bytes,
            value: self.error.is_none().then(|| self.shown(image)),
            state: self.state,
            block: self.block,
            number: self.number,
        }
    }
}

/// A name of a file for whatever bytes a key has. A slash, a NUL and the percent sign itself become `%2F`, `%00`, `%25`, so do the
/// dots of names that mean a folder; a key of no bytes is `%`. No two keys have the same.
pub fn file_name(key: &[u8]) -> Vec<u8> {
    let is_folder = key == b"." || key == b"..";
    let mut name = Vec::with_capacity(key.len());
    for &byte in key {
        match byte {
            b'/' | b'%' | 0 => name.extend(format!("%{byte:02X}").bytes()),
            b'.' if is_folder => name.extend(b"%2E"),
            _ => name.push(byte),
        }
    }
    if name.is_empty() {
        name.push(b'%');
    }
    name
}

/// The values that count as files: a folder for each namespace, a file for each key. Where values of several types stand under a key, the
/// file names have the type, too: `key%u8`.
pub fn tree(store: &Store, image: &[u8], content: Content) -> Tree {
    let mut room = Room::of(image.len() as u64);
    let mut folders: BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, &Item>> = BTreeMap::new();
    let mut root: BTreeMap<Vec<u8>, Option<&Item>> = BTreeMap::new();
    let is_current = |item: &&Item| item.state == KeyState::Current;
    let mut alike: BTreeMap<(Option<&[u8]>, &[u8]), usize> = BTreeMap::new();
    for item in store.items.iter().filter(is_current) {
        *alike.entry((item.namespace.as_deref(), &item.key)).or_default() += 1;
    }
    for item in store.items.iter().filter(is_current) {
        let mut name = file_name(&item.key);
        if alike[&(item.namespace.as_deref(), item.key.as_slice())] > 1 {
            name.extend(format!("%{}", item.kind).bytes());
        }
        match &item.namespace {
            Some(namespace) => {
                let folder = file_name(namespace);
                root.insert(folder.clone(), None);
                folders.entry(folder).or_default().insert(name, item);
            }
            None => {
                root.insert(name, Some(item));
            }
        }
    }
    let mut entries = vec![entry(Vec::new(), 1, FileKind::Directory)];
    for (name, item) in root {
        let number = entries.len() as u32 + 1;
        if let Some(item) = item {
            entries.push(file(item, name, number, image, content, &mut room));
            continue;
        }
        let below = folders.remove(&name).unwrap_or_default();
        entries.push(entry(name.clone(), number, FileKind::Directory));
        for (key, item) in below {
            let path = [name.as_slice(), b"/", &key].concat();
            entries.push(file(item, path, entries.len() as u32 + 1, image, content, &mut room));
        }
    }
    Tree { entries, notes: store.doubts.clone(), space: store.space.clone() }
}

fn entry(path: Vec<u8>, number: u32, kind: FileKind) -> TreeEntry {
    let mut entry = TreeEntry::new(path, number, kind);
    (entry.permissions, entry.links) = (if kind == FileKind::Directory { 0o755 } else { 0o644 }, 1);
    entry
}

fn file(item: &Item, path: Vec<u8>, number: u32, image: &[u8], content: Content, room: &mut Room) -> TreeEntry {
    let mut entry = entry(path, number, FileKind::File);
    entry.error.clone_from(&item.error);
    if entry.error.is_some() {
        return entry;
    }
    entry.size_bytes = item.file_bytes(image);
    match room.take_content(entry.size_bytes, content) {
        Ok(()) if content == Content::Keep => entry.data = item.content(image),
        Ok(()) => {}
        Err(error) => entry.error = Some(error.to_string()),
    }
    entry
}

/// What all stores tell: keys and values, how many there are of which state, damage.
pub fn scan(store: &Store, image: &[u8], layout: &Layout, scanned: &mut Scanned) {
    let count = |state: KeyState| store.items.iter().filter(|item| item.state == state).count();
    scanned.fact("keys", count(KeyState::Current));
    scanned.fact("older values that are there", count(KeyState::Older));
    scanned.fact("erased values that are there", count(KeyState::Erased));
    scanned.keys = store.items.iter().map(|item| item.facts(image)).collect();
    // Those that count stand first, as a reader looks for them: by namespace and key.
    scanned.keys.sort_by_cached_key(|facts| (facts.state as u8, facts.namespace.clone(), facts.key.clone()));
    for flaw in &store.flaws {
        scanned.damaged(flaw.block, layout.offset_in_image(flaw.block, flaw.at_bytes), flaw.what.clone());
    }
    scanned.notes.extend(store.notes.iter().cloned());
}

/// Whether what is given can be of a store: these stand on NOR flash, whose pages have no OOB areas, and have one byte order.
pub fn is_possible(given: &Given) -> bool {
    given.oob_bytes.unwrap_or(0) == 0 && given.has_oob != Some(true) && given.endian.is_none()
}

/// Where an image ends in a sector of a store of Zephyr.
pub fn cut_off(image: &[u8], layout: &Layout, of: &str) -> Option<CutOff> {
    let rest = image.len() % layout.block_bytes as usize;
    let offset = (image.len() - rest) as u64;
    let what = format!("the image ends after {rest} of the {} B of {of}", layout.block_bytes);
    (rest > 0).then_some(CutOff { offset, what })
}

/// The layout of a store. Blocks need not be a power of two; what the chip calls a page plays no part in it.
pub fn layout(fs: crate::format::ImageFs, block_bytes: u32, image: &[u8], given: &Given) -> Layout {
    let fits = |page: &u32| block_bytes.is_multiple_of(*page);
    Layout::new(fs, given.page_bytes.filter(fits).unwrap_or(block_bytes), 0, block_bytes, image)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_key_is_it_has_a_name_of_its_own() {
        let names = [&b"plain"[..], b"a/b", b"a%2Fb", b".", b"..", b"...", b"", b"%", b"\0"];
        let files: Vec<Vec<u8>> = names.into_iter().map(file_name).collect();
        let texts: Vec<String> = files.iter().map(|name| String::from_utf8(name.clone()).unwrap()).collect();
        assert_eq!(texts, ["plain", "a%2Fb", "a%252Fb", "%2E", "%2E%2E", "...", "%", "%25", "%00"]);
    }
}
