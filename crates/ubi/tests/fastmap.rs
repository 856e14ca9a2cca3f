//! Fastmap: what an attach reads with it, that it tells what a scan tells, and that no stale one is ever believed.

use crate::power_cuts::{random_acts, run_until_cut};
use crate::support;

use ffslab_flash::{Geometry, ImageLayout, Torn};
use ffslab_mtd::Ecc;
use ffslab_ubi::{AttachError, BadReserve, PebUse, Ubi, VolumeKind, VolumeRequest, VolumeSize};
use ffslab_workload::SplitMix64;
use support::world::{Act, World};
use support::{content, Rig, LEB_BYTES, PAGE_BYTES};

fn with_fastmap(mut rig: Rig) -> Rig {
    (rig.options.fastmap, rig.options.fm_autoconvert) = (true, true);
    rig
}

/// A fastmap of three blocks.
fn small() -> Rig {
    let mut rig = with_fastmap(Rig::small(72));
    rig.options.wl_threshold_erases = 2;
    rig
}

/// The blocks that hold the fastmap.
fn fastmap_blocks(ubi: &Ubi) -> Vec<u32> {
    let uses = (0..).zip(ubi.look_at_pebs());
    uses.filter(|(_, peb_use)| *peb_use == PebUse::Fastmap).map(|(peb, _)| peb).collect()
}

#[test]
fn an_attach_reads_64_blocks_the_fastmap_its_pools_and_the_volume_table() {
    let rig = with_fastmap(Rig::new(160));
    let (ubi, volume) = rig.formatted();
    volume.write(0, 0, &content(0, 0, 3 * PAGE_BYTES)).unwrap();
    ubi.detach();
    let attach = rig.counts(|| {
        let ubi = rig.attach();
        assert!(ubi.is_attached_by_fastmap());
        assert_eq!(fastmap_blocks(&ubi).len(), 1);
        let mut data = [0; 16];
        ubi.open(0).unwrap().read(0, 0, &mut data).unwrap();
        assert_eq!(data.as_slice(), &content(0, 0, 16)[..]);
    });
    // Both headers of a block are in one page. The superblock is read alone at first; 8 blocks are in the pool for data, 4 in that
    // for moves; the volume table twice; the header of the LEB, since a fastmap does not tell what was unmapped, and the LEB.
    assert_eq!(attach.page_reads, 64 + 1 + (1 + 63) + (8 + 4) + 2 * 11 + 1 + 1);
    assert_eq!((attach.page_programs, attach.erases), (0, 0));
}

#[test]
fn what_was_written_since_the_fastmap_is_found_in_the_pools() {
    let rig = with_fastmap(Rig::new(160));
    let (ubi, volume) = rig.formatted();
    for leb in 0..5 {
        volume.write(leb, 0, &content(leb, 0, PAGE_BYTES)).unwrap();
    }
    volume.unmap(1).unwrap();
    rig.sleep(&ubi, 10);
    volume.change(2, &content(2, 1, PAGE_BYTES)).unwrap();
    ubi.vanish();
    let ubi = rig.attach();
    assert!(ubi.is_attached_by_fastmap());
    let volume = ubi.open(0).unwrap();
    let read = |leb| {
        let mut data = vec![0; PAGE_BYTES];
        volume.read(leb, 0, &mut data).unwrap();
        data
    };
    assert_eq!(read(0), content(0, 0, PAGE_BYTES));
    assert_eq!(read(1), vec![0xFF; PAGE_BYTES]);
    assert!(!volume.is_mapped(1));
    assert_eq!(read(2), content(2, 1, PAGE_BYTES));
}

#[test]
fn without_autoconvert_none_is_written_until_there_is_one() {
    let mut rig = with_fastmap(Rig::new(160));
    rig.options.fm_autoconvert = false;
    let (ubi, _) = rig.formatted();
    assert!(fastmap_blocks(&ubi).is_empty());
    // Blocks for two fastmaps are kept nevertheless.
    let kept = ubi.room().fastmap_pebs;
    assert_eq!(kept, 2);
    ubi.detach();
    rig.options.fm_autoconvert = true;
    rig.attach().detach();
    rig.options.fm_autoconvert = false;
    let ubi = rig.attach();
    assert!(ubi.is_attached_by_fastmap());
    ubi.detach();
    assert!(rig.attach().is_attached_by_fastmap());
}

