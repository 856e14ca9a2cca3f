//! What stands in bytes that no reader knows, from the first to the last one, in words: erased, one value, text, data with and without
//! order, and what begins where a magic number stands.

use crate::named::beginning;
use std::fmt::Write;
use std::ops::Range;

/// Each step is looked at by itself. Sectors, erase blocks and what people align are multiples of it.
const STEP_BYTES: usize = 4096;
/// In fewer bytes than this nothing tells whether data have order.
const TELLING_BYTES: usize = 1024;
/// Bits of entropy a byte: data that are compressed or encrypted miss those of random bytes by less, programs by more than 1.
const MISSED_BITS: f64 = 0.3;
/// So many of a hundred bytes of a text are printable.
const PRINTABLE_PERCENT: usize = 97;
/// A stretch of data between two of another kind that is no longer is a part of them: tables in a program, a short string.
const STRETCH_MIN_BYTES: usize = 4 * STEP_BYTES;
/// So many stretches are listed.
const LISTED_MAX: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Erased,
    OneValue(u8),
    Text,
    /// Compressed or encrypted: each value comes as often as any other.
    Dense,
    Data,
    /// Something with a magic number begins here.
    Begins(&'static str),
}

struct Stretch {
    bytes: Range<usize>,
    kind: Kind,
}

/// What the bytes of an image are, in a line.
pub fn described(image: &[u8]) -> String {
    let all = stretches(image);
    if let [one] = all.as_slice() {
        return of_kind(one.kind);
    }
    let mut text = String::new();
    for Stretch { bytes, kind } in all.iter().take(LISTED_MAX) {
        let separator = if text.is_empty() { "" } else { ", " };
        // Writing to a text cannot fail.
        let _ = write!(text, "{separator}{} at {:#x} ({})", of_kind(*kind), bytes.start, size(bytes.len()));
    }
    if all.len() > LISTED_MAX {
        let _ = write!(text, " and {} more", all.len() - LISTED_MAX);
    }
    text
}

fn of_kind(kind: Kind) -> String {
    match kind {
        Kind::Erased => "erased flash".to_string(),
        Kind::OneValue(value) => format!("bytes {value:#04x}"),
        Kind::Text => "text".to_string(),
        Kind::Dense => "compressed or encrypted data".to_string(),
        Kind::Data => "a program or tables".to_string(),
        Kind::Begins(what) => what.to_string(),
    }
}

fn size(bytes: usize) -> String {
    if bytes.is_multiple_of(1024) {
        format!("{} KiB", bytes >> 10)
    } else {
        format!("{bytes} B")
    }
}

fn stretches(image: &[u8]) -> Vec<Stretch> {
    let mut all: Vec<Stretch> = Vec::new();
    for (step, bytes) in image.chunks(STEP_BYTES).enumerate() {
        let place = step * STEP_BYTES..step * STEP_BYTES + bytes.len();
        let kind = kind(bytes);
        match all.last_mut() {
            Some(last) if last.kind == kind || goes_on(last.kind, kind, bytes.len()) => last.bytes.end = place.end,
            _ => all.push(Stretch { bytes: place, kind }),
        }
    }
    without_short(all)
}

/// Whether bytes belong to what stands before them: what has begun ends where nothing is written, and the last few bytes tell little.
fn goes_on(last: Kind, next: Kind, bytes: usize) -> bool {
    let is_written = matches!(next, Kind::Text | Kind::Dense | Kind::Data);
    is_written && (matches!(last, Kind::Begins(_)) || (last == Kind::Dense && bytes < TELLING_BYTES))
}

/// The stretches without short ones of data between two that are alike.
fn without_short(all: Vec<Stretch>) -> Vec<Stretch> {
    let mut kept: Vec<Stretch> = Vec::new();
    for next in all {
        let is_data = |stretch: &Stretch| matches!(stretch.kind, Kind::Text | Kind::Dense | Kind::Data);
        if let [.., before, short] = kept.as_mut_slice() {
            if is_data(short) && short.bytes.len() < STRETCH_MIN_BYTES && is_data(&next) && before.kind == next.kind {
                before.bytes.end = next.bytes.end;
                kept.pop();
                continue;
            }
        }
        kept.push(next);
    }
    kept
}

fn kind(bytes: &[u8]) -> Kind {
    if let Some(what) = beginning(bytes) {
        return Kind::Begins(what);
    }
    let mut counts = [0_u32; 256];
    bytes.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    let all = bytes.len() as u32;
    match counts.iter().position(|&count| count == all) {
        Some(0xFF) => return Kind::Erased,
        Some(value) => return Kind::OneValue(value as u8),
        None => {}
    }
    let printable: u32 =
        [b'\t', b'\n', b'\r'].into_iter().chain(b' '..=b'~').map(|byte| counts[usize::from(byte)]).sum();
    if 100 * printable as usize >= PRINTABLE_PERCENT * bytes.len() {
        Kind::Text
    } else if bytes.len() >= TELLING_BYTES && entropy_bits(&counts, all) >= random_bits(all) - MISSED_BITS {
        Kind::Dense
    } else {
        Kind::Data
    }
}

