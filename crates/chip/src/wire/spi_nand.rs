//! SPI NAND: a page register between the cells and the bus, registers that are read and set as features, ECC in the chip.
//!
//! From Linux `include/linux/mtd/spinand.h` and `drivers/mtd/nand/spi/core.c` (commands, features, status), and data sheets as
//! Winbond's W25N01GV has them (locked after power-on, OTP area with the parameter page). What the ECC says is
//! [`ffslab_mtd::spi_nand::Encoding`], where its bytes stand [`ffslab_mtd::spi_nand::Layout`].
//!
//! **Leaves out.** The bytes of the code: what stands in their places reads as ones. Continuous reads, tables of replaced blocks,
//! writing the OTP area, protection of parts of the chip (a block protect bit protects all of it), the quad enable bit's effect.

use super::core::{Core, Work};
use super::identity::{MACRONIX, MICRON};
use super::onfi;
use super::spi::{dummy_bytes, Transfer};
use ffslab_flash::{Geometry, DAMAGED};
use ffslab_mtd::spi_nand::{Encoding, Registers, Wiring, STEP_BYTES};
use ffslab_mtd::OobLayout;
use ffslab_profiles::{SpiMode, SpiNandPart};

const BUSY: u8 = 1;
const ENABLED: u8 = 2;
const ERASE_FAILED: u8 = 4;
const PROGRAM_FAILED: u8 = 8;
/// Addresses of the features.
const PROTECTION: u8 = 0xA0;
const CONFIGURATION: u8 = 0xB0;
const STATUS: u8 = 0xC0;
const DIE: u8 = 0xD0;
/// Where GigaDevice, and where Toshiba and Winbond, say more of the ECC.
const FURTHER: [u8; 2] = [0xF0, 0x30];
/// Block protect bits. All of them are set when power comes.
const PROTECTED: u8 = 0x78;
const OTP: u8 = 0x40;
const ECC: u8 = 0x10;
const BUFFERED: u8 = 0x08;
/// Page of the OTP area that holds the parameter page.
const PARAMETER_PAGE: u32 = 1;
/// tRST while nothing goes on, in a program, in an erase (ONFI).
const RESET_NS: [u64; 3] = [5_000, 10_000, 500_000];

/// What goes on that changes cells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Running {
    Program,
    Erase,
}

pub(super) struct SpiNand {
    id: Vec<u8>,
    geometry: Geometry,
    layout: OobLayout,
    encoding: Encoding,
    strength_bits: u32,
    /// Opcode of a read from the register, with the bytes of its dummies.
    reads: Vec<(u8, usize)>,
    /// Opcodes of loads that begin with ones, and of those that leave the rest.
    loads: Vec<(u8, bool)>,
    dies: u32,
    read_ns: u64,
    read_ecc_off_ns: u64,
    program_ns: u64,
    erase_ns: u64,
    parameters: Vec<u8>,
    register: Vec<u8>,
    has_data: bool,
    protection: u8,
    configuration: u8,
    die: u32,
    found: Registers,
    is_enabled: bool,
    running: Option<Running>,
    failed: u8,
}

