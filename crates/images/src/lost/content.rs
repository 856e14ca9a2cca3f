//! What a file held, step by step: the steps that are still on the flash are repeated in their order, and whatever a
//! later step destroys is noted before.
//!
//! Older steps may be missing, because garbage collection erases what is obsolete block by block and in any order. So it is
//! not enough that there are bytes for each place of a file: a newer version of some of them may have been erased while
//! the older one was not. Which steps are missing follows from their numbers. Content is *whole* only if no step is
//! missing since the oldest of the bytes that it is made of.

use super::history::{Missing, Past, Piece, Rest, Step};
use crate::tree::FILE_BYTES_MAX;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;

/// Pages of this size are kept; what no page is kept for is zeros.
const PAGE_BYTES: u64 = 4096;
/// At most so many versions of a file are looked at.
const LOOKED_AT_MAX: usize = 64;

/// How much of a file is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// All bytes are there, and nothing that was written between the first and the last of them is missing.
    Whole,
    /// All bytes are there, but some may be older than the others: a later version of them may have been erased.
    Doubtful,
    /// Bytes are missing.
    Partial,
}

/// A state that a file had, or may have had.
#[derive(Clone, Debug)]
pub struct Version {
    pub state: State,
    /// `None`: nothing tells what it held.
    pub size_bytes: Option<u64>,
    /// Bytes of which nothing is left.
    pub missing_bytes: Vec<Range<u64>>,
    /// The number of the last step that led to it.
    pub sequence: u64,
    pub modified_s: Option<i64>,
    /// When the step was made that destroyed it, as far as known; of the last version, the deletion.
    pub ended_s: Option<i64>,
    /// It is the last version of all.
    pub is_last: bool,
    /// `None` unless asked for.
    pub data: Option<Vec<u8>>,
}

/// A state that a file had for a while, and that no step has destroyed yet.
#[derive(Clone, Copy)]
struct Standing {
    size_bytes: u64,
    sequence: u64,
    modified_s: Option<i64>,
    sized_by: u64,
    /// Only if nothing changes it later is it certain that the file had it.
    counts_at_end_only: bool,
}

/// What the piece of a step holds.
enum Held {
    /// Nothing that can be read.
    Nothing,
    Zeros,
    Bytes(Vec<u8>),
}

/// What a step does to the bytes before it.
#[derive(Clone, Copy, Default)]
struct Effect {
    /// The state before cannot be had any more.
    ends_state: bool,
    /// Bytes that the file had for a while became others.
    changes: bool,
}

/// How a past is repeated.
pub struct Repeat<'a> {
    /// The steps that are missing, unless a past knows its own.
    pub missing: &'a Missing,
    /// What a piece holds.
    pub fetch: &'a mut dyn FnMut(&Piece) -> Option<Vec<u8>>,
    /// Whether the content is wanted.
    pub keeps: bool,
    /// At most so many bytes of pages at a time.
    pub pages_bytes_max: u64,
    /// At most so many versions of a file; of more, the newest.
    pub versions_count_max: usize,
}

#[derive(Default)]
struct Content {
    pages: BTreeMap<u64, Vec<u8>>,
    /// From where to where bytes are known, and by which step.
    cover: BTreeMap<u64, (u64, u64)>,
    size_bytes: u64,
    /// By the last change of the size it grew from here on.
    fresh_from: u64,
    /// The step that stated the size last; 0: none has.
    sized_by: u64,
}

