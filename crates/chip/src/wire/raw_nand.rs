//! Raw NAND: cycles of commands, addresses and data on a bus of eight bits.
//!
//! From ONFI 1.0 (commands, status, features, parameter page) and data sheets of parts with pages of 2 KiB and more; Linux
//! `drivers/mtd/nand/raw/nand_base.c` for what a driver sends. Parts without ONFI take the same commands but ECh.
//!
//! **Leaves out.** Pages of 512 bytes and buses of 16 bits, which have other commands and words; cache and multi-plane commands, copy-back
//! with changes outside the register, write protection by a pin. No code is computed: that is the host's.

use super::core::{Core, Work};
use super::identity;
use super::onfi;
use ffslab_flash::Geometry;
use ffslab_profiles::{NandArray, NandCommands};

const NOT_PROTECTED: u8 = 0x80;
const READY: u8 = 0x60;
const FAILED: u8 = 1;
/// tRST while nothing goes on, in a program, in an erase; tFEAT (ONFI).
const RESET_NS: [u64; 3] = [5_000, 10_000, 500_000];
const FEATURE_NS: u64 = 1_000;
/// Features: timing mode, drive strength, pull-down of R/B#. They have no effect here.
const FEATURES: [u8; 3] = [0x01, 0x80, 0x81];
const COLUMN_CYCLES: usize = 2;

/// A cycle, or several of one kind.
pub(super) enum Cycle<'a> {
    Command(u8),
    Addresses(&'a [u8]),
    Write(&'a [u8]),
    Read(usize),
}

/// What comes out when the host reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    Nothing,
    Register,
    Status,
    Identity,
    Signature,
    Parameters,
    Number,
    Feature(usize),
}

pub(super) struct RawNand {
    id: Vec<u8>,
    parameters: Vec<u8>,
    geometry: Geometry,
    row_cycles: usize,
    can_copy: bool,
    read_ns: u64,
    program_ns: u64,
    erase_ns: u64,
    register: Vec<u8>,
    has_data: bool,
    features: [[u8; 4]; FEATURES.len()],
    command: u8,
    address: Vec<u8>,
    row: u32,
    column: usize,
    output: Output,
    /// What came out before the status did.
    before: Output,
    /// Bytes that have come out of anything but the register.
    given: usize,
}

impl RawNand {
    pub fn new(id: &[u8], name: &str, array: &NandArray, commands: NandCommands, geometry: Geometry) -> RawNand {
        let row_cycles = if geometry.pages() > 1 << 16 { 3 } else { 2 };
        let mut of_chip = array.clone();
        of_chip.geometry = geometry;
        let ecc_bits = array.ecc_required.map_or(1, |required| required.bits.min(255)) as u8;
        let optional = 4 | 0x20 | if commands.copy_back { 0x10 } else { 0 };
        let said = onfi::Said { id, model: name, row_cycles: row_cycles as u8, optional, ecc_bits };
        RawNand {
            parameters: if identity::follows_onfi(id) { onfi::pages(&of_chip, &said) } else { Vec::new() },
            id: id.to_vec(),
            row_cycles,
            can_copy: commands.copy_back,
            read_ns: array.read_ns,
            program_ns: array.program_ns,
            erase_ns: array.erase_ns,
            register: vec![0xFF; (geometry.page_bytes + geometry.oob_bytes) as usize],
            geometry,
            has_data: false,
            features: Default::default(),
            command: 0xFF,
            address: Vec::new(),
            row: 0,
            column: 0,
            output: Output::Nothing,
            before: Output::Nothing,
            given: 0,
        }
    }

    pub fn restart(&mut self) {
        self.register.fill(0xFF);
        self.forgets();
        self.features = Default::default();
    }

    fn forgets(&mut self) {
        (self.command, self.has_data) = (0xFF, false);
        self.address.clear();
        (self.output, self.before, self.given) = (Output::Nothing, Output::Nothing, 0);
    }

    /// The chip gets a cycle, or several of a kind. What is read goes behind `taken`.
    pub fn takes(&mut self, core: &mut Core, cycle: &Cycle, taken: &mut Vec<u8>) {
        match *cycle {
            Cycle::Command(command) => self.commanded(core, command),
            Cycle::Addresses(bytes) => self.addressed(core, bytes),
            Cycle::Write(bytes) => self.written(core, bytes),
            Cycle::Read(count) => self.read(core, count, taken),
        }
    }

    // ---- commands ----------------------------------------------------------------------------------------------------