#[test]
fn a_kernel_without_fastmap_removes_it() {
    let mut rig = with_fastmap(Rig::new(160));
    let (ubi, volume) = rig.formatted();
    volume.write(3, 0, &content(3, 0, LEB_BYTES)).unwrap();
    ubi.detach();
    rig.options.fastmap = false;
    rig.options.fm_autoconvert = false;
    let ubi = rig.attach();
    ubi.flush().unwrap();
    let counts = ubi.peb_counts();
    assert_eq!((counts.used_pebs, counts.pending_pebs, counts.kept_pebs), (3, 0, 0));
    ubi.detach();
    rig.options.fastmap = true;
    assert!(!rig.attach().is_attached_by_fastmap());
}

#[test]
fn a_damaged_fastmap_is_not_believed() {
    let rig = with_fastmap(Rig::new(160));
    let (ubi, volume) = rig.formatted();
    volume.write(3, 0, &content(3, 0, PAGE_BYTES)).unwrap();
    let newest = fastmap_blocks(&ubi);
    ubi.detach();
    let anchor = fastmap_blocks(&rig.attach())[0];
    assert_ne!(newest, [anchor]);
    // Superblock, header of the content, a list.
    for offset in [2048, 2048 + 312, 2048 + 312 + 32 + 2096 + 5] {
        let at = u64::from(anchor) * 131_072 + offset;
        let mut byte = [0];
        rig.mtd.look(at, &mut byte).unwrap();
        rig.mtd.amend(at, &[byte[0] ^ 0x10]).unwrap();
        let ubi = rig.attach();
        assert!(!ubi.is_attached_by_fastmap());
        let mut data = vec![0; PAGE_BYTES];
        ubi.open(0).unwrap().read(3, 0, &mut data).unwrap();
        assert_eq!(data, content(3, 0, PAGE_BYTES));
        ubi.vanish();
        rig.mtd.amend(at, &byte).unwrap();
    }
}

/// Whatever stands in it, even with a right CRC: UBI attaches or refuses, and goes on.
#[test]
fn a_fastmap_of_nonsense_does_no_harm() {
    let rig = small();
    let (ubi, volume) = rig.formatted();
    for leb in 0..9 {
        volume.write(leb, 0, &content(leb, 0, 512)).unwrap();
    }
    ubi.detach();
    let ubi = rig.attach();
    let at = |block: &u32| u64::from(*block) * 4096 + 512;
    let mut blocks = fastmap_blocks(&ubi);
    ubi.vanish();
    // The anchor first, the others by their numbers.
    blocks.sort_by_key(|block| {
        let mut header = [0; 16];
        rig.mtd.look(at(block) - 256, &mut header).unwrap();
        u32::from_be_bytes(header[12..16].try_into().unwrap())
    });
    let mut whole = vec![0; blocks.len() * 3584];
    for (block, part) in blocks.iter().zip(whole.chunks_mut(3584)) {
        rig.mtd.look(at(block), part).unwrap();
    }
    let mut chip = Vec::new();
    rig.nand.with_chip(|it| it.write_image(&mut chip, 0..72, ImageLayout::default())).unwrap();
    let mut random = SplitMix64::new(5);
    let (mut by_fastmap, mut by_scan) = (0, 0);
    for _ in 0..400 {
        let mut data = whole.clone();
        for _ in 0..=random.below(2) {
            // Superblock, header, the start of the pools, lists and maps.
            let word = [16 + random.below(32), 78 + random.below(8), 86 + random.below(9), 610 + random.below(500)];
            let word = 4 * word[random.below(4) as usize] as usize;
            let value =
                [random.below(80), u64::from(u32::MAX), 0, random.below(1 << 32)][random.below(4) as usize] as u32;
            data[word..word + 4].copy_from_slice(&value.to_be_bytes());
        }
        data[8..12].fill(0);
        let crc = !crc32fast::hash(&data);
        data[8..12].copy_from_slice(&crc.to_be_bytes());
        let rig = small();
        rig.nand.with_chip(|it| it.load_bytes("image", &chip, 0..72, ImageLayout::default())).unwrap();
        for (block, part) in blocks.iter().zip(data.chunks(3584)) {
            for (page, bytes) in (0..).zip(part.chunks(512)) {
                rig.mtd.amend(at(block) + page * 512, bytes).unwrap();
            }
        }
        let Ok(ubi) = Ubi::attach(rig.mtd.clone(), &rig.options) else { continue };
        *(if ubi.is_attached_by_fastmap() { &mut by_fastmap } else { &mut by_scan }) += 1;
        for info in ubi.volumes() {
            let volume = ubi.open(info.id).unwrap();
            for leb in 0..volume.lebs() {
                let _ = volume.read(leb, 0, &mut [0; 512]);
                let _ = volume.change(leb, &content(leb, 1, 512));
            }
        }
        rig.sleep(&ubi, 10);
        ubi.detach();
    }
    assert!(by_fastmap > 20 && by_scan > 20, "{by_fastmap} by fastmap, {by_scan} by scan");
}

