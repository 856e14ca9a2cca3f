//! What a device does while the power stays on: contents, bad blocks, wear, checkpoints, causes.

use crate::support;

use ffslab_flash::{Faults, Weak};
use ffslab_ftl::flash::{NoBytes, OnMedium};
use ffslab_ftl::{
    causes, BlockDevice, BufferRule, Disk, Ftl, FtlConfig, FtlError, PageMap, SlcCacheConfig, Victim, MAPPINGS,
};
use ffslab_policy::{EvictionSpec, LevellingSpec, StreamSpec};
use ffslab_sim::OTHER;
use rand_pcg::rand_core::SeedableRng;
use rand_pcg::Pcg32;
use support::{below, medium, Model, Setup, LOGICAL_PAGES, PAGE_BYTES};

fn page(stamp: u64) -> Vec<u8> {
    (0..PAGE_BYTES).map(|at| (u64::from(at) * 7 + stamp * 31) as u8).collect()
}

fn page_map(faults: &Faults, config: FtlConfig) -> PageMap<OnMedium> {
    PageMap::format(OnMedium::new(medium(faults)).unwrap(), config).unwrap()
}

#[test]
fn contents_are_those_of_a_plain_device() {
    for (setup, seed) in support::setups().iter().zip(7..) {
        let mtd = setup.medium(&Faults::default());
        let mut device = setup.format(&mtd).unwrap();
        let (mut model, mut random) = (Model::new(device.sectors()), Pcg32::seed_from_u64(seed));
        for _ in 0..1500 {
            model.step(&mut device, &mut random).unwrap();
        }
        model.verify(&mut device);
        mtd.restart();
        let block_bytes = u64::from(mtd.erase_block_bytes());
        let bad = (0..u64::from(mtd.blocks())).filter(|block| mtd.ask_bad(block * block_bytes)).count();
        assert_eq!(bad, 0, "{}: records are taken for marks of bad blocks", setup.name());
    }
}

#[test]
fn blocks_that_fail_are_left_out() {
    let faults = Faults {
        badblocks: vec![0, 11],
        weakpages: [20, 60, 131].map(|number| Weak { number, good_operations: 3 }).to_vec(),
        weakblocks: vec![Weak { number: 4, good_operations: 2 }],
        ..Faults::default()
    };
    for mapping in &MAPPINGS {
        let mtd = medium(&faults);
        let mut setup = Setup { mapping, ..Setup::new(Victim::Greedy) };
        setup.config = FtlConfig { logical_pages: 48, log_blocks: 3, gc_free_blocks: 5, ..setup.config };
        let mut device = setup.format(&mtd).unwrap();
        let (mut model, mut random) = (Model::new(device.sectors()), Pcg32::seed_from_u64(3));
        for _ in 0..2500 {
            model.step(&mut device, &mut random).unwrap();
        }
        model.verify(&mut device);
        let bad: Vec<u64> = (0..24).filter(|&block| mtd.is_bad(block * 8 * u64::from(PAGE_BYTES))).collect();
        // Block 4 fails in its erase, and 2, 7 and 16 in a program.
        for block in [2, 4, 7, 16] {
            assert!(bad.contains(&block), "{}: {bad:?}", mapping.name);
        }
    }
}

#[test]
fn a_device_that_cannot_be_written_any_more_can_be_read() {
    let weakblocks = (0..24).map(|number| Weak { number, good_operations: 6 }).collect();
    let mut ftl = page_map(&Faults { weakblocks, ..Faults::default() }, FtlConfig::new(LOGICAL_PAGES));
    let (mut random, mut held) = (Pcg32::seed_from_u64(5), vec![0; LOGICAL_PAGES as usize]);
    let error = (1u64..).find_map(|stamp| {
        let number = below(&mut random, u64::from(LOGICAL_PAGES)) as u32;
        match ftl.write(number, &page(stamp), false) {
            Ok(()) => {
                held[number as usize] = stamp;
                None
            }
            Err(error) => Some(error),
        }
    });
    assert!(matches!(error, Some(FtlError::WornOut { blocks: 24, .. })), "{error:?}");
    let mut data = vec![0; PAGE_BYTES as usize];
    for (number, &stamp) in (0..).zip(&held) {
        ftl.read(number, &mut data).unwrap();
        assert!(stamp == 0 || data == page(stamp), "page {number}");
    }
}

