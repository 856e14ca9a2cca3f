//! A program without an operating system, as a system of the table.

use super::descriptor::{Descriptor, SystemKeys};
use crate::bare::{self, BareSpec, BlockSpec};
use crate::bare_keys::BareKeys;
use crate::device_keys::DeviceKeys;
use crate::error::MachineError;
use crate::file_systems;
use crate::flash_device::FlashDevice;
use crate::spec::{FlashSummary, ImageOf, MachineSpec, Spec, State};
use ffslab_flash::Geometry;
use ffslab_mtd::Mtd;
use ffslab_sim::PowerMilliwatt;
use ffslab_system::System;
use std::path::Path;

pub static BARE: Descriptor = Descriptor {
    name: "bare",
    title: "a bare program",
    about: "a program with the file system linked into it",
    file_systems: known,
    own_keys: file_systems::own_keys_on_bare,
};

/// File systems that such a program calls, and what it drives without one.
fn known() -> Vec<&'static str> {
    let mut known = file_systems::called_directly();
    known.push(bare::BLOCK_DEVICE);
    known
}

impl SystemKeys for BareKeys {
    fn system(&self) -> &'static Descriptor {
        &BARE
    }

    fn fs(&self) -> &str {
        &self.fs
    }

    fn board(&self) -> &str {
        &self.board
    }

    fn profiles_mut(&mut self) -> Vec<&mut String> {
        let device = self.device.as_mut().map(DeviceKeys::profiles_mut);
        [Some(&mut self.board), self.part.as_mut()].into_iter().flatten().chain(device.into_iter().flatten()).collect()
    }

    fn images_mut(&mut self) -> Vec<&mut String> {
        self.files_mut()
    }

    fn machine(&mut self, base_dir: &Path) -> Result<MachineSpec, MachineError> {
        if self.fs == bare::BLOCK_DEVICE {
            return Ok(MachineSpec::new(self.block_device(base_dir)?));
        }
        let (spec, keys) = self.resolve(base_dir)?;
        *self = keys;
        Ok(MachineSpec::new(spec))
    }
}

impl Spec for BareSpec {
    fn boxed(&self) -> Box<dyn Spec> {
        Box::new(self.clone())
    }

    fn build(&self, state: Option<&State>) -> Result<Box<dyn System>, MachineError> {
        let mut stack = self.stack.clone();
        stack.sim.uptime_ns = state.map_or(stack.sim.uptime_ns, |state| state.at_ns);
        let restore = |medium: &Mtd| state.map_or(Ok(()), |state| medium.restore(&state.medium));
        if let Some(fs) = &self.paths {
            let machine = bare::build_with_paths(&stack, fs.clone())?;
            restore(machine.medium())?;
            return Ok(Box::new(machine));
        }
        let machine = bare::build(&stack)?;
        restore(machine.medium())?;
        Ok(Box::new(machine))
    }

    fn set_epoch_s(&mut self, epoch_s: u64) {
        self.stack.set_epoch_s(epoch_s);
    }

    fn medium_bytes(&self) -> u64 {
        self.stack.medium_bytes()
    }

    fn flash_summary(&self) -> Option<FlashSummary> {
        self.stack.flash_summary()
    }

    fn idle_power(&self) -> Option<PowerMilliwatt> {
        self.stack.idle_power
    }

    fn chip_geometry(&self) -> Option<Geometry> {
        self.stack.chip_geometry()
    }

    fn images(&self) -> Vec<ImageOf<'_>> {
        Spec::images(&self.stack)
    }

    fn remove_image(&mut self) {
        self.stack.remove_image();
    }
}

impl Spec for BlockSpec {
    fn boxed(&self) -> Box<dyn Spec> {
        Box::new(self.clone())
    }

    fn build(&self, state: Option<&State>) -> Result<Box<dyn System>, MachineError> {
        Ok(Box::new(BlockSpec::build(self, state)?))
    }

    fn set_epoch_s(&mut self, epoch_s: u64) {
        BlockSpec::set_epoch_s(self, epoch_s);
    }

    fn medium_bytes(&self) -> u64 {
        self.disk.bytes() as u64
    }

    fn flash_summary(&self) -> Option<FlashSummary> {
        self.disk.device.flash.as_deref().map(FlashDevice::flash_summary)
    }

    fn no_energy(&self) -> Option<&'static str> {
        Some("no source gives the power of a block device, so there is no energy")
    }

    fn chip_geometry(&self) -> Option<Geometry> {
        self.disk.device.flash.as_deref().and_then(FlashDevice::chip_geometry)
    }

    fn images(&self) -> Vec<ImageOf<'_>> {
        Vec::new()
    }

    fn remove_image(&mut self) {}
}
