//! What an experiment runs on: a board with its part and kernel.

use crate::board::Board;
use crate::build_of_kernel::with_words;
use crate::built_in::{is_path, Kind};
use crate::circumstances::Circumstances;
use crate::constant::ns_of_us;
use crate::driver::{DriverCosts, SimulatedChip, SimulatedChipTable};
use crate::error::ProfileError;
use crate::kernel::{FlashRules, KernelProfile, KERNEL_DEFAULT, LINUX};
use crate::layers::{has_layers, merged, merged_for, part_named};
use crate::loader::{Loader, LoaderTable};
use crate::look_up::{find, Text};
use crate::nand_wait::NandWaitName;
use crate::part::{Part, PartKind};
use crate::program::{ProgramCosts, ProgramTable};
use crate::spi::{SpiController, SpiTable};
use ffslab_flash::Timing;
use ffslab_linux::{DirtyLimits, Kernel, VfsCosts, WriteBackKnobs};
use ffslab_mtd::{Driver, Ecc};
use ffslab_sim::units::us_to_ns;
use ffslab_sim::{CpuCosts, PowerMilliwatt, SchedulerClock};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// What an experiment runs on: a board with its part and kernel, each possibly replaced.
#[derive(Clone, Debug)]
pub struct Profile {
    pub board_name: String,
    pub board: Board,
    pub part_name: String,
    pub part: Part,
    pub kernel_name: String,
    pub kernel: KernelProfile,
    /// Times and powers of the driver, derived with the part that the board was made with.
    costs: DriverCosts,
    /// Of raw NAND.
    ecc: Option<Ecc>,
    spi: Option<SpiController>,
    /// `None`: nothing is known of it.
    u_boot: Option<Loader>,
    spl: Option<Loader>,
    /// The board whose driver was taken over for another part.
    driver_of: Option<String>,
    /// Its files have layers, which hold in some circumstances only.
    has_layers: bool,
}

/// Profiles of built-in names, board, part and kernel, that were read before: a study loads the same ones for each of its
/// points, and reading them takes longer than a small run. Files of the user's own may change and are read each time.
static KNOWN: Mutex<BTreeMap<[Option<String>; 3], Profile>> = Mutex::new(BTreeMap::new());

/// Built-in boards in circumstances in which they were before, for the same reason.
static LAYERED: Mutex<BTreeMap<String, (Board, DriverCosts)>> = Mutex::new(BTreeMap::new());

impl Profile {
    /// Loads a board by name or path, with its part and kernel unless others are named. Paths are relative to
    /// `base_dir` (those inside a board file to the folder of that file).
    pub fn load(
        board: &str,
        part: Option<&str>,
        kernel: Option<&str>,
        base_dir: &Path,
    ) -> Result<Profile, ProfileError> {
        let names = [Some(board), part, kernel].map(|name| name.map(str::to_string));
        let all_built_in = !names.iter().flatten().any(|name| is_path(name));
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(profile) = known.get(&names) {
            return Ok(profile.clone());
        }
        let profile = Profile::read(board, part, kernel, base_dir)?;
        if all_built_in {
            known.insert(names, profile.clone());
        }
        Ok(profile)
    }

