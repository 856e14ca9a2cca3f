//! The chip as a part on its bus: it takes commands and answers bytes, as a data sheet says, for firmware that brings its own driver.
//!
//! [`Wire`] is a part with its cells, [`Client`] one connection to it. SPI NOR, SPI NAND and raw NAND have a file each; what they share
//! stands in `core.rs`. The cells, their wear, faults and power cuts are those of [`Chip`]. The client's clock drives the chip: each
//! request says when it comes, and a chip that is not ready yet says so. Nothing on the bus takes time but what the clients say.

mod causes;
mod core;
mod frames;
mod identity;
mod onfi;
mod raw_nand;
mod requests;
mod sfdp;
mod spi;
mod spi_nand;
mod spi_nor;

pub use frames::{GREETING, VERSION};
pub use requests::Client;

use crate::{Chip, ChipError, MediumImage, Torn};
use causes::Causes;
use core::{Core, Cut};
use ffslab_flash::Faults;
use ffslab_lab::session::SessionResult;
use ffslab_machine::fault_keys::FaultKeys;
use ffslab_machine::media;
use ffslab_profiles::{is_path, PartKind, Profile};
use raw_nand::RawNand;
use spi_nand::SpiNand;
use spi_nor::SpiNor;
use std::ops::Range;
use std::path::Path;

/// Boards on which the parts are, for what a machine needs beside a chip: none of their times counts.
const SPI_BOARD: &str = "luckfox-pico-max";
const NAND_BOARD: &str = "zero-overhead";

/// How a part is asked for.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Name or file of a part's profile.
    pub part: String,
    /// Other keys of `[stack]`: `chip_blocks`; and `faults`.
    pub settings: toml::Table,
    /// What the part says of itself; `None`: what is known of the part.
    pub id: Option<Vec<u8>>,
    /// Bytes of the chip, and the cause of what is done there.
    pub causes_by_bytes: Vec<(Range<u64>, String)>,
}

enum Part {
    Nor(Box<SpiNor>),
    SpiNand(Box<SpiNand>),
    Nand(Box<RawNand>),
}

/// A part on its bus.
pub struct Wire {
    core: Core,
    part: Part,
    name: String,
    kept: Option<MediumImage>,
}

fn wrong(text: impl Into<String>) -> ChipError {
    ChipError::Input(text.into())
}

impl Wire {
    /// A part, erased, or as it was when [`Wire::held`] was called.
    ///
    /// Errors: a part that there is not, or that is not served; settings that do not fit; bytes of another chip.
    pub fn open(wanted: &Wanted, held: Option<&[u8]>) -> Result<Wire, ChipError> {
        let here = Path::new(".");
        let asked =
            |board| Profile::load(board, Some(&wanted.part), None, here).map_err(|error| wrong(error.to_string()));
        let profile = match asked(NAND_BOARD) {
            Ok(profile) if profile.part.kind() == PartKind::Nand => profile,
            _ => asked(SPI_BOARD)?,
        };
        let name = profile.part_name.clone();
        check_served(&profile)?;
        let id = identity_of(wanted, &profile)?;
        let keys = keys_of(wanted, &profile)?;
        let chip = Chip::of_keys(keys, held)?;
        let mut core = Core::new(chip, Causes::new(&wanted.causes_by_bytes)?)?;
        core.causes.register(&core.chip);
        if let Some(faults) = faults_of(wanted)? {
            core.takes_faults(&faults)?;
        }
        core.chip.begin_step("serve")?;
        let part = part_of(&profile, &id, &mut core)?;
        Ok(Wire { core, part, name, kept: None })
    }

    // ---- what it is ------------------------------------------------------------------------------------------------

    pub fn part_name(&self) -> &str {
        &self.name
    }

    /// What the greeting says of the bus: 1 serial NOR, 2 SPI NAND, 3 raw NAND.
    pub fn bus(&self) -> u16 {
        match self.part {
            Part::Nor(_) => 1,
            Part::SpiNand(_) => 2,
            Part::Nand(_) => 3,
        }
    }

    /// Bytes of the chip, without out-of-band areas.
    pub fn size_bytes(&self) -> u64 {
        self.core.chip.size_bytes()
    }

    /// Transactions, programs and erases that were begun, and what the chip did not do.
    pub fn counts(&self) -> [u64; 3] {
        [self.core.transactions, self.core.operations, self.core.refusals]
    }

    /// The last thing that it did not do, and why.
    pub fn why(&self) -> &str {
        &self.core.why
    }

