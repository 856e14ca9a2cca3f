//! A program without an operating system, as a system of the table.

use super::descriptor::{Descriptor, SystemKeys};
use crate::bare::{self, BareKeys};
use crate::error::MachineError;
use crate::file_systems;
use crate::spec::{FlashSummary, ImageOf, MachineSpec, Spec, State};
use crate::stack::StackSpec;
use ffslab_flash::Geometry;
use ffslab_sim::PowerMilliwatt;
use ffslab_system::System;
use std::path::Path;

pub static BARE: Descriptor = Descriptor {
    name: "bare",
    title: "a bare program",
    about: "a program with the file system linked into it",
    file_systems: file_systems::called_directly,
};

/// What Linux would run on, for a program without it.
#[derive(Clone, Debug)]
struct BareSpec(StackSpec);

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
        [Some(&mut self.board), self.part.as_mut()].into_iter().flatten().collect()
    }

    fn images_mut(&mut self) -> Vec<&mut String> {
        Vec::new()
    }

    fn machine(&mut self, base_dir: &Path) -> Result<MachineSpec, MachineError> {
        let (spec, keys) = self.resolve(base_dir)?;
        *self = keys;
        Ok(MachineSpec::new(BareSpec(spec)))
    }
}

impl Spec for BareSpec {
    fn boxed(&self) -> Box<dyn Spec> {
        Box::new(self.clone())
    }

    fn build(&self, state: Option<&State>) -> Result<Box<dyn System>, MachineError> {
        let Some(state) = state else { return Ok(Box::new(bare::build(&self.0)?)) };
        let mut spec = self.0.clone();
        spec.sim.uptime_ns = state.at_ns;
        let machine = bare::build(&spec)?;
        machine.medium().restore(&state.medium)?;
        Ok(Box::new(machine))
    }

    fn set_epoch_s(&mut self, epoch_s: u64) {
        self.0.set_epoch_s(epoch_s);
    }

    fn medium_bytes(&self) -> u64 {
        self.0.medium_bytes()
    }

    fn flash_summary(&self) -> Option<FlashSummary> {
        self.0.flash_summary()
    }

    fn idle_power(&self) -> Option<PowerMilliwatt> {
        self.0.idle_power
    }

    fn chip_geometry(&self) -> Option<Geometry> {
        self.0.chip_geometry()
    }

    fn images(&self) -> Vec<ImageOf<'_>> {
        Spec::images(&self.0)
    }

    fn remove_image(&mut self) {
        self.0.remove_image();
    }
}
