//! Where the words of a code stand in a page and its OOB area, and where the data are that the page was written with.

use std::ops::Range;

/// A word: its data, piece by piece, and its code, as bits of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    pub data_bits: Vec<Range<usize>>,
    pub code_bits: Range<usize>,
}

/// How a page is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub words: Vec<Word>,
    /// The bits of the page in the order data, OOB area; `None`: they are in that order.
    pub plain_bits: Option<Vec<Range<usize>>>,
    /// The byte that the controller puts where the mark of a bad block belongs, which it keeps elsewhere meanwhile.
    pub kept_mark_at_bytes: Option<usize>,
}

/// Sizes in bytes; of the code in bits.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub page_bytes: usize,
    pub oob_bytes: usize,
    pub sector_bytes: usize,
    pub code_bits: usize,
}

impl Sizes {
    fn sectors(&self) -> usize {
        self.page_bytes / self.sector_bytes
    }

    fn code_bytes(&self) -> usize {
        self.code_bits.div_ceil(8)
    }

    pub fn all(&self) -> usize {
        self.page_bytes + self.oob_bytes
    }
}

/// What a controller does with pages, whatever their sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// The codes are the last bytes of the OOB area.
    AtEnd,
    /// The codes begin there in the OOB area, with so many bytes behind each.
    From { at: usize, padding: usize },
    /// The OOB area is cut into a piece for each sector; its last bits are the code, which covers the others. `None`: as large as
    /// the area allows.
    Pieces { bytes: Option<usize> },
    /// The OOB area has so many bytes that the code covers, then the code, of an even number of bytes, for each sector.
    UserThenCode { user: usize },
    /// Covered bytes, then the first sector, its code, the next sector, its code, to the bit.
    Chunks { metadata: usize },
    /// Each sector with its share of the OOB area behind it: bytes of which the first ones are covered, then the code. `share`:
    /// bytes of that; `None`: an equal share.
    Sectors { user: usize, covered: usize, share: Option<usize>, keeps_mark: bool },
    /// As [`Arrangement::Sectors`], with the driver's order: all data, all bytes of users, all codes.
    SectorsApart { user: usize, covered: usize },
    /// Words of so many bytes that run across the page, with the mark of a bad block where a chip has it.
    Across { word: usize },
    /// One word for the page, and this many bytes of the OOB area in front of its code.
    Whole { user: usize },
}

fn bytes(range: Range<usize>) -> Range<usize> {
    8 * range.start..8 * range.end
}

/// A code in whole bytes, left-aligned.
fn code(at: usize, sizes: &Sizes) -> Range<usize> {
    8 * at..8 * at + sizes.code_bits
}

impl Arrangement {
    /// `None`: the page has no room for it.
    pub fn layout(self, sizes: &Sizes) -> Option<Layout> {
        if !sizes.page_bytes.is_multiple_of(sizes.sector_bytes) || sizes.sectors() == 0 {
            return None;
        }
        let layout = match self {
            Arrangement::AtEnd => {
                let at = sizes.all().checked_sub(sizes.sectors() * sizes.code_bytes())?;
                behind(sizes, at, sizes.code_bytes())
            }
            Arrangement::From { at, padding } => behind(sizes, sizes.page_bytes + at, sizes.code_bytes() + padding),
            Arrangement::Pieces { bytes } => pieces(sizes, bytes)?,
            Arrangement::UserThenCode { user } => user_then_code(sizes, user),
            Arrangement::Chunks { metadata } => chunks(sizes, metadata)?,
            Arrangement::Sectors { user, covered, share, keeps_mark } => {
                sectors(sizes, user, covered, share.unwrap_or(sizes.oob_bytes / sizes.sectors()), keeps_mark)?
            }
            Arrangement::SectorsApart { user, covered } => sectors_apart(sizes, user, covered)?,
            Arrangement::Across { word } => across(sizes, word)?,
            Arrangement::Whole { user } => Layout {
                words: vec![Word {
                    data_bits: vec![bytes(0..sizes.page_bytes + user)],
                    code_bits: code(sizes.page_bytes + user, sizes),
                }],
                plain_bits: None,
                kept_mark_at_bytes: None,
            },
        };
        let end = 8 * sizes.all();
        let (page, mark) = (8 * sizes.page_bytes, sizes.page_bytes);
        // The mark of a bad block stays free: its first byte, unless the code covers it.
        let is_free =
            |word: &Word| layout.plain_bits.is_some() || word.code_bits.start > 8 * mark || word.code_bits.end <= page;
        layout.words.iter().all(|word| word.code_bits.end <= end && is_free(word)).then_some(layout)
    }
}

