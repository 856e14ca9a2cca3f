//! The items of a page, and what in it belongs to none.

use super::page::{EntryState, Head, Page, PageState, CHUNK, ENTRIES, INDEX, OLD_BLOB, TEXT};
use crate::key_values::Flaw;
use ffslab_text::quoting::{as_text, quoted};
use std::ops::Range;

/// An item whose head has a right check sum.
pub struct Found {
    pub block: u32,
    pub entry_index: usize,
    pub head: Head,
    /// Of a text, a blob or a chunk: where its data are in the image.
    pub place_bytes: Option<Range<usize>>,
    pub is_erased: bool,
    /// Why its value cannot be read.
    pub error: Option<String>,
}

/// What stands in a page.
#[derive(Default)]
pub struct Contents {
    pub items: Vec<Found>,
    pub flaws: Vec<Flaw>,
    /// Entries in each state.
    pub written_count: usize,
    pub erased_count: usize,
    /// Entries that hold nothing and are said to hold nothing.
    pub free_count: usize,
    /// Written entries where an item should begin.
    pub begins_count: usize,
}

impl Contents {
    /// Whether entries are written, and none has a right check sum.
    pub fn is_noise(&self) -> bool {
        self.begins_count > 1 && self.items.iter().all(|item| item.is_erased)
    }
}

/// Faults of neighbouring entries that are the same are one.
struct Faults {
    found: Vec<(Range<usize>, String)>,
}

impl Faults {
    fn add(&mut self, entries: Range<usize>, what: String) {
        match self.found.last_mut() {
            Some((before, same)) if before.end == entries.start && *same == what => before.end = entries.end,
            _ => self.found.push((entries, what)),
        }
    }

    fn flaws(self, page: &Page<'_>) -> Vec<Flaw> {
        let flaw = |(entries, what): (Range<usize>, String)| Flaw {
            block: page.number,
            at_bytes: Page::offset(entries.start) as u32,
            what: format!("{}: {what}", named(&entries)),
        };
        self.found.into_iter().map(flaw).collect()
    }
}

/// "entry 5", "entries 5 to 9".
fn named(entries: &Range<usize>) -> String {
    match entries.len() {
        1 => format!("entry {}", entries.start),
        _ => format!("entries {} to {}", entries.start, entries.end - 1),
    }
}

/// The items of a page, in the order of their entries.
pub fn contents(page: &Page<'_>) -> Contents {
    let mut contents = Contents::default();
    let mut faults = Faults { found: Vec::new() };
    let mut at = 0;
    while at < page.entries() {
        let span = match page.entry_state(at) {
            EntryState::Empty => empty(page, at, &mut contents, &mut faults),
            EntryState::Written => written(page, at, &mut contents, &mut faults),
            EntryState::Erased => erased(page, at, &mut contents),
            EntryState::Impossible => {
                faults.add(at..at + 1, "a state that no entry can have".to_string());
                1
            }
        };
        at += span;
    }
    for entry in 0..page.entries() {
        contents.written_count += usize::from(page.entry_state(entry) == EntryState::Written);
        contents.erased_count += usize::from(page.entry_state(entry) == EntryState::Erased);
    }
    contents.flaws = faults.flaws(page);
    contents
}

/// The state is written after the entry, so that a power cut between the two leaves a whole item that does not count.
fn empty(page: &Page<'_>, at: usize, contents: &mut Contents, faults: &mut Faults) -> usize {
    if page.is_entry_erased(at) {
        contents.free_count += 1;
        return 1;
    }
    let what = match page.head(at) {
        Some((head, true)) => {
            format!("an item with the key {} whose state says that it was never finished: a write that was cut off, or a wrong state", quoted(&head.key))
        }
        _ => {
            "data where the state says that nothing was written: a write that was cut off, or a wrong state".to_string()
        }
    };
    faults.add(at..at + 1, what);
    1
}

