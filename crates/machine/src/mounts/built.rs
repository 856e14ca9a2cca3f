//! A machine with several mounts, built as it is described.

use super::{Mounts, MountsSpec};
use crate::error::MachineError;
use crate::spec::{FlashSummary, ImageOf, Spec, State};
use crate::stack::Stack;
use ffslab_flash::Geometry;
use ffslab_profiles::ProgramCosts;
use ffslab_sim::PowerMilliwatt;
use ffslab_system::System;

impl Spec for MountsSpec {
    fn boxed(&self) -> Box<dyn Spec> {
        Box::new(self.clone())
    }

    fn build(&self, state: Option<&State>) -> Result<Box<dyn System>, MachineError> {
        Ok(Box::new(match state {
            None => Mounts::new(self)?,
            Some(state) => {
                let mut spec = self.clone();
                spec.remove_image();
                Mounts::around(Stack::restored(&spec.root, &state.medium, state.at_ns)?, &spec)?
            }
        }))
    }

    fn set_epoch_s(&mut self, epoch_s: u64) {
        self.all_mut().for_each(|spec| spec.set_epoch_s(epoch_s));
    }

    fn medium_bytes(&self) -> u64 {
        // A volume is a part of the root's partition.
        self.all().filter(|spec| spec.volumes.own.is_none()).map(Spec::medium_bytes).sum()
    }

    fn flash_summary(&self) -> Option<FlashSummary> {
        self.root.flash_summary()
    }

    fn notes(&self) -> Vec<String> {
        Spec::notes(&self.root)
    }

    fn idle_power(&self) -> Option<PowerMilliwatt> {
        self.root.idle_power()
    }

    fn program(&self) -> Option<&ProgramCosts> {
        self.root.program()
    }

    fn chip_geometry(&self) -> Option<Geometry> {
        self.root.chip_geometry()
    }

    fn images(&self) -> Vec<ImageOf<'_>> {
        self.all().flat_map(Spec::images).collect()
    }

    fn remove_image(&mut self) {
        self.all_mut().for_each(Spec::remove_image);
    }

    fn without_read_ahead(&mut self) {
        self.all_mut().for_each(Spec::without_read_ahead);
    }
}
