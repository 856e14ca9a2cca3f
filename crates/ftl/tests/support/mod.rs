//! A small NAND with a device on it, and a model that knows what each sector may hold after a power cut.
//!
//! The model keeps for each sector what it held at the last flush and everything that was written or trimmed since: after a cut
//! the sector holds one of these, whole. Without a cut it holds the last one.
#![allow(dead_code)]

use ffslab_flash::{Chip, Faults, Geometry, Rules, Timing, Torn};
use ffslab_ftl::flash::OnMedium;
use ffslab_ftl::{BlockDevice, BufferRule, DeviceError, Disk, FtlConfig, FtlError, Mapping, SlcCacheConfig, Victim};
use ffslab_mtd::spi_nand::{Bus, Encoding, Layout, ReadCommand, SpiNand, Waiting, Wiring};
use ffslab_mtd::striped::Stripes;
use ffslab_mtd::{Driver, MediumImage, Mtd, Nand};
use ffslab_policy::{EvictionSpec, FreeSpec, LevellingSpec, StreamSpec};
use ffslab_sim::{Sim, SimConfig};
use rand_pcg::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

pub mod commands;

pub const PAGE_BYTES: u32 = 2048;
pub const PAGES_PER_BLOCK: u32 = 8;
pub const BLOCKS: u32 = 24;
pub const SECTOR_BYTES: u32 = 512;
/// What the mount reads of a fresh block must be told from zeros.
pub const LOGICAL_PAGES: u32 = 72;

const TIMING: Timing = Timing { read_ns: 25_000, program_ns: 200_000, erase_ns: 500_000, bus_ps_per_byte: 50_000 };
const RULES: Rules = Rules { partial_programs_max: 1, in_order: true };

pub fn medium(faults: &Faults) -> Mtd {
    medium_of(faults, BLOCKS, PAGES_PER_BLOCK)
}

pub fn medium_of(faults: &Faults, blocks: u32, pages_per_block: u32) -> Mtd {
    let geometry = Geometry { page_bytes: PAGE_BYTES, oob_bytes: 64, pages_per_block, blocks };
    let mut chip = Chip::new(Sim::new(SimConfig::default()), geometry, TIMING, RULES).unwrap();
    chip.set_faults(faults).unwrap();
    Mtd::new(&Nand::new(chip, Driver::default()).unwrap(), 0, blocks).unwrap()
}

/// SPI NAND of the same sizes, whose chip corrects it, and whose out-of-band area has this layout.
fn serial(layout: Layout, faults: &Faults) -> Mtd {
    let bus = Bus {
        clock_hz: 80_000_000,
        transfer_overhead_ns: 2_000,
        copy_ps_per_byte: 0,
        transfer_max_bytes: u32::MAX,
        waiting: Waiting::Sleeps,
    };
    let wiring = Wiring {
        layout,
        encoding: Encoding::Register30h,
        strength_bits: 8,
        bus,
        read: ReadCommand::over(4),
        program_lines: 4,
        dies: 1,
        select_die_bytes: 2,
        continuous_reads: false,
    };
    let oob_bytes = if layout == Layout::GigadeviceVariant2 { 128 } else { 64 };
    let geometry = Geometry { page_bytes: PAGE_BYTES, oob_bytes, pages_per_block: PAGES_PER_BLOCK, blocks: BLOCKS };
    let mut chip = Chip::new(Sim::new(SimConfig::default()), geometry, wiring.timing(TIMING), RULES).unwrap();
    chip.set_faults(faults).unwrap();
    let driver = Driver { ecc: wiring.ecc(), ..Driver::default() };
    SpiNand::of_chip(chip, wiring, driver, 0..BLOCKS).unwrap()
}

/// How a device is made and found again.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Several dies; `None`: one chip.
    pub stripes: Option<Stripes>,
    /// SPI NAND with this layout of its out-of-band area.
    pub serial: Option<Layout>,
    pub mapping: &'static Mapping,
    pub config: FtlConfig,
    pub buffer_pages: u32,
    pub buffer: BufferRule,
}