#[test]
fn a_checkpoint_shortens_the_mount_and_changes_nothing() {
    let config = FtlConfig::new(LOGICAL_PAGES);
    let mut ftl = page_map(&Faults::default(), config.clone());
    let mut random = Pcg32::seed_from_u64(9);
    for stamp in 0..900 {
        ftl.write(below(&mut random, u64::from(LOGICAL_PAGES)) as u32, &page(stamp), false).unwrap();
    }
    let mtd = ftl.flash().mtd().clone();
    let read_all = |ftl: &mut PageMap<OnMedium>| {
        let mut data = vec![0; LOGICAL_PAGES as usize * PAGE_BYTES as usize];
        for (number, data) in (0..).zip(data.chunks_exact_mut(PAGE_BYTES as usize)) {
            ftl.read(number, data).unwrap();
        }
        data
    };
    let wanted = read_all(&mut ftl);
    let (mut scanned, long) = PageMap::mount(OnMedium::new(mtd.clone()).unwrap(), config.clone()).unwrap();
    assert!(read_all(&mut scanned) == wanted, "after a scan");
    ftl.checkpoint().unwrap();
    let (mut loaded, short) = PageMap::mount(OnMedium::new(mtd).unwrap(), config).unwrap();
    assert!(read_all(&mut loaded) == wanted, "after a checkpoint");
    let mount_ns = |ftl: &PageMap<OnMedium>| ftl.statistics().mount_ns;
    assert!(mount_ns(&loaded) > 0 && mount_ns(&loaded) * 2 < mount_ns(&scanned), "{}", mount_ns(&scanned));
    assert!(short.used_checkpoint && short.records_read * 3 < long.records_read, "{short:?}, {long:?}");
}

/// Each read of a translation page is compared with the map by an assertion of the crate.
#[test]
fn dftl_keeps_many_translation_pages_right() {
    let logical_pages = 3000;
    let config = FtlConfig {
        map_cache_entries_count: Some(64),
        gc_free_blocks: 5,
        levelling: LevellingSpec::threshold(4),
        ..FtlConfig::new(logical_pages)
    };
    let mtd = support::medium_of(&Faults::default(), 256, 16);
    let mut ftl = PageMap::format(OnMedium::new(mtd.clone()).unwrap(), config.clone()).unwrap();
    let (mut random, mut held) = (Pcg32::seed_from_u64(4), vec![0u64; logical_pages as usize]);
    let mut data = vec![0; PAGE_BYTES as usize];
    for round in 0..3u64 {
        for stamp in 1..9000u64 {
            let number = below(&mut random, u64::from(logical_pages)) as usize;
            if stamp % 11 == 0 {
                ftl.trim(number as u32).unwrap();
                held[number] = 0;
            } else {
                held[number] = round * 10_000 + stamp;
                ftl.write(number as u32, &page(held[number]), false).unwrap();
            }
        }
        let done = *ftl.statistics();
        assert!(done.gc_pages > 0 && done.map_written_pages > 500 && done.map_hits_count > 0, "{done:?}");
        ftl.flush().unwrap();
        ftl = PageMap::mount(OnMedium::new(mtd.clone()).unwrap(), config.clone()).unwrap().0;
        for (number, &stamp) in (0..).zip(&held) {
            ftl.read(number, &mut data).unwrap();
            let wanted = if stamp == 0 { vec![0; PAGE_BYTES as usize] } else { page(stamp) };
            assert!(data == wanted, "page {number}");
        }
    }
}