    fn commanded(&mut self, core: &mut Core, command: u8) {
        match command {
            0xFF => return self.resets(core),
            0x70 => {
                if self.output != Output::Status {
                    self.before = self.output;
                }
                self.output = Output::Status;
                return;
            }
            _ if core.is_busy() => {
                return core.refuse(format!("{command:02X}h: the chip is busy, and takes 70h and FFh alone"));
            }
            _ => {}
        }
        match (self.command, command) {
            (_, 0x00) => {
                self.output = if self.before == Output::Nothing { Output::Register } else { self.before };
                self.expects(command);
            }
            (_, 0x80) => {
                self.register.fill(0xFF);
                self.has_data = false;
                self.expects(command);
            }
            (_, 0x05 | 0x60 | 0x90 | 0xEF | 0xEE | 0xED) => self.expects(command),
            (_, 0xEC) if !self.parameters.is_empty() => self.expects(command),
            (_, 0x85) => self.expects(command),
            (0x00, 0x30) => self.reads_page(core, command),
            (0x00, 0x35) if self.can_copy => self.reads_page(core, command),
            (0x05, 0xE0) => self.moves_column(core),
            (0x80 | 0x85, 0x10) => self.executes(core),
            (0x60, 0xD0) => self.erases(core),
            (before, _) => core.refuse(match command {
                0x30 | 0x35 | 0xE0 | 0x10 | 0xD0 => {
                    format!("{command:02X}h: it ends no command that was begun (the last one was {before:02X}h)")
                }
                _ => format!("{command:02X}h: this part has no such command"),
            }),
        }
    }

    /// Addresses or data follow.
    fn expects(&mut self, command: u8) {
        self.command = command;
        self.address.clear();
    }

    fn resets(&mut self, core: &mut Core) {
        let busy_ns = match core.abort() {
            (_, true) => RESET_NS[2],
            (true, _) => RESET_NS[1],
            _ => RESET_NS[0],
        };
        self.forgets();
        core.has_failed = false;
        core.begin(Work::Inside, busy_ns);
    }

    fn addressed(&mut self, core: &mut Core, bytes: &[u8]) {
        if core.is_busy() {
            return core.refuse("an address came while the chip is busy");
        }
        self.address.extend_from_slice(bytes);
        if self.address.len() > 8 {
            self.address.truncate(8);
            return core.refuse("more cycles of an address came than there are");
        }
        let first = self.address[0];
        self.given = 0;
        match self.command {
            0x90 => self.output = if first == 0x20 { Output::Signature } else { Output::Identity },
            0xEC => self.gives_later(core, Output::Parameters, self.read_ns),
            0xED => self.gives_later(core, Output::Number, self.read_ns),
            0xEE => match self.feature(core, first) {
                Some(place) => self.gives_later(core, Output::Feature(place), FEATURE_NS),
                None => self.output = Output::Nothing,
            },
            0x80 => self.takes_place(core),
            0x85 => {
                self.column = self.column_of_address();
                if self.address.len() == COLUMN_CYCLES + self.row_cycles {
                    self.takes_place(core);
                }
            }
            0x00 | 0x05 | 0x60 | 0xEF => {}
            command => core.refuse(format!("an address came behind {command:02X}h, which takes none")),
        }
    }

    fn gives_later(&mut self, core: &mut Core, output: Output, busy_ns: u64) {
        (self.output, self.before) = (output, output);
        self.register.fill(0xFF);
        core.begin(Work::Inside, busy_ns);
    }

    fn feature(&self, core: &mut Core, address: u8) -> Option<usize> {
        let place = FEATURES.iter().position(|&known| known == address);
        if place.is_none() {
            core.refuse(format!("there is no feature {address:02X}h"));
        }
        place
    }

    fn column_of_address(&self) -> usize {
        let low = self.address.first().copied().unwrap_or(0);
        let high = self.address.get(1).copied().unwrap_or(0);
        usize::from(u16::from_le_bytes([low, high]))
    }

    fn row_of(&self, core: &mut Core, cycles: &[u8]) -> Option<u32> {
        let row = cycles.iter().rev().fold(0, |row, &byte| (row << 8) | u32::from(byte));
        if cycles.len() < self.row_cycles {
            core.refuse(format!("{} cycles of a row are needed, and {} came", self.row_cycles, cycles.len()));
            return None;
        }
        if row >= self.geometry.pages() {
            core.refuse(format!("page {row}: the chip has {}", self.geometry.pages()));
            return None;
        }
        Some(row)
    }

    /// Column and row, once all cycles have come.
    fn takes_place(&mut self, core: &mut Core) {
        self.column = self.column_of_address();
        if self.address.len() >= COLUMN_CYCLES + self.row_cycles {
            let cycles = self.address[COLUMN_CYCLES..].to_vec();
            match self.row_of(core, &cycles) {
                Some(row) => self.row = row,
                None => self.row = u32::MAX,
            }
        }
    }