impl SpiNand {
    pub fn new(id: &[u8], name: &str, part: &SpiNandPart, wiring: &Wiring, geometry: Geometry) -> Option<SpiNand> {
        let opcode = |mode: SpiMode| match mode {
            SpiMode::S111 => Some(0x0B),
            SpiMode::S112 => Some(0x3B),
            SpiMode::S122 => Some(0xBB),
            SpiMode::S114 => Some(0x6B),
            SpiMode::S144 => Some(0xEB),
            _ => None,
        };
        let wide = part
            .reads
            .iter()
            .filter_map(|read| Some((opcode(read.mode)?, dummy_bytes(read.dummy_cycles, read.mode.address_lines()))));
        let is_quad = part.programs.iter().any(|mode| mode.data_lines() == 4);
        let quad: &[(u8, bool)] = if is_quad { &[(0x32, true), (0x34, false)] } else { &[] };
        let mut array = part.array.clone();
        array.geometry = geometry;
        let said = onfi::Said { id, model: name, row_cycles: 3, optional: 4, ecc_bits: 0 };
        let mut made = SpiNand {
            layout: wiring.layout.of(&geometry)?,
            encoding: wiring.encoding,
            strength_bits: wiring.strength_bits,
            reads: [(0x03, 1)].into_iter().chain(wide).collect(),
            loads: [&[(0x02, true), (0x84, false)], quad].concat(),
            dies: wiring.dies,
            read_ns: array.read_ns,
            read_ecc_off_ns: part.read_ecc_off_ns.unwrap_or(array.read_ns),
            program_ns: array.program_ns,
            erase_ns: array.erase_ns,
            parameters: onfi::pages(&array, &said),
            register: vec![0xFF; (geometry.page_bytes + geometry.oob_bytes) as usize],
            id: id.to_vec(),
            geometry,
            has_data: false,
            protection: 0,
            configuration: 0,
            die: 0,
            found: Registers::default(),
            is_enabled: false,
            running: None,
            failed: 0,
        };
        made.restart();
        Some(made)
    }

    pub fn restart(&mut self) {
        self.register.fill(0xFF);
        (self.protection, self.configuration, self.die) = (PROTECTED, ECC | BUFFERED, 0);
        (self.found, self.failed, self.running) = (Registers::default(), 0, None);
        (self.is_enabled, self.has_data) = (false, false);
    }

    /// The chip is selected, and something is sent and taken.
    pub fn transfer(&mut self, core: &mut Core, mut bus: Transfer) {
        let Some(&command) = bus.sent.first() else { return bus.gives_nothing() };
        self.looks_back(core);
        match command {
            0x0F => {
                let Some(address) = bus.address(1) else { return bus.gives_nothing() };
                let value = self.feature(core, address as u8);
                bus.gives_ever(2, value.unwrap_or(0));
                if value.is_none() {
                    core.refuse(format!("0Fh: there is no feature {address:02X}h"));
                }
            }
            0xFF => self.resets(core),
            _ if core.is_busy() => {
                bus.gives_nothing();
                core.refuse(format!("{command:02X}h: the chip is busy, and takes 0Fh and FFh alone"));
            }
            _ => self.ready(core, command, bus),
        }
    }

    /// What went on may be over: it has failed or not, and takes the write enable with it.
    fn looks_back(&mut self, core: &Core) {
        if core.is_busy() {
            return;
        }
        if let Some(running) = self.running.take() {
            self.is_enabled = false;
            let failed = if running == Running::Erase { ERASE_FAILED } else { PROGRAM_FAILED };
            self.failed |= if core.has_failed { failed } else { 0 };
        }
    }

    fn resets(&mut self, core: &mut Core) {
        let busy_ns = match core.abort() {
            (_, true) => RESET_NS[2],
            (true, _) => RESET_NS[1],
            _ => RESET_NS[0],
        };
        (self.found, self.failed, self.running, self.is_enabled) = (Registers::default(), 0, None, false);
        self.configuration &= !OTP;
        core.begin(Work::Inside, busy_ns);
    }

    fn ready(&mut self, core: &mut Core, command: u8, mut bus: Transfer) {
        match command {
            // A byte of dummies, or of an address that is 0, stands before the identity.
            0x9F => bus.gives(2, &self.id, 0),
            0x06 => self.is_enabled = true,
            0x04 => self.is_enabled = false,
            0x1F => self.sets_feature(core, &bus),
            0x13 => self.reads_page(core, &bus),
            0x10 => self.executes(core, &bus),
            0xD8 => self.erases(core, &bus),
            0x7C if self.id[0] == MACRONIX => bus.gives_ever(2, self.found.further),
            0xC2 if self.dies > 1 && self.id[0] != MICRON => self.selects(core, bus.sent.get(1).copied()),
            _ => {
                if let Some(&(_, dummies)) = self.reads.iter().find(|(known, _)| *known == command) {
                    return self.gives_register(core, command, dummies, bus);
                }
                if let Some(&(_, begins)) = self.loads.iter().find(|(known, _)| *known == command) {
                    return self.loads_register(core, command, begins, &bus);
                }
                bus.gives_nothing();
                core.refuse(format!("{command:02X}h: this part has no such command"));
            }
        }
    }

