//! Wear levelling, and who erases when.

use crate::support;

use ffslab_flash::ImageLayout;
use ffslab_policy::{FreeSpec, LevellingSpec};
use ffslab_sim::{SimConfig, Switch};
use ffslab_ubi::{causes, DataLife, UbiOptions, WearRules};
use support::{content, make_all, Rig};

const BLOCKS: u32 = 40;

fn spread(counters: &[Option<u32>]) -> (u32, u32) {
    let known = || counters.iter().flatten().copied();
    (known().min().unwrap(), known().max().unwrap())
}

/// Writes all LEBs once, then changes a few of them again and again; returns the lowest and the highest erase counter.
fn wear_out(change: impl FnOnce(&mut UbiOptions), moves_data: bool) -> (u32, u32) {
    let mut rig = Rig::small(BLOCKS);
    change(&mut rig.options);
    let (ubi, volume) = rig.formatted();
    for leb in 0..volume.lebs() {
        volume.write(leb, 0, &content(leb, 0, 7 * 512)).unwrap();
    }
    for round in 0..4_000 {
        let leb = round % 3;
        volume.change(leb, &content(leb, round, 512)).unwrap();
        rig.sleep(&ubi, 1);
    }
    for leb in 3..volume.lebs() {
        let mut data = vec![0; 7 * 512];
        volume.read(leb, 0, &mut data).unwrap();
        assert_eq!(data, content(leb, 0, 7 * 512));
    }
    let moves = rig.sim.counts(&causes::UBI_THREAD, &causes::WEAR_LEVELLING).erases;
    assert_eq!(moves > 0, moves_data, "{moves} moves");
    let (ubi, _) = rig.reattach(&ubi);
    assert_eq!(ubi.max_erase_counter(), spread(&ubi.erase_counters()).1);
    spread(&ubi.erase_counters())
}

#[test]
fn data_that_do_not_change_move_to_worn_blocks() {
    let (lowest, highest) = wear_out(|options| options.wl_threshold_erases = 16, true);
    // All blocks take part: 4000 erases and those of the moves on 40 blocks.
    assert!(lowest >= 80 && highest <= lowest + 3 * 16, "{lowest} to {highest}");
}

#[test]
fn below_the_threshold_nothing_moves() {
    let (lowest, highest) = wear_out(|_| {}, false);
    assert!(lowest <= 3 && highest > 500, "{lowest} to {highest}");
}

#[test]
fn rules_for_levelling_take_the_place_of_the_kernels() {
    for (rule, moves_data) in [
        ("none", false),
        ("dynamic", false),
        ("threshold(16)", true),
        ("rejuvenator(16)", true),
        ("dual-pool(16)", true),
    ] {
        let levelling = Some(LevellingSpec::parse(rule).unwrap());
        let rules = WearRules { levelling, endurance_erases: 100_000, ..WearRules::default() };
        let (lowest, highest) = wear_out(|options| options.wear_rules = rules, moves_data);
        if moves_data {
            assert!(lowest >= 60 && highest <= lowest + 4 * 16, "{rule}: {lowest} to {highest}")
        } else {
            assert!(lowest <= 3 && highest > 500, "{rule}: {lowest} to {highest}")
        }
    }
}

/// Spread of the erases of the blocks that are worn at all, by the rule for the next free block.
#[test]
fn rules_for_the_next_free_block_take_the_place_of_the_kernels() {
    let spread = |rule: Option<&str>| {
        let free = rule.map(|rule| FreeSpec::parse(rule).unwrap());
        let mut rig = Rig::small(BLOCKS);
        rig.options.wear_rules = WearRules { free, ..WearRules::default() };
        let (ubi, volume) = rig.formatted();
        for round in 0..2_000 {
            volume.change(round % 3, &content(round % 3, round, 512)).unwrap();
            rig.sleep(&ubi, 1);
        }
        let (ubi, volume) = rig.reattach(&ubi);
        let mut data = vec![0; 512];
        for leb in 0..3 {
            volume.read(leb, 0, &mut data).unwrap();
            assert_eq!(data, content(leb, [1_998, 1_999, 1_997][leb as usize], 512));
        }
        let used: Vec<u32> = ubi.erase_counters().into_iter().flatten().filter(|&erases| erases > 2).collect();
        (used.len(), used.iter().max().unwrap() - used.iter().min().unwrap())
    };
    let (blocks_least, spread_least) = spread(Some("least-worn"));
    assert!(blocks_least > 30 && spread_least <= 1, "{spread_least} over {blocks_least} blocks");
    // A rule that goes by numbers or by wear uses a few blocks again and again.
    for rule in ["first", "most-worn"] {
        assert!(spread(Some(rule)).0 < 8, "{rule}");
    }
    for rule in ["fifo", "random"] {
        assert!(spread(Some(rule)).0 > 30, "{rule}");
    }
    assert_ne!(spread(None), spread(Some("least-worn")));
}