    fn read(board: &str, part: Option<&str>, kernel: Option<&str>, base_dir: &Path) -> Result<Profile, ProfileError> {
        let source = find(Kind::Board, board, base_dir)?;
        let merged_board = merged(Kind::Board, &source)?;
        let (parsed, driver_of): (Board, _) = (merged_board.read()?, merged_board.driver_of);
        let own_part = part_named(&parsed.part, &source.folder)?;
        let costs = parsed.driver_costs(&own_part, &source.label)?;
        let (part_name, mut part) = match part {
            Some(name) => (name.to_string(), part_named(name, base_dir)?),
            None => (parsed.part.clone(), own_part),
        };
        parsed.controller_bus().drives(&mut part);
        let (kernel_name, kernel_folder) = match kernel {
            Some(name) => (name.to_string(), base_dir),
            None => match &parsed.kernel {
                Some(name) => (name.clone(), source.folder.as_path()),
                None => (KERNEL_DEFAULT.to_string(), base_dir),
            },
        };
        let kernel: KernelProfile = merged(Kind::Kernel, &find(Kind::Kernel, &kernel_name, kernel_folder)?)?.read()?;
        let out_of_range = |key, value, needed| {
            let place = format!("kernel `{kernel_name}`");
            ProfileError::OutOfRange { place, key, value, needed }
        };
        if kernel.hz.value == 0 || kernel.hz.value > 10_000 {
            return Err(out_of_range("hz", kernel.hz.value, "1 to 10000"));
        }
        for (key, percent) in [
            ("dirty_ratio_pct", kernel.dirty_ratio_pct.value),
            ("dirty_background_ratio_pct", kernel.dirty_background_ratio_pct.value),
        ] {
            if percent > 100 {
                return Err(out_of_range(key, percent, "0 to 100"));
            }
        }
        let ecc = parsed.ecc();
        if ecc.is_none() && part.kind() == PartKind::Nand {
            return Err(ProfileError::NoEcc { board: board.to_string(), part: part_name });
        }
        let spi = parsed.spi.as_ref().map(SpiTable::controller).transpose();
        let spi = spi.map_err(|message| ProfileError::Part { file: source.label.clone(), message })?;
        let loader = |name, table: &Option<LoaderTable>| {
            let loader = table.as_ref().map(|table| table.loader(name, spi)).transpose();
            loader.map_err(|message| ProfileError::Part { file: source.label.clone(), message })
        };
        let (u_boot, spl) = (loader("u_boot", &parsed.u_boot)?, loader("spl", &parsed.spl)?);
        let (board_name, has_layers) = (board.to_string(), has_layers(Kind::Board, &source)?);
        Ok(Profile {
            board_name,
            board: parsed,
            part_name,
            part,
            kernel_name,
            kernel,
            costs,
            ecc,
            spi,
            u_boot,
            spl,
            driver_of,
            has_layers,
        })
    }

    /// Puts a chip on the board that is described in place, by the keys of a part's profile.
    ///
    /// Errors: as those of such a file, which is called `label`.
    pub fn set_part(&mut self, label: &str, keys: &toml::Table, base_dir: &Path) -> Result<(), ProfileError> {
        let text = Text { label: label.to_string(), text: keys.to_string(), folder: base_dir.to_path_buf() };
        self.part = Part::of(&merged(Kind::Part, &text)?)?;
        self.board.controller_bus().drives(&mut self.part);
        self.part_name = label.to_string();
        Ok(())
    }

    /// Lets those layers of the board hold that hold in these circumstances.
    ///
    /// Errors: a value in one of them that its key cannot have.
    pub fn hold_in(&mut self, circumstances: &Circumstances<'_>, base_dir: &Path) -> Result<(), ProfileError> {
        if !self.has_layers {
            return Ok(());
        }
        let key = (!is_path(&self.board_name)).then(|| format!("{} {circumstances:?}", self.board_name));
        let mut known = LAYERED.lock().unwrap_or_else(PoisonError::into_inner);
        let found = key.as_ref().and_then(|key| known.get(key)).cloned();
        (self.board, self.costs) = match found {
            Some(found) => found,
            None => {
                let source = find(Kind::Board, &self.board_name, base_dir)?;
                let board: Board = merged_for(Kind::Board, &source, Some(circumstances))?.read()?;
                let costs = board.driver_costs(&part_named(&board.part, &source.folder)?, &source.label)?;
                if let Some(key) = key {
                    known.insert(key, (board.clone(), costs));
                }
                (board, costs)
            }
        };
        Ok(())
    }

    /// The driver where tasks wait for the chip in this way. `driver` is [`Profile::driver`] as the experiment wants it, `chip` what the
    /// chip takes.
    pub fn complete_driver(&self, driver: &mut Driver, wait: NandWaitName, chip: &Timing) {
        if let Some(table) = &self.board.driver {
            table.complete(driver, wait, chip, &self.part.geometry());
        }
    }

    /// The driver waits by counted loops, see [`ffslab_sim::SimConfig::delays_are_loops`].
    pub fn delays_are_loops(&self) -> bool {
        self.board.driver.as_ref().is_some_and(|driver| driver.delays_are_loops())
    }