impl Setup {
    /// For people.
    pub fn name(&self) -> String {
        let FtlConfig { victim, levelling, map_eviction, stream, .. } = &self.config;
        let cache = match self.mapping.name {
            "dftl" => format!(", cache {}", map_eviction.text()),
            _ => String::new(),
        };
        let rules = [self.config.free_rule().text(), levelling.text(), stream.text()].join(", ");
        let dies = self.stripes.map(|Stripes { channels, dies_per_channel, planes }| {
            format!(", {channels} channels of {dies_per_channel} dies of {planes} planes")
        });
        let serial = self.serial.map(|layout| format!(", SPI NAND {layout:?}")).unwrap_or_default();
        let buffer = if self.buffer == BufferRule::Bplru { ", bplru" } else { "" };
        let (name, used) = (self.mapping.name, dies.unwrap_or_default() + &commands::name(&self.config));
        format!("{name}, {victim}, {rules}{cache}{buffer}{serial}{used}")
    }

    pub fn new(victim: Victim) -> Setup {
        // The host's requests have up to four pages.
        let config = FtlConfig { victim, sequential_request_pages: 3, ..FtlConfig::new(LOGICAL_PAGES) };
        Setup {
            stripes: None,
            serial: None,
            mapping: mapping("page-map"),
            config,
            buffer_pages: 3,
            buffer: BufferRule::Arrival,
        }
    }

    /// The flash below, as it left the factory.
    pub fn medium(&self, faults: &Faults) -> Mtd {
        match (self.stripes, self.serial) {
            (Some(stripes), _) => commands::striped(stripes, faults),
            (None, Some(layout)) => serial(layout, faults),
            (None, None) => medium(faults),
        }
    }

    pub fn format(&self, mtd: &Mtd) -> Result<Disk, DeviceError> {
        let ftl = (self.mapping.format)(OnMedium::new(mtd.clone())?, self.config.clone())?;
        Disk::new(ftl, SECTOR_BYTES, self.buffer_pages, self.buffer)
    }

    pub fn mount(&self, mtd: &Mtd) -> Result<Disk, DeviceError> {
        let before = mtd.modifying_operations();
        let ftl = (self.mapping.mount)(OnMedium::new(mtd.clone())?, self.config.clone())?;
        let after = mtd.modifying_operations();
        assert_eq!(after, before, "{}: finding the map writes nothing: no cut can harm there", self.name());
        Disk::new(ftl, SECTOR_BYTES, self.buffer_pages, self.buffer)
    }
}

/// The mapping with this name.
pub fn mapping(name: &str) -> &'static Mapping {
    ffslab_ftl::mapping::find(name).unwrap_or_else(|| panic!("no mapping {name}"))
}

/// Rules of DFTL's cache beside plain LRU.
const EVICTIONS: [&str; 5] = ["segmented-lru", "fifo", "random", "clock", "idle - 8 * uses - 20 * dirty"];

