//! Which items of which pages count, and what they are together: namespaces, keys, blobs of several chunks.

use super::found::{contents, header_flaw, Contents, Found};
use super::page::{Head, Page, PageState, CHUNK, ENTRIES, ENTRIES_AT, ENTRY_BYTES, INDEX, OLD_BLOB, PAGE_BYTES, TEXT};
use crate::key_values::{Flaw, Item, KeyState, Store, Value};
use ffslab_fs::BlockSpace;
use ffslab_text::quoting::quoted;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Namespaces have their names under keys of this one, and their numbers as values.
const NAMES: u8 = 0;

/// What is known of a page beside its items.
pub struct PageFacts {
    pub state: PageState,
    pub is_erased: bool,
    /// `None`: the header does not tell, as its check sum is wrong.
    pub sequence: Option<u32>,
    pub version: u32,
    pub written_count: usize,
    pub erased_count: usize,
}

/// All that is in a partition.
pub struct Partition {
    pub pages: Vec<PageFacts>,
    pub store: Store,
    pub namespaces_count: usize,
}

/// Key, namespace and type: what a program asks for.
type Wanted<'f> = (u8, &'f [u8], u8);

impl Partition {
    pub fn of(image: &[u8]) -> Partition {
        let mut pages: Vec<(Page<'_>, Contents)> = Page::all(image)
            .map(|page| {
                let contents = contents(&page);
                (page, contents)
            })
            .collect();
        let facts = pages.iter().map(|(page, contents)| facts(page, contents)).collect();
        let used = || pages.iter().filter(|(page, _)| !page.is_erased());
        let is_noise = used().any(|(_, contents)| contents.is_noise())
            && used().all(|(_, contents)| contents.begins_count == 0 || contents.is_noise());
        let mut store =
            Store { space: pages.iter().map(|(page, contents)| space(page, contents)).collect(), ..Store::default() };
        for (page, contents) in pages.iter_mut().filter(|(page, _)| !page.is_erased()) {
            store.flaws.extend(header_flaw(page, contents));
            // Said once for all, and not of each.
            let flaws = std::mem::take(&mut contents.flaws);
            store.flaws.extend(flaws.into_iter().filter(|_| !is_noise));
        }
        if is_noise {
            let written: usize = pages.iter().map(|(_, contents)| contents.written_count).sum();
            store.doubts.push(format!(
                "none of its {written} written entries has a right check sum, though its pages have right headers: it is encrypted \
                 (nvs_partition_gen.py decrypt reads it with its keys), or destroyed"
            ));
        }
        same_sequence(&pages, &mut store);
        // The oldest first; where that is not known, before all others.
        pages.sort_by_key(|(page, _)| (page.is_header_right(), page.sequence()));
        let found: Vec<Found> = pages.into_iter().flat_map(|(_, contents)| contents.items).collect();
        let names = names(&found, &mut store);
        let namespaces_count = names.len();
        resolve(&found, &names, image, &mut store);
        Partition { pages: facts, store, namespaces_count }
    }
}

fn facts(page: &Page<'_>, contents: &Contents) -> PageFacts {
    PageFacts {
        state: page.state(),
        is_erased: page.is_erased(),
        sequence: page.is_header_right().then(|| page.sequence()),
        version: page.version(),
        written_count: contents.written_count,
        erased_count: contents.erased_count,
    }
}

fn space(page: &Page<'_>, contents: &Contents) -> BlockSpace {
    if page.is_erased() {
        return BlockSpace { free_bytes: PAGE_BYTES as u32, ..BlockSpace::default() };
    }
    // Entries of a page that is full are not written any more.
    let is_open = page.state() == PageState::Active;
    let free = if is_open { contents.free_count * ENTRY_BYTES } else { 0 };
    let valid = ENTRIES_AT + contents.written_count * ENTRY_BYTES;
    BlockSpace {
        valid_bytes: valid as u32,
        invalid_bytes: PAGE_BYTES.saturating_sub(valid + free) as u32,
        free_bytes: free as u32,
    }
}

/// A number of a page says when it was begun, so that no two have the same.
fn same_sequence(pages: &[(Page<'_>, Contents)], store: &mut Store) {
    let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
    for (page, _) in pages.iter().filter(|(page, _)| page.is_header_right()) {
        if let Some(other) = seen.insert(page.sequence(), page.number) {
            store.flaws.push(Flaw {
                block: page.number,
                at_bytes: 4,
                what: format!(
                    "the page has the sequence number {} of page {other}: which is newer is not known",
                    page.sequence()
                ),
            });
        }
    }
}

/// The names of the namespaces by their numbers; the newest counts.
fn names(found: &[Found], store: &mut Store) -> BTreeMap<u8, Vec<u8>> {
    let mut names: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
    for item in found.iter().filter(|item| !item.is_erased && item.head.namespace_number == NAMES) {
        let (number, name) = (item.head.data[0], &item.head.key);
        if item.head.kind != 1 || number == NAMES || number == u8::MAX {
            store.flaws.push(flaw(item, "what says the name of a namespace says no number from 1 to 254"));
        } else if names.insert(number, name.clone()).is_some_and(|before| before != *name) {
            store.flaws.push(flaw(item, &format!("a second name of namespace {number}, {}", quoted(name))));
        }
    }
    names
}

fn flaw(item: &Found, what: &str) -> Flaw {
    Flaw {
        block: item.block,
        at_bytes: Page::offset(item.entry_index) as u32,
        what: format!("entry {}: {what}", item.entry_index),
    }
}

fn resolve(found: &[Found], names: &BTreeMap<u8, Vec<u8>>, image: &[u8], store: &mut Store) {
    let chunks = Chunks::of(found);
    // By which item a program is answered: the newest of its key and type that is not erased.
    let mut newest: BTreeMap<Wanted<'_>, usize> = BTreeMap::new();
    let keys =
        || found.iter().enumerate().filter(|(_, item)| item.head.namespace_number != NAMES && item.head.kind != CHUNK);
    for (number, item) in keys().filter(|(_, item)| !item.is_erased) {
        newest.insert(wanted(&item.head), number);
    }
    let (mut used, mut twice) = (BTreeSet::new(), 0_usize);
    for (number, item) in keys() {
        let answer = newest.get(&wanted(&item.head));
        let state = match answer {
            _ if item.is_erased && answer.is_none() => KeyState::Erased,
            Some(&newest) if newest == number => KeyState::Current,
            _ => KeyState::Older,
        };
        twice += usize::from(!item.is_erased && state == KeyState::Older);
        let name = names.get(&item.head.namespace_number).cloned();
        if name.is_none() && state == KeyState::Current {
            store.flaws.push(flaw(
                item,
                &format!(
                    "the key {} is in namespace {}, which has no name",
                    quoted(&item.head.key),
                    item.head.namespace_number
                ),
            ));
        }
        // No name holds a percent sign that is followed by these letters.
        let namespace = name.unwrap_or_else(|| format!("(namespace {})", item.head.namespace_number).into_bytes());
        let (kind, size_bytes, value, error) = value(item, state, &chunks, image, &mut used);
        if let (Some(why), true, true) = (&error, state == KeyState::Current, item.head.kind == INDEX) {
            store.flaws.push(flaw(item, why));
        }
        let error =
            item.error.clone().or(error.map(|why| format!("page {}, entry {}: {why}", item.block, item.entry_index)));
        store.items.push(Item {
            namespace: Some(namespace),
            key: item.head.key.clone(),
            kind,
            size_bytes,
            value,
            state,
            block: item.block,
            number: item.entry_index as u32,
            error,
        });
    }
    if twice > 0 {
        store.notes.push(format!(
            "{twice} older value{} not marked as erased beside a newer one: power was cut in between, or a page was being freed; the next \
             start erases such",
            if twice == 1 { " is" } else { "s are" }
        ));
    }
    for (number, chunk) in found.iter().enumerate().filter(|(_, item)| item.head.kind == CHUNK && !item.is_erased) {
        if !used.contains(&number) && !chunks.is_replaced(found, number) {
            let what = format!(
                "a chunk of the blob {} that no index names: a write that was cut off, or a lost index",
                quoted(&chunk.head.key)
            );
            store.flaws.push(flaw(chunk, &what));
        }
    }
}

/// Blobs of both formats are of one type.
fn wanted(head: &Head) -> Wanted<'_> {
    (head.namespace_number, &head.key, if head.kind == OLD_BLOB { INDEX } else { head.kind })
}

/// Type, size, place or number, and why it cannot be read.
fn value(
    item: &Found,
    state: KeyState,
    chunks: &Chunks<'_>,
    image: &[u8],
    used: &mut BTreeSet<usize>,
) -> (&'static str, u64, Value, Option<String>) {
    let head = &item.head;
    if let Some((kind, bytes, digits)) = head.number() {
        return (kind, bytes as u64, Value::Number(digits), None);
    }
    let (kind, bytes) = match head.kind {
        TEXT => ("string", head.data_bytes() as u64),
        OLD_BLOB => ("blob", head.data_bytes() as u64),
        _ => ("blob", u64::from(head.index().0)),
    };
    let is_text = head.kind == TEXT;
    if head.kind != INDEX {
        let places: Vec<Range<usize>> = item.place_bytes.iter().cloned().collect();
        debug_assert!(places.iter().all(|place| place.end <= image.len()));
        let is_missing = (bytes > 0 && places.is_empty()).then(|| "its data cannot be read".to_string());
        return (kind, bytes, Value::Bytes { places, is_text }, item.error.clone().or(is_missing));
    }
    let (places, error) = match state {
        KeyState::Current => chunks.places(head, used),
        _ => (Vec::new(), Some("its chunks are not looked for".to_string())),
    };
    (kind, bytes, Value::Bytes { places, is_text }, error)
}

/// The chunks of blobs that are not erased.
struct Chunks<'f> {
    found: &'f [Found],
    newest: BTreeMap<(u8, &'f [u8], u8), usize>,
}

impl<'f> Chunks<'f> {
    fn of(found: &'f [Found]) -> Chunks<'f> {
        let mut newest = BTreeMap::new();
        for (number, item) in found.iter().enumerate().filter(|(_, item)| item.head.kind == CHUNK && !item.is_erased) {
            newest.insert((item.head.namespace_number, item.head.key.as_slice(), item.head.chunk), number);
        }
        Chunks { found, newest }
    }

    /// Where the chunks of this index are.
    fn places(&self, head: &Head, used: &mut BTreeSet<usize>) -> (Vec<Range<usize>>, Option<String>) {
        let (bytes, count, first) = head.index();
        let (mut places, mut error) = (Vec::new(), None);
        for chunk in 0..count {
            let number = first
                .checked_add(chunk)
                .and_then(|at| self.newest.get(&(head.namespace_number, head.key.as_slice(), at)));
            let Some(&number) = number else {
                error = error.or_else(|| {
                    Some(format!("chunk {chunk} of the {count} of the blob {} is missing", quoted(&head.key)))
                });
                continue;
            };
            used.insert(number);
            let found = &self.found[number];
            match (&found.place_bytes, &found.error) {
                (Some(data), None) => places.push(data.clone()),
                _ => {
                    error = error.or_else(|| {
                        Some(format!("chunk {chunk} of the {count} of the blob {} is damaged", quoted(&head.key)))
                    })
                }
            }
        }
        let there: usize = places.iter().map(Range::len).sum();
        if error.is_none() && there as u64 != u64::from(bytes) {
            error =
                Some(format!("the chunks of the blob {} have {there} B, its index says {bytes}", quoted(&head.key)));
        }
        (places, error)
    }

    /// Whether another chunk stands for the same part: this one is the older of two copies.
    fn is_replaced(&self, found: &[Found], number: usize) -> bool {
        let head = &found[number].head;
        self.newest
            .get(&(head.namespace_number, head.key.as_slice(), head.chunk))
            .is_some_and(|&newest| newest != number)
    }
}

/// Of a partition what `nvs_get_stats` says: entries in use, and those that an application can still write, for which a page is kept back.
pub fn stats(pages: &[PageFacts]) -> (usize, usize) {
    let used: usize = pages.iter().filter(|page| page.sequence.is_some()).map(|page| page.written_count).sum();
    let free = (pages.len() * ENTRIES).saturating_sub(used);
    (used, free.saturating_sub(ENTRIES))
}
