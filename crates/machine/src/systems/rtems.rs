//! RTEMS as a system of the table.

use super::descriptor::{Descriptor, SystemKeys};
use crate::device_keys::DeviceKeys;
use crate::error::MachineError;
use crate::file_systems;
use crate::flash_device::FlashDevice;
use crate::media::FlashSpec;
use crate::rtems::{Machine, RtemsSpec};
use crate::rtems_keys::RtemsKeys;
use crate::spec::{FlashSummary, ImageOf, MachineSpec, Spec, State};
use ffslab_flash::Geometry;
use ffslab_system::System;
use std::path::Path;

pub static RTEMS: Descriptor = Descriptor {
    name: "rtems",
    title: "RTEMS",
    about: "RTEMS of 2018 with its block cache",
    file_systems: file_systems::on_rtems,
    own_keys: file_systems::own_keys_on_rtems,
};

impl SystemKeys for RtemsKeys {
    fn system(&self) -> &'static Descriptor {
        &RTEMS
    }

    fn fs(&self) -> &str {
        &self.fs
    }

    fn board(&self) -> &str {
        &self.board
    }

    fn profiles_mut(&mut self) -> Vec<&mut String> {
        let device = self.device.as_mut().map(DeviceKeys::profiles_mut);
        std::iter::once(&mut self.board).chain(device.into_iter().flatten()).collect()
    }

    fn images_mut(&mut self) -> Vec<&mut String> {
        self.image.as_mut().into_iter().collect()
    }

    fn machine(&mut self, base_dir: &Path) -> Result<MachineSpec, MachineError> {
        let (spec, keys) = RtemsSpec::from_keys(self, base_dir)?;
        *self = keys;
        Ok(MachineSpec::new(spec))
    }
}

impl Spec for RtemsSpec {
    fn boxed(&self) -> Box<dyn Spec> {
        Box::new(self.clone())
    }

    fn build(&self, state: Option<&State>) -> Result<Box<dyn System>, MachineError> {
        Ok(Box::new(match state {
            None => Machine::new(self)?,
            Some(state) => Machine::restored(self, &state.medium, state.at_ns)?,
        }))
    }

    fn medium_bytes(&self) -> u64 {
        RtemsSpec::medium_bytes(self)
    }

    fn flash_summary(&self) -> Option<FlashSummary> {
        self.flash_device().map(FlashDevice::flash_summary)
    }

    fn no_energy(&self) -> Option<&'static str> {
        Some("no source gives the power of a board with RTEMS or of its block devices, so there is no energy")
    }

    fn chip_geometry(&self) -> Option<Geometry> {
        self.flash_device()
            .map_or_else(|| self.fs.flash().and_then(FlashSpec::chip_geometry), FlashDevice::chip_geometry)
    }

    fn images(&self) -> Vec<ImageOf<'_>> {
        let given = self.fs.disk().and_then(|disk| disk.image.as_ref());
        given.map(|path| ImageOf { path, oob: false, autoplace: false }).into_iter().collect()
    }

    fn remove_image(&mut self) {
        if let Some(disk) = self.fs.disk_mut() {
            disk.image = None;
        }
    }
}
