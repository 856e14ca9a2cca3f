//! The programs before the kernel: how their code is priced on a board, and how they drive a chip on a serial bus.

use crate::error::MachineError;
use crate::media;
use ffslab_mtd::spi_nand::{Waiting, Wiring};
use ffslab_profiles::{Loader, Profile};
use ffslab_system::Runs;
use ffslab_ubi::UbiOptions;

/// Code takes what it takes in the kernel.
const AS_IN_KERNEL_PERCENT: u64 = 100;

/// How a program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// Code takes so many per cent of its price in the kernel.
    pub code_percent: u64,
    /// How it drives a chip on a serial bus; `None`: there is none.
    pub wiring: Option<Wiring>,
    /// What an answer says if the board does not know it.
    pub note: Option<&'static str>,
}

impl Default for Running {
    /// As the kernel, on a board without such a bus.
    fn default() -> Running {
        Running { code_percent: AS_IN_KERNEL_PERCENT, wiring: None, note: None }
    }
}

/// The programs of a boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    linux: Running,
    u_boot: Running,
    spl: Running,
}

impl Programs {
    /// Of a board whose kernel drives the chip as `wiring` says.
    ///
    /// Errors: lines on which the chip cannot be read.
    pub fn of(profile: &Profile, wiring: Option<&Wiring>) -> Result<Programs, MachineError> {
        Ok(Programs {
            linux: Running { wiring: wiring.cloned(), ..Running::default() },
            u_boot: loader(profile, profile.u_boot(), wiring, NO_U_BOOT)?,
            spl: loader(profile, profile.spl(), wiring, NO_SPL)?,
        })
    }

    pub fn running(&self, runs: Runs) -> &Running {
        match runs {
            Runs::Linux => &self.linux,
            Runs::UBoot => &self.u_boot,
            Runs::Spl => &self.spl,
        }
    }
}

const NO_U_BOOT: &str = "the board's profile does not say how long code of U-Boot takes ([u_boot] cpu_time_scale): its stages are priced as \
                         the kernel's code, and caches that are off would make them longer";
const NO_SPL: &str = "the board's profile does not say how long code of an SPL takes ([spl] cpu_time_scale): its stages are priced as the \
                      kernel's code, and caches that are off would make them longer";

/// The status of a chip is polled without a pause (`spinand_wait` of U-Boot's `drivers/mtd/nand/spi/core.c`), and pages are read one by one.
fn loader(
    profile: &Profile,
    says: Option<Loader>,
    wiring: Option<&Wiring>,
    unknown: &'static str,
) -> Result<Running, MachineError> {
    let code_percent = says.and_then(|says| says.code_percent);
    let wiring = match (wiring, says.and_then(|says| says.spi)) {
        (None, _) => None,
        (Some(wiring), None) => Some(wiring.clone()),
        (Some(_), Some(controller)) => media::wiring_by(profile, &controller)?,
    };
    let polls = |wiring: Wiring| {
        let mut bus = wiring.bus;
        bus.waiting = Waiting::Polls;
        Wiring { bus, continuous_reads: false, ..wiring }
    };
    Ok(Running {
        code_percent: code_percent.unwrap_or(AS_IN_KERNEL_PERCENT),
        wiring: wiring.map(polls),
        note: code_percent.is_none().then_some(unknown),
    })
}

/// What runs on a machine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stage {
    pub runs: Runs,
    /// Whether its UBI knows the fastmap; `None`: as the kernel's.
    pub fastmap: Option<bool>,
}

impl Stage {
    pub fn is_loader(self) -> bool {
        self.runs != Runs::Linux
    }

    /// The options of an attach.
    pub fn ubi_options(self, of_kernel: &UbiOptions) -> UbiOptions {
        let fastmap = self.fastmap.unwrap_or(of_kernel.fastmap);
        UbiOptions { fastmap, fm_autoconvert: fastmap && of_kernel.fm_autoconvert, ..of_kernel.clone() }
    }
}