/// Shannon's, a byte.
fn entropy_bits(counts: &[u32; 256], all: u32) -> f64 {
    let share = |count: &u32| f64::from(*count) / f64::from(all);
    counts.iter().filter(|count| **count > 0).map(share).map(|share| -share * share.log2()).sum()
}

/// That of so many random bytes, to first order (Miller's and Madow's correction): few bytes cannot have each value equally often.
fn random_bits(all: u32) -> f64 {
    8.0 - 255.0 / (2.0 * std::f64::consts::LN_2 * f64::from(all))
}

// ---- bytes in another order ----------------------------------------------------------------------------------------

/// So many bytes in another order are looked at.
const TURNED_MAX_BYTES: usize = 16 << 20;
/// So many whose bits are other ones: no bus but a circuit or a program did it, which is rare.
const BITS_MAX_BYTES: usize = 4 << 20;

/// What was done to all bytes of a dump, so that they are right when it is done once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The bytes of each word stand in the other order.
    Words(usize),
    /// Each bit is the other one.
    Inverted,
    /// The bits of each byte stand in the other order.
    Mirrored,
}

impl Turn {
    const ALL: [Turn; 4] = [Turn::Words(2), Turn::Words(4), Turn::Inverted, Turn::Mirrored];

    fn of(self, bytes: &[u8]) -> Vec<u8> {
        let looked_at = |most: usize| &bytes[..bytes.len().min(most)];
        match self {
            Turn::Words(word) => {
                let mut turned = looked_at(TURNED_MAX_BYTES).to_vec();
                turned.chunks_exact_mut(word).for_each(<[u8]>::reverse);
                turned
            }
            Turn::Inverted => looked_at(BITS_MAX_BYTES).iter().map(|byte| !byte).collect(),
            Turn::Mirrored => looked_at(BITS_MAX_BYTES).iter().map(|byte| byte.reverse_bits()).collect(),
        }
    }
}

impl std::fmt::Display for Turn {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Turn::Words(word) => {
                write!(out, "its bytes stand in another order, as a bus of {} bits has them", 8 * word)
            }
            Turn::Inverted => out.write_str("each of its bits is inverted"),
            Turn::Mirrored => out.write_str("the bits of each byte stand in the other order"),
        }
    }
}

impl Turn {
    /// What puts an image right.
    pub fn command(self) -> String {
        let of_bytes = |byte: &str| {
            format!(
                "python3 -c 'import sys; sys.stdout.buffer.write(bytes({byte} for b in sys.stdin.buffer.read()))' < IMAGE > RIGHT"
            )
        };
        match self {
            Turn::Words(word) => format!("objcopy -I binary -O binary --reverse-bytes={word} IMAGE RIGHT"),
            Turn::Inverted => of_bytes("255 - b"),
            Turn::Mirrored => of_bytes("int(f\"{b:08b}\"[::-1], 2)"),
        }
    }
}

/// The image as it would be without each turn, as far as it is looked at.
pub fn turned(image: &[u8]) -> impl Iterator<Item = (Turn, Vec<u8>)> + '_ {
    let fits = |turn: &Turn| !matches!(turn, Turn::Words(word) if !image.len().is_multiple_of(*word));
    Turn::ALL.into_iter().filter(fits).map(|turn| (turn, turn.of(image)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as u8
        };
        (0..bytes).map(|_| next()).collect()
    }

    #[test]
    fn an_image_is_described_from_its_first_to_its_last_byte() {
        let program: Vec<u8> = noise(5 * STEP_BYTES).iter().map(|byte| byte & 0x3F).collect();
        let text = b"no play all work and \n".repeat(400);
        let parts: [&[u8]; 6] = [
            &program,
            &[0xFF; 2 * STEP_BYTES],
            &text[..2 * STEP_BYTES],
            &noise(8 * STEP_BYTES),
            &[0; STEP_BYTES],
            b"HDR0",
        ];
        assert_eq!(
            described(&parts.concat()),
            "a program or tables at 0x0 (20 KiB), erased flash at 0x5000 (8 KiB), text at 0x7000 (8 KiB), compressed or encrypted data at \
             0x9000 (32 KiB), bytes 0x00 at 0x11000 (4 KiB), a TRX image at 0x12000 (4 B)"
        );
        assert_eq!(described(&text), "text");
        assert_eq!(described(&noise(100)), "a program or tables", "too few to tell");
    }

    #[test]
    fn a_short_stretch_belongs_to_what_stands_around_it() {
        let mut image = noise(16 * STEP_BYTES);
        image[5 * STEP_BYTES..6 * STEP_BYTES].iter_mut().for_each(|byte| *byte &= 0x3F);
        assert_eq!(described(&image), "compressed or encrypted data");
    }

    #[test]
    fn what_has_begun_ends_where_nothing_is_written() {
        let mut image = noise(8 * STEP_BYTES);
        image[..4].copy_from_slice(&[0x1F, 0x8B, 8, 0]);
        image.extend([0xFF; STEP_BYTES]);
        assert_eq!(described(&image), "gzip data at 0x0 (32 KiB), erased flash at 0x8000 (4 KiB)");
    }
}
