//! Wear: which free block is written next, and data that move only so that their blocks are worn, too.

use crate::support;

use ffslab_flash::Faults;
use ffslab_ftl::flash::OnMedium;
use ffslab_ftl::{Ftl, FtlConfig, Mapping, MAPPINGS};
use ffslab_policy::{free_policies, FreeSpec, LevellingSpec};
use rand_pcg::rand_core::SeedableRng;
use rand_pcg::Pcg32;
use support::{below, medium, LOGICAL_PAGES, PAGE_BYTES};

/// Pages that are written again and again; the others lie still.
const HOT_PAGES: u64 = 16;

fn config() -> FtlConfig {
    FtlConfig {
        log_blocks: 3,
        gc_free_blocks: 5,
        map_cache_entries_count: Some(30),
        ..FtlConfig::new(LOGICAL_PAGES - 20)
    }
}

/// Hot and cold data on a small device. All cold ones are as they were written.
fn worn(mapping: &Mapping, config: FtlConfig, writes: u64) -> Box<dyn Ftl> {
    let logical_pages = config.logical_pages;
    let mut ftl = (mapping.format)(OnMedium::new(medium(&Faults::default())).unwrap(), config).unwrap();
    let mut random = Pcg32::seed_from_u64(1);
    let page = |number: u32, stamp: u64| vec![(u64::from(number) * 3 + stamp * 7) as u8; PAGE_BYTES as usize];
    for number in 0..logical_pages {
        ftl.write(number, &page(number, 0), false).unwrap();
    }
    for stamp in 1..=writes {
        let number = below(&mut random, HOT_PAGES) as u32;
        ftl.write(number, &page(number, stamp), false).unwrap();
    }
    let mut data = vec![0; PAGE_BYTES as usize];
    for number in HOT_PAGES as u32..logical_pages {
        ftl.read(number, &mut data).unwrap();
        assert!(data == page(number, 0), "{}: cold page {number}", mapping.name);
    }
    ftl
}

/// Mappings that level all their blocks. The cache of the other one is worn apart from the rest, whatever the rule.
fn levelled() -> impl Iterator<Item = &'static Mapping> {
    MAPPINGS.iter().filter(|mapping| mapping.name != "slc-cache")
}

/// Standard deviation of the erases, and their mean. The four least worn blocks are left out: the checkpoint rests in one, and others
/// are being written, some of them seldom.
fn deviation(ftl: &dyn Ftl) -> (f64, f64) {
    let mut erases: Vec<f64> = ftl.erase_counts().iter().map(|&erases| f64::from(erases)).collect();
    erases.sort_by(f64::total_cmp);
    erases.drain(..4);
    let mean = erases.iter().sum::<f64>() / erases.len() as f64;
    let variance = erases.iter().map(|erases| (erases - mean).powi(2)).sum::<f64>() / erases.len() as f64;
    (variance.sqrt(), mean)
}

#[test]
fn levelling_narrows_the_spread_of_erases_whatever_the_mapping() {
    for mapping in levelled() {
        let of = |levelling: &str| {
            let levelling = LevellingSpec::parse(levelling).unwrap();
            let ftl = worn(mapping, FtlConfig { levelling, ..config() }, 12000);
            assert_eq!(ftl.statistics().other_moved_pages > 0, levelling.moves_data(), "{}", mapping.name);
            deviation(&*ftl)
        };
        let none = of("none");
        for name in ["threshold(8)", "rejuvenator(8)", "dual-pool(8)"] {
            let (deviation, mean) = of(name);
            assert!(deviation * 8.0 < none.0, "{}, {name}: {deviation} of {mean}, without {none:?}", mapping.name);
        }
    }
}

/// Without data that move, blocks of cold data are never worn; the rule for free blocks levels the others.
#[test]
fn the_least_worn_free_block_levels_and_the_first_one_does_not() {
    for mapping in levelled() {
        let spread_of_worn = |rule: &str| {
            let free = Some(FreeSpec::parse(rule).unwrap());
            let ftl = worn(mapping, FtlConfig { free, ..config() }, 12000);
            let used: Vec<u32> = ftl.erase_counts().iter().copied().filter(|&erases| erases > 5).collect();
            used.iter().max().unwrap() - used.iter().min().unwrap()
        };
        let (least_worn, first) = (spread_of_worn("least-worn"), spread_of_worn("first"));
        assert!(first > 5 * least_worn.max(1), "{}: first {first}, least-worn {least_worn}", mapping.name);
        for rule in free_policies() {
            assert!(spread_of_worn(rule.name) >= least_worn, "{}: {}", mapping.name, rule.name);
        }
    }
}
