//! The wear levelling of ESP-IDF between FAT and NOR flash.
//!
//! **Follows.** ESP-IDF `components/wear_levelling` (`WL_Flash.cpp`, `WL_State.h`, `WL_Config.h`, defaults of `wear_levelling.cpp`), with
//! sectors as large as erase blocks, and `components/fatfs/diskio/diskio_wl.c`: a write erases its sectors and then programs them.
//!
//! One block of the partition, the dummy, holds nothing. After `update_rate` erases the block behind it is copied into it, and is the dummy
//! from then on, so that all contents move by one block while the dummy goes round. Two copies of the state hold where it is: a record of 16
//! bytes for each move, and a head that is written anew when the dummy has gone round.
//!
//! **Leaves out.** The move from version 1; sectors of 512 bytes (`WL_Ext_Safe`, `WL_Ext_Perf`). The number that tells instances apart is
//! the same for each instead of a random one.

use crate::device::Below;
use ffslab_mtd::{Mtd, MtdError};
use ffslab_sim::{Kind, Purpose, Reason, Sim};
use std::cell::Cell;

/// The dummy moves.
static MOVE: Reason = Reason {
    name: "wear levelling move",
    sentence: "a block is copied to the one before it, so that all contents move on",
    kind: Kind::Managing,
    purpose: Purpose::Cost,
};

/// The state of the wear levelling is read or written.
static STATE: Reason = Reason {
    name: "wear levelling state",
    sentence: "where the contents have moved to is read, or written",
    kind: Kind::Managing,
    purpose: Purpose::Cost,
};

/// `sizeof(wl_state_t)`, and without its CRC.
const STATE_BYTES: usize = 64;
const STATE_CRC_AT: usize = 60;
/// `sizeof(wl_config_t)` on ESP32, and without its CRC.
const CONFIG_BYTES: usize = 48;
const CONFIG_CRC_AT: usize = 32;
/// `WL_DEFAULT_WRITE_SIZE`, `WL_DEFAULT_TEMP_BUFF_SIZE`, `WL_CURRENT_VERSION`.
const RECORD_BYTES: usize = 16;
const COPY_BYTES: usize = 32;
const VERSION: u32 = 2;
/// `wl_device_id`, which ESP-IDF draws at random.
const DEVICE_ID: u32 = 0x6666_7331;

/// `wl_state_t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    dummy: u32,
    blocks: u32,
    rounds: u32,
    erases: u32,
    erases_max: u32,
    block_bytes: u32,
    version: u32,
    device_id: u32,
}

