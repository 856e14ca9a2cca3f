//! ESP-IDF's wear levelling below FAT, undone (`components/wear_levelling`: `WL_Flash.cpp`, `calcAddr`; `WL_State.h`, `WL_Config.h`).
//!
//! One sector, the dummy, holds nothing; all contents move by one sector each time that it has gone round. The last sector has the
//! sizes, and before it stand two copies of the state: a head, and a record for each step of the dummy.

use super::plain::Plain;
use ffslab_mtd::is_erased;

const SECTOR_BYTES: usize = 4096;
const CONFIG_BYTES: usize = 32;
const HEAD_BYTES: usize = 64;
const RECORD_BYTES: usize = 16;
const VERSION: usize = 2;

struct State {
    /// Where the dummy is.
    dummy: usize,
    moves: usize,
}

/// The sectors in the order in which FAT has them.
pub fn undo(image: &[u8]) -> Option<Plain> {
    let config = image.last_chunk::<SECTOR_BYTES>().filter(|_| image.len().is_multiple_of(SECTOR_BYTES))?;
    let [_, all_bytes, _, sector_bytes, _, _, version, ..] = words(config)?;
    if !has_right_crc(config, CONFIG_BYTES)
        || all_bytes != image.len()
        || (sector_bytes, version) != (SECTOR_BYTES, VERSION)
    {
        return None;
    }
    let sectors: Vec<&[u8]> = image.chunks_exact(SECTOR_BYTES).collect();
    // One state needs this much for its records; the dummy can stand in one sector more than there are contents.
    let state_sectors = (HEAD_BYTES + sectors.len() * RECORD_BYTES).div_ceil(SECTOR_BYTES);
    let count = sectors.len().checked_sub(2 * state_sectors + 2).filter(|&count| count > 0)?;
    let copies = [count + 1, count + 1 + state_sectors];
    let (mut doubts, states) = (Vec::new(), copies.map(|at| state(&image[at * SECTOR_BYTES..], count)));
    let [first, second] = states;
    if first.is_none() || second.is_none() {
        doubts.push("one of the two states of the wear levelling is damaged".to_string());
    }
    let State { dummy, moves } = first.or(second)?;
    let mut plain = Vec::with_capacity(count * SECTOR_BYTES);
    for sector in 0..count {
        let moved = (count - moves % count + sector) % count;
        plain.extend_from_slice(sectors[moved + usize::from(moved >= dummy)]);
    }
    let said = format!(
        "ESP-IDF's wear levelling was undone: {count} sectors, the dummy at {dummy}, moved {moves} times; positions in what follows are \
         those of the volume, not of the file"
    );
    Some(Plain { image: plain, said: vec![said], doubts })
}

fn words(bytes: &[u8]) -> Option<[usize; 8]> {
    let words = bytes.first_chunk::<32>()?.as_chunks::<4>().0;
    Some(std::array::from_fn(|at| u32::from_le_bytes(words[at]) as usize))
}

fn has_right_crc(bytes: &[u8], covered: usize) -> bool {
    let mut crc = crc32fast::Hasher::new_with_initial(u32::MAX);
    crc.update(&bytes[..covered]);
    bytes[covered..covered + 4] == crc.finalize().to_le_bytes()
}

/// The state that stands here, of a volume of so many sectors.
fn state(bytes: &[u8], count: usize) -> Option<State> {
    let [first, positions, moves, ..] = words(bytes)?;
    if !has_right_crc(bytes, HEAD_BYTES - 4) || positions != count + 1 || first > count {
        return None;
    }
    let records = bytes[HEAD_BYTES..].chunks_exact(RECORD_BYTES).take(count + 1);
    let steps = records.take_while(|record| !is_erased(record)).count();
    Some(State { dummy: steps.min(count), moves })
}