/// The settings that the tests go through.
pub fn setups() -> Vec<Setup> {
    let victims = ["greedy", "random", "fifo", "d-choices(2)", "windowed-greedy(6)", "cost-benefit", "cat"]
        .map(|name| name.parse());
    let plain = victims.into_iter().map(|victim| Setup::new(victim.unwrap()));
    let greedy = || Setup::new(Victim::Greedy);
    let with = |change: fn(&mut Setup)| {
        let mut setup = greedy();
        change(&mut setup);
        setup
    };
    let special = [
        with(|setup| setup.config.gc_apart = false),
        with(|setup| setup.config.checkpoint_every_pages = Some(40)),
        with(|setup| {
            setup.config.levelling = LevellingSpec::threshold(2);
            setup.buffer_pages = 0;
        }),
        with(|setup| {
            setup.config.free = Some(FreeSpec::FIFO);
            setup.config.checkpoint_every_pages = Some(97);
            setup.config.levelling = LevellingSpec::threshold(4);
        }),
    ];
    let idle = [
        with(|setup| setup.config.idle_free_blocks = Some(7)),
        with(|setup| {
            setup.config.idle_free_blocks = Some(6);
            setup.config.checkpoint_every_pages = Some(40);
            setup.config.stream = StreamSpec::HotCold;
        }),
    ];
    let dftl = |entries: u32, seed: u64| {
        let mut setup = Setup { mapping: mapping("dftl"), ..greedy() };
        setup.config = FtlConfig {
            map_cache_entries_count: Some(entries),
            gc_free_blocks: 5,
            logical_pages: LOGICAL_PAGES - 20,
            seed,
            ..setup.config
        };
        setup
    };
    let hybrid = |name: &str, log_blocks: u32| {
        let mut setup = Setup { mapping: mapping(name), ..greedy() };
        setup.config = FtlConfig { log_blocks, ..setup.config };
        setup
    };
    let hybrids =
        ["block-map", "bast", "fast", "last"].into_iter().flat_map(|name| [2, 4].map(|logs| hybrid(name, logs)));
    let evicting = EVICTIONS.iter().zip(3..).map(|(rule, seed)| {
        let mut setup = dftl(6, seed);
        setup.config.map_eviction = EvictionSpec::parse(rule).unwrap();
        setup
    });
    let streams = with(|setup| setup.config.stream = StreamSpec::HotCold);
    let by_score = with(|setup| setup.config.stream = StreamSpec::parse("40 - age + writes / now").unwrap());
    let dftls = [dftl(4, 1), dftl(30, 2), streams, by_score].into_iter().chain(evicting);
    let segments = |open_segments: u32, random_segments: u32, random_log_pages: Option<u32>| {
        let mut setup = hybrid("open-segments", open_segments);
        setup.config = FtlConfig { random_segments_count: random_segments, random_log_pages, ..setup.config };
        setup
    };
    let slc_cache = |blocks: u32, cell_bits: u32| {
        let mut setup = Setup { mapping: mapping("slc-cache"), ..greedy() };
        let cache = SlcCacheConfig { blocks, cell_bits, ..SlcCacheConfig::default() };
        setup.config = FtlConfig { slc_cache: Some(cache), ..setup.config };
        setup
    };
    let cards = [
        segments(1, 0, None),
        segments(3, 0, None),
        segments(4, 1, None),
        segments(4, 2, Some(3)),
        slc_cache(2, 1),
        slc_cache(4, 2),
        slc_cache(5, 3),
    ];
    let padded = |setup: Setup| Setup { buffer: BufferRule::Bplru, buffer_pages: 9, ..setup };
    let padded = [greedy(), dftl(6, 11), hybrid("bast", 3), hybrid("fast", 3), slc_cache(4, 2)].map(padded);
    let mut idle_dftl = dftl(6, 9);
    idle_dftl.config.idle_free_blocks = Some(8);
    let striped = [(2, 2, 1), (2, 1, 2), (4, 1, 4)].into_iter().flat_map(|(channels, dies_per_channel, planes)| {
        let stripes = Some(Stripes { channels, dies_per_channel, planes });
        [
            with(|setup| setup.config.checkpoint_every_pages = Some(40)),
            with(|setup| setup.config.idle_free_blocks = Some(6)),
            with(|setup| setup.config.stream = StreamSpec::HotCold),
            idle_dftl.clone(),
            hybrid("fast", 3),
            segments(4, 1, None),
            slc_cache(4, 2),
        ]
        .map(|setup| Setup { stripes, ..setup })
    });
    let on_serial = [
        greedy(),
        with(|setup| setup.config.checkpoint_every_pages = Some(40)),
        with(|setup| setup.config.idle_free_blocks = Some(6)),
        dftl(6, 12),
        hybrid("block-map", 3),
        hybrid("bast", 3),
        hybrid("fast", 3),
        hybrid("last", 3),
        segments(4, 1, None),
        slc_cache(4, 2),
    ];
    // The free bytes of GigaDevice's layout begin in the mark of a bad block.
    let layouts = [Layout::WinbondW25m02gv, Layout::GigadeviceVariant2];
    let serial = on_serial
        .into_iter()
        .zip(layouts.into_iter().cycle())
        .map(|(setup, layout)| Setup { serial: Some(layout), ..setup });
    let all = plain.chain(special).chain(idle).chain(dftls).chain(hybrids).chain(cards).chain(levelled());
    let all = all.chain(striped.collect::<Vec<_>>()).chain(padded).chain(serial);
    all.chain(commands::setups()).collect()
}

/// Each rule for levelling wear and each one for the next free block, over mappings that ask them in different places.
fn levelled() -> impl Iterator<Item = Setup> {
    let rules = [
        ("page-map", "most-worn", "rejuvenator(2)"),
        ("page-map", "first", "dual-pool(2)"),
        ("page-map", "random", "none"),
        ("dftl", "least-worn", "dual-pool(2)"),
        ("block-map", "first", "threshold(2)"),
        ("bast", "random", "rejuvenator(2)"),
        ("fast", "least-worn", "dual-pool(2)"),
        ("fast", "most-worn", "threshold(2)"),
        ("last", "fifo", "rejuvenator(2)"),
        ("page-map", "waited - 2 * erases", "(most - erases) - 2"),
        ("fast", "waited * (1 + erases - 2 * block)", "mean - erases"),
    ];
    rules.into_iter().map(|(name, free, levelling)| {
        let mut setup = Setup { mapping: mapping(name), ..Setup::new(Victim::Greedy) };
        setup.config = FtlConfig {
            free: Some(FreeSpec::parse(free).unwrap()),
            levelling: LevellingSpec::parse(levelling).unwrap(),
            log_blocks: 3,
            gc_free_blocks: 5,
            map_cache_entries_count: Some(16),
            logical_pages: LOGICAL_PAGES - 20,
            ..setup.config
        };
        setup
    })
}