#[test]
fn every_operation_has_its_cause() {
    for (setup, seed) in support::setups().iter().zip(50..) {
        // Cache commands and copy-back are those of dies.
        let uses_commands = setup.config.cache_commands || setup.config.copy_backs_max_count > 0;
        let mtd = if uses_commands { setup.medium(&Faults::default()) } else { medium(&Faults::default()) };
        let mut device = setup.format(&mtd).unwrap();
        let (mut model, mut random) = (Model::new(device.sectors()), Pcg32::seed_from_u64(seed));
        for _ in 0..800 {
            model.step(&mut device, &mut random).unwrap();
        }
        device.flush().unwrap();
        drop(device);
        let ftl = (setup.mapping.mount)(OnMedium::new(mtd.clone()).unwrap(), setup.config.clone()).unwrap();
        assert!(ftl.statistics().mount_ns > 0 && ftl.map_bytes() > 0, "{}", setup.name());
        drop(ftl);
        model.verify_after_cut(&mut setup.mount(&mtd).unwrap(), "no cut");
        let counted = mtd.sim().causes();
        assert_eq!(counted.of_reason(&OTHER).operations(), 0, "{}", setup.name());
        let of = |reason| counted.of_reason(reason).operations();
        assert!(of(&causes::HOST_WRITE) > 0 && of(&causes::RECOVERY_SCAN) > 0);
        assert_eq!(of(&causes::BLOCK_PADDING) > 0, setup.buffer == BufferRule::Bplru, "{}", setup.name());
        let moves = match setup.mapping.name {
            // Padding makes whole blocks of what was scattered.
            "bast" | "fast" if setup.buffer == BufferRule::Bplru => of(&causes::MERGE_SWITCH),
            "page-map" => of(&causes::GC_COPY),
            "dftl" => of(&causes::MAP_READ).min(of(&causes::MAP_WRITE)),
            "slc-cache" => of(&causes::FOLD),
            "open-segments" => of(&causes::MERGE_PARTIAL).max(of(&causes::MERGE_FULL)),
            _ => of(&causes::MERGE_FULL),
        };
        assert!(moves > 0, "{}", setup.name());
        assert_eq!(of(&causes::LEVELLING) > 0, setup.config.levelling.moves_data(), "{}", setup.name());
    }
}

#[test]
fn sequences_make_switch_merges_and_random_writes_full_ones() {
    for name in ["bast", "fast"] {
        let config = FtlConfig { log_blocks: 4, ..FtlConfig::new(LOGICAL_PAGES) };
        let mut ftl =
            (support::mapping(name).format)(OnMedium::new(medium(&Faults::default())).unwrap(), config).unwrap();
        for stamp in 0..4 {
            for number in 0..LOGICAL_PAGES {
                ftl.write(number, &page(stamp), false).unwrap();
            }
        }
        let sequential = *ftl.statistics();
        assert_eq!((sequential.partial_merges_count, sequential.full_merges_count), (0, 0), "{name}");
        assert_eq!(sequential.switch_merges_count, 3 * u64::from(LOGICAL_PAGES / 8), "{name}");
        let mut random = Pcg32::seed_from_u64(2);
        for stamp in 0..500 {
            ftl.write(below(&mut random, u64::from(LOGICAL_PAGES)) as u32, &page(stamp), false).unwrap();
        }
        assert!(ftl.statistics().full_merges_count > 50, "{name}: {:?}", ftl.statistics());
    }
}

