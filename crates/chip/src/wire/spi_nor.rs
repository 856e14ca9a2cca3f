//! Serial NOR: the commands that parts of all vendors share.
//!
//! From data sheets as Winbond's W25Q128JV has them (registers, write enable, suspend, power-down, four-byte addresses as W25Q256),
//! JESD216 for what stands in SFDP, and Linux `drivers/mtd/spi-nor/core.c` for the numbers of the commands. Each says in
//! docs/chip-serve.md what it answers.
//!
//! **Leaves out.** Registers that keep their value without power, one-time programmable areas, locks of single blocks, QPI and
//! double rates, the quad enable bit's effect (four lines always work), wrapped bursts.

use super::core::{Core, Work};
use super::identity::{self, MICRON_NOR};
use super::sfdp;
use super::spi::{dummy_bytes, Transfer};
use ffslab_flash::NorTiming;
use ffslab_profiles::{SpiMode, SpiNorPart};

const BUSY: u8 = 1;
const ENABLED: u8 = 2;
const SUSPENDED: u8 = 0x80;
/// Bits of the first status register that protect blocks from the end of the chip on.
const PROTECTED: u8 = 0x1C;
/// Bits of the first and second status register that can be written.
const FIRST_BITS: u8 = 0xFC;
const SECOND_BITS: u8 = 0x7B;
/// A status register is written (tW); W25Q128JV says 10 ms, typically. No profile has it.
const REGISTER_NS: u64 = 10_000_000;
/// Power-down, and out of it (tDP, tRES1); a suspend (tSUS); a reset (tRST): those of W25Q128JV.
const DOWN_NS: u64 = 3_000;
const SUSPEND_NS: u64 = 20_000;
const RESET_NS: u64 = 30_000;
/// Bytes that the command 52h erases; how long is not in profiles, so that it takes as long as a whole block.
const HALF_BYTES: u32 = 32 << 10;

/// How far it is with the two commands of a reset.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reset {
    No,
    Armed,
}

pub(super) struct SpiNor {
    id: Vec<u8>,
    sfdp: Vec<u8>,
    size: u64,
    page: usize,
    /// What the cells are erased by, and a block of the command D8h.
    unit_bytes: u32,
    block_bytes: u32,
    block_erase_ns: u64,
    cells: NorTiming,
    can_suspend: bool,
    /// Opcode of a read, with the bytes of its dummies.
    reads: Vec<(u8, usize)>,
    programs: Vec<u8>,
    first: u8,
    second: u8,
    third: u8,
    is_enabled: bool,
    /// What goes on takes the write enable away when it is over.
    ends_enable: bool,
    has_four_bytes: bool,
    /// The upper byte of three-byte addresses.
    extended: u8,
    is_down: bool,
    reset: Reset,
}

/// Opcodes of the ways to read, with three and with four bytes of address.
fn read_opcodes(mode: SpiMode) -> Option<(u8, u8)> {
    Some(match mode {
        SpiMode::S111 => (0x0B, 0x0C),
        SpiMode::S112 => (0x3B, 0x3C),
        SpiMode::S122 => (0xBB, 0xBC),
        SpiMode::S114 => (0x6B, 0x6C),
        SpiMode::S144 => (0xEB, 0xEC),
        _ => return None,
    })
}

/// Opcodes of ways to program, as [`read_opcodes`].
fn program_opcodes(mode: SpiMode) -> Option<(u8, u8)> {
    Some(match mode {
        SpiMode::S111 => (0x02, 0x12),
        SpiMode::S114 => (0x32, 0x34),
        SpiMode::S144 => (0x38, 0x3E),
        _ => return None,
    })
}

