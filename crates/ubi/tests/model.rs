//! Random calls against a model in memory.

use crate::support;

use ffslab_ubi::WL_THRESHOLD_DEFAULT;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use support::world::{Act, World};
use support::Rig;

const BLOCKS: u32 = 20;

fn acts(lebs: u32, pages: u32) -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0..lebs, 1..=pages).prop_map(|(leb, pages)| Act::Write { leb, pages }),
        4 => (0..lebs, 1..=pages).prop_map(|(leb, pages)| Act::Change { leb, pages }),
        2 => (0..lebs).prop_map(|leb| Act::Map { leb }),
        4 => (0..lebs).prop_map(|leb| Act::Unmap { leb }),
        2 => (0..lebs).prop_map(|leb| Act::Erase { leb }),
        1 => Just(Act::Flush),
        1 => Just(Act::Rest),
        1 => Just(Act::Reattach),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_volume_holds_what_was_written(
        acts in proptest::collection::vec(acts(15, 7), 1..120),
        subpage_writes: bool,
        wear_levelling: bool,
    ) {
        let mut rig = Rig::small(BLOCKS);
        rig.options.subpage_writes = subpage_writes;
        rig.options.wl_threshold_erases = if wear_levelling { 2 } else { WL_THRESHOLD_DEFAULT };
        let mut world = World::new(rig);
        prop_assert_eq!(world.lebs(), 15);
        for act in acts {
            world.apply(act).unwrap();
            world.check();
        }
        world.apply(Act::Flush).unwrap();
        let before = world.ubi.erase_counters();
        world.apply(Act::Reattach).unwrap();
        world.check();
        prop_assert_eq!(world.ubi.erase_counters(), before);
    }
}
