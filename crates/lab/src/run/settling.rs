//! Makes the erase blocks of a new partition usable before anything is measured. UBI's thread and JFFS2's do it in the
//! background after the first mount, once in the life of a device, and a workload that is measured meanwhile waits for it.

use super::runner::{RunError, Runner, Stop};
use ffslab_workload::Step;

/// How long the machine is left alone before it is asked again whether blocks wait.
const LOOK_EVERY_NS: u64 = 100_000_000;
/// Nobody works any more when so many looks in a row have found as many blocks waiting: 10 min, more than the slowest erase
/// of any block.
const IDLE_LOOKS_MAX: u32 = 6_000;

/// The options of the mount with which steps begin, if they begin with one: all that a setup takes of what is measured.
pub(crate) fn first_mount(measure: &[Step]) -> Option<&[String]> {
    let each = measure.iter().flat_map(Step::each).filter(|step| step.inner().is_empty());
    match { each }.find(|step| step.concerns_the_machine()) {
        Some(Step::Mount(mount)) => Some(&mount.options),
        Some(Step::Boot(boot)) => Some(&boot.options),
        _ => None,
    }
}

impl Runner<'_> {
    /// Lets time pass until no block waits, behind a step of the setup. That is the mount: what later steps leave in memory is
    /// not written back meanwhile, as it is not there yet.
    pub(super) fn settle(&mut self) -> Result<(), Stop> {
        if self.measuring || !self.settles {
            return Ok(());
        }
        let (mut waiting, mut idle_looks) = (self.system.blocks_to_format(), 0);
        while waiting > 0 && idle_looks < IDLE_LOOKS_MAX {
            self.system.sleep_ns(LOOK_EVERY_NS);
            self.tick()?;
            let before = std::mem::replace(&mut waiting, self.system.blocks_to_format());
            idle_looks = if waiting == before { idle_looks + 1 } else { 0 };
        }
        Ok(())
    }

    /// The same where the measured steps mount an erased partition for the first time: it is mounted once before, and switched off
    /// and on. A mount that cannot be made is left to the measured steps, which tell why.
    pub(super) fn settle_before(&mut self, measure: &[Step]) -> Result<(), RunError> {
        first_mount(measure).map_or(Ok(()), |options| self.settle_erased(options))
    }

    /// Mounts an erased partition, settles it, unmounts it, and switches the machine off and on.
    pub(crate) fn settle_erased(&mut self, options: &[String]) -> Result<(), RunError> {
        let programmed = self.system.programmed_pages();
        let is_erased = !programmed.is_empty() && programmed.iter().all(|pages| *pages == 0);
        if !self.settles || !is_erased || self.system.is_mounted() {
            return Ok(());
        }
        let in_setup = |text: String| RunError::Step(format!("end of the setup: {text}"));
        if self.system.mount(options).is_ok() {
            self.settle_mounted()?;
            self.system.umount().map_err(|error| in_setup(error.to_string()))?;
        }
        self.crash().map_err(|error| in_setup(error.to_string()))
    }

    /// The same behind a mount that no step has made.
    pub(crate) fn settle_mounted(&mut self) -> Result<(), RunError> {
        self.settle().map_err(|error| match error {
            Stop::Failed(text) => RunError::Step(format!("end of the setup: {text}")),
            Stop::Interrupted => RunError::Interrupted,
        })
    }
}