impl SpiNor {
    /// `unit_bytes`: what the cells are erased by, and how long that takes stands in `cells`.
    pub fn new(id: &[u8], part: &SpiNorPart, unit_bytes: u32, cells: NorTiming) -> SpiNor {
        let size = u64::from(part.array.erase_block_bytes) * u64::from(part.array.blocks);
        let is_large = size > 1 << 24;
        let mut reads = vec![(0x03, 0)];
        for read in &part.reads {
            let dummies = dummy_bytes(read.dummy_cycles, read.mode.address_lines());
            if let Some((three, four)) = read_opcodes(read.mode) {
                reads.extend([Some((three, dummies)), is_large.then_some((four, dummies))].into_iter().flatten());
            }
        }
        reads.extend(is_large.then_some((0x13, 0)));
        let pairs = part.programs.iter().filter_map(|&mode| program_opcodes(mode));
        let programs = pairs.flat_map(|(three, four)| [Some(three), is_large.then_some(four)]).flatten().collect();
        SpiNor {
            sfdp: if identity::has_sfdp(id) { sfdp::of(id, part) } else { Vec::new() },
            id: id.to_vec(),
            size,
            page: part.program_page_bytes as usize,
            unit_bytes,
            block_bytes: part.array.erase_block_bytes,
            block_erase_ns: part.array.erase_ns,
            cells,
            can_suspend: part.array.erase_suspend,
            reads,
            programs,
            first: 0,
            second: 0,
            third: 0,
            is_enabled: false,
            ends_enable: false,
            has_four_bytes: false,
            extended: 0,
            is_down: false,
            reset: Reset::No,
        }
    }

    pub fn restart(&mut self) {
        (self.first, self.second, self.third, self.is_enabled, self.ends_enable) = (0, 0, 0, false, false);
        (self.has_four_bytes, self.extended, self.is_down, self.reset) = (false, 0, false, Reset::No);
    }

    /// The chip is selected, and something is sent and taken.
    pub fn transfer(&mut self, core: &mut Core, mut bus: Transfer) {
        let Some(&command) = bus.sent.first() else { return bus.gives_nothing() };
        let reset = std::mem::replace(&mut self.reset, Reset::No);
        if self.ends_enable && !core.is_busy() {
            (self.is_enabled, self.ends_enable) = (false, false);
        }
        if self.is_down && command != 0xAB {
            bus.gives_nothing();
            return core.refuse(format!("{command:02X}h: the chip is powered down, and takes ABh alone"));
        }
        match command {
            0x05 => bus.gives_ever(1, self.first | self.running(core)),
            0x35 => bus.gives_ever(1, self.second | if core.suspended.is_some() { SUSPENDED } else { 0 }),
            0x15 => bus.gives_ever(1, self.third),
            0x70 if self.id[0] == MICRON_NOR => bus.gives_ever(1, self.flags(core)),
            0x66 => self.reset = Reset::Armed,
            0x99 if reset == Reset::Armed => self.restarts(core),
            0x75 | 0x7A if self.can_suspend => self.suspends(core, command, &mut bus),
            _ if core.is_busy() => {
                bus.gives_nothing();
                core.refuse(format!("{command:02X}h: the chip is busy, and gives its status alone"));
            }
            _ => self.ready(core, command, bus),
        }
    }

    fn running(&self, core: &Core) -> u8 {
        let enabled = if self.is_enabled { ENABLED } else { 0 };
        enabled | if core.is_busy() { BUSY } else { 0 }
    }

    /// The flag status register of Micron's parts.
    fn flags(&self, core: &Core) -> u8 {
        let ready = if core.is_busy() { 0 } else { 0x80 };
        ready | if core.suspended.is_some() { 0x40 } else { 0 } | u8::from(self.has_four_bytes)
    }

    fn restarts(&mut self, core: &mut Core) {
        core.abort();
        self.restart();
        core.begin(Work::Inside, RESET_NS);
    }

    fn suspends(&mut self, core: &mut Core, command: u8, bus: &mut Transfer) {
        bus.gives_nothing();
        if command == 0x75 {
            if core.suspend() {
                core.begin(Work::Inside, SUSPEND_NS);
            } else {
                core.refuse("75h: nothing goes on that could be suspended");
            }
        } else if core.is_busy() || !core.resume() {
            core.refuse("7Ah: nothing is suspended, or the chip is busy");
        }
    }

    // ---- commands of a chip that is ready ----------------------------------------------------------------------------