/// Data in front, codes one behind the other.
fn behind(sizes: &Sizes, at: usize, stride: usize) -> Layout {
    let word = |index: usize| Word {
        data_bits: vec![bytes(index * sizes.sector_bytes..(index + 1) * sizes.sector_bytes)],
        code_bits: code(at + index * stride, sizes),
    };
    Layout { words: (0..sizes.sectors()).map(word).collect(), plain_bits: None, kept_mark_at_bytes: None }
}

fn pieces(sizes: &Sizes, piece: Option<usize>) -> Option<Layout> {
    let piece = piece.unwrap_or(sizes.oob_bytes / sizes.sectors());
    let user_bits = (8 * piece).checked_sub(sizes.code_bits).filter(|bits| *bits > 0)?;
    let word = |index: usize| {
        let from = 8 * (sizes.page_bytes + index * piece);
        let data = vec![bytes(index * sizes.sector_bytes..(index + 1) * sizes.sector_bytes), from..from + user_bits];
        Word { data_bits: data, code_bits: from + user_bits..from + 8 * piece }
    };
    Some(Layout { words: (0..sizes.sectors()).map(word).collect(), plain_bits: None, kept_mark_at_bytes: None })
}

fn user_then_code(sizes: &Sizes, user: usize) -> Layout {
    let stride = user + sizes.code_bytes().next_multiple_of(2);
    let word = |index: usize| {
        let from = sizes.page_bytes + index * stride;
        let data = vec![bytes(index * sizes.sector_bytes..(index + 1) * sizes.sector_bytes), bytes(from..from + user)];
        Word { data_bits: data, code_bits: code(from + user, sizes) }
    };
    Layout { words: (0..sizes.sectors()).map(word).collect(), plain_bits: None, kept_mark_at_bytes: None }
}

fn chunks(sizes: &Sizes, metadata: usize) -> Option<Layout> {
    let (mut words, mut data_at) = (Vec::new(), 8 * metadata);
    for index in 0..sizes.sectors() {
        let data_end = data_at + 8 * sizes.sector_bytes;
        let from = if index == 0 { 0 } else { data_at };
        words.push(Word {
            data_bits: std::iter::once(from..data_end).collect(),
            code_bits: data_end..data_end + sizes.code_bits,
        });
        data_at = data_end + sizes.code_bits;
    }
    if data_at > 8 * sizes.all() {
        return None;
    }
    let mut plain: Vec<Range<usize>> =
        words.iter().map(|word| word.code_bits.start - 8 * sizes.sector_bytes..word.code_bits.start).collect();
    plain.push(0..8 * metadata);
    plain.extend(words.iter().map(|word| word.code_bits.clone()));
    plain.push(data_at..8 * sizes.all());
    Some(Layout { words, plain_bits: Some(plain), kept_mark_at_bytes: Some(0) })
}

fn sectors(sizes: &Sizes, user: usize, covered: usize, share: usize, keeps_mark: bool) -> Option<Layout> {
    let stride = sizes.sector_bytes + share;
    if user + sizes.code_bytes() > share || sizes.sectors() * stride > sizes.all() {
        return None;
    }
    let starts: Vec<usize> = (0..sizes.sectors()).map(|index| index * stride).collect();
    let word = |&at: &usize| Word {
        data_bits: vec![bytes(at..at + sizes.sector_bytes + covered)],
        code_bits: code(at + sizes.sector_bytes + user, sizes),
    };
    let mut plain: Vec<Range<usize>> = starts.iter().map(|at| bytes(*at..at + sizes.sector_bytes)).collect();
    plain.extend(starts.iter().map(|at| bytes(at + sizes.sector_bytes..at + sizes.sector_bytes + user)));
    plain.extend(starts.iter().map(|at| bytes(at + sizes.sector_bytes + user..at + stride)));
    plain.push(bytes(sizes.sectors() * stride..sizes.all()));
    let kept_mark_at_bytes = keeps_mark.then_some(sizes.sector_bytes);
    Some(Layout { words: starts.iter().map(word).collect(), plain_bits: Some(plain), kept_mark_at_bytes })
}