    // ---- what they do ------------------------------------------------------------------------------------------------

    fn reads_page(&mut self, core: &mut Core, command: u8) {
        let cycles = self.address.get(COLUMN_CYCLES..).unwrap_or(&[]).to_vec();
        let Some(row) = self.row_of(core, &cycles) else { return };
        (self.column, self.row, self.command) = (self.column_of_address(), row, command);
        (self.output, self.before, self.has_data) = (Output::Register, Output::Register, true);
        let mut register = std::mem::take(&mut self.register);
        core.read_page(row, &mut register, self.read_ns);
        self.register = register;
    }

    fn moves_column(&mut self, core: &mut Core) {
        if self.address.len() < COLUMN_CYCLES {
            return core.refuse("05h: two cycles of a column are needed");
        }
        self.column = self.column_of_address();
        (self.output, self.before, self.command) = (Output::Register, Output::Register, 0xE0);
    }

    fn executes(&mut self, core: &mut Core) {
        self.command = 0x10;
        if self.row == u32::MAX || self.address.len() < COLUMN_CYCLES {
            return core.refuse("10h: no page was named");
        }
        self.output = Output::Nothing;
        let work = Work::Page { page: self.row, bytes: self.register.clone(), has_data: self.has_data };
        core.begin(work, self.program_ns);
    }

    fn erases(&mut self, core: &mut Core) {
        self.command = 0xD0;
        let cycles = self.address.clone();
        let Some(row) = self.row_of(core, &cycles) else { return };
        self.output = Output::Nothing;
        core.begin(Work::Block { block: row / self.geometry.pages_per_block }, self.erase_ns);
    }

    // ---- data --------------------------------------------------------------------------------------------------------

    fn written(&mut self, core: &mut Core, bytes: &[u8]) {
        if core.is_busy() {
            return core.refuse("data came while the chip is busy");
        }
        match self.command {
            0x80 | 0x85 => {
                let room = self.register.len().saturating_sub(self.column);
                let taken = bytes.len().min(room);
                if taken > 0 {
                    self.has_data |= self.column < self.geometry.page_bytes as usize;
                    self.register[self.column..self.column + taken].copy_from_slice(&bytes[..taken]);
                    self.column += taken;
                }
                if taken < bytes.len() {
                    core.refuse(format!("{} bytes came behind the end of the page", bytes.len() - taken));
                }
            }
            0xEF => match (self.address.first().copied(), bytes) {
                (Some(address), [a, b, c, d, ..]) => {
                    if let Some(place) = self.feature(core, address) {
                        self.features[place] = [*a, *b, *c, *d];
                        core.begin(Work::Inside, FEATURE_NS);
                    }
                }
                _ => core.refuse("EFh: an address and four bytes are needed"),
            },
            command => core.refuse(format!("data came behind {command:02X}h, which takes none")),
        }
    }

    fn read(&mut self, core: &mut Core, count: usize, taken: &mut Vec<u8>) {
        if self.output == Output::Status {
            let ready = if core.is_busy() { 0 } else { READY | (u8::from(core.has_failed) * FAILED) };
            return taken.extend(std::iter::repeat_n(NOT_PROTECTED | ready, count));
        }
        if core.is_busy() {
            taken.extend(std::iter::repeat_n(0xFF, count));
            return core.refuse("data were read while the chip is busy");
        }
        if self.output == Output::Register {
            let at = self.column.min(self.register.len());
            let end = (at + count).min(self.register.len());
            taken.extend_from_slice(&self.register[at..end]);
            taken.extend(std::iter::repeat_n(0xFF, count - (end - at)));
            self.column += count;
            return;
        }
        let signature = if self.parameters.is_empty() { &[][..] } else { &b"ONFI"[..] };
        let number: Vec<u8> = self.id.iter().cycle().take(16).copied().collect();
        let number = [number.clone(), number.iter().map(|byte| !byte).collect()].concat();
        let bytes = match self.output {
            Output::Identity => &self.id,
            Output::Signature => signature,
            Output::Parameters => &self.parameters,
            Output::Number => &number,
            Output::Feature(place) => &self.features[place][..],
            Output::Nothing | Output::Register | Output::Status => &[],
        };
        if bytes.is_empty() && self.output == Output::Nothing {
            core.refuse("data were read, and nothing has been asked for");
        }
        let then = if self.output == Output::Identity { 0 } else { 0xFF };
        taken.extend((self.given..self.given + count).map(|at| bytes.get(at).copied().unwrap_or(then)));
        self.given += count;
    }
}