    /// What stands in for the flash; `None`: there is a chip.
    pub fn simulated_chip(&self) -> Option<SimulatedChip> {
        self.board.simulated_chip.as_ref().map(SimulatedChipTable::chip)
    }

    /// What the program that does the steps computes.
    pub fn program(&self) -> Option<ProgramCosts> {
        self.board.program.as_ref().map(ProgramTable::costs)
    }

    /// By which clock run time is charged.
    pub fn scheduler_clock(&self) -> SchedulerClock {
        self.board.build.as_ref().map_or(SchedulerClock::Exact, |build| build.scheduler_clock())
    }

    /// Whether the kernel is built for several CPUs.
    pub fn smp(&self) -> bool {
        self.board.build.as_ref().and_then(|build| build.smp.as_ref()).is_some_and(|smp| smp.value)
    }

    /// Whether the tick is a timer among the others.
    pub fn tick_is_timer(&self) -> bool {
        let build = self.board.build.as_ref();
        build.and_then(|build| build.tick_is_timer.as_ref()).is_some_and(|is_timer| is_timer.value)
    }

    /// Unused names of other file systems, of a machine that has been up so long and where `drop_caches` ends early.
    pub fn others_unused_count(&self, uptime_ns: u64) -> Option<usize> {
        let after_boot = self.board.build.as_ref()?.names_unused_after_boot_count.as_ref()?.value;
        let until_ns = self.simulated_chip().map_or(0, |chip| chip.first_chip_until_ns);
        Some(if uptime_ns < until_ns { after_boot } else { 0 })
    }

    /// How long the board has been up when an experiment finds it, in ns; `None`: it does not say.
    pub fn uptime_ns(&self) -> Option<u64> {
        Some(us_to_ns(self.board.begin.as_ref()?.uptime_us.as_ref()?.value.0))
    }

    /// How far its wall clock is in its second then, in ns.
    pub fn wall_clock_ns(&self) -> Option<u64> {
        Some(us_to_ns(self.board.begin.as_ref()?.wall_clock_us.as_ref()?.value.0))
    }

    /// What a tick of the timer takes.
    pub fn tick_cost_ns(&self) -> u64 {
        let tick = self.board.cpu.as_ref().and_then(|cpu| cpu.tick_us.as_ref());
        tick.map_or(0, |says| us_to_ns(says.value.0))
    }

    /// What a turn takes of a task that gets the CPU and finds its lock taken.
    pub fn vain_turn_ns(&self) -> u64 {
        self.board.cpu.as_ref().map_or(0, |cpu| ns_of_us(&cpu.vain_turn_us))
    }

    /// What the page cache may take of so much memory, in KiB.
    pub fn page_cache_of_kib(&self, memory_kib: u64) -> u64 {
        memory_kib.saturating_sub(self.board.memory_taken_kib().unwrap_or(0))
    }

    /// The controller of the board's serial bus.
    ///
    /// Errors: there is none.
    pub fn spi(&self) -> Result<SpiController, ProfileError> {
        let none = || ProfileError::NoSpi { board: self.board_name.clone(), part: self.part_name.clone() };
        self.spi.ok_or_else(none)
    }

    /// What U-Boot takes; `None`: the board does not say.
    pub fn u_boot(&self) -> Option<Loader> {
        self.u_boot
    }

    /// What the first part of a boot loader takes; `None`: the board does not say.
    pub fn spl(&self) -> Option<Loader> {
        self.spl
    }

    /// The NAND driver of the board, with its own ECC. A board without raw NAND has none, and says so with the Hamming code of a
    /// controller; what corrects a part on a serial bus, the part says.
    pub fn driver(&self) -> Driver {
        let DriverCosts { read, program, erase } = self.costs;
        Driver {
            ecc: self.ecc.unwrap_or(Ecc::HARDWARE),
            bitflip_threshold_bits: self
                .kernel
                .reports_each_bitflip
                .as_ref()
                .is_some_and(|each| each.value)
                .then_some(1),
            read,
            program,
            erase,
            polls_with_resched: false,
            has_bad_block_table: self.board.has_bad_block_table(),
            load_ps_per_byte: self.board.load_ps_per_byte(),
            read_part_ns: 0,
            read_part_wait_ns: 0,
            page_memory: None,
            program_data_ns: 0,
        }
    }