/// The bytes of a sector with this stamp. Stamp 0: zeros.
pub fn sector_of(stamp: u64) -> [u8; SECTOR_BYTES as usize] {
    let mut bytes = [0; SECTOR_BYTES as usize];
    if stamp != 0 {
        Pcg32::seed_from_u64(stamp).fill_bytes(&mut bytes);
        bytes[..8].copy_from_slice(&stamp.to_le_bytes());
    }
    bytes
}

fn stamp_of(sector: &[u8]) -> Option<u64> {
    let stamp = u64::from_le_bytes(sector[..8].try_into().unwrap());
    (sector == sector_of(stamp)).then_some(stamp)
}

pub fn below(random: &mut Pcg32, bound: u64) -> u64 {
    (u64::from(random.next_u32()) * bound) >> 32
}

/// What each sector held at the last flush, and what was given to it since.
#[derive(Clone)]
pub struct Model {
    flushed: Vec<u64>,
    since: Vec<Vec<u64>>,
    stamp: u64,
}

impl Model {
    pub fn new(sectors: u64) -> Model {
        Model { flushed: vec![0; sectors as usize], since: vec![Vec::new(); sectors as usize], stamp: 0 }
    }

    fn now(&self, sector: usize) -> u64 {
        self.since[sector].last().copied().unwrap_or(self.flushed[sector])
    }

    /// One random call of the host. The model knows it before the device does, because a cut can come at any time.
    pub fn step(&mut self, device: &mut Disk, random: &mut Pcg32) -> Result<(), DeviceError> {
        let sectors = self.flushed.len() as u64;
        if self.stamp.is_multiple_of(3) {
            device.idle()?;
        }
        // Most of the traffic goes to a quarter of the device.
        let span = if below(random, 4) == 0 { sectors } else { sectors / 4 };
        let first = below(random, span);
        match below(random, 100) {
            0..=69 => {
                let count = (1 + below(random, 9)).min(sectors - first);
                let mut data = Vec::new();
                for sector in first..first + count {
                    self.stamp += 1;
                    self.since[sector as usize].push(self.stamp);
                    data.extend_from_slice(&sector_of(self.stamp));
                }
                device.write(first, &data)
            }
            70..=79 if !device.can_trim() => Ok(()),
            70..=79 => {
                let count = (1 + below(random, 24)).min(sectors - first);
                let per_page = u64::from(PAGE_BYTES / SECTOR_BYTES);
                // Only whole pages are forgotten.
                let pages = first.div_ceil(per_page)..(first + count) / per_page;
                for sector in pages.start * per_page..pages.end * per_page {
                    self.since[sector as usize].push(0);
                }
                device.trim(first, count)
            }
            80..=89 => {
                device.flush()?;
                for sector in 0..self.flushed.len() {
                    self.flushed[sector] = self.now(sector);
                    self.since[sector].clear();
                }
                Ok(())
            }
            _ => {
                let mut data = [0; SECTOR_BYTES as usize];
                device.read(first, &mut data)?;
                assert_eq!(stamp_of(&data), Some(self.now(first as usize)), "sector {first}");
                Ok(())
            }
        }
    }

    /// Reads everything after a mount: each sector must hold one of what it may. That is then what it holds.
    pub fn verify_after_cut(&mut self, device: &mut Disk, where_cut: &str) {
        let mut data = vec![0; self.flushed.len() * SECTOR_BYTES as usize];
        device.read(0, &mut data).unwrap_or_else(|error| panic!("{where_cut}: {error}"));
        for (sector, bytes) in data.chunks_exact(SECTOR_BYTES as usize).enumerate() {
            let stamp = stamp_of(bytes);
            let may = |stamp: u64| stamp == self.flushed[sector] || self.since[sector].contains(&stamp);
            assert!(
                stamp.is_some_and(may),
                "{where_cut}: sector {sector} holds {stamp:?}, flushed was {}, since then {:?}",
                self.flushed[sector],
                self.since[sector]
            );
            self.flushed[sector] = stamp.unwrap();
            self.since[sector].clear();
        }
    }