fn written(page: &Page<'_>, at: usize, contents: &mut Contents, faults: &mut Faults) -> usize {
    contents.begins_count += 1;
    let Some((head, is_right)) = page.head(at) else {
        faults.add(at..at + 1, "the image ends in it".to_string());
        return 1;
    };
    if !is_right {
        return wrong_head(page, at, &head, faults);
    }
    let entries = at..at + head.span_entries;
    let mut found = Found {
        block: page.number,
        entry_index: at,
        head: head.clone(),
        place_bytes: None,
        is_erased: false,
        error: None,
    };
    if !head.has_data() {
        contents.items.push(found);
        return 1;
    }
    let key = quoted(&head.key);
    let problem = match page.data(at, &head) {
        _ if !page.are(entries.clone(), EntryState::Written) => {
            Some(format!("not all of them are marked as written: the item with the key {key} does not count"))
        }
        None => Some(format!("the image ends in the data of the key {key}")),
        Some((_, false)) => Some(format!("the data of the key {key} have a wrong check sum")),
        Some((data, true)) => {
            found.place_bytes = Some(data);
            None
        }
    };
    if let Some(what) = problem {
        found.error = Some(format!("page {}, {}: {what}", page.number, named(&entries)));
        faults.add(entries.clone(), what);
    }
    contents.items.push(found);
    entries.len()
}

/// A head that is wrong says neither how long its item is nor whose it is; if the data that it names have a right check sum, most of it is
/// right for all that.
fn wrong_head(page: &Page<'_>, at: usize, head: &Head, faults: &mut Faults) -> usize {
    let is_name = !head.key.is_empty() && head.key.len() < 16 && head.key.iter().all(u8::is_ascii_graphic);
    let is_type = matches!(head.kind, TEXT | OLD_BLOB | CHUNK | INDEX) || head.number().is_some();
    let may_be =
        if is_name && is_type { format!(", of what may be the key {}", as_text(&head.key)) } else { String::new() };
    let has_its_data = head.has_data() && head.data_bytes() > 0 && page.data(at, head).is_some_and(|(_, right)| right);
    let span = if has_its_data { 1 + head.data_bytes().div_ceil(super::page::ENTRY_BYTES) } else { 1 };
    let what = if has_its_data {
        format!("the head of an item has a wrong check sum, and its data a right one{may_be}")
    } else if page.is_entry_erased(at) {
        "nothing, where the state says that something was written".to_string()
    } else {
        format!("no item with a right check sum{may_be}")
    };
    let end = (at + span).min(ENTRIES);
    faults.add(at..end, what);
    end - at
}

/// What is left of an item that was erased: nothing since ESP-IDF 6.0 (it is overwritten with zeros), all of it before.
fn erased(page: &Page<'_>, at: usize, contents: &mut Contents) -> usize {
    let Some((head, true)) = page.head(at) else { return 1 };
    if !page.are(at..at + head.span_entries, EntryState::Erased) {
        return 1;
    }
    let (data, error) = match page.data(at, &head).filter(|_| head.has_data()) {
        Some((data, true)) => (Some(data), None),
        Some((_, false)) => (None, Some("its data are wiped, or have a wrong check sum".to_string())),
        None => (None, None),
    };
    let span = head.span_entries;
    contents.items.push(Found { block: page.number, entry_index: at, head, place_bytes: data, is_erased: true, error });
    span
}

/// What is wrong with the header of a page.
pub fn header_flaw(page: &Page<'_>, contents: &Contents) -> Option<Flaw> {
    let state = page.state();
    let what = match page.is_header_right() {
        false if contents.items.is_empty() && contents.begins_count == 0 => {
            "no page: its header has a wrong check sum, and nothing in it is marked as written"
        }
        false => "the header has a wrong check sum: NVS takes the page for damaged and erases it, here it is read on",
        true if state == PageState::Impossible => {
            "the header has a state that no page can have: NVS takes the page for damaged and erases it, here it is read on"
        }
        true if state == PageState::Unused => {
            "the header has the state of an unused page: NVS takes the page for damaged and erases it, here it is read on"
        }
        true => return None,
    };
    Some(Flaw { block: page.number, at_bytes: 0, what: what.to_string() })
}