    /// What a task does while it waits for the chip.
    pub fn nand_wait(&self) -> NandWaitName {
        self.board.nand_wait.value
    }

    pub fn page_cache_bytes(&self) -> u64 {
        self.board.page_cache_kib.value.saturating_mul(1024)
    }

    /// The kernel's default read-ahead on MTD devices, in KiB.
    pub fn read_ahead_kib(&self) -> u32 {
        self.kernel.read_ahead_kib.value
    }

    /// What an answer says of a driver of raw NAND that is another board's.
    pub fn driver_note(&self) -> Option<String> {
        let of = self.driver_of.as_ref().filter(|_| self.part.kind() == PartKind::Nand)?;
        let controller = self.board.controller.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
        Some(format!(
            "the driver of the NAND is that of {of}{controller}: {} names no controller (`ffslab profiles ls` lists them, \
             controller = \"...\" in its file names one)",
            self.board_name
        ))
    }

    /// What the kernel's file systems and drivers do.
    pub fn flash_rules(&self) -> FlashRules {
        self.kernel.flash_rules()
    }

    /// The version of the kernel without its stable release, by which layers tell kernels apart; of a file its name.
    pub fn kernel_series(&self) -> String {
        LINUX.series(&self.kernel_name).unwrap_or_else(|| self.kernel_name.clone())
    }

    /// Timer ticks per second.
    pub fn tick_rate_hz(&self) -> u32 {
        let of_board = self.board.build.as_ref().and_then(|build| build.hz.as_ref());
        of_board.unwrap_or(&self.kernel.hz).value
    }

    /// The rules of the kernel as it was built for the board.
    pub fn kernel(&self) -> Kernel {
        let kernel = self.kernel.rules(&self.kernel_name);
        // The root file system of a board in use has more unused names than a kernel may spare.
        let in_use = |kernel: Kernel| Kernel { dentries_spared_count: 0, ..kernel };
        let Some(build) = &self.board.build else { return in_use(kernel) };
        let kernel = build.built(kernel);
        let kernel = match &build.word_bits {
            Some(word_bits) => with_words(kernel, word_bits.value),
            None => kernel,
        };
        if build.other_names.as_ref().is_none_or(|other| other.value) {
            return in_use(kernel);
        }
        kernel
    }

    pub fn write_back(&self) -> WriteBackKnobs {
        WriteBackKnobs {
            writeback_interval_ms: self.kernel.dirty_writeback_ms.value,
            expire_ms: self.kernel.dirty_expire_ms.value,
            limits: DirtyLimits::Percent {
                dirty_percent: self.kernel.dirty_ratio_pct.value,
                background_percent: self.kernel.dirty_background_ratio_pct.value,
            },
        }
    }

    /// Power that the board draws when nothing runs, if it is known.
    pub fn idle_power(&self) -> Option<PowerMilliwatt> {
        let idle = self.board.idle.as_ref()?;
        Some(PowerMilliwatt { cpu: idle.cpu_mw.value.0, memory: idle.memory_mw.value.0 })
    }

    /// Times and power of the CPU's work. With `traced` they include the tracers that ran when the board was measured.
    ///
    /// Errors: the board's profile does not say what tracers cost.
    pub fn cpu_costs(&self, traced: bool) -> Result<CpuCosts, ProfileError> {
        let mut costs = self.board.cpu.as_ref().map_or(CpuCosts::FREE, |cpu| cpu.costs(self.flash_rules().lzo));
        costs.mounting.console_char_ns = self.board.console_char_ns();
        if traced {
            let Some(tracers) = &self.board.tracers else {
                return Err(ProfileError::NoTracers { board: self.board_name.clone() });
            };
            tracers.add_to(&mut costs);
        }
        Ok(costs)
    }

    pub fn vfs_costs(&self) -> VfsCosts {
        self.board.vfs.costs()
    }
}
