//! The stacks on which measured cases ran, by their file systems.

mod arm;
mod debian;
mod linux;
mod mtdram;
mod nandsim;
mod yaffs2;

use crate::case::{Case, UbiSettings};
use crate::error::CaseError;
use ffslab_lab::run::Pace;
use ffslab_machine::file_systems::jffs2;
use ffslab_machine::file_systems::ubifs;
use ffslab_machine::file_systems::{self, Descriptor};
use ffslab_machine::stack::StackSpec;
use ffslab_machine::stack_keys::NO_FS;
use ffslab_ubi::BadReserve;
use linux::{kernel_of, linux_stack, UBIFS_UPTIME_NS, UPTIME_NS};
use std::sync::Arc;

/// How the cases of a file system are run.
struct Measured {
    fs: &'static Descriptor,
    /// The stack on which a case ran.
    ///
    /// Errors: settings that the file system or ffslab does not have.
    stack: fn(&Case) -> Result<StackSpec, CaseError>,
    /// Adds what the program that measured did without writing it into the case.
    complete: fn(&mut Case),
    /// Whether it ran in a kernel; a harness has no tick counter.
    has_ticks: fn(&Case) -> bool,
    /// A new second of the wall clock makes it write inodes that it would not write otherwise. The nodes of JFFS2 are written by
    /// each call, whatever the time.
    keeps_seconds: bool,
}

/// The file systems with which cases were measured.
static MEASURED: [Measured; 3] = [
    Measured { fs: &jffs2::JFFS2, stack: jffs2_stack, complete: |_| {}, has_ticks: |_| true, keeps_seconds: false },
    Measured {
        fs: &file_systems::yaffs2::YAFFS2,
        stack: |case| Ok(yaffs2::stack(case)?),
        complete: yaffs2::add_unsaid_steps,
        has_ticks: |case| case.system.yaffs2_in_linux.is_some(),
        keeps_seconds: true,
    },
    Measured { fs: &ubifs::UBIFS, stack: ubifs_stack, complete: |_| {}, has_ticks: |_| true, keeps_seconds: true },
];

fn measured(fs: &str) -> Option<&'static Measured> {
    MEASURED.iter().find(|measured| measured.fs.name == fs)
}

/// The stack on which the case runs.
///
/// Errors: the file system is not mounted on Linux, or no cases were measured with it.
pub fn stack_of(case: &Case) -> Result<StackSpec, CaseError> {
    let fs = case.system.fs.as_str();
    match measured(fs) {
        Some(measured) => (measured.stack)(case),
        // A loop of the driver's operations on the partition itself.
        None if fs == NO_FS => Ok(linux_stack(case, kernel_of(case)?, UPTIME_NS, None)?),
        None => {
            file_systems::mountable(fs)?;
            Err(CaseError::NotRun { fs: fs.to_string() })
        }
    }
}

/// Adds what the program that measured did without writing it into the case.
pub fn complete(case: &mut Case) {
    if let Some(measured) = measured(&case.system.fs) {
        (measured.complete)(case);
    }
}

pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// How far the wall clock is in its second when the machine begins, in ns.
pub(crate) fn wall_clock_ns(stack: &StackSpec) -> u64 {
    (stack.sim.uptime_ns + u64::from(stack.vfs.epoch_ns)) % SECOND_NS
}

/// Lets the wall clock stand so far in its second when the machine begins, however long that has been up.
pub(crate) fn set_wall_clock(stack: &mut StackSpec, wall_clock_ns: u64) {
    let uptime_ns = stack.sim.uptime_ns % SECOND_NS;
    stack.vfs.epoch_ns = ((wall_clock_ns % SECOND_NS + SECOND_NS - uptime_ns) % SECOND_NS) as u32;
}

/// What a case does not say of the time at which it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unknown {
    /// How long its kernel had been up, if that has ticks.
    pub uptime: bool,
    /// How far the wall clock was in its second, if the file system keeps times by seconds and writes inodes for them.
    pub wall_clock: bool,
}

impl Unknown {
    pub fn of(case: &Case) -> Unknown {
        let in_kernel = measured(&case.system.fs).filter(|measured| (measured.has_ticks)(case));
        let keeps_seconds = in_kernel.is_some_and(|measured| measured.keeps_seconds);
        Unknown {
            uptime: in_kernel.is_some() && case.system.uptime_us.is_none(),
            wall_clock: keeps_seconds && case.system.wall_clock_us.is_none(),
        }
    }
}

/// What the program that does the steps of the case computes itself. `None`: it takes no time.
pub(crate) fn pace(case: &Case) -> Option<Box<dyn Pace>> {
    debian::pace(case).or_else(|| arm::pace(case))
}

fn jffs2_stack(case: &Case) -> Result<StackSpec, CaseError> {
    let (system, kernel) = (&case.system, kernel_of(case)?);
    let standard = jffs2::as_kernel(&kernel);
    let options = ffslab_jffs2::Options {
        compression: jffs2::compression(system.mount.compression)?,
        summary: system.jffs2_summary.unwrap_or(false),
        wbuf_delay_ms: system.vm.as_ref().map_or(standard.wbuf_delay_ms, |vm| vm.dirty_writeback_ms),
        ..standard
    };
    let uptime_ns = arm::uptime_ns(case, &arm::JFFS2).unwrap_or(UPTIME_NS);
    let mut stack = linux_stack(case, kernel, uptime_ns, Some(Arc::new(jffs2::Jffs2Settings(options))))?;
    arm::price(case, &mut stack, &arm::JFFS2);
    nandsim::price(case, &mut stack, &arm::JFFS2);
    mtdram::price(case, &mut stack, &arm::JFFS2);
    stack.partition.driver.polls_with_resched = system.cond_resched_after_program_and_erase;
    Ok(stack)
}

fn ubifs_stack(case: &Case) -> Result<StackSpec, CaseError> {
    let (system, standard, kernel) = (&case.system, ffslab_ubifs::Options::default(), kernel_of(case)?);
    let options = ffslab_ubifs::Options {
        rules: ubifs::kernel_rules(&kernel),
        lzo: ubifs::lzo(&kernel),
        compression: ubifs::compression(system.mount.compression)?,
        wbuf_delay_ms: system.vm.as_ref().map_or(standard.wbuf_delay_ms, |vm| vm.dirty_writeback_ms),
        ..standard
    };
    let fs_debug = system.has_ubifs_debug(case.flash.page_bytes, &options);
    let options = ffslab_ubifs::Options { fs_debug, ..options };
    let reserve = system.ubi.as_ref().map_or(BadReserve::Per1024OfChip(0), UbiSettings::bad_reserve);
    let ubi = ffslab_ubi::UbiOptions {
        vid_header_offset_bytes: system.ubi.as_ref().and_then(|ubi| ubi.vid_header_offset_bytes),
        ..ubifs::ubi_options(&kernel, reserve, system.subpage_writes.unwrap_or(true), case.flash.chip_blocks)
    };
    let uptime_ns = arm::uptime_ns(case, &arm::UBIFS).unwrap_or(UBIFS_UPTIME_NS);
    let mut stack = linux_stack(case, kernel, uptime_ns, Some(Arc::new(ubifs::UbifsSettings { options, ubi })))?;
    arm::price(case, &mut stack, &arm::UBIFS);
    stack.sim.polls_with_resched = system.cond_resched_after_program_and_erase;
    nandsim::price(case, &mut stack, &arm::UBIFS);
    mtdram::price(case, &mut stack, &arm::UBIFS);
    Ok(stack)
}