fn sectors_apart(sizes: &Sizes, user: usize, covered: usize) -> Option<Layout> {
    let share = sizes.oob_bytes / sizes.sectors();
    let codes_at = sizes.page_bytes + sizes.sectors() * user;
    if user + sizes.code_bytes() > share {
        return None;
    }
    let word = |index: usize| {
        let user_at = sizes.page_bytes + index * user;
        let data = vec![
            bytes(index * sizes.sector_bytes..(index + 1) * sizes.sector_bytes),
            bytes(user_at..user_at + covered),
        ];
        Word { data_bits: data, code_bits: code(codes_at + index * (share - user), sizes) }
    };
    Some(Layout { words: (0..sizes.sectors()).map(word).collect(), plain_bits: None, kept_mark_at_bytes: None })
}

/// Bytes of the data and of users in a word, in all words alike.
const ACROSS_DATA: usize = 516;

fn across(sizes: &Sizes, word: usize) -> Option<Layout> {
    let count = sizes.sectors();
    // Where the chip's mark falls in the last word, all words have a byte for it.
    let mark = sizes.page_bytes.checked_sub(word * (count - 1)).filter(|mark| *mark < ACROSS_DATA)?;
    if count * word > sizes.all() || ACROSS_DATA + 1 + sizes.code_bytes() > word {
        return None;
    }
    let mut words = Vec::new();
    let (mut data, mut users, mut marks, mut rest) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for index in 0..count {
        let at = index * word;
        let end = at + ACROSS_DATA + 1;
        words.push(Word {
            data_bits: vec![bytes(at..at + mark), bytes(at + mark + 1..end)],
            code_bits: code(end, sizes),
        });
        // The last word has what the others have more than a sector.
        let users_at = if index + 1 == count { end - 4 * count } else { end };
        data.extend([bytes(at..at + mark), bytes(at + mark + 1..users_at)]);
        users.push(bytes(users_at..end));
        marks.push(bytes(at + mark..at + mark + 1));
        rest.push(bytes(end..at + word));
    }
    let last_mark = marks.pop();
    let tail = bytes(count * word..sizes.all());
    let plain = data.into_iter().chain(last_mark).chain(users).chain(marks).chain(rest).chain([tail]).collect();
    Some(Layout { words, plain_bits: Some(plain), kept_mark_at_bytes: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each arrangement uses each bit once, and puts all of them back.
    #[test]
    fn words_do_not_overlap_and_plain_pages_hold_all_bits() {
        let tried = [
            (Arrangement::AtEnd, 512, 104),
            (Arrangement::From { at: 2, padding: 1 }, 512, 104),
            (Arrangement::Pieces { bytes: None }, 512, 52),
            (Arrangement::Chunks { metadata: 10 }, 512, 26),
            (Arrangement::Chunks { metadata: 10 }, 512, 104),
            (Arrangement::Sectors { user: 8, covered: 8, share: None, keeps_mark: true }, 512, 52),
            (Arrangement::SectorsApart { user: 8, covered: 1 }, 512, 52),
            (Arrangement::Across { word: 528 }, 512, 52),
            (Arrangement::Whole { user: 2 }, 2048, 96),
        ];
        for (arrangement, sector, code_bits) in tried {
            let sizes = Sizes { page_bytes: 2048, oob_bytes: 64, sector_bytes: sector, code_bits };
            let layout = arrangement.layout(&sizes).expect("fits");
            let mut used = vec![0; 8 * sizes.all()];
            let of_words = layout.words.iter().flat_map(|word| word.data_bits.iter().chain([&word.code_bits]));
            of_words.cloned().flatten().for_each(|bit| used[bit] += 1);
            assert!(used.iter().all(|count| *count < 2), "{arrangement:?}");
            if let Some(plain) = layout.plain_bits {
                let mut bits: Vec<usize> = plain.into_iter().flatten().collect();
                bits.sort_unstable();
                assert_eq!(bits, (0..8 * sizes.all()).collect::<Vec<_>>(), "{arrangement:?}");
            }
        }
        let none = Sizes { page_bytes: 2048, oob_bytes: 16, sector_bytes: 512, code_bits: 104 };
        assert_eq!(Arrangement::AtEnd.layout(&none), None);
    }
}