    fn ready(&mut self, core: &mut Core, command: u8, mut bus: Transfer) {
        match command {
            0x9F => bus.gives(1, &self.id, 0),
            0x90 => {
                let both = [self.id[0], self.number()];
                let (from, into) = bus.answer(4);
                into.iter_mut().enumerate().for_each(|(at, byte)| *byte = both[(from + at) % 2]);
            }
            0xAB => {
                if std::mem::take(&mut self.is_down) {
                    core.begin(Work::Inside, DOWN_NS);
                }
                bus.gives_ever(4, self.number());
            }
            0x4B => {
                let number: Vec<u8> = self.id.iter().cycle().take(8).copied().collect();
                bus.gives(5, &number, 0);
            }
            0x5A if !self.sfdp.is_empty() => {
                let at = bus.address(3).unwrap_or(0) as usize;
                let table = self.sfdp.get(at..).unwrap_or(&[]).to_vec();
                bus.gives(5, &table, 0xFF);
            }
            0x06 | 0x50 => self.is_enabled = true,
            0x04 => self.is_enabled = false,
            0x01 | 0x31 | 0x11 => self.writes_register(core, command, &bus),
            0xB9 => {
                self.is_down = true;
            }
            0xB7 | 0xE9 if self.is_large() => self.has_four_bytes = command == 0xB7,
            0xC8 if self.is_large() => bus.gives_ever(1, self.extended),
            0xC5 if self.is_large() => {
                if self.takes_enable(core, command) {
                    self.extended = bus.sent.get(1).copied().unwrap_or(0);
                }
            }
            0x20 | 0x21 | 0x52 | 0x5C | 0xD8 | 0xDC | 0xC7 | 0x60 => self.erases(core, command, &bus),
            _ if self.programs.contains(&command) => self.programs_bytes(core, command, &bus),
            _ => match self.reads.iter().find(|(known, _)| *known == command) {
                Some(&(_, dummies)) => self.gives_bytes(core, command, dummies, bus),
                None => {
                    bus.gives_nothing();
                    core.refuse(format!("{command:02X}h: this part has no such command"));
                }
            },
        }
    }

    fn is_large(&self) -> bool {
        self.size > 1 << 24
    }

    /// The number of the part that ABh and 90h give: one less than the third byte of the identity.
    fn number(&self) -> u8 {
        self.id.get(2).copied().unwrap_or(0).wrapping_sub(1)
    }

    fn address_bytes(&self, command: u8) -> usize {
        match command {
            0x13 | 0x0C | 0x3C | 0xBC | 0x6C | 0xEC | 0x12 | 0x34 | 0x3E | 0x21 | 0x5C | 0xDC => 4,
            _ if self.has_four_bytes => 4,
            _ => 3,
        }
    }

    /// The place that a command names; where less than its address was sent it does nothing.
    fn place(&self, core: &mut Core, command: u8, bus: &Transfer) -> Option<u64> {
        let bytes = self.address_bytes(command);
        let Some(address) = bus.address(bytes) else {
            core.refuse(format!(
                "{command:02X}h: {bytes} bytes of address are needed, and {} came",
                bus.sent.len() - 1
            ));
            return None;
        };
        let upper = if bytes == 3 && self.is_large() { u64::from(self.extended) << 24 } else { 0 };
        Some((u64::from(address) | upper) % self.size)
    }

    fn gives_bytes(&mut self, core: &mut Core, command: u8, dummies: usize, mut bus: Transfer) {
        let Some(at) = self.place(core, command, &bus) else { return bus.gives_nothing() };
        let head = 1 + self.address_bytes(command) + dummies;
        let (from, into) = bus.answer(head);
        if into.is_empty() {
            return;
        }
        let at = (at + from as u64) % self.size;
        if self.is_waiting(core, at, into.len() as u64) {
            into.fill(0xFF);
            return core.refuse(format!("{command:02X}h: what stands there is being changed, and that is suspended"));
        }
        core.read_bytes(at, into);
    }

    /// Whether a suspended program or erase is about to change these bytes.
    fn is_waiting(&self, core: &Core, at: u64, bytes: u64) -> bool {
        let Some(suspended) = &core.suspended else { return false };
        let (from, count) = match &suspended.work {
            Work::Blocks { at, blocks, .. } => (*at, u64::from(*blocks) * u64::from(self.unit_bytes)),
            Work::Bytes { at, bytes } => (*at, bytes.len() as u64),
            _ => return false,
        };
        at < from + count && from < at + bytes
    }

    /// Whether the chip may be written; a write enable lasts for one command.
    fn takes_enable(&mut self, core: &mut Core, command: u8) -> bool {
        if !self.is_enabled {
            core.refuse(format!("{command:02X}h: write enable (06h) must come before it"));
        }
        std::mem::take(&mut self.is_enabled)
    }