    // ---- features --------------------------------------------------------------------------------------------------

    fn feature(&self, core: &Core, address: u8) -> Option<u8> {
        Some(match address {
            PROTECTION => self.protection,
            CONFIGURATION => self.configuration,
            STATUS => {
                let enabled = if self.is_enabled { ENABLED } else { 0 };
                self.found.status | self.failed | enabled | if core.is_busy() { BUSY } else { 0 }
            }
            DIE => (self.die as u8) << 6,
            _ if FURTHER.contains(&address) => self.found.further,
            _ => return None,
        })
    }

    fn sets_feature(&mut self, core: &mut Core, bus: &Transfer) {
        let &[address, value, ..] = bus.data(1) else {
            return core.refuse("1Fh: an address and a value are needed");
        };
        match address {
            PROTECTION => self.protection = value,
            CONFIGURATION => {
                self.configuration = value;
                if value & BUFFERED == 0 && self.has_buffer_bit() {
                    core.refuse("1Fh: continuous reads (BUF = 0) are left out here: reads stay within a page");
                }
            }
            DIE if self.dies > 1 && self.id[0] == MICRON => self.selects(core, Some(value >> 6 & 1)),
            DIE => {}
            _ => core.refuse(format!("1Fh: there is no feature {address:02X}h that could be set")),
        }
    }

    /// Winbond has a bit that switches continuous reads off.
    fn has_buffer_bit(&self) -> bool {
        self.id[0] == 0xEF
    }

    fn selects(&mut self, core: &mut Core, die: Option<u8>) {
        match die.map(u32::from) {
            Some(die) if die < self.dies => self.die = die,
            _ => core.refuse(format!("there are {} dies, from 0 on", self.dies)),
        }
    }

    // ---- the register ----------------------------------------------------------------------------------------------

    /// The bits of a column that choose a byte; those above choose a plane.
    fn column(&self, address: u32) -> usize {
        address as usize & ((self.register.len()).next_power_of_two() - 1)
    }

    fn gives_register(&mut self, core: &mut Core, command: u8, dummies: usize, mut bus: Transfer) {
        let Some(address) = bus.address(2) else {
            bus.gives_nothing();
            return core.refuse(format!("{command:02X}h: two bytes of address are needed"));
        };
        let column = self.column(address);
        bus.gives(3 + dummies, self.register.get(column..).unwrap_or(&[]), 0xFF);
    }

    fn loads_register(&mut self, core: &mut Core, command: u8, begins: bool, bus: &Transfer) {
        let Some(address) = bus.address(2) else {
            return core.refuse(format!("{command:02X}h: two bytes of address are needed"));
        };
        if begins {
            self.register.fill(0xFF);
            self.has_data = false;
        }
        let (column, data) = (self.column(address), bus.data(3));
        self.has_data |= column < self.geometry.page_bytes as usize && !data.is_empty();
        let room = self.register.len().saturating_sub(column);
        let taken = data.len().min(room);
        if taken > 0 {
            self.register[column..column + taken].copy_from_slice(&data[..taken]);
        }
        if taken < data.len() {
            core.refuse(format!("{command:02X}h: {} bytes came behind the end of the page", data.len() - taken));
        }
    }

    /// The page of an address, in the die that is chosen.
    fn page(&self, core: &mut Core, bus: &Transfer) -> Option<u32> {
        let pages = self.geometry.pages() / self.dies;
        match bus.address(3) {
            Some(page) if page < pages => Some(self.die * pages + page),
            Some(page) => {
                core.refuse(format!("page {page}: the chip has {pages}"));
                None
            }
            None => {
                core.refuse("three bytes of address are needed");
                None
            }
        }
    }