    /// The keys of its machine, as an experiment would say them.
    pub fn keys(&self) -> &ffslab_machine::StackTable {
        self.core.chip.session.keys()
    }

    // ---- power and contents ----------------------------------------------------------------------------------------

    /// The power goes at this program or erase from now on; 0: at once.
    pub fn cut_after(&mut self, operations: u64, torn: Torn) {
        self.core.cut_after(Cut { operations, torn });
    }

    pub fn is_powered(&self) -> bool {
        self.core.is_on
    }

    /// Power comes back, and the part begins anew: its registers are as they are then.
    pub fn power_on(&mut self) {
        self.core.switch_on();
        match &mut self.part {
            Part::Nor(part) => part.restart(),
            Part::SpiNand(part) => part.restart(),
            Part::Nand(part) => part.restart(),
        }
    }

    /// Nobody asks for anything more: what goes on comes to its end, if there is power.
    pub fn end(&mut self) {
        self.core.ends();
        self.core.chip.session.end_step();
    }

    /// What the cells hold, wear included, for [`Wire::open`].
    ///
    /// Errors: it cannot be copied.
    pub fn held(&self) -> Result<Vec<u8>, ChipError> {
        Ok(self.core.chip.session.held()?)
    }

    /// The bytes in the cells, of NAND each page followed by its out-of-band area.
    ///
    /// Errors: it cannot be read.
    pub fn dump(&self) -> Result<Vec<u8>, ChipError> {
        let has_oob = self.core.chip.capabilities().oob_bytes > 0;
        self.core.chip.mtd.image(has_oob).map_err(|error| wrong(error.to_string()))
    }

    /// Puts bytes into the cells, as a programmer does before the chip is soldered: of the whole chip or of its beginning, of NAND with
    /// or without out-of-band areas.
    ///
    /// Errors: a size that is none of these.
    pub fn load(&mut self, name: &str, bytes: &[u8]) -> Result<(), ChipError> {
        let size = self.size_bytes();
        let mtd = &self.core.chip.mtd;
        let Some(part) = mtd.nand() else {
            if bytes.len() as u64 > size {
                return Err(wrong(format!("{name}: {} bytes are more than the {size} of the chip", bytes.len())));
            }
            return mtd.amend(0, bytes).map_err(ChipError::from);
        };
        let geometry = part.geometry();
        let with_oob = u64::from(geometry.page_bytes + geometry.oob_bytes) * u64::from(geometry.pages());
        // A dump of the whole chip has all of its areas.
        let oob = bytes.len() as u64 == with_oob;
        let layout = ffslab_flash::ImageLayout { oob, hamming_ecc: false };
        let loaded = part.with_chip(|chip| chip.load_bytes(name, bytes, 0..geometry.blocks, layout));
        loaded.map(drop).map_err(|error| wrong(error.to_string()))
    }

    fn keep(&mut self) {
        self.core.finish();
        self.kept = Some(self.core.chip.mtd.snapshot());
    }

    /// `false`: nothing was kept.
    fn put_back(&mut self) -> bool {
        let Some(kept) = &self.kept else { return false };
        self.core.forgets();
        let is_back = self.core.chip.mtd.restore(kept).is_ok();
        debug_assert!(is_back, "a copy of this chip suits it");
        self.power_on();
        is_back
    }

    /// What was done so far, as results of a run.
    ///
    /// Errors: none but those of [`ffslab_lab::Session::result`].
    pub fn result(&mut self) -> Result<SessionResult, ChipError> {
        Ok(self.core.chip.session.result("base", "{}")?)
    }
}

/// Errors: parts whose commands are others.
fn check_served(profile: &Profile) -> Result<(), ChipError> {
    let (part, name) = (&profile.part, &profile.part_name);
    let why = match part.kind() {
        PartKind::ParallelNor => "is parallel NOR, which is not served: SPI NOR, SPI NAND and raw NAND are",
        PartKind::Nand if part.geometry().page_bytes < 2048 => {
            "has pages of 512 B, whose commands are others: parts of 2048 B and more are served"
        }
        PartKind::Nand if part.bus_bits() == Some(16) => "has a bus of 16 bits: parts with 8 are served",
        PartKind::SpiNor if part.nor().is_some_and(|array| array.write_size_bytes != 1) => {
            "programs larger units than bytes, which is not served"
        }
        _ => return Ok(()),
    };
    Err(wrong(format!("--part {name}: {why}")))
}