impl State {
    fn bytes(&self) -> [u8; STATE_BYTES] {
        let fields = [
            self.dummy,
            self.blocks,
            self.rounds,
            self.erases,
            self.erases_max,
            self.block_bytes,
            self.version,
            self.device_id,
        ];
        let mut bytes = [0; STATE_BYTES];
        for (field, place) in fields.iter().zip(bytes.chunks_exact_mut(4)) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        let crc = crc32_le(&bytes[..STATE_CRC_AT]);
        bytes[STATE_CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// What the bytes say, and whether their CRC is right.
    fn of(bytes: &[u8; STATE_BYTES]) -> (State, bool) {
        let field = |number: usize| u32_at(bytes, number * 4);
        let state = State {
            dummy: field(0),
            blocks: field(1),
            rounds: field(2),
            erases: field(3),
            erases_max: field(4),
            block_bytes: field(5),
            version: field(6),
            device_id: field(7),
        };
        (state, crc32_le(&bytes[..STATE_CRC_AT]) == u32_at(bytes, STATE_CRC_AT))
    }

    /// What says that the dummy has left this block.
    fn record(&self, block: u32) -> [u8; RECORD_BYTES] {
        let mut record = [0; RECORD_BYTES];
        for (number, place) in (0..).zip(record.chunks_exact_mut(4)) {
            let word = self.device_id.wrapping_add(block.wrapping_mul(4)).wrapping_add(number);
            place.copy_from_slice(&crc32_le(&word.to_le_bytes()).to_le_bytes());
        }
        record
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

/// `esp_rom_crc32_le(UINT32_MAX, ...)`, which inverts its start value.
fn crc32_le(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(u32::MAX);
    hasher.update(bytes);
    hasher.finalize()
}

/// Where what lies in a partition.
#[derive(Clone, Copy, Debug)]
struct Layout {
    block_bytes: u64,
    partition_bytes: u64,
    state_bytes: u64,
    config_bytes: u64,
    /// What the file system may use.
    capacity_bytes: u64,
}

impl Layout {
    /// `None`: the partition is too small.
    fn of(partition_bytes: u64, block_bytes: u64) -> Option<Layout> {
        let up = |bytes: u64| bytes.next_multiple_of(block_bytes);
        let records_bytes = partition_bytes / block_bytes * RECORD_BYTES as u64;
        let (state_bytes, config_bytes) = (up(STATE_BYTES as u64 + records_bytes), up(CONFIG_BYTES as u64));
        let of_blocks = partition_bytes.checked_sub(2 * state_bytes + config_bytes)? / block_bytes;
        let capacity_bytes = of_blocks.checked_sub(1)? * block_bytes;
        (capacity_bytes > 0).then_some(Layout {
            block_bytes,
            partition_bytes,
            state_bytes,
            config_bytes,
            capacity_bytes,
        })
    }

    fn state_at(&self, copy: u64) -> u64 {
        self.partition_bytes - self.config_bytes - (2 - copy) * self.state_bytes
    }

    fn record_at(&self, copy: u64, block: u32) -> u64 {
        self.state_at(copy) + (STATE_BYTES + block as usize * RECORD_BYTES) as u64
    }
}

/// Bytes that the file system may use of a partition; 0: it is too small.
pub fn capacity_bytes(size_bytes: u64, block_bytes: u32) -> u64 {
    Layout::of(size_bytes, block_bytes.into()).map_or(0, |layout| layout.capacity_bytes)
}

pub(crate) struct WearLevelling {
    flash: Mtd,
    layout: Layout,
    update_rate: u32,
    state: Cell<State>,
}

impl WearLevelling {
    /// Takes the state that stands on the flash, or begins anew (`WL_Flash::init`).
    pub fn open(flash: Mtd, update_rate: u32) -> Result<WearLevelling, MtdError> {
        flash.sim().register(&[&MOVE, &STATE]);
        let layout = Layout::of(flash.size_bytes(), flash.erase_block_bytes().into()).ok_or(MtdError::OutOfRange)?;
        let opened = WearLevelling { flash, layout, update_rate, state: Cell::default() };
        let _why = opened.flash.sim().because(&STATE);
        let ((first, is_first_sound), (second, is_second_sound)) = (opened.read_state(0)?, opened.read_state(1)?);
        opened.state.set(first);
        match (is_first_sound, is_second_sound) {
            (true, true) if first.version != VERSION => {
                opened.begin()?;
                opened.find_dummy()?;
            }
            (true, true) => {
                if first != second {
                    opened.copy_state(0, &first)?;
                }
                opened.find_dummy()?;
            }
            (false, false) => {
                opened.begin()?;
                opened.find_dummy()?;
            }
            // The records of the copy that is whole are compared with those of the first one, although it is the broken one.
            (is_first_sound, _) => {
                let (whole, from) = if is_first_sound { (first, 0) } else { (second, 1) };
                opened.copy_state(from, &whole)?;
                let mut state = opened.read_state(1 - from)?.0;
                if !is_first_sound {
                    state.dummy = state.blocks.saturating_sub(1);
                }
                opened.state.set(state);
                if state.version != VERSION {
                    opened.begin()?;
                }
            }
        }
        drop(_why);
        Ok(opened)
    }

    fn read_state(&self, copy: u64) -> Result<(State, bool), MtdError> {
        let mut bytes = [0; STATE_BYTES];
        self.flash.read(self.layout.state_at(copy), &mut bytes)?;
        Ok(State::of(&bytes))
    }

    fn erase_range(&self, at: u64, bytes: u64) -> Result<(), MtdError> {
        (0..bytes / self.layout.block_bytes)
            .try_for_each(|number| self.flash.erase(at + number * self.layout.block_bytes))
    }

    /// A head in both copies, without records.
    fn write_heads(&self, state: &State) -> Result<(), MtdError> {
        for copy in [0, 1] {
            self.erase_range(self.layout.state_at(copy), self.layout.state_bytes)?;
            self.flash.write(self.layout.state_at(copy), &state.bytes())?;
        }
        Ok(())
    }

    /// The other copy gets the head and the records of this one.
    fn copy_state(&self, from: u64, head: &State) -> Result<(), MtdError> {
        let to = 1 - from;
        self.erase_range(self.layout.state_at(to), self.layout.state_bytes)?;
        self.flash.write(self.layout.state_at(to), &head.bytes())?;
        for block in 0..(self.layout.partition_bytes / self.layout.block_bytes) as u32 {
            if let Some(record) = self.read_record(from, block)? {
                self.flash.write(self.layout.record_at(to, block), &record)?;
            }
        }
        Ok(())
    }

    /// `None`: the dummy has not left that block yet.
    fn read_record(&self, copy: u64, block: u32) -> Result<Option<[u8; RECORD_BYTES]>, MtdError> {
        let mut record = [0; RECORD_BYTES];
        self.flash.read(self.layout.record_at(copy, block), &mut record)?;
        Ok((record == self.state.get().record(block)).then_some(record))
    }

    /// `WL_Flash::initSections`.
    fn begin(&self) -> Result<(), MtdError> {
        let block_bytes = self.layout.block_bytes as u32;
        let state = State {
            blocks: 1 + (self.layout.capacity_bytes / self.layout.block_bytes) as u32,
            erases_max: self.update_rate,
            block_bytes,
            version: VERSION,
            device_id: DEVICE_ID,
            ..State::default()
        };
        self.state.set(state);
        self.write_heads(&state)?;
        let mut config = [0; CONFIG_BYTES];
        let fields = [
            0,
            self.layout.partition_bytes as u32,
            block_bytes,
            block_bytes,
            self.update_rate,
            RECORD_BYTES as u32,
            VERSION,
            COPY_BYTES as u32,
        ];
        for (field, place) in fields.iter().zip(config.chunks_exact_mut(4)) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        let crc = crc32_le(&config[..CONFIG_CRC_AT]);
        config[CONFIG_CRC_AT..CONFIG_CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
        let at = self.layout.partition_bytes - self.layout.config_bytes;
        self.erase_range(at, self.layout.config_bytes)?;
        self.flash.write(at, &config)
    }

    /// `WL_Flash::recoverPos`.
    fn find_dummy(&self) -> Result<(), MtdError> {
        let mut state = self.state.get();
        state.dummy = state.blocks.saturating_sub(1);
        for block in 0..state.blocks {
            if self.read_record(0, block)?.is_none() {
                state.dummy = block;
                break;
            }
        }
        self.state.set(state);
        Ok(())
    }

    /// An erase is counted; the dummy moves if it is time (`WL_Flash::updateWL`). A move that fails is tried again at the next erase.
    fn count_erase(&self) -> Result<(), MtdError> {
        let mut state = self.state.get();
        state.erases += 1;
        if state.erases < state.erases_max {
            self.state.set(state);
            return Ok(());
        }
        self.state.set(State { erases: state.erases_max - 1, ..state });
        state.erases = 0;
        self.move_block(&state)?;
        state.dummy += 1;
        if state.dummy >= state.blocks {
            state.dummy = 0;
            state.rounds += 1;
            if state.rounds >= state.blocks - 1 {
                state.rounds = 0;
            }
            self.state.set(state);
            let _why = self.flash.sim().because(&STATE);
            self.write_heads(&state)?;
        }
        self.state.set(state);
        Ok(())
    }

    /// The block behind the dummy is copied into it, which is recorded.
    fn move_block(&self, state: &State) -> Result<(), MtdError> {
        let block_bytes = self.layout.block_bytes;
        let from = if state.dummy + 1 >= state.blocks { 0 } else { state.dummy + 1 };
        let (from_at, to_at) = (u64::from(from) * block_bytes, u64::from(state.dummy) * block_bytes);
        let why = self.flash.sim().because(&MOVE);
        self.flash.erase(to_at)?;
        let mut held = [0; COPY_BYTES];
        for offset in (0..block_bytes).step_by(COPY_BYTES) {
            self.flash.read(from_at + offset, &mut held)?;
            self.flash.write(to_at + offset, &held)?;
        }
        drop(why);
        let _why = self.flash.sim().because(&STATE);
        let record = state.record(state.dummy);
        (0..2).try_for_each(|copy| self.flash.write(self.layout.record_at(copy, state.dummy), &record))
    }

    /// Where a byte lies (`WL_Flash::calcAddr`).
    fn place(&self, at: u64) -> u64 {
        let (state, capacity_bytes) = (self.state.get(), self.layout.capacity_bytes);
        let moved_bytes = u64::from(state.rounds) * self.layout.block_bytes;
        let place = (capacity_bytes - moved_bytes + at) % capacity_bytes;
        if place < u64::from(state.dummy) * self.layout.block_bytes {
            place
        } else {
            place + self.layout.block_bytes
        }
    }

    /// The requests within one block each that one request becomes: place, and bytes of it.
    fn blocks(&self, at: u64, bytes: usize) -> Result<impl Iterator<Item = (u64, std::ops::Range<usize>)>, MtdError> {
        if at + bytes as u64 > self.layout.capacity_bytes {
            return Err(MtdError::OutOfRange);
        }
        let block_bytes = self.layout.block_bytes as usize;
        Ok((0..bytes).step_by(block_bytes).map(move |start| (at + start as u64, start..bytes.min(start + block_bytes))))
    }
}

impl Below for WearLevelling {
    fn sim(&self) -> &Sim {
        self.flash.sim()
    }

    fn size_bytes(&self) -> u64 {
        self.layout.capacity_bytes
    }

    fn erase_block_bytes(&self) -> u32 {
        self.flash.erase_block_bytes()
    }

    fn program_bytes(&self) -> u32 {
        self.flash.erase_block_bytes()
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), MtdError> {
        for (at, part) in self.blocks(at, into.len())? {
            self.flash.read(self.place(at), &mut into[part])?;
        }
        Ok(())
    }

    /// All sectors are erased before the first one is programmed.
    fn program(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        for (at, _) in self.blocks(at, data.len())? {
            self.count_erase()?;
            self.flash.erase(self.place(at))?;
        }
        for (at, part) in self.blocks(at, data.len())? {
            self.flash.write(self.place(at), &data[part])?;
        }
        Ok(())
    }

    fn erase(&self, _at: u64, _bytes: u32) -> Result<(), MtdError> {
        Ok(())
    }

    /// The dummy moves once more, so that short uses level wear, too (`WL_Flash::flush`).
    fn close(&self) -> Result<(), MtdError> {
        let state = self.state.get();
        self.state.set(State { erases: state.erases_max - 1, ..state });
        self.count_erase()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_that_of_a_partition_of_2_mib() {
        // 512 records of 16 B and a head of 64 B take three sectors.
        let layout = Layout::of(2 << 20, 4096).expect("it is large enough");
        assert_eq!(layout.state_bytes, 3 * 4096);
        assert_eq!(layout.capacity_bytes, 504 * 4096);
        assert_eq!([layout.state_at(0), layout.state_at(1)], [505 * 4096, 508 * 4096]);
        assert!(Layout::of(4 * 4096, 4096).is_none());
    }

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let state =
            State { dummy: 7, blocks: 505, rounds: 3, version: VERSION, device_id: DEVICE_ID, ..State::default() };
        let mut bytes = state.bytes();
        assert_eq!(State::of(&bytes), (state, true));
        bytes[0] ^= 1;
        assert!(!State::of(&bytes).1);
        // The CRC begins with an inverted start value, so that nothing has the CRC of all ones.
        assert_eq!(crc32_le(&[]), u32::MAX);
        assert_ne!(state.record(0), state.record(1));
    }
}