    fn reads_page(&mut self, core: &mut Core, bus: &Transfer) {
        let has_ecc = self.configuration & ECC != 0;
        let busy_ns = if has_ecc { self.read_ns } else { self.read_ecc_off_ns };
        self.has_data = true;
        self.found = Registers::default();
        if self.encoding == Encoding::Xtx {
            // Its status has the ECC where it has these.
            self.failed = 0;
        }
        if self.configuration & OTP != 0 {
            self.register.fill(0xFF);
            if bus.address(3) == Some(PARAMETER_PAGE) {
                let count = self.parameters.len().min(self.register.len());
                self.register[..count].copy_from_slice(&self.parameters[..count]);
            }
            return core.begin(Work::Inside, busy_ns);
        }
        let Some(page) = self.page(core, bus) else { return };
        let mut register = std::mem::take(&mut self.register);
        let flips = core.read_page(page, &mut register, busy_ns);
        if flips != 0 && has_ecc {
            self.found = self.encoding.registers(self.corrected(core, flips, &mut register));
        }
        self.register = register;
    }

    /// Corrects what the code can. Flips in the worst step; `None`: there are too many.
    #[cold]
    fn corrected(&self, core: &Core, flips: u32, register: &mut [u8]) -> Option<u32> {
        if flips == DAMAGED {
            return None;
        }
        let page_bytes = self.geometry.page_bytes;
        let bits = core.flipped();
        let step_of = |bit: u32| match (bit / 8).checked_sub(page_bytes) {
            None => Some(bit / 8 / STEP_BYTES),
            Some(of_oob) => self.layout.step_of_byte(of_oob as usize),
        };
        let mut worst = vec![0; (page_bytes / STEP_BYTES) as usize];
        bits.iter().filter_map(|&bit| step_of(bit)).for_each(|step| worst[step as usize] += 1);
        for &bit in &bits {
            if step_of(bit).is_some_and(|step| worst[step as usize] <= self.strength_bits) {
                register[bit as usize / 8] ^= 1 << (bit % 8);
            }
        }
        let most = worst.into_iter().max().unwrap_or(0);
        (most <= self.strength_bits).then_some(most)
    }

    // ---- programs and erases -----------------------------------------------------------------------------------------

    /// Whether the chip may be written. What is protected has failed.
    fn may_write(&mut self, core: &mut Core, command: u8, failed: u8) -> bool {
        if !self.is_enabled {
            core.refuse(format!("{command:02X}h: write enable (06h) must come before it"));
            return false;
        }
        if self.protection & PROTECTED != 0 {
            (self.failed, self.is_enabled) = (self.failed | failed, false);
            core.refuse(format!("{command:02X}h: all blocks are protected: set feature A0h to 0 first"));
            return false;
        }
        self.failed &= !failed;
        self.found = Registers::default();
        true
    }

    fn executes(&mut self, core: &mut Core, bus: &Transfer) {
        if !self.may_write(core, 0x10, PROGRAM_FAILED) {
            return;
        }
        if self.configuration & OTP != 0 {
            (self.failed, self.is_enabled) = (self.failed | PROGRAM_FAILED, false);
            return core.refuse("10h: the OTP area is not written here");
        }
        let Some(page) = self.page(core, bus) else { return };
        let mut bytes = self.register.clone();
        if self.configuration & ECC != 0 {
            let oob = bytes.iter_mut().skip(self.geometry.page_bytes as usize).enumerate();
            oob.filter(|(at, _)| self.layout.step_of_byte(*at).is_some()).for_each(|(_, byte)| *byte = 0xFF);
        }
        self.running = Some(Running::Program);
        core.begin(Work::Page { page, bytes, has_data: self.has_data }, self.program_ns);
    }

    fn erases(&mut self, core: &mut Core, bus: &Transfer) {
        if !self.may_write(core, 0xD8, ERASE_FAILED) {
            return;
        }
        let Some(page) = self.page(core, bus) else { return };
        self.running = Some(Running::Erase);
        core.begin(Work::Block { block: page / self.geometry.pages_per_block }, self.erase_ns);
    }
}
