//! Settings with cache commands and copy-back, and the dies that have them.

use super::{mapping, Setup, BLOCKS, LOGICAL_PAGES, PAGES_PER_BLOCK, PAGE_BYTES, RULES, TIMING};
use ffslab_flash::{Faults, Geometry};
use ffslab_ftl::{FtlConfig, Victim};
use ffslab_mtd::striped::{ChipCommands, Die, Stripes};
use ffslab_mtd::{Driver, Medium, Mtd};
use ffslab_sim::{Sim, SimConfig};
use std::rc::Rc;

/// What the dies of the tests can. Who does not ask for it has the usual commands.
pub const ALL: ChipCommands =
    ChipCommands { cache_program: true, cache_read: true, copy_back: true, register_copy_ns: 3_000 };

/// A medium of the same sizes, in which so many dies and planes work.
pub fn striped(stripes: Stripes, faults: &Faults) -> Mtd {
    let page_bytes = PAGE_BYTES / stripes.planes;
    let (pages_per_block, blocks) = (PAGES_PER_BLOCK / stripes.dies(), BLOCKS * stripes.planes);
    let die = Geometry { page_bytes, oob_bytes: 64, pages_per_block, blocks };
    assert_eq!(stripes.striped(&die).pages_per_block, PAGES_PER_BLOCK);
    let sim = Sim::new(SimConfig::default());
    let die = Die { geometry: die, timing: TIMING, rules: RULES, commands: ALL };
    let made = stripes.medium(&sim, die, &Driver::default(), faults).unwrap();
    Mtd::from(Rc::new(made) as Rc<dyn Medium>)
}

/// Mapping, dies, cache commands, copies inside the chip in a row.
const SETTINGS: [(&str, Stripes, bool, u32); 18] = [
    ("page-map", Stripes::ONE, true, 0),
    ("page-map", Stripes::ONE, false, 1),
    ("page-map", Stripes::ONE, true, 2),
    ("page-map", TWO_BY_TWO, true, 0),
    ("page-map", TWO_BY_TWO, true, 3),
    ("page-map", TWO_PLANES, false, 15),
    ("dftl", Stripes::ONE, true, 2),
    ("dftl", TWO_BY_TWO, true, 1),
    ("block-map", Stripes::ONE, true, 2),
    ("bast", Stripes::ONE, true, 0),
    ("bast", TWO_BY_TWO, true, 2),
    ("fast", Stripes::ONE, false, 2),
    ("fast", Stripes::ONE, true, 0),
    ("fast", TWO_PLANES, true, 2),
    ("last", Stripes::ONE, true, 1),
    ("last", TWO_BY_TWO, true, 0),
    ("open-segments", Stripes::ONE, true, 2),
    ("open-segments", TWO_PLANES, true, 0),
];

const TWO_BY_TWO: Stripes = Stripes { channels: 2, dies_per_channel: 2, planes: 1 };
const TWO_PLANES: Stripes = Stripes { channels: 2, dies_per_channel: 1, planes: 2 };

/// Each mapping that can use the commands, on one die and on several.
pub fn setups() -> impl Iterator<Item = Setup> {
    SETTINGS.into_iter().enumerate().map(|(index, (name, stripes, cache_commands, copy_backs_max_count))| {
        let mut setup = Setup { mapping: mapping(name), stripes: Some(stripes), ..Setup::new(Victim::Greedy) };
        setup.config = FtlConfig {
            cache_commands,
            copy_backs_max_count,
            copy_row_pages: [3, 8][index % 2],
            idle_free_blocks: (index % 3 == 2).then_some(6),
            checkpoint_every_pages: (index % 4 == 3).then_some(40),
            log_blocks: 3,
            random_segments_count: 1,
            ..setup.config
        };
        if name == "dftl" {
            setup.config = FtlConfig {
                map_cache_entries_count: Some(6),
                gc_free_blocks: 5,
                idle_free_blocks: Some(8),
                logical_pages: LOGICAL_PAGES - 20,
                ..setup.config
            };
        }
        setup
    })
}

/// For people.
pub fn name(config: &FtlConfig) -> String {
    let rows = if config.cache_commands { format!(", rows of {}", config.copy_row_pages) } else { String::new() };
    match config.copy_backs_max_count {
        0 => rows,
        copies => format!("{rows}, copy-back {copies}"),
    }
}
