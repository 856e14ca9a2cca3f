//! `profiles/parts/*.toml`: a chip. A file says its `kind`, and each kind has keys of its own; what a driver takes of them are plain
//! structs ([`NandArray`], [`SpiNandPart`], [`SpiNorPart`], [`ParallelNorPart`]).

mod figures;
pub(crate) mod kind;
mod nand;
mod nor;

pub use figures::{ChipPower, LongestTimes};
pub use kind::{Cell, EccStatus, OobLayout, Pairing, PartKind, SpiMode};
pub use nand::{EccRequired, NandArray, NandCommands, OnDieEcc, SpiNandPart, SpiRead};
pub(crate) use nand::{RawNandFile, SpiNandFile};
pub use nor::{CommandSet, NorArray, PageRead, ParallelNorPart, SpiNorPart, WriteBuffer};
pub(crate) use nor::{ParallelNorFile, SpiNorFile};

use crate::constant::said;
use crate::entries::Merged;
use crate::error::ProfileError;
use ffslab_flash::{Geometry, Rules, Timing};

/// A chip of any kind.
#[derive(Clone, Debug)]
pub struct Part {
    /// What people read of it.
    pub title: String,
    /// Name or file of the part that says what its own file does not.
    pub base: Option<String>,
    chip: Chip,
}

#[derive(Clone, Debug, PartialEq)]
enum Chip {
    Nand { array: NandArray, bus_ps_per_byte: u64, bus_bits: u32, commands: NandCommands },
    SpiNand(SpiNandPart),
    SpiNor(SpiNorPart),
    ParallelNor(ParallelNorPart),
}

impl Part {
    /// Errors: a value that its key cannot have; values that do not fit together.
    pub(crate) fn of(merged: &Merged) -> Result<Part, ProfileError> {
        let refused = |message: String| ProfileError::Part { file: merged.file().to_string(), message };
        let (title, base, chip) = match merged.part_kind {
            PartKind::Nand => {
                let file: RawNandFile = merged.read()?;
                let bus_bits = said(&file.bus_bits).unwrap_or(8);
                if ![8, 16].contains(&bus_bits) {
                    return Err(refused(format!("bus_bits = {bus_bits}: 8 or 16 is needed")));
                }
                let bus_ps_per_byte = file.bus_ps_per_byte();
                let (array, commands) = (file.array(), file.commands());
                (file.title, file.base, Chip::Nand { array, bus_ps_per_byte, bus_bits, commands })
            }
            PartKind::SpiNand => {
                let file: SpiNandFile = merged.read()?;
                let chip = Chip::SpiNand(file.part().map_err(refused)?);
                (file.title, file.base, chip)
            }
            PartKind::SpiNor => {
                let file: SpiNorFile = merged.read()?;
                let chip = Chip::SpiNor(file.part().map_err(refused)?);
                (file.title, file.base, chip)
            }
            PartKind::ParallelNor => {
                let file: ParallelNorFile = merged.read()?;
                let chip = Chip::ParallelNor(file.part().map_err(refused)?);
                (file.title, file.base, chip)
            }
        };
        let part = Part { title, base, chip };
        if let Some(array) = part.nand() {
            array.check().map_err(refused)?;
        }
        Ok(part)
    }

    pub fn kind(&self) -> PartKind {
        match self.chip {
            Chip::Nand { .. } => PartKind::Nand,
            Chip::SpiNand(_) => PartKind::SpiNand,
            Chip::SpiNor(_) => PartKind::SpiNor,
            Chip::ParallelNor(_) => PartKind::ParallelNor,
        }
    }

    /// Its cells, if it is NAND of either bus.
    pub fn nand(&self) -> Option<&NandArray> {
        match &self.chip {
            Chip::Nand { array, .. } => Some(array),
            Chip::SpiNand(part) => Some(&part.array),
            Chip::SpiNor(_) | Chip::ParallelNor(_) => None,
        }
    }

    pub fn spi_nand(&self) -> Option<&SpiNandPart> {
        match &self.chip {
            Chip::SpiNand(part) => Some(part),
            _ => None,
        }
    }

    /// Its cells, if it is NOR of either bus.
    pub fn nor(&self) -> Option<&NorArray> {
        match &self.chip {
            Chip::SpiNor(part) => Some(&part.array),
            Chip::ParallelNor(part) => Some(&part.array),
            Chip::Nand { .. } | Chip::SpiNand(_) => None,
        }
    }

    pub fn spi_nor(&self) -> Option<&SpiNorPart> {
        match &self.chip {
            Chip::SpiNor(part) => Some(part),
            _ => None,
        }
    }

    pub fn parallel_nor(&self) -> Option<&ParallelNorPart> {
        match &self.chip {
            Chip::ParallelNor(part) => Some(part),
            _ => None,
        }
    }

    /// Of raw NAND: commands that not every part has.
    pub fn nand_commands(&self) -> Option<NandCommands> {
        match self.chip {
            Chip::Nand { commands, .. } => Some(commands),
            _ => None,
        }
    }

    /// Width of a raw NAND part's bus.
    pub fn bus_bits(&self) -> Option<u32> {
        match self.chip {
            Chip::Nand { bus_bits, .. } => Some(bus_bits),
            _ => None,
        }
    }

