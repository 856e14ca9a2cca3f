//! Linux as a system of the table.

use super::descriptor::{Descriptor, SystemKeys};
use crate::error::MachineError;
use crate::file_systems::{self, mountable};
use crate::mounts::{MountKeys, MountsSpec};
use crate::spec::{FlashSummary, ImageOf, MachineSpec, Spec, State};
use crate::stack::{Stack, StackSpec};
use crate::stack_keys::{CompressionName, StackKeys};
use ffslab_flash::Geometry;
use ffslab_profiles::ProgramCosts;
use ffslab_sim::PowerMilliwatt;
use ffslab_system::System;
use std::path::Path;

pub static LINUX: Descriptor = Descriptor {
    name: "linux",
    title: "Linux",
    about: "Linux on a board with raw NAND",
    file_systems: || file_systems::all().into_iter().filter(|fs| fs.mountable.is_some()).map(|fs| fs.name).collect(),
    own_keys: file_systems::own_keys_on_linux,
};

impl SystemKeys for StackKeys {
    fn system(&self) -> &'static Descriptor {
        &LINUX
    }

    fn fs(&self) -> &str {
        &self.fs
    }

    fn board(&self) -> &str {
        &self.board
    }

    fn kernel(&self) -> Option<&str> {
        self.kernel.as_deref()
    }

    fn compresses(&self) -> bool {
        let is_on = |name: Option<CompressionName>| name.is_some_and(|name| name != CompressionName::None);
        is_on(self.compression) || self.mount.iter().any(is_compressed)
    }

    fn profiles_mut(&mut self) -> Vec<&mut String> {
        [Some(&mut self.board), self.part.as_mut(), self.kernel.as_mut()].into_iter().flatten().collect()
    }

    fn images_mut(&mut self) -> Vec<&mut String> {
        self.image.as_mut().into_iter().chain(self.mount.iter_mut().filter_map(MountKeys::image_mut)).collect()
    }

    fn draw_anew(&mut self, shift: u64, uptime_us: u64) {
        let uptime = self.uptime_us.get_or_insert_default();
        uptime.ns = uptime.ns.wrapping_add(uptime_us.wrapping_mul(1_000));
        if let Some(faults) = &mut self.faults {
            faults.seed = faults.seed.wrapping_add(shift);
        }
        if let Some(ageing) = &mut self.ageing {
            ageing.seed = ageing.seed.wrapping_add(shift);
        }
    }

    fn machine(&mut self, base_dir: &Path) -> Result<MachineSpec, MachineError> {
        let (spec, keys) = if self.mount.is_empty() {
            StackSpec::from_keys(self, base_dir).map(|(spec, keys)| (MachineSpec::new(spec), keys))?
        } else {
            MountsSpec::from_keys(self, base_dir).map(|(spec, keys)| (MachineSpec::new(spec), keys))?
        };
        *self = keys;
        Ok(spec)
    }
}

impl Spec for StackSpec {
    fn boxed(&self) -> Box<dyn Spec> {
        Box::new(self.clone())
    }

    fn build(&self, state: Option<&State>) -> Result<Box<dyn System>, MachineError> {
        Ok(Box::new(match state {
            None => Stack::new(self)?,
            Some(state) => Stack::restored(self, &state.medium, state.at_ns)?,
        }))
    }

    fn set_epoch_s(&mut self, epoch_s: u64) {
        self.vfs.epoch_s = epoch_s;
    }

    fn medium_bytes(&self) -> u64 {
        self.partition.erase_block_bytes() * u64::from(self.partition.partition_blocks)
    }

    fn flash_summary(&self) -> Option<FlashSummary> {
        Some((&self.partition).into())
    }

    fn idle_power(&self) -> Option<PowerMilliwatt> {
        self.idle_power
    }

    fn program(&self) -> Option<&ProgramCosts> {
        self.program.as_ref()
    }

    fn notes(&self) -> Vec<String> {
        self.driver_note.iter().cloned().collect()
    }

    fn chip_geometry(&self) -> Option<Geometry> {
        // What NOR holds is plain bytes.
        self.partition.nor.is_none().then_some(self.partition.geometry)
    }

    fn images(&self) -> Vec<ImageOf<'_>> {
        let given = self.image.iter();
        given.map(|image| ImageOf { path: &image.path, oob: image.oob, autoplace: image.autoplace }).collect()
    }

    fn remove_image(&mut self) {
        self.image = None;
    }

    fn without_read_ahead(&mut self) {
        self.vfs.read_ahead_bytes = 0;
    }
}

/// Whether a mount compresses what programs write: as its key says, or as its file system does without one.
fn is_compressed(mount: &MountKeys) -> bool {
    match mount.text("compression") {
        Some(name) => name != "none",
        None => {
            let fs = mount.text("fs").and_then(|fs| mountable(fs).ok());
            fs.is_some_and(|fs| fs.own_keys().contains(&"compression"))
        }
    }
}