/// BPLRU's claim: small writes by chance below a layer with log blocks, with and without padding of whole blocks.
#[test]
fn padded_blocks_save_merges() {
    let run = |buffer: BufferRule| {
        let config = FtlConfig { log_blocks: 4, ..FtlConfig::new(LOGICAL_PAGES) };
        let flash = OnMedium::new(medium(&Faults::default())).unwrap();
        let ftl = (support::mapping("bast").format)(flash, config).unwrap();
        let page_bytes = u64::from(ftl.shape().page_bytes);
        let sectors_per_page = page_bytes / u64::from(support::SECTOR_BYTES);
        let mut disk = Disk::new(ftl, support::SECTOR_BYTES, 24, buffer).unwrap();
        let mut random = Pcg32::seed_from_u64(8);
        for stamp in 0..3000 {
            let number = below(&mut random, u64::from(LOGICAL_PAGES));
            disk.write(number * sectors_per_page, &page(stamp)).unwrap();
        }
        disk.flush().unwrap();
        *disk.ftl().statistics()
    };
    let (arrival, padded) = (run(BufferRule::Arrival), run(BufferRule::Bplru));
    assert!(padded.padded_pages > 0 && arrival.padded_pages == 0);
    assert!(padded.full_merges_count * 20 < arrival.full_merges_count, "{padded:?}, without: {arrival:?}");
    assert!(padded.write_amplification() < 0.9 * arrival.write_amplification(), "{padded:?}, without: {arrival:?}");
}

/// The same writes as requests of one page and as requests of a block: what is random for one is a sequence for the other.
#[test]
fn last_tells_long_requests_from_short_ones() {
    let merges = |request_pages: u32| {
        let config = FtlConfig { log_blocks: 4, ..FtlConfig::new(LOGICAL_PAGES) };
        let flash = OnMedium::new(medium(&Faults::default())).unwrap();
        let mut ftl = (support::mapping("last").format)(flash, config).unwrap();
        ftl.hint_request_pages(request_pages);
        for stamp in 0..4 {
            for number in 0..LOGICAL_PAGES {
                ftl.write(number, &page(stamp), false).unwrap();
            }
        }
        let done = *ftl.statistics();
        (done.switch_merges_count, done.partial_merges_count, done.full_merges_count)
    };
    let blocks = u64::from(LOGICAL_PAGES / 8);
    assert_eq!(merges(8), (3 * blocks, 0, 0));
    let (switch, partial, full) = merges(1);
    assert!(switch == 0 && partial == 0 && full > 20, "{full}");
}

/// Pages that are written again soon are gathered in blocks that die as a whole, so that fewer pages are copied than with FAST.
#[test]
fn last_erases_dead_blocks_of_its_hot_partition() {
    let logical_pages = 3000;
    let run = |name: &str| {
        let config = FtlConfig { log_blocks: 32, ..FtlConfig::new(logical_pages) };
        let flash = OnMedium::new(support::medium_of(&Faults::default(), 256, 16)).unwrap();
        let mut ftl = (support::mapping(name).format)(flash, config).unwrap();
        let mut random = Pcg32::seed_from_u64(8);
        for number in 0..logical_pages {
            ftl.write(number, &page(0), false).unwrap();
        }
        for stamp in 0..9000u64 {
            // Nine of ten writes go to eight pages of different blocks.
            let number = match below(&mut random, 10) {
                0 => below(&mut random, u64::from(logical_pages)),
                _ => below(&mut random, 8) * 16 + 3,
            };
            ftl.write(number as u32, &page(stamp), false).unwrap();
        }
        *ftl.statistics()
    };
    let (last, fast) = (run("last"), run("fast"));
    assert!(last.collected_blocks > 50, "{last:?}");
    assert!(last.gc_pages * 2 < fast.gc_pages, "{last:?}, fast: {fast:?}");
}