/// Erase counters of 50 everywhere, and of 1 in the block that is handed out next: without the protection it would be
/// moved at the next erase.
#[test]
fn a_block_that_was_just_handed_out_is_not_moved_for_ten_erases() {
    let mut rig = Rig::small(BLOCKS);
    let (ubi, _) = rig.formatted();
    ubi.detach();
    let mut image = Vec::new();
    rig.nand.with_chip(|chip| chip.write_image(&mut image, 0..BLOCKS, ImageLayout::default())).unwrap();
    for (block, bytes) in image.chunks_mut(8 * 512).enumerate() {
        let erases: u64 = if block == 20 { 1 } else { 50 };
        bytes[8..16].copy_from_slice(&erases.to_be_bytes());
        let crc = !crc32fast::hash(&bytes[..60]);
        bytes[60..64].copy_from_slice(&crc.to_be_bytes());
    }
    rig.nand.with_chip(|chip| chip.load_bytes("image", &image, 0..BLOCKS, ImageLayout::default())).unwrap();
    rig.options.wl_threshold_erases = 20;
    let ubi = rig.attach();
    let volume = ubi.open(0).unwrap();
    volume.write(0, 0, &content(0, 0, 512)).unwrap();
    let moves = || rig.sim.counts(&causes::CALLER, &causes::WEAR_LEVELLING).erases;
    for _ in 0..9 {
        volume.map(1).unwrap();
        volume.erase(1).unwrap();
        ubi.flush().unwrap();
        assert_eq!(moves(), 0);
    }
    volume.map(1).unwrap();
    volume.erase(1).unwrap();
    ubi.flush().unwrap();
    assert_eq!(moves(), 1);
    assert_eq!(ubi.erase_counters()[20], Some(2));
}

#[test]
fn a_caller_that_finds_no_free_block_erases_one_itself() {
    let rig = Rig::small(BLOCKS);
    let (ubi, volume) = rig.formatted();
    let lebs = volume.lebs();
    for leb in 0..lebs {
        volume.write(leb, 0, &content(leb, 0, 512)).unwrap();
    }
    let free = u64::from(ubi.peb_counts().free_pebs);
    let by = |task| rig.sim.counts(task, &causes::ERASE).erases;
    let before = (by(&causes::CALLER), by(&causes::UBI_THREAD));
    for leb in 0..lebs {
        volume.change(leb, &content(leb, 1, 512)).unwrap();
    }
    // Before each erase of its own there is a scheduling point at which the thread may have its turn.
    let (own, of_thread) = (by(&causes::CALLER) - before.0, by(&causes::UBI_THREAD) - before.1);
    assert!(own > 0 && of_thread > 0, "{own} and {of_thread}");
    assert!((u64::from(lebs) - free..=u64::from(lebs)).contains(&(own + of_thread)));
    rig.sleep(&ubi, 1);
    assert_eq!(by(&causes::CALLER) - before.0, own);
    assert_eq!(by(&causes::UBI_THREAD) - before.1, u64::from(lebs) - own);
    assert_eq!(ubi.peb_counts().pending_pebs, 0);
}

#[test]
fn the_thread_wakes_when_there_is_work_and_sleeps_when_there_is_none() {
    let rig = Rig::small(BLOCKS);
    let (ubi, volume) = rig.formatted();
    for leb in 0..volume.lebs() {
        volume.write(leb, 0, &content(leb, 0, 512)).unwrap();
    }
    assert_eq!(rig.sim.resched(), Switch::Stay);
    volume.unmap(0).unwrap();
    volume.unmap(1).unwrap();
    // The caller has held the CPU for longer than the thread, which may run at the next scheduling point.
    assert_eq!(rig.sim.resched(), Switch::Run(&causes::UBI_THREAD));
    {
        let _turn = rig.sim.run_as(&causes::UBI_THREAD);
        assert!(ubi.run_task());
        assert_eq!(ubi.peb_counts().pending_pebs, 1);
        assert!(ubi.run_task());
        assert!(!ubi.run_task());
    }
    assert_eq!(ubi.peb_counts().pending_pebs, 0);
    assert_eq!(rig.sim.resched(), Switch::Stay);
}

/// Erases and page programs of the thread's next turn.
fn turn(rig: &Rig, ubi: &ffslab_ubi::Ubi) -> (u64, u64) {
    let before = rig.sim.total();
    let _turn = rig.sim.run_as(&causes::UBI_THREAD);
    assert!(ubi.run_task());
    let after = rig.sim.total();
    (after.erases - before.erases, after.page_programs - before.page_programs)
}

