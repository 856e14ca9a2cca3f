//! Turns the description of a machine in an experiment into a machine that runs: which systems there are, and how each
//! of them is built.

use crate::bare;
use crate::result::FlashSummary;
use crate::rtems::{Machine, RtemsFs, RtemsSpec};
use crate::stack::{Stack, StackSpec};
use crate::stack_keys::StackTable;
use crate::state::State;
use crate::LabError;
use ffslab_flash::Geometry;
use ffslab_rtems::yaffs2::RamFlash;
use ffslab_sim::PowerMilliwatt;
use ffslab_system::{MediumImage, System};
use std::path::Path;

/// All numbers that are needed to build a machine.
#[derive(Clone, Debug)]
pub enum MachineSpec {
    Linux(Box<StackSpec>),
    Rtems(Box<RtemsSpec>),
    /// What Linux would run on, for a program without it.
    Bare(Box<StackSpec>),
}

/// The image file whose content the medium holds at the start.
pub struct ImageOf<'a> {
    pub path: &'a Path,
    pub oob: bool,
    pub autoplace: bool,
}

impl MachineSpec {
    /// The machine that a `[stack]` table describes, and the keys of the table with all values filled in.
    ///
    /// Errors: [`LabError::Input`] with one line that says what is wrong with a key, a profile or an image.
    pub fn of(table: &StackTable, base_dir: &Path) -> Result<(MachineSpec, StackTable), LabError> {
        match table {
            StackTable::Linux(keys) => {
                let (spec, keys) = StackSpec::from_keys(keys, base_dir)?;
                Ok((MachineSpec::Linux(Box::new(spec)), keys.into()))
            }
            StackTable::Rtems(keys) => {
                let (spec, keys) = keys.resolve(base_dir).map_err(LabError::Input)?;
                Ok((MachineSpec::Rtems(Box::new(spec)), StackTable::Rtems(Box::new(keys))))
            }
            StackTable::Bare(keys) => {
                let (spec, keys) = keys.resolve(base_dir)?;
                Ok((MachineSpec::Bare(Box::new(spec)), StackTable::Bare(Box::new(keys))))
            }
        }
    }

    /// A new machine on which nothing is mounted. With a state, its medium holds the content of the state, and the
    /// virtual time is the one at which the state was complete.
    ///
    /// Errors: the medium is impossible, the image does not fit, or the state is that of another medium.
    pub fn build(&self, state: Option<&State>) -> Result<Box<dyn System>, String> {
        Ok(match (self, state) {
            (MachineSpec::Linux(spec), None) => Box::new(Stack::new(spec)?),
            (MachineSpec::Linux(spec), Some(state)) => Box::new(Stack::restored(spec, &state.medium, state.at_ns)?),
            (MachineSpec::Rtems(spec), None) => Box::new(Machine::new(spec)?),
            (MachineSpec::Bare(spec), None) => Box::new(bare::build(spec)?),
            (MachineSpec::Bare(spec), Some(state)) => {
                let MediumImage::Chip(chip) = &state.medium else {
                    return Err("the state is not of a chip".to_string());
                };
                let mut spec = StackSpec::clone(spec);
                spec.sim.uptime_ns = state.at_ns;
                let machine = bare::build(&spec)?;
                machine.medium().restore(chip)?;
                Box::new(machine)
            }
            (MachineSpec::Rtems(spec), Some(state)) => Box::new(Machine::restored(spec, &state.medium, state.at_ns)?),
        })
    }

    /// Sets the time of day at virtual time 0. RTEMS always starts in 1988, so nothing is set there.
    pub fn set_epoch_s(&mut self, epoch_s: u64) {
        if let MachineSpec::Linux(spec) | MachineSpec::Bare(spec) = self {
            spec.vfs.epoch_s = epoch_s;
        }
    }

    /// Size of the partition or device. For memory files it is the memory that the board of the study has for them.
    pub fn medium_bytes(&self) -> u64 {
        match self {
            MachineSpec::Linux(spec) | MachineSpec::Bare(spec) => {
                let block_bytes = u64::from(spec.geometry.page_bytes) * u64::from(spec.geometry.pages_per_block);
                block_bytes * u64::from(spec.partition_blocks)
            }
            MachineSpec::Rtems(spec) => spec.medium_bytes(),
        }
    }

    /// The chip as results describe it. `None`: the results have no chip, as with RTEMS.
    pub fn flash_summary(&self) -> Option<FlashSummary> {
        match self {
            MachineSpec::Linux(spec) | MachineSpec::Bare(spec) => Some(FlashSummary::from(&**spec)),
            MachineSpec::Rtems(_) => None,
        }
    }

    /// Power that the idle board draws. `None`: it is not known.
    pub fn idle_power(&self) -> Option<PowerMilliwatt> {
        match self {
            MachineSpec::Linux(spec) | MachineSpec::Bare(spec) => spec.idle_power,
            MachineSpec::Rtems(_) => None,
        }
    }

    /// The geometry of the chip in a state of this machine. `None`: the state is plain bytes.
    pub(crate) fn chip_geometry(&self) -> Option<Geometry> {
        match self {
            MachineSpec::Linux(spec) | MachineSpec::Bare(spec) => Some(spec.geometry),
            MachineSpec::Rtems(spec) => match spec.fs {
                RtemsFs::Yaffs2 { flash_bytes } => Some(RamFlash::geometry(flash_bytes)),
                _ => None,
            },
        }
    }

    pub(crate) fn image(&self) -> Option<ImageOf<'_>> {
        match self {
            MachineSpec::Linux(spec) | MachineSpec::Bare(spec) => {
                let image = spec.image.as_ref()?;
                Some(ImageOf { path: &image.path, oob: image.oob, autoplace: image.autoplace })
            }
            MachineSpec::Rtems(spec) => {
                let path = spec.fs.disk()?.image.as_ref()?;
                Some(ImageOf { path, oob: false, autoplace: false })
            }
        }
    }

    /// The same machine with an empty medium at the start.
    pub(crate) fn without_image(&self) -> MachineSpec {
        let mut spec = self.clone();
        match &mut spec {
            MachineSpec::Linux(spec) | MachineSpec::Bare(spec) => spec.image = None,
            MachineSpec::Rtems(spec) => {
                if let RtemsFs::Rfs { disk, .. } | RtemsFs::Dosfs { disk, .. } = &mut spec.fs {
                    disk.image = None;
                }
            }
        }
        spec
    }
}
