//! The block device below a file system, or below a program that drives it alone.

use crate::rtems::Machine;
use ffslab_bare::block::BlockProgram;
use ffslab_block::Device;
use ffslab_system::System;

/// The block device of a system, for callers that look at its single commands; `None`: it has none.
pub fn device_mut(system: &mut dyn System) -> Option<&mut Device> {
    let machine = system.as_any_mut()?;
    if machine.is::<BlockProgram>() {
        return machine.downcast_mut().map(BlockProgram::device_mut);
    }
    machine.downcast_mut().and_then(Machine::device_mut)
}