impl Content {
    /// The known pieces that touch a range, cut to it: from, to, step.
    fn known(&self, range: &Range<u64>) -> impl Iterator<Item = (Range<u64>, u64)> + '_ {
        let Range { start, end } = *range;
        let before = self.cover.range(..start).next_back().map(|(&from, _)| from).unwrap_or(start);
        self.cover
            .range(before..end.max(before))
            .filter(move |(_, &(to, _))| to > start)
            .map(move |(&from, &(to, sequence))| (from.max(start)..to.min(end), sequence))
    }

    /// The parts of a range that are not known.
    fn unknown(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut at = range.start;
        for (known, _) in self.known(&range) {
            if known.start > at {
                gaps.push(at..known.start);
            }
            at = at.max(known.end);
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        gaps
    }

    /// Forgets what is known of a range.
    fn forget(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let touched: Vec<(u64, (u64, u64))> = {
            let before = self.cover.range(..range.start).next_back().map(|(&from, _)| from).unwrap_or(range.start);
            let touched = self.cover.range(before..range.end).filter(|(_, &(to, _))| to > range.start);
            touched.map(|(&from, &known)| (from, known)).collect()
        };
        for (from, (to, sequence)) in touched {
            self.cover.remove(&from);
            if from < range.start {
                self.cover.insert(from, (range.start, sequence));
            }
            if to > range.end {
                self.cover.insert(range.end, (to, sequence));
            }
        }
    }

    /// Whether the known bytes from `at` on are these.
    fn holds(&self, at: u64, bytes: &[u8]) -> bool {
        pieces(at, bytes.len() as u64).all(|(page, column, part)| {
            let wanted = &bytes[part.clone()];
            match self.pages.get(&page) {
                Some(held) => held[column..column + part.len()] == *wanted,
                None => wanted.iter().all(|&byte| byte == 0),
            }
        })
    }

    /// Whether the known bytes of a range are zeros.
    fn holds_zeros(&self, range: &Range<u64>) -> bool {
        let touched = self.pages.range(range.start / PAGE_BYTES..range.end.div_ceil(PAGE_BYTES));
        touched.into_iter().all(|(page, held)| in_page(*page, range, held).iter().all(|&byte| byte == 0))
    }

    fn put_zeros(&mut self, range: Range<u64>, sequence: u64) {
        for (page, held) in self.pages.range_mut(range.start / PAGE_BYTES..range.end.div_ceil(PAGE_BYTES)) {
            let (from, to) = columns(*page, &range);
            held[from..to].fill(0);
        }
        if !range.is_empty() {
            self.cover.insert(range.start, (range.end, sequence));
        }
    }

    /// What a step will do to a state of `size_bytes`.
    fn effect_of(&self, step: &Step, held: &Held, size_bytes: u64) -> Effect {
        if step.size_bytes.is_some_and(|new_bytes| new_bytes < size_bytes) {
            return Effect { ends_state: true, changes: true };
        }
        let Some(piece) = &step.piece else { return Effect::default() };
        let is_same = |known: Range<u64>| match held {
            Held::Nothing => false,
            Held::Zeros => self.holds_zeros(&known),
            Held::Bytes(bytes) => {
                let (from, to) = ((known.start - piece.offset) as usize, (known.end - piece.offset) as usize);
                bytes.get(from..to).is_some_and(|bytes| self.holds(known.start, bytes))
            }
        };
        let changes = self.known(&(piece.offset..piece.end())).any(|(known, _)| !is_same(known));
        // Bytes that are not known may have been others before, but not those by which the size has just grown.
        let unknown = self.unknown(piece.offset..piece.end().min(size_bytes).max(piece.offset));
        let fills_old = unknown.iter().any(|gap| gap.start < self.fresh_from);
        Effect { ends_state: changes || !unknown.is_empty(), changes: changes || fills_old }
    }

    /// Carries out a step, of whose piece `held` is what it holds.
    fn take(&mut self, step: &Step, held: &Held, pages_max: usize) {
        if let Some(piece) = &step.piece {
            self.forget(piece.offset..piece.end());
            let end = match held {
                Held::Nothing => piece.offset,
                Held::Zeros => piece.end(),
                Held::Bytes(bytes) => piece.offset + bytes.len() as u64,
            };
            match held {
                Held::Nothing => {}
                Held::Zeros => self.put_zeros(piece.offset..end, step.sequence),
                Held::Bytes(bytes) => self.put(piece.offset, bytes, step.sequence, pages_max),
            }
            if step.size_bytes.is_none() {
                self.size_bytes = self.size_bytes.max(end);
            }
        }
        if let Some(size_bytes) = step.size_bytes {
            self.forget(size_bytes..u64::MAX);
            // The first step that is known may be of a file that was as large before.
            let is_grown = self.sized_by > 0 || step.size_bytes == Some(0);
            self.fresh_from = if is_grown { self.size_bytes.min(size_bytes) } else { size_bytes };
            self.sized_by = step.sequence;
            self.size_bytes = size_bytes;
        }
    }

    /// The end of a past that has no certain state.
    fn as_it_ends(&self, past: &Past) -> Standing {
        let sequence = past.steps.last().map_or(0, |step| step.sequence);
        let size_bytes = self.size_bytes.min(FILE_BYTES_MAX);
        Standing { size_bytes, sequence, modified_s: None, sized_by: self.sized_by, counts_at_end_only: true }
    }

    fn put(&mut self, at: u64, bytes: &[u8], sequence: u64, pages_max: usize) {
        let end = at + bytes.len() as u64;
        for (page, column, part) in pieces(at, bytes.len() as u64) {
            let there = self.pages.contains_key(&page);
            let new = &bytes[part.clone()];
            if !there && new.iter().all(|&byte| byte == 0) {
                continue;
            }
            if !there && self.pages.len() >= pages_max {
                // Without room the bytes stay unknown.
                return;
            }
            self.pages.entry(page).or_insert_with(|| vec![0; PAGE_BYTES as usize])[column..column + part.len()]
                .copy_from_slice(new);
        }
        if end > at {
            self.cover.insert(at, (end, sequence));
        }
    }

    /// The first bytes of the file; what is not known is zeros.
    fn bytes(&self, size_bytes: u64) -> Vec<u8> {
        let mut all = vec![0; size_bytes as usize];
        for (known, _) in self.known(&(0..size_bytes)) {
            for (page, column, part) in pieces(known.start, known.end - known.start) {
                if let Some(held) = self.pages.get(&page) {
                    let from = known.start as usize + part.start;
                    all[from..from + part.len()].copy_from_slice(&held[column..column + part.len()]);
                }
            }
        }
        all
    }
}