/// Errors: nobody knows what the part says.
fn identity_of(wanted: &Wanted, profile: &Profile) -> Result<Vec<u8>, ChipError> {
    let base = profile.part.base.as_deref();
    let known = identity::of_part(&profile.part_name).or_else(|| identity::of_part(base?));
    match (&wanted.id, known) {
        (Some(id), _) if id.len() >= 2 => Ok(id.clone()),
        (Some(_), _) => Err(wrong("--read-id: two bytes at least are needed, as EFAA21")),
        (None, Some(id)) => Ok(id.to_vec()),
        (None, None) => Err(wrong(format!(
            "--part {}: what it answers to READ ID is not known: say it by --read-id, as --read-id EFAA21",
            profile.part_name
        ))),
    }
}

/// What is wrong with the chip: a program without a kernel has no key for it.
///
/// Errors: a table that says something else.
fn faults_of(wanted: &Wanted) -> Result<Option<Faults>, ChipError> {
    let Some(table) = wanted.settings.get("faults") else { return Ok(None) };
    let keys: FaultKeys = table.clone().try_into().map_err(|error: toml::de::Error| {
        wrong(format!("--set faults: {}", error.message().lines().next().unwrap_or_default()))
    })?;
    keys.faults().map(Some).map_err(|error| wrong(format!("--set faults: {error}")))
}

/// The keys of a machine that is nothing but the chip, all of it.
fn keys_of(wanted: &Wanted, profile: &Profile) -> Result<toml::Table, ChipError> {
    const OURS: [&str; 7] = ["board", "part", "partition_blocks", "first_block", "erase_block_KiB", "system", "fs"];
    let mut keys = wanted.settings.clone();
    keys.remove("faults");
    if let Some(key) = OURS.iter().find(|&&key| keys.contains_key(key)) {
        return Err(wrong(format!("--set {key}: the whole part is served, and nothing else: leave it out")));
    }
    let is_raw = profile.part.kind() == PartKind::Nand;
    let mut blocks = profile.part.geometry().blocks;
    if let Some(chip_blocks) = keys.get("chip_blocks").and_then(toml::Value::as_integer) {
        blocks = u32::try_from(chip_blocks).unwrap_or(0).min(blocks.max(1 << 20));
    }
    if let Some(part) = profile.part.spi_nor().filter(|part| part.small_erase_ns.is_some()) {
        keys.insert("erase_block_KiB".into(), 4.into());
        let small = part.array.erase_block_bytes >> 12;
        if !keys.contains_key("chip_blocks") {
            blocks *= small;
        } else if !blocks.is_multiple_of(small) {
            return Err(wrong(format!(
                "--set chip_blocks={blocks}: of this part a multiple of {small}, blocks of 4 KiB"
            )));
        }
    }
    let board = if is_raw { NAND_BOARD } else { SPI_BOARD };
    keys.insert("board".into(), board.into());
    keys.insert("part".into(), wanted.part.clone().into());
    keys.insert("partition_blocks".into(), i64::from(blocks).into());
    debug_assert!(is_path(&wanted.part) || wanted.part == profile.part_name);
    Ok(keys)
}

fn part_of(profile: &Profile, id: &[u8], core: &mut Core) -> Result<Part, ChipError> {
    let machine = |error: ffslab_machine::MachineError| wrong(error.to_string());
    let name = &profile.part_name;
    if let Some(part) = profile.part.spi_nor() {
        let can = *core.chip.capabilities();
        let (mut part, mut small) = (part.clone(), profile.clone());
        // The chip may have been made smaller.
        part.array.blocks = (core.chip.size_bytes() / u64::from(part.array.erase_block_bytes)) as u32;
        small.part.erases_by(can.erase_block_bytes);
        let wiring = media::nor_wiring(&small).map_err(machine)?.ok_or(ChipError::NoFlash)?;
        core.takes_times(wiring.cells);
        return Ok(Part::Nor(Box::new(SpiNor::new(id, &part, can.erase_block_bytes, wiring.cells))));
    }
    let geometry = core.chip.mtd.nand().ok_or(ChipError::NoFlash)?.geometry();
    if let Some(part) = profile.part.spi_nand() {
        let wiring = media::wiring(profile).map_err(machine)?.ok_or(ChipError::NoFlash)?;
        let made = SpiNand::new(id, name, part, &wiring, geometry).ok_or(ChipError::NoFlash)?;
        return Ok(Part::SpiNand(Box::new(made)));
    }
    let array = profile.part.nand().ok_or(ChipError::NoFlash)?;
    let commands = profile.part.nand_commands().unwrap_or_default();
    Ok(Part::Nand(Box::new(RawNand::new(id, name, array, commands, geometry))))
}