#[test]
fn what_does_not_go_with_a_fastmap_is_refused() {
    let mut rig = Rig::new(80);
    rig.options.fm_autoconvert = true;
    let refused = Ubi::attach(rig.mtd.clone(), &rig.options).map(|_| ());
    assert!(matches!(refused, Err(AttachError::Fastmap(_))));
    (rig.options.fastmap, rig.options.asks_data_life) = (true, true);
    let refused = Ubi::attach(rig.mtd.clone(), &rig.options).map(|_| ());
    assert!(matches!(refused, Err(AttachError::Fastmap(_))));
}

#[test]
fn a_partition_of_64_blocks_is_too_small_for_one() {
    let rig = with_fastmap(Rig::new(64));
    let (ubi, _) = rig.formatted();
    assert!(fastmap_blocks(&ubi).is_empty());
    ubi.detach();
    assert_eq!(rig.counts(|| drop(rig.attach())).page_reads, 64 + 2 * 11);
}

#[test]
fn volumes_are_known_at_once() {
    let rig = with_fastmap(Rig::new(160));
    let ubi = rig.attach();
    rig.sleep(&ubi, 10);
    for name in ["a", "b"] {
        ubi.make_volume(&VolumeRequest::new(name, VolumeKind::Static, VolumeSize::Lebs(9))).unwrap();
    }
    ubi.open(1).unwrap().update(&content(1, 1, 5000)).unwrap();
    ubi.resize_volume(0, 4).unwrap();
    ubi.remove_volume(0).unwrap();
    ubi.rename_volume(1, "c").unwrap();
    ubi.vanish();
    let ubi = rig.attach();
    assert!(ubi.is_attached_by_fastmap());
    let volumes = ubi.volumes();
    assert_eq!(volumes.len(), 1);
    assert_eq!((volumes[0].name.as_str(), volumes[0].used_bytes, volumes[0].corrupted), ("c", 5000, false));
}

/// Reads, programs and erases of `f`.
fn operations(rig: &Rig, f: impl FnOnce()) -> (u64, u64, u64) {
    let counts = rig.counts(f);
    (counts.page_reads, counts.page_programs, counts.erases)
}

/// The blocks of the volume, of the volume table and of the fastmap.
fn places(ubi: &Ubi) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let of = |wanted: u32| {
        let uses = (0..).zip(ubi.look_at_pebs());
        let of_volume = uses.filter(move |(_, peb_use)| match peb_use {
            PebUse::Leb { address, .. } => address.volume_id == wanted,
            _ => false,
        });
        of_volume.map(|(peb, _)| peb).collect()
    };
    (of(0), of(0x7FFF_EFFF), fastmap_blocks(ubi))
}

/// A partition of nandsim, attached with `ubiattach -b 2`.
fn nandsim() -> Rig {
    let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: 160 };
    let mut rig = with_fastmap(Rig::with(geometry, Ecc::SOFTWARE));
    rig.options.chip_blocks = Some(2048);
    rig.options.bad_reserve = BadReserve::Per1024OfChip(2);
    rig
}

/// What Linux 6.1.192 did whose UBI was built with fastmap: flashmon's counts, and what its fastmaps say. `tests/referee/test_fastmap.py`
/// repeats it.
#[test]
fn counts_and_blocks_are_those_of_a_kernel() {
    let rig = nandsim();
    let mut attached = None;
    let first = operations(&rig, || {
        let ubi = rig.attach();
        rig.sleep(&ubi, 2);
        attached = Some(ubi);
    });
    assert_eq!(first, (160, 248, 160));
    let ubi = attached.unwrap();
    let make = operations(&rig, || {
        support::make_all(&ubi);
        rig.sleep(&ubi, 2);
    });
    assert_eq!(make, (0, 91, 3));
    assert_eq!(places(&ubi), (vec![], vec![35, 36], vec![3]));
    let volume = ubi.open(0).unwrap();
    assert_eq!(volume.lebs(), 150);
    let update = operations(&rig, || {
        volume.update(&content(1, 1, 588_895)).unwrap();
        rig.sleep(&ubi, 2);
    });
    assert_eq!(update, (0, 410, 5));
    assert_eq!(places(&ubi), ((100..105).collect(), vec![105, 106], vec![4]));
    assert_eq!(operations(&rig, || ubi.detach()), (0, 65, 1));
    let mut attached = None;
    let attach = operations(&rig, || {
        let ubi = rig.attach();
        rig.sleep(&ubi, 1);
        attached = Some(ubi);
    });
    assert_eq!(attach, (240, 1, 1));
    let ubi = attached.unwrap();
    assert_eq!(places(&ubi), ((100..105).collect(), vec![105, 106], vec![5]));
    assert_eq!(operations(&rig, || ubi.detach()), (0, 65, 1));
    assert_eq!(places(&rig.attach()).2, [6]);
}

