//! Flash behind a translation layer: one chip, or several dies that work at the same time.

use crate::error::MachineError;
use crate::media::{PartitionSpec, NAND, SPI_NAND};
use crate::spec::FlashSummary;
use ffslab_block::ftl::Translated;
use ffslab_block::FtlSettings;
use ffslab_flash::Geometry;
use ffslab_ftl::{DeviceError, FtlError};
use ffslab_mtd::striped::{ChipCommands, Die, Stripes};
use ffslab_mtd::{Medium, MediumImage, Mtd};
use ffslab_profiles::Part;
use ffslab_sim::{Sim, SimConfig};
use std::rc::Rc;

/// Flash behind a translation layer, to be built.
#[derive(Clone, Debug)]
pub struct FlashDevice {
    /// One chip, or one die of several.
    pub(crate) chip: PartitionSpec,
    /// `None`: one chip, driven as Linux drives it.
    pub(crate) stripes: Option<Stripes>,
    /// Commands of the part beside the usual ones.
    pub(crate) commands: ChipCommands,
    pub(crate) settings: FtlSettings,
    pub(crate) spare: f64,
}

/// Pages that the layer may use.
pub(crate) fn pages_of(chip: &PartitionSpec, stripes: Option<Stripes>) -> u32 {
    match stripes {
        None => chip.partition_blocks * chip.mlc.used_pages(chip.geometry.pages_per_block),
        Some(stripes) => stripes.striped(&chip.geometry).pages(),
    }
}

/// What a part can beside the usual commands, as far as its profile says; nothing on a serial bus.
pub(crate) fn commands_of(part: &Part) -> ChipCommands {
    let said = part.nand_commands().unwrap_or_default();
    ChipCommands {
        cache_program: said.cache_program,
        cache_read: said.cache_read,
        copy_back: said.copy_back,
        register_copy_ns: said.cache_busy_ns,
    }
}

impl FlashDevice {
    /// The chip, as it left the factory.
    ///
    /// Errors: sizes that no chip has.
    pub fn make(&self, sim: &Sim) -> Result<Mtd, MachineError> {
        if let Some(stripes) = &self.stripes {
            let PartitionSpec { geometry, timing, rules, driver, faults, .. } = &self.chip;
            let die = Die { geometry: *geometry, timing: *timing, rules: *rules, commands: self.commands };
            let made = stripes.medium(sim, die, driver, faults);
            let made = made.map_err(|error| MachineError::Device(format!("device: {error}")))?;
            return Ok(Mtd::from(Rc::new(made) as Rc<dyn Medium>));
        }
        let medium = if self.chip.spi_nand.is_some() { &SPI_NAND } else { &NAND };
        let make = medium.on_linux.ok_or(MachineError::NotOnLinux { title: medium.title })?;
        Ok(make(&self.chip, sim)?)
    }

    /// An empty device.
    ///
    /// Errors: flash that the layer does not work on, no room for what the host is to see.
    pub fn format(&self, flash: &Mtd) -> Result<Translated, MachineError> {
        self.settings.format(flash).map_err(|error| self.said(&error))
    }

    /// Takes the time of finding the map.
    ///
    /// Errors: the flash holds no such device, the power was cut.
    pub fn mount(&self, flash: &Mtd) -> Result<Translated, MachineError> {
        self.settings.mount(flash).map_err(|error| self.said(&error))
    }

    /// What the sectors hold, looked at without an operation on the flash.
    ///
    /// Errors: what cannot be read any more.
    pub fn image(&self, held: &MediumImage) -> Result<Vec<u8>, MachineError> {
        let copy = self.make(&Sim::new(SimConfig::default()))?;
        copy.restore(held)?;
        self.mount(&copy)?.read_all().map_err(|error| self.said(&error))
    }

    pub fn media_blocks(&self) -> u32 {
        let FtlSettings { config, sector_bytes, .. } = &self.settings;
        (u64::from(config.logical_pages) * u64::from(self.geometry().page_bytes / sector_bytes)) as u32
    }

    /// Sizes as the layer sees them.
    fn geometry(&self) -> Geometry {
        self.stripes.map_or(self.chip.geometry, |stripes| stripes.striped(&self.chip.geometry))
    }

    /// Sizes of what holds the bytes: all blocks of all dies in a row.
    pub fn chip_geometry(&self) -> Option<Geometry> {
        Some(self.stripes.map_or(self.chip.geometry, |stripes| stripes.in_a_row(&self.chip.geometry)))
    }

    pub fn flash_summary(&self) -> FlashSummary {
        let geometry = self.geometry();
        let seen = PartitionSpec { geometry, partition_blocks: geometry.blocks, ..self.chip.clone() };
        FlashSummary { map_bytes: self.map_bytes(), ..(&seen).into() }
    }

    /// RAM that the map needs; `None`: there can be no such device.
    fn map_bytes(&self) -> Option<u64> {
        let flash = self.make(&Sim::new(SimConfig::default())).ok()?;
        Some(self.format(&flash).ok()?.disk().ftl().map_bytes())
    }

    /// An error of the device as one of the keys that describe it.
    pub(crate) fn said(&self, error: &DeviceError) -> MachineError {
        match *error {
            DeviceError::Ftl(FtlError::Size { logical_pages_max, .. }) if logical_pages_max > 0 => {
                let seen = f64::from(logical_pages_max) / f64::from(pages_of(&self.chip, self.stripes));
                let least = ((1.0 - seen) * 1000.0).ceil() / 1000.0;
                let needed = format!(
                    "{} needs blocks of its own: with so many erase blocks at least {least}",
                    self.settings.mapping.name
                );
                MachineError::Value { key: "device.spare", value: self.spare.to_string(), needed }
            }
            DeviceError::Ftl(FtlError::Size { .. }) => {
                MachineError::Device("device.blocks: so few erase blocks have no room for a translation layer".into())
            }
            _ => MachineError::Device(format!("device: {error}")),
        }
    }
}