/// Hot pages among scans of the whole device, which flush a plain LRU.
#[test]
fn the_rule_of_the_cache_decides_how_often_dftl_finds_an_entry() {
    let hit_share = |rule: &str| {
        let config = FtlConfig {
            map_cache_entries_count: Some(24),
            map_eviction: EvictionSpec::parse(rule).unwrap(),
            gc_free_blocks: 5,
            ..FtlConfig::new(LOGICAL_PAGES - 20)
        };
        let mut ftl = page_map(&Faults::default(), config);
        let mut random = Pcg32::seed_from_u64(6);
        for stamp in 0..9000u64 {
            let number = match stamp % 3 {
                0 => stamp / 3 % u64::from(LOGICAL_PAGES - 20),
                _ => below(&mut random, 12),
            };
            ftl.write(number as u32, &page(stamp), false).unwrap();
        }
        let done = *ftl.statistics();
        done.map_hits_count as f64 / (done.map_hits_count + done.map_misses_count) as f64
    };
    let of = ["segmented-lru", "clock", "lru", "fifo", "random"].map(hit_share);
    assert_eq!(hit_share("idle"), of[2], "by a score what is least recently used, too");
    let [segmented, clock, lru, fifo, random] = of;
    assert!(segmented > lru && clock > fifo && lru > fifo && lru > random, "{of:?}");
}

/// Four of five writes go to a fifth of the pages. What is told apart need not be moved with the rest.
#[test]
fn hot_pages_in_blocks_of_their_own_save_collection() {
    let amplification = |stream: StreamSpec| {
        let config = FtlConfig { stream, gc_apart: false, ..FtlConfig::new(12_000) };
        let mut ftl = PageMap::format(NoBytes::new(240, 64), config).unwrap();
        let mut random = Pcg32::seed_from_u64(3);
        for number in 0..12_000 {
            ftl.write(number, &[], false).unwrap();
        }
        for write in 0..200_000u32 {
            if write == 100_000 {
                ftl.reset_statistics();
            }
            let number = match below(&mut random, 5) {
                0 => 300 + below(&mut random, 11_700),
                _ => below(&mut random, 300),
            };
            ftl.write(number as u32, &[], false).unwrap();
        }
        ftl.statistics().write_amplification()
    };
    let (none, hot_cold) = (amplification(StreamSpec::None), amplification(StreamSpec::HotCold));
    assert!(hot_cold < 0.9 * none, "{hot_cold}, without {none}");
    let by_score = amplification(StreamSpec::parse("1500 - age").unwrap());
    assert!(by_score < 0.9 * none, "{by_score}, without {none}");
}

#[test]
fn bad_settings_get_a_clear_message() {
    let flash = || OnMedium::new(medium(&Faults::default())).unwrap();
    let refused = |config| PageMap::format(flash(), config).err().unwrap().to_string();
    assert_eq!(refused(FtlConfig::new(500)), "logical_pages = 500: the medium has room for 1 to 134");
    assert_eq!(
        refused(FtlConfig { gc_free_blocks: 1, ..FtlConfig::new(50) }),
        "gc_free_blocks = 1: at least 3, so that collection and a failing block find room"
    );
    let ftl = page_map(&Faults::default(), FtlConfig::new(50));
    let mounted = PageMap::mount(ftl.into_flash(), FtlConfig::new(51));
    assert_eq!(mounted.err(), Some(FtlError::OtherSize { logical_pages: 51, found: 50 }));
}

fn segments(open_segments: u32, random_segments: u32) -> Box<dyn Ftl> {
    let config = FtlConfig {
        log_blocks: open_segments,
        random_segments_count: random_segments,
        ..FtlConfig::new(LOGICAL_PAGES)
    };
    let flash = OnMedium::new(medium(&Faults::default())).unwrap();
    let mut ftl = (support::mapping("open-segments").format)(flash, config).unwrap();
    for number in 0..LOGICAL_PAGES {
        ftl.write(number, &page(0), false).unwrap();
    }
    ftl
}

/// Writes so many segments in turns, page by page; pages that were copied meanwhile.
fn copied_in_turns(ftl: &mut dyn Ftl, segments: u32, offsets: &[u32]) -> u64 {
    let before = ftl.statistics().gc_pages;
    for &offset in offsets {
        for segment in 0..segments {
            ftl.write(segment * 8 + offset, &page(1), false).unwrap();
        }
    }
    ftl.statistics().gc_pages - before
}