    /// Reads everything while the device runs.
    pub fn verify(&self, device: &mut Disk) {
        let mut data = vec![0; self.flushed.len() * SECTOR_BYTES as usize];
        device.read(0, &mut data).unwrap();
        for (sector, bytes) in data.chunks_exact(SECTOR_BYTES as usize).enumerate() {
            assert_eq!(stamp_of(bytes), Some(self.now(sector)), "sector {sector}");
        }
    }
}

pub fn torn(number: u64) -> Torn {
    match number % 4 {
        0 => Torn::Nothing,
        1 => Torn::Complete,
        _ => Torn::Partial { seed: number },
    }
}

/// Cuts the power after each flash operation in turn of the same `steps` calls, from the state that `warm_up` calls have made. After
/// each cut: mount, look at everything, go on with other calls, be cut again, mount, look. Returns how many cuts these were.
pub fn cut_everywhere(setup: &Setup, faults: &Faults, seed: u64, warm_up: u32, steps: u32, stride: u64) -> u64 {
    let mtd = setup.medium(faults);
    let mut random = Pcg32::seed_from_u64(seed);
    let mut device = setup.format(&mtd).unwrap();
    let mut model = Model::new(device.sectors());
    for _ in 0..warm_up {
        model.step(&mut device, &mut random).unwrap();
    }
    device.flush().unwrap();
    drop(device);
    let mut remounted = setup.mount(&mtd).unwrap();
    model.verify_after_cut(&mut remounted, "before the first cut");
    drop(remounted);
    let start: MediumImage = mtd.snapshot();
    let mut cuts = 0;
    let mut after = 1 + seed % stride;
    loop {
        mtd.restart();
        mtd.restore(&start).unwrap();
        let (mut model, mut calls) = (model.clone(), random.clone());
        let mut device = setup.mount(&mtd).unwrap();
        mtd.cut_power_after(after, torn(after + seed));
        let Some(()) = run_until_cut(&mut model, &mut device, &mut calls, steps) else { return cuts };
        cuts += 1;
        for second in 0..3u64 {
            drop(device);
            mtd.restart();
            let place = format!("{}, seed {seed}, cut {after}, again {second}", setup.name());
            device = setup.mount(&mtd).unwrap_or_else(|error| panic!("{place}: {error}"));
            model.verify_after_cut(&mut device, &place);
            mtd.cut_power_after(1 + (after * 7 + second * 5) % 23, torn(after / 3 + second));
            if run_until_cut(&mut model, &mut device, &mut calls, 40).is_none() {
                break;
            }
            cuts += 1;
        }
        after += stride;
    }
}

/// `None`: all calls have been made without a cut.
fn run_until_cut(model: &mut Model, device: &mut Disk, random: &mut Pcg32, steps: u32) -> Option<()> {
    for _ in 0..steps {
        match model.step(device, random) {
            Ok(()) => {}
            Err(error) if error.is_power_cut() => return Some(()),
            Err(error) => panic!("{error}, {} sectors", model.flushed.len()),
        }
    }
    None
}

/// Cuts the power so many times, each time a few operations after the mount, on a device with little spare flash: so little that each
/// cut may waste a page, and not a block.
pub fn cut_again_and_again(setup: &Setup, seed: u64, times: u64) {
    let mut setup = setup.clone();
    setup.config.logical_pages = BLOCKS * PAGES_PER_BLOCK;
    let mtd = setup.medium(&Faults::default());
    while let Err(DeviceError::Ftl(FtlError::Size { logical_pages_max, .. })) = setup.format(&mtd) {
        setup.config.logical_pages = logical_pages_max;
    }
    setup.config.logical_pages -= setup.config.logical_pages / 5;
    let mut random = Pcg32::seed_from_u64(seed);
    let mut device = setup.format(&mtd).unwrap_or_else(|error| panic!("{}: {error}", setup.name()));
    let mut model = Model::new(device.sectors());
    for _ in 0..250 {
        model.step(&mut device, &mut random).unwrap();
    }
    for time in 0..times {
        mtd.cut_power_after(1 + below(&mut random, 20), torn(random.next_u64()));
        while run_until_cut(&mut model, &mut device, &mut random, 40).is_none() {}
        drop(device);
        mtd.restart();
        let place = format!("{}, seed {seed}, cut {time}", setup.name());
        device = setup.mount(&mtd).unwrap_or_else(|error| panic!("{place}: {error}"));
        model.verify_after_cut(&mut device, &place);
    }
}