/// The part of a page that lies in a range.
fn columns(page: u64, range: &Range<u64>) -> (usize, usize) {
    let start = page * PAGE_BYTES;
    let column = |at: u64| at.clamp(start, start + PAGE_BYTES) - start;
    (column(range.start) as usize, column(range.end) as usize)
}

fn in_page<'h>(page: u64, range: &Range<u64>, held: &'h [u8]) -> &'h [u8] {
    let (from, to) = columns(page, range);
    &held[from..to]
}

/// The pages that a range touches: number, offset in the page, and the part of the range.
fn pieces(at: u64, bytes: u64) -> impl Iterator<Item = (u64, usize, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        (done < bytes).then(|| {
            let (page, column) = ((at + done) / PAGE_BYTES, (at + done) % PAGE_BYTES);
            let count = (PAGE_BYTES - column).min(bytes - done);
            let part = done as usize..(done + count) as usize;
            done += count;
            (page, column as usize, part)
        })
    })
}

impl Repeat<'_> {
    /// The versions of a file that are gone, the oldest first: those that a later step destroyed, of which all bytes
    /// are left, and the last one of a file that is gone, whatever is left of it.
    pub fn versions(&mut self, past: &Past, is_gone: bool) -> Vec<Version> {
        // To look at a version takes as long as the file is large. Of a file with many only the newest are looked at, and to
        // know which these are all are counted before.
        let first = match past.steps.len() {
            0..=LOOKED_AT_MAX => 0,
            _ => self.repeat(past, false, usize::MAX).1.saturating_sub(LOOKED_AT_MAX),
        };
        self.repeat(past, is_gone, first).0
    }

    /// The versions, without the first ones that a later step destroyed, and how many it destroyed.
    fn repeat(&mut self, past: &Past, is_gone: bool, first: usize) -> (Vec<Version>, usize) {
        let mut content = Content::default();
        let mut standing: Option<Standing> = None;
        let mut found: Vec<Version> = Vec::new();
        let mut destroyed_count = 0;
        let mut is_calm = true;
        for step in &past.steps {
            let held = match &step.piece {
                Some(piece) if piece.is_hole => Held::Zeros,
                Some(piece) if piece.end() <= FILE_BYTES_MAX => (self.fetch)(piece).map_or(Held::Nothing, Held::Bytes),
                _ => Held::Nothing,
            };
            let effect = content.effect_of(step, &held, standing.map_or(0, |state| state.size_bytes));
            if let Some(before) = standing.filter(|_| effect.ends_state) {
                let counts = before.size_bytes > 0 && !before.counts_at_end_only;
                destroyed_count += usize::from(counts);
                if counts && destroyed_count > first {
                    let version = self.version(&content, past, before, step.modified_s, State::Whole);
                    found.extend(Some(version).filter(|version| version.state == State::Whole));
                    found.drain(..found.len().saturating_sub(self.versions_count_max));
                }
                standing = None;
            }
            content.take(step, &held, (self.pages_bytes_max / PAGE_BYTES) as usize);
            is_calm = step.rest == Rest::Yes || is_calm && !effect.changes;
            let stands = match step.rest {
                Rest::No => false,
                Rest::Yes | Rest::IfLast => true,
                Rest::IfCalm => is_calm,
            };
            if stands && content.size_bytes <= FILE_BYTES_MAX {
                let counts_at_end_only = step.rest == Rest::IfLast;
                let (size_bytes, sequence, modified_s) = (content.size_bytes, step.sequence, step.modified_s);
                let sized_by = content.sized_by;
                standing = Some(Standing { size_bytes, sequence, modified_s, sized_by, counts_at_end_only });
            }
        }
        if is_gone {
            let last = standing.map_or(State::Doubtful, |_| State::Whole);
            let standing = standing.unwrap_or_else(|| content.as_it_ends(past));
            let version = self.version(&content, past, standing, past.ended_s, last);
            let is_known = standing.size_bytes > 0 || self.stayed_empty(past, standing);
            let (state, size_bytes) =
                if is_known { (version.state, version.size_bytes) } else { (State::Partial, None) };
            found.push(Version { is_last: true, state, size_bytes, ..version });
        }
        (found, destroyed_count)
    }

    /// An empty file is what every file is at first: whether it was when it was deleted is known only if no step between
    /// is missing.
    fn stayed_empty(&self, past: &Past, state: Standing) -> bool {
        let missing = past.missing.as_ref().unwrap_or(self.missing);
        state.sized_by > 0 && past.ended_by_sequence.is_some_and(|end| missing.last_before(end) <= state.sequence)
    }

    fn version(&self, content: &Content, past: &Past, state: Standing, ended_s: Option<i64>, best: State) -> Version {
        let Standing { size_bytes, sequence, modified_s, .. } = state;
        let last_missing = past.missing.as_ref().unwrap_or(self.missing).last_before(sequence);
        let mut missing_bytes = content.unknown(0..size_bytes);
        if past.gaps_are_zeros && last_missing == 0 {
            missing_bytes.clear();
        }
        let oldest = content.known(&(0..size_bytes)).map(|(_, sequence)| sequence).min().unwrap_or(u64::MAX);
        let oldest = oldest.min(state.sized_by);
        let state = match (missing_bytes.is_empty(), oldest > last_missing) {
            (false, _) => State::Partial,
            (true, false) => State::Doubtful,
            (true, true) => best,
        };
        let data = self.keeps.then(|| content.bytes(size_bytes));
        let modified_s = modified_s.or_else(|| {
            past.steps.iter().rev().skip_while(|step| step.sequence > sequence).find_map(|step| step.modified_s)
        });
        Version {
            state,
            size_bytes: Some(size_bytes),
            missing_bytes,
            sequence,
            modified_s,
            ended_s,
            is_last: false,
            data,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ffslab_fs::FileKind;
    use std::collections::BTreeSet;

    /// A step that writes a page of a file of two pages.
    fn write(sequence: u64, page: u64, rest: Rest) -> Step {
        let offset = page * PAGE_BYTES;
        let piece = Piece {
            offset,
            span_bytes: PAGE_BYTES,
            is_hole: false,
            block: 0,
            node_offset: sequence as u32,
            stored_bytes: 0,
        };
        Step { sequence, piece: Some(piece), size_bytes: Some(2 * PAGE_BYTES), rest, modified_s: None }
    }

    /// What is found when these steps are still there; each writes pages full of its number.
    fn versions(steps: &[Step], is_gone: bool) -> Vec<(State, Option<u64>, u64)> {
        let there: BTreeSet<u64> = steps.iter().map(|step| step.sequence).collect();
        let mut fetch = |piece: &Piece| Some(vec![piece.node_offset as u8; PAGE_BYTES as usize]);
        let mut repeat = Repeat {
            missing: &Missing::among(&there),
            fetch: &mut fetch,
            keeps: true,
            pages_bytes_max: 1 << 20,
            versions_count_max: 8,
        };
        let past = Past { steps: steps.to_vec(), ..Past::new(5, FileKind::File) };
        let found = repeat.versions(&past, is_gone);
        found.into_iter().map(|version| (version.state, version.size_bytes, version.sequence)).collect()
    }

    #[test]
    fn a_state_is_whole_only_if_no_step_since_its_oldest_byte_is_missing() {
        let size = Some(2 * PAGE_BYTES);
        let both = [write(1, 0, Rest::No), write(2, 1, Rest::Yes)];
        assert_eq!(versions(&both, true), [(State::Whole, size, 2)]);
        // What came between may have changed the first page.
        let apart = [write(1, 0, Rest::No), write(3, 1, Rest::Yes)];
        assert_eq!(versions(&apart, true), [(State::Doubtful, size, 3)]);
        assert_eq!(versions(&both[1..], true), [(State::Partial, size, 2)]);
        // A file that is there has lost nothing.
        assert_eq!(versions(&both, false), []);
    }

    #[test]
    fn what_a_step_destroys_is_a_version_if_it_stood() {
        let size = Some(2 * PAGE_BYTES);
        let steps = [write(1, 0, Rest::No), write(2, 1, Rest::Yes), write(3, 0, Rest::No), write(4, 1, Rest::Yes)];
        // After the third step the file is a mixture.
        assert_eq!(versions(&steps, false), [(State::Whole, size, 2)]);
        assert_eq!(versions(&steps, true), [(State::Whole, size, 2), (State::Whole, size, 4)]);
    }

    #[test]
    fn an_end_in_the_middle_of_a_change_is_doubtful() {
        let steps = [write(1, 0, Rest::No), write(2, 1, Rest::Yes), write(3, 0, Rest::No)];
        let size = Some(2 * PAGE_BYTES);
        assert_eq!(versions(&steps, true), [(State::Whole, size, 2), (State::Doubtful, size, 3)]);
    }
}