#[test]
fn one_segment_more_than_are_open_costs_a_copy_a_write() {
    let in_order: Vec<u32> = (0..8).collect();
    let mut ftl = segments(3, 0);
    assert_eq!(copied_in_turns(&mut *ftl, 3, &in_order), 0);
    // Each write opens its segment again, for which another one is closed: all but the written page is copied. In the last
    // round the first two segments become full and are closed by that, so that the other two are still open.
    assert_eq!(copied_in_turns(&mut *ftl, 4, &in_order), 4 * 8 * 7 - 2 * (7 + 1));
}

#[test]
fn pages_in_any_order_are_cheap_in_segments_that_allow_it() {
    let any_order = [3, 0, 7, 1, 6, 2, 5, 4];
    // A page before the end of a segment closes it; random segments are merged once.
    let linear = copied_in_turns(&mut *segments(3, 0), 3, &any_order);
    let random = copied_in_turns(&mut *segments(3, 3), 3, &any_order);
    assert_eq!(random, 3 * 8);
    assert!(linear > 2 * random, "{linear} and {random} pages");
    // One random segment fewer than are written: they close one another.
    assert!(copied_in_turns(&mut *segments(3, 2), 3, &any_order) > 2 * random);
}

#[test]
fn an_slc_cache_is_fast_until_it_is_full_and_while_it_is_folded_in_time() {
    let cache = SlcCacheConfig { blocks: 4, cell_bits: 2, read_further_ns: 0, program_further_ns: 900_000 };
    let config = FtlConfig { slc_cache: Some(cache), ..FtlConfig::new(LOGICAL_PAGES) };
    let mtd = medium(&Faults::default());
    let mut ftl = (support::mapping("slc-cache").format)(OnMedium::new(mtd.clone()).unwrap(), config).unwrap();
    let slowest_ns = |ftl: &mut dyn Ftl, pages: std::ops::Range<u32>| {
        let times = pages.map(|number| {
            let before_ns = mtd.sim().now_ns();
            ftl.write(number, &page(2), false).unwrap();
            mtd.sim().now_ns() - before_ns
        });
        times.max().unwrap()
    };
    // 4 blocks of 4 pages.
    let fast_ns = slowest_ns(&mut *ftl, 0..16);
    assert!(fast_ns < 500_000, "{fast_ns} ns");
    let full_ns = slowest_ns(&mut *ftl, 16..20);
    assert!(full_ns > 4 * 900_000, "{full_ns} ns");
    while ftl.idle().unwrap() {}
    assert!(slowest_ns(&mut *ftl, 20..32) < 500_000);
    assert_eq!(ftl.statistics().folded_pages, 4 + 12);
    let mut data = vec![0; PAGE_BYTES as usize];
    for number in 0..32 {
        ftl.read(number, &mut data).unwrap();
        assert!(data == page(2), "page {number}");
    }
}

/// Collection of a full block can cost more pages of the map than it gives pages. Whatever a policy chooses, there stays room.
#[test]
fn victims_that_give_little_leave_room_for_the_map() {
    for victim in ["random", "fifo", "d-choices(2)", "cost-benefit"] {
        let mtd = support::medium_of(&Faults::default(), 96, 32);
        let logical_pages = 2450;
        let config = FtlConfig {
            victim: victim.parse().unwrap(),
            gc_free_blocks: 5,
            map_cache_entries_count: Some(64),
            ..FtlConfig::new(logical_pages)
        };
        let mut ftl = PageMap::format(OnMedium::new(mtd).unwrap(), config).unwrap();
        let (page, mut random) = ([7; PAGE_BYTES as usize], Pcg32::seed_from_u64(5));
        for number in 0..logical_pages {
            ftl.write(number, &page, false).unwrap();
        }
        for write in 0..3 * logical_pages {
            let number = support::below(&mut random, u64::from(logical_pages)) as u32;
            ftl.write(number, &page, false).unwrap_or_else(|error| panic!("{victim}, write {write}: {error}"));
        }
        ftl.flush().unwrap();
    }
}
