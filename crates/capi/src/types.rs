//! Types of `ffslab.h`, laid out as there.

use ffslab_chip::{CallOp, Capabilities, MtdError, OpCounts, Torn};
use std::ffi::CStr;

pub(crate) const OK: i32 = 0;
pub(crate) const EINPUT: i32 = -1;
pub(crate) const EBUSY: i32 = -11;
pub(crate) const EINTERNAL: i32 = -12;

/// `enum ffslab_error`, from 0 on downwards.
pub(crate) const ERROR_NAMES: [&CStr; 13] = [
    c"FFSLAB_OK",
    c"FFSLAB_EINPUT",
    c"FFSLAB_ERANGE",
    c"FFSLAB_EALIGN",
    c"FFSLAB_EPROGRAM",
    c"FFSLAB_EERASE",
    c"FFSLAB_EECC",
    c"FFSLAB_EBAD",
    c"FFSLAB_ERULE",
    c"FFSLAB_ENOTSUP",
    c"FFSLAB_EPOWER",
    c"FFSLAB_EBUSY",
    c"FFSLAB_EINTERNAL",
];

pub(crate) fn code(error: MtdError) -> i32 {
    match error {
        MtdError::OutOfRange => -2,
        MtdError::Unaligned => -3,
        MtdError::ProgramFailed => -4,
        MtdError::EraseFailed => -5,
        MtdError::Uncorrectable => -6,
        MtdError::BadBlock => -7,
        MtdError::RuleBroken => -8,
        MtdError::NotSupported => -9,
        MtdError::PowerCut => -10,
        MtdError::Busy => EBUSY,
    }
}

/// `struct ffslab_geometry`.
#[repr(C)]
pub struct Geometry {
    size_bytes: u64,
    erase_block_bytes: u32,
    blocks: u32,
    program_bytes: u32,
    partial_program_bytes: u32,
    program_buffer_bytes: u32,
    oob_free_bytes: u32,
    /// 0 or 1, as the next one.
    clears_bits_again: u32,
    has_bad_blocks: u32,
}

impl From<&Capabilities> for Geometry {
    fn from(can: &Capabilities) -> Geometry {
        Geometry {
            size_bytes: u64::from(can.blocks) * u64::from(can.erase_block_bytes),
            erase_block_bytes: can.erase_block_bytes,
            blocks: can.blocks,
            program_bytes: can.program_bytes,
            partial_program_bytes: can.partial_program_bytes,
            program_buffer_bytes: can.write_buffer_bytes,
            oob_free_bytes: can.oob_free_bytes,
            clears_bits_again: can.clears_bits_again.into(),
            has_bad_blocks: can.has_bad_blocks.into(),
        }
    }
}

/// `struct ffslab_counters`: the counters of [`OpCounts`] in their order.
#[repr(C)]
pub struct Counters([u64; 12]);

impl From<OpCounts> for Counters {
    fn from(of: OpCounts) -> Counters {
        Counters([
            of.page_reads,
            of.partial_page_reads,
            of.oob_reads,
            of.page_programs,
            of.reprograms,
            of.oob_programs,
            of.erases,
            of.bus_out_bytes,
            of.bus_in_bytes,
            of.busy_ns,
            of.driver_ns,
            of.cpu_ns,
        ])
    }
}

/// `enum ffslab_op` has the order of [`CallOp`].
pub(crate) fn op(number: u32) -> Option<CallOp> {
    CallOp::ALL.get(number as usize).copied()
}

/// `enum ffslab_torn`.
pub(crate) fn torn(number: u32, seed: u64) -> Option<Torn> {
    match number {
        0 => Some(Torn::Nothing),
        1 => Some(Torn::Partial { seed }),
        2 => Some(Torn::Complete),
        _ => None,
    }
}