    /// BP2 to BP0: nothing, a 64th, a 32nd ... a half of the chip from its end, all of it.
    fn is_protected(&self, at: u64, bytes: u64) -> bool {
        match (self.first & PROTECTED) >> 2 {
            0 => false,
            part => at + bytes > self.size - (self.size >> (7 - part)),
        }
    }

    /// Something that needs a write enable begins.
    fn begins(&mut self, core: &mut Core, work: Work, busy_ns: u64) {
        (self.is_enabled, self.ends_enable) = (true, true);
        core.begin(work, busy_ns);
    }

    fn programs_bytes(&mut self, core: &mut Core, command: u8, bus: &Transfer) {
        if !self.takes_enable(core, command) {
            return;
        }
        let Some(at) = self.place(core, command, bus) else { return };
        // Lines of the address do not change its bytes.
        let data = bus.data(1 + self.address_bytes(command));
        if data.is_empty() {
            return core.refuse(format!("{command:02X}h: no byte to program came"));
        }
        if self.is_protected(at, data.len() as u64) {
            return core.refuse(format!("{command:02X}h: byte {at:#x} is protected by the status register"));
        }
        if self.is_waiting(core, at, data.len() as u64) || core.suspended.as_ref().is_some_and(|s| !s.work.is_erase()) {
            return core.refuse(format!("{command:02X}h: not while a change of it, or a program, is suspended"));
        }
        let column = (at % self.page as u64) as usize;
        let (at, bytes) = if column + data.len() <= self.page {
            (at, data.to_vec())
        } else {
            // It wraps around at the end of the page, and later bytes replace earlier ones.
            let mut page = vec![0xFF; self.page];
            data.iter().enumerate().for_each(|(offset, &byte)| page[(column + offset) % self.page] = byte);
            (at - column as u64, page)
        };
        let busy_ns = self.cells.program_ns(bytes.len());
        self.begins(core, Work::Bytes { at, bytes }, busy_ns);
    }

    fn erases(&mut self, core: &mut Core, command: u8, bus: &Transfer) {
        let (bytes, erase_ns) = match command {
            0x20 | 0x21 => (4 << 10, self.cells.erase_ns),
            0x52 | 0x5C => (HALF_BYTES, self.block_erase_ns),
            0xD8 | 0xDC => (self.block_bytes, self.block_erase_ns),
            _ => (0, self.block_erase_ns * (self.size / u64::from(self.block_bytes))),
        };
        let is_long = matches!(command, 0x21 | 0x5C | 0xDC);
        if bytes != 0 && bytes < self.unit_bytes || is_long && !self.is_large() {
            return core.refuse(format!("{command:02X}h: this part has no such command"));
        }
        if !self.takes_enable(core, command) {
            return;
        }
        let (at, bytes) = match bytes {
            0 => (0, self.size),
            bytes => {
                let Some(at) = self.place(core, command, bus) else { return };
                (at - at % u64::from(bytes), u64::from(bytes))
            }
        };
        if self.is_protected(at, bytes) {
            return core.refuse(format!("{command:02X}h: a block at {at:#x} is protected by the status register"));
        }
        if core.suspended.is_some() {
            return core.refuse(format!("{command:02X}h: not while an erase or a program is suspended"));
        }
        let blocks = (bytes / u64::from(self.unit_bytes)) as u32;
        self.begins(core, Work::Blocks { at, blocks, erase_ns }, erase_ns);
    }

    fn writes_register(&mut self, core: &mut Core, command: u8, bus: &Transfer) {
        if !self.takes_enable(core, command) {
            return;
        }
        match (command, bus.data(1)) {
            (_, []) => return core.refuse(format!("{command:02X}h: no byte for the register came")),
            (0x01, [first, rest @ ..]) => {
                self.first = first & FIRST_BITS;
                if let [second, ..] = rest {
                    self.second = second & SECOND_BITS;
                }
            }
            (0x31, [second, ..]) => self.second = second & SECOND_BITS,
            (_, [third, ..]) => self.third = *third,
        }
        self.begins(core, Work::Inside, REGISTER_NS);
    }
}