#[test]
fn a_driver_that_polls_may_lose_the_cpu_between_an_erase_and_the_header() {
    for (polls_with_resched, expected) in [(false, [(1, 1), (1, 1)]), (true, [(1, 0), (0, 1)])] {
        let rig = Rig::small_on(SimConfig { polls_with_resched, ..SimConfig::default() }, BLOCKS);
        let (ubi, volume) = rig.formatted();
        for leb in 0..2 {
            volume.write(leb, 0, &content(leb, 0, 512)).unwrap();
            volume.unmap(leb).unwrap();
        }
        assert_eq!([turn(&rig, &ubi), turn(&rig, &ubi)], expected, "it polls: {polls_with_resched}");
        // What was begun is done before anybody takes the block.
        ubi.flush().unwrap();
        assert_eq!(ubi.peb_counts().pending_pebs, 0);
    }
}

#[test]
fn detaching_ends_the_thread_and_leaves_what_was_not_erased() {
    let rig = Rig::small(BLOCKS);
    let (ubi, volume) = rig.formatted();
    volume.write(0, 0, &content(0, 0, 512)).unwrap();
    volume.write(1, 0, &content(1, 0, 512)).unwrap();
    volume.erase(1).unwrap();
    volume.unmap(0).unwrap();
    assert!(!volume.is_mapped(0));
    let detach = rig.counts(|| ubi.detach());
    assert_eq!(detach.operations(), 0);
    rig.sleep(&ubi, 1);
    let ubi = rig.attach();
    let volume = ubi.open(0).unwrap();
    // As with the kernel: the block was never erased, so the next attach finds the LEB in it.
    assert!(volume.is_mapped(0) && !volume.is_mapped(1));
}

#[test]
fn blocks_are_handed_out_in_the_order_of_the_tree() {
    let rig = Rig::small(160);
    let ubi = rig.attach();
    rig.sleep(&ubi, 10);
    let head = |block: u32| rig.nand.with_chip(|chip| chip.peek_data(block * 8 + 1).map(|page| page[..16].to_vec()));
    let volume = support::make_all(&ubi);
    let table: Vec<u32> = (0..160).filter(|&block| head(block).is_some()).collect();
    for leb in 0..4 {
        volume.write(leb, 0, &content(leb, 0, 512)).unwrap();
    }
    let used: Vec<Option<u32>> =
        (0..4).map(|leb| (0..160).find(|&block| head(block).as_deref() == Some(&content(leb, 0, 16)[..]))).collect();
    // Blocks 0 and 1 were taken for the volume table while the partition was formatted. The others were erased in order,
    // so the root of the tree is 65 (of 2 to 159, as it is 63 of 0 to 159), then its successors. Two of them hold the
    // volume table since the volume was made.
    assert_eq!(table, [0, 1, 65, 66]);
    assert_eq!(used, [67, 68, 69, 70].map(Some));
}

/// Kernels before 3.7 (`ubi_wl_get_peb`): the least worn block for a short time, the most worn one for a long time.
#[test]
fn old_kernels_choose_blocks_by_how_long_data_will_stay() {
    let highest_after = |asks_data_life, life| {
        let mut rig = Rig::small(BLOCKS);
        rig.options.asks_data_life = asks_data_life;
        let (ubi, mut volume) = rig.formatted();
        volume.expect(life);
        for round in 0..3 * BLOCKS {
            volume.change(0, &content(0, round, 512)).unwrap();
            rig.sleep(&ubi, 1);
        }
        spread(&ubi.erase_counters()).1
    };
    // 120 erases: each block some three times, or two blocks in turn.
    assert!(highest_after(true, DataLife::Short) <= 6);
    assert!(highest_after(true, DataLife::Long) >= 50);
    let of_medium_wear = highest_after(true, DataLife::Unknown);
    for life in [DataLife::Short, DataLife::Long] {
        assert_eq!(highest_after(false, life), of_medium_wear);
    }
}

/// Kernels before 3.5 (`ubi_wl_flush`): whoever makes a volume waits until all blocks of a new partition have been erased.
#[test]
fn old_kernels_flush_all_works_for_any_volume() {
    let erases_before_volume = |flushes_all_works| {
        let mut rig = Rig::small(BLOCKS);
        rig.options.flushes_all_works = flushes_all_works;
        let ubi = rig.attach();
        make_all(&ubi);
        rig.sim.total().erases
    };
    assert!(erases_before_volume(true) >= u64::from(BLOCKS));
    let needed = erases_before_volume(false);
    assert!(needed < u64::from(BLOCKS) / 2, "{needed} erases");
}
