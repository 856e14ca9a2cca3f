//! Units and commands of a part below a translation layer: which dies and planes there are, and what the part can beside the usual commands.

use crate::device_keys::FtlKeys;
use crate::error::MachineError;
use crate::media::PartitionSpec;
use ffslab_ftl::{Mapping, COPY_BACKS_MAX};
use ffslab_mtd::striped::{ChipCommands, Stripes};

/// Pages that a controller could hold at all.
const ROW_PAGES_MAX: u32 = 1024;

impl FtlKeys {
    fn copy_backs(&self) -> u32 {
        self.copy_backs_max_count.unwrap_or(0)
    }

    fn wants_commands(&self) -> bool {
        self.cache_commands == Some(true) || self.copy_backs() > 0
    }

    /// `None`: one die of one plane that has the usual commands alone.
    ///
    /// Errors: counts that cannot be striped, a part that cannot be.
    pub(crate) fn stripes(&self, chip: &PartitionSpec) -> Result<Option<Stripes>, MachineError> {
        let stripes = Stripes {
            channels: self.channels.unwrap_or(1),
            dies_per_channel: self.dies.unwrap_or(1),
            planes: self.planes.unwrap_or(1),
        };
        if stripes == Stripes::ONE && !self.wants_commands() {
            return Ok(None);
        }
        let (refused, what) = if stripes == Stripes::ONE {
            ("cache_commands and copy_back", "cache_commands or copy_back")
        } else {
            ("channels, dies and planes", "channels, dies or planes")
        };
        if chip.spi_nand.is_some() {
            let needed = if stripes == Stripes::ONE {
                format!("what a chip on a serial bus has instead is not simulated: leave out {refused}")
            } else {
                format!("a chip on a serial bus works alone: leave out {refused}")
            };
            return Err(MachineError::word("device.part", &self.part, &needed));
        }
        if chip.mlc.pairing.is_some() || chip.mlc.laws.is_some() {
            let needed = format!("a part whose pages share no cells is needed where {what} are told");
            return Err(MachineError::word("device.part", &self.part, &needed));
        }
        stripes.check(&chip.geometry).map_err(|error| MachineError::Device(format!("device: {error}")))?;
        Ok(Some(stripes))
    }

    /// Errors: commands that the part does not have by its profile, or for which the mapping has no use.
    pub(crate) fn check_commands(&self, mapping: &Mapping, has: ChipCommands) -> Result<(), MachineError> {
        if self.copy_backs() > COPY_BACKS_MAX {
            let needed = format!("the record of a page counts to {COPY_BACKS_MAX}");
            return Err(MachineError::number("device.copy_back", self.copy_backs(), needed));
        }
        if let Some(pages) = self.copy_row_pages {
            if !(1..=ROW_PAGES_MAX).contains(&pages) {
                return Err(MachineError::number(
                    "device.copy_row_pages",
                    pages,
                    format!("1 to {ROW_PAGES_MAX} pages"),
                ));
            }
            if self.cache_commands != Some(true) {
                let needed = "it is about rows: give device.cache_commands = true, or leave it out";
                return Err(MachineError::number("device.copy_row_pages", pages, needed));
            }
        }
        if self.wants_commands() && mapping.name == "slc-cache" {
            let needed = "its pages move between cells of different modes: leave out cache_commands and copy_back";
            return Err(MachineError::word("device.ftl", mapping.name, needed));
        }
        let lacks = |key: &str, command: &str, words: &str| {
            let needed = format!(
                "device.{key} needs {command}, and its profile does not say that it has that ({words}); \
                 `ffslab profiles show NAME` tells of others"
            );
            Err(MachineError::word("device.part", &self.part, &needed))
        };
        if self.cache_commands == Some(true) && !has.cache_program && !has.cache_read {
            return lacks("cache_commands", "cache program or cache read", "`cache_program`, `cache_read`");
        }
        if self.copy_backs() > 0 && !has.copy_back {
            lacks("copy_back", "copy-back", "`copy_back`")
        } else {
            Ok(())
        }
    }
}
