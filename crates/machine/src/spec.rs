//! A machine that can be built again and again, whichever system runs on it.

use crate::error::MachineError;
use crate::media::PartitionSpec;
use ffslab_flash::Geometry;
use ffslab_mtd::MediumImage;
use ffslab_profiles::ProgramCosts;
use ffslab_sim::units::ns_to_us;
use ffslab_sim::PowerMilliwatt;
use ffslab_system::System;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Debug;
use std::ops::{Deref, DerefMut};
use std::path::Path;

/// 2011-01-01, the time of day at virtual time 0: the era of the boards in question. It only enters time stamps.
pub const EPOCH_S: u64 = 1_293_840_000;

/// All numbers that are needed to build a machine with one system.
pub trait Spec: Debug + Send + Sync + 'static {
    /// A copy.
    fn boxed(&self) -> Box<dyn Spec>;

    /// A new machine on which nothing is mounted. With a state, its medium holds the content of the state, and the
    /// virtual time is the one at which the state was complete.
    ///
    /// Errors: the medium is impossible, the image does not fit, or the state is that of another medium.
    fn build(&self, state: Option<&State>) -> Result<Box<dyn System>, MachineError>;

    /// Sets the time of day at virtual time 0. Nothing is set where the system always starts on the same day.
    fn set_epoch_s(&mut self, _epoch_s: u64) {}

    /// Size of the partition or device. For memory files it is the memory that the board has for them.
    fn medium_bytes(&self) -> u64;

    /// The chip as results describe it. `None`: the results have no chip.
    fn flash_summary(&self) -> Option<FlashSummary> {
        None
    }

    /// Power that the idle board draws. `None`: no source gives it, so results have only the energy above idle.
    fn idle_power(&self) -> Option<PowerMilliwatt> {
        None
    }

    /// What the program that does the steps computes on this machine; `None`: it takes no time.
    fn program(&self) -> Option<&ProgramCosts> {
        None
    }

    /// Why results have no energy at all, in a sentence. `None`: they have.
    fn no_energy(&self) -> Option<&'static str> {
        None
    }

    /// What an answer must say of this machine, in sentences.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The geometry of the chip in a state of this machine. `None`: the state is plain bytes.
    fn chip_geometry(&self) -> Option<Geometry> {
        None
    }

    /// The image files whose content the medium holds at the start.
    fn images(&self) -> Vec<ImageOf<'_>>;

    /// The medium is empty at the start.
    fn remove_image(&mut self);

    /// Switches off read-ahead that changes nothing on the medium.
    fn without_read_ahead(&mut self) {}
}

/// The content of a medium that is switched off.
pub struct State {
    pub medium: MediumImage,
    /// Virtual time at which the state was complete.
    pub at_ns: u64,
    /// Position in the stream of content from which steps take the data that they write. The steps after the state
    /// continue there.
    pub content_position_bytes: usize,
}

/// The chip of a variant.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FlashSummary {
    #[serde(rename = "page_B")]
    pub page_bytes: u32,
    #[serde(rename = "oob_B")]
    pub oob_bytes: u32,
    pub pages_per_block: u32,
    pub chip_blocks: u32,
    pub t_read_us: f64,
    pub t_program_us: f64,
    pub t_erase_us: f64,
    #[serde(rename = "bus_ns_per_B")]
    pub bus_ns_per_byte: f64,
    /// RAM that the map of a translation layer above it needs; absent: there is no such layer.
    #[serde(rename = "map_B", skip_serializing_if = "Option::is_none")]
    pub map_bytes: Option<u64>,
}

impl From<&PartitionSpec> for FlashSummary {
    fn from(of: &PartitionSpec) -> FlashSummary {
        FlashSummary {
            page_bytes: of.geometry.page_bytes,
            oob_bytes: of.geometry.oob_bytes,
            pages_per_block: of.geometry.pages_per_block,
            chip_blocks: of.geometry.blocks,
            t_read_us: ns_to_us(of.timing.read_ns),
            t_program_us: ns_to_us(of.timing.program_ns),
            t_erase_us: ns_to_us(of.timing.erase_ns),
            bus_ns_per_byte: of.timing.bus_ps_per_byte as f64 / 1_000.0,
            map_bytes: None,
        }
    }
}

/// A [`Spec`] of any system.
#[derive(Debug)]
pub struct MachineSpec(Box<dyn Spec>);

/// The image file whose content the medium holds at the start.
pub struct ImageOf<'a> {
    pub path: &'a Path,
    pub oob: bool,
    pub autoplace: bool,
}

impl MachineSpec {
    pub fn new(spec: impl Spec) -> MachineSpec {
        MachineSpec(Box::new(spec))
    }

    /// The same machine with an empty medium at the start.
    pub fn without_image(&self) -> MachineSpec {
        let mut spec = self.clone();
        spec.remove_image();
        spec
    }
}

impl Clone for MachineSpec {
    fn clone(&self) -> MachineSpec {
        MachineSpec(self.0.boxed())
    }
}

impl Deref for MachineSpec {
    type Target = dyn Spec;

    fn deref(&self) -> &dyn Spec {
        &*self.0
    }
}

impl DerefMut for MachineSpec {
    fn deref_mut(&mut self) -> &mut dyn Spec {
        &mut *self.0
    }
}