    /// Of NOR: its erase blocks, in pieces of what one program takes at most, and no out-of-band bytes.
    pub fn geometry(&self) -> Geometry {
        let of_nor = |array: &NorArray, program_bytes: u32| Geometry {
            page_bytes: program_bytes,
            oob_bytes: 0,
            pages_per_block: array.erase_block_bytes / program_bytes,
            blocks: array.blocks,
        };
        match &self.chip {
            Chip::Nand { array, .. } => array.geometry,
            Chip::SpiNand(part) => part.array.geometry,
            Chip::SpiNor(part) => of_nor(&part.array, part.program_page_bytes),
            Chip::ParallelNor(part) => of_nor(&part.array, part.program_bytes()),
        }
    }

    /// Makes of it a chip of so many erase blocks; all else stays.
    pub fn set_blocks(&mut self, blocks: u32) {
        match &mut self.chip {
            Chip::Nand { array, .. } => array.geometry.blocks = blocks,
            Chip::SpiNand(part) => part.array.geometry.blocks = blocks,
            Chip::SpiNor(part) => part.array.blocks = blocks,
            Chip::ParallelNor(part) => part.array.blocks = blocks,
        }
    }

    /// Puts it behind a controller that makes the bus of raw NAND slower.
    /// `least_ps`: of a byte on it. `copy_ps`: what a byte takes beside that.
    pub(crate) fn set_bus(&mut self, least_ps: u64, copy_ps: u64) {
        if let Chip::Nand { bus_ps_per_byte, .. } = &mut self.chip {
            *bus_ps_per_byte = (*bus_ps_per_byte).max(least_ps) + copy_ps;
        }
    }

    /// Makes of it a chip whose erase blocks have so many bytes, if it can erase such. `false`: it cannot.
    pub fn erases_by(&mut self, erase_block_bytes: u32) -> bool {
        const SMALL_BYTES: u32 = 4096;
        let (array, small_erase_ns) = match &mut self.chip {
            Chip::SpiNor(part) => (&mut part.array, part.small_erase_ns),
            Chip::ParallelNor(part) => (&mut part.array, None),
            Chip::Nand { .. } | Chip::SpiNand(_) => return false,
        };
        match small_erase_ns {
            _ if erase_block_bytes == array.erase_block_bytes => true,
            Some(erase_ns) if erase_block_bytes == SMALL_BYTES => {
                array.blocks *= array.erase_block_bytes / SMALL_BYTES;
                (array.erase_block_bytes, array.erase_ns, array.longest.erase_ns) = (SMALL_BYTES, erase_ns, None);
                true
            }
            _ => false,
        }
    }

    /// What the cells take, typically. The bus of all but raw NAND depends on the controller, and takes nothing here; a page is what
    /// [`Part::geometry`] says.
    pub fn timing(&self) -> Timing {
        match &self.chip {
            Chip::Nand { array, bus_ps_per_byte, .. } => array.timing(*bus_ps_per_byte),
            Chip::SpiNand(part) => part.array.timing(0),
            Chip::SpiNor(part) => {
                Timing { read_ns: 0, program_ns: part.program_ns, erase_ns: part.array.erase_ns, bus_ps_per_byte: 0 }
            }
            Chip::ParallelNor(part) => Timing {
                read_ns: part.access_ns,
                program_ns: part.write_buffer.map_or(part.word_program_ns, |buffer| buffer.program_ns),
                erase_ns: part.array.erase_ns,
                bus_ps_per_byte: 0,
            },
        }
    }

    pub fn longest_times(&self) -> LongestTimes {
        self.nand().map(|array| array.longest).or(self.nor().map(|array| array.longest)).unwrap_or_default()
    }

    pub fn power(&self) -> ChipPower {
        self.nand().map(|array| array.power).or(self.nor().map(|array| array.power)).unwrap_or_default()
    }

    /// Number of erases that each block endures according to the data sheet. Only ageing depends on it.
    pub fn endurance_erases(&self) -> Option<u32> {
        match self.nand() {
            Some(array) => array.endurance_erases,
            None => self.nor()?.endurance_erases,
        }
    }

    /// Of NOR: bits can be cleared as often as one likes, anywhere.
    pub fn rules(&self) -> Rules {
        let nor = Rules { partial_programs_max: u32::MAX, in_order: false };
        self.nand().map_or(nor, |array| array.rules)
    }

    /// What the cells and the bus take of reading a page, programming it and erasing a block, in us. The bus of all but raw NAND
    /// depends on the controller, and is not in them.
    pub(crate) fn operations_us(&self) -> [f64; 3] {
        let us = |ns: u64| ns as f64 / 1_000.0;
        let (timing, geometry) = (self.timing(), self.geometry());
        let page_bytes = f64::from(geometry.page_bytes + geometry.oob_bytes);
        let page_us = page_bytes * us(timing.bus_ps_per_byte) / 1_000.0;
        [us(timing.read_ns) + page_us, us(timing.program_ns) + page_us, us(timing.erase_ns)]
    }
}

#[cfg(test)]
mod tests;