/// Another run of that kernel: twelve times ubiupdatevol and a second of rest, which uses up the pools 90 times.
#[test]
fn after_many_updates_blocks_are_still_those_of_a_kernel() {
    let rig = nandsim();
    let ubi = rig.attach();
    rig.sleep(&ubi, 2);
    let volume = support::make_all(&ubi);
    rig.sleep(&ubi, 2);
    let update = |i: u32| {
        let bytes = if i.is_multiple_of(3) { 4_000_000 } else { i as usize * 300_000 };
        let (_, programs, erases) = operations(&rig, || {
            volume.update(&content(1, i, bytes)).unwrap();
            rig.sleep(&ubi, 1);
        });
        (programs, erases)
    };
    let known = [
        (202, 4),
        (418, 8),
        (2368, 14),
        (810, 38),
        (937, 16),
        (2310, 20),
        (1322, 39),
        (1455, 24),
        (2317, 27),
        (1833, 40),
        (1909, 31),
        (2389, 35),
    ];
    assert_eq!((1..13).map(update).collect::<Vec<_>>(), known);
    assert_eq!(operations(&rig, || ubi.detach()), (0, 65, 1));
    let ubi = rig.attach();
    let (of_volume, of_table, of_fastmap) = places(&ubi);
    assert_eq!((of_volume, of_table, of_fastmap), ((7..14).chain(122..147).collect(), vec![14, 35], vec![42]));
}

/// After a cut: attach, compare, go on working, compare again. Returns whether it was attached by fastmap.
fn recover(world: &mut World, in_flight: Option<Act>, seed: u64) -> bool {
    world.power_on();
    world.attach().unwrap();
    let by_fastmap = world.ubi.is_attached_by_fastmap();
    world.settle(in_flight);
    world.check();
    for act in random_acts(seed, 12, world) {
        world.apply(act).unwrap();
    }
    world.check();
    world.apply(Act::Reattach).unwrap();
    world.check();
    by_fastmap
}

fn acts(seed: u64, world: &World) -> Vec<Act> {
    let mut acts = random_acts(seed, 40, world);
    acts.push(Act::Reattach);
    acts.extend(random_acts(seed + 100, 30, world));
    acts.push(Act::Reattach);
    acts
}

#[test]
fn after_a_power_cut_no_stale_fastmap_is_used() {
    let mut uncut = World::new(small());
    let acts = acts(7, &uncut);
    let begun = uncut.rig.nand.with_chip(|chip| chip.modifying_operations());
    assert_eq!(run_until_cut(&mut uncut, &acts), None);
    let operations = uncut.rig.nand.with_chip(|chip| chip.modifying_operations()) - begun;
    assert!(operations > 300, "{operations} programs and erases");
    let (mut by_fastmap, mut by_scan) = (0, 0);
    for k in (1..=operations).step_by(2) {
        let torn = [Torn::Nothing, Torn::Partial { seed: k }, Torn::Complete][(k / 2 % 3) as usize];
        let mut world = World::new(small());
        world.cut_after(k, torn);
        let in_flight = run_until_cut(&mut world, &acts);
        assert!(in_flight.is_some());
        *(if recover(&mut world, in_flight, k) { &mut by_fastmap } else { &mut by_scan }) += 1;
    }
    assert!(by_fastmap > 50 && by_scan > 20, "{by_fastmap} by fastmap, {by_scan} by scan");
}

/// The second cut comes when UBI is attached: in the attach itself the kernel's rules have a hole, which the crate's README describes.
#[test]
fn a_second_cut_after_the_recovery_does_no_harm() {
    let acts = acts(3, &World::new(small()));
    for first in (1..400).step_by(37) {
        for second in (1..40).step_by(3) {
            let mut world = World::new(small());
            world.cut_after(first, Torn::Partial { seed: first });
            let in_flight = run_until_cut(&mut world, &acts);
            world.power_on();
            world.attach().unwrap();
            world.settle(in_flight);
            world.cut_after(second, Torn::Partial { seed: second });
            let acts = random_acts(second, 30, &world);
            let again = run_until_cut(&mut world, &acts);
            recover(&mut world, again, second);
        }
    }
}
