//! The power goes away during the k-th program or erase, for every k.

use crate::support;

use ffslab_flash::{Geometry, Torn};
use ffslab_mtd::Ecc;
use ffslab_policy::{FreeSpec, LevellingSpec};
use ffslab_ubi::{AttachError, Ubi, UbiError, VolumeKind, VolumeRequest, VolumeSize, WearRules};
use ffslab_workload::SplitMix64;
use support::world::{Act, World};
use support::{content, Rig};

const BLOCKS: u32 = 20;

/// Wear levelling so often that cuts hit moves as well.
fn restless(mut rig: Rig) -> Rig {
    rig.options.wl_threshold_erases = 2;
    rig
}

fn with_sub_pages() -> Rig {
    restless(Rig::small(BLOCKS))
}

fn without_sub_pages() -> Rig {
    let mut rig = restless(Rig::small(BLOCKS));
    rig.options.subpage_writes = false;
    rig
}

/// Rules in the place of the kernel's.
fn with_rules() -> Rig {
    let mut rig = Rig::small(BLOCKS);
    let (free, levelling) = (FreeSpec::parse("random"), LevellingSpec::parse("dual-pool(1)"));
    rig.options.wear_rules =
        WearRules { free: free.ok(), levelling: levelling.ok(), endurance_erases: 100_000, seed: 3 };
    rig
}

/// The two headers of a page are read apart, each with its own ECC.
fn with_software_ecc() -> Rig {
    let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 8, blocks: BLOCKS };
    restless(Rig::with(geometry, Ecc::SOFTWARE))
}

pub fn random_acts(seed: u64, count: u32, world: &World) -> Vec<Act> {
    let mut random = SplitMix64::new(seed);
    let mut below = |bound: u32| random.below(u64::from(bound)) as u32;
    let (lebs, pages) = (world.lebs(), world.pages());
    (0..count)
        .map(|_| {
            // A few LEBs are never changed, so that wear levelling has something to move.
            let leb = if below(8) == 0 { below(lebs) } else { below(lebs / 2) };
            match below(20) {
                0..=6 => Act::Write { leb, pages: 1 + below(pages) },
                7..=10 => Act::Change { leb, pages: 1 + below(pages) },
                11 => Act::Map { leb },
                12..=15 => Act::Unmap { leb },
                16 | 17 => Act::Erase { leb },
                18 => Act::Flush,
                _ => Act::Rest,
            }
        })
        .collect()
}

/// Runs `acts` until the power goes away; the answer is the act that it interrupted.
pub fn run_until_cut(world: &mut World, acts: &[Act]) -> Option<Act> {
    for &act in acts {
        match world.apply(act) {
            Ok(()) => {}
            Err(UbiError::PowerCut) => return Some(act),
            // The thread has met the cut in its work, and nothing is written any more.
            Err(UbiError::ReadOnly) if !world.rig.nand.with_chip(|chip| chip.is_on()) => return Some(act),
            Err(error) => panic!("{act:?}: {error}"),
        }
    }
    None
}

/// After a cut: attach, compare, go on working, compare again.
fn recover(world: &mut World, in_flight: Option<Act>, seed: u64) {
    world.power_on();
    world.attach().unwrap();
    world.settle(in_flight);
    world.check();
    for act in random_acts(seed, 12, world) {
        world.apply(act).unwrap();
    }
    world.check();
    world.apply(Act::Rest).unwrap();
    world.apply(Act::Reattach).unwrap();
    world.check();
    assert_eq!(world.ubi.peb_counts().pending_pebs, 0);
}

#[test]
fn after_a_power_cut_every_leb_holds_what_was_written_or_what_was_being_written() {
    let rigs: [fn() -> Rig; 4] = [with_sub_pages, without_sub_pages, with_software_ecc, with_rules];
    for (seed, rig) in (1..).zip(rigs) {
        let mut uncut = World::new(rig());
        let acts = random_acts(seed, 60, &uncut);
        let begun = uncut.rig.nand.with_chip(|chip| chip.modifying_operations());
        assert_eq!(run_until_cut(&mut uncut, &acts), None);
        let operations = uncut.rig.nand.with_chip(|chip| chip.modifying_operations()) - begun;
        assert!(operations > 100, "{operations} programs and erases");
        for k in 1..=operations {
            for torn in [Torn::Nothing, Torn::Partial { seed: k }, Torn::Complete] {
                let mut world = World::new(rig());
                world.cut_after(k, torn);
                let in_flight = run_until_cut(&mut world, &acts);
                assert!(in_flight.is_some());
                recover(&mut world, in_flight, k);
            }
        }
    }
}

#[test]
fn a_second_cut_during_the_recovery_from_the_first_does_no_harm() {
    let acts = random_acts(3, 60, &World::new(with_sub_pages()));
    for first in (1..160).step_by(7) {
        for second in 1..20 {
            let mut world = World::new(with_sub_pages());
            world.cut_after(first, Torn::Partial { seed: first });
            let in_flight = run_until_cut(&mut world, &acts);
            world.power_on();
            world.cut_after(second, Torn::Partial { seed: second });
            let mut again = in_flight;
            if world.attach().is_ok() {
                world.settle(in_flight);
                let acts = random_acts(second, 30, &world);
                again = run_until_cut(&mut world, &acts);
            }
            recover(&mut world, again, second);
        }
    }
}

/// Runs `call` with the power cut at each of its programs and erases, and hands what is left to `judge`.
fn cut_everywhere(
    prepare: impl Fn() -> (Rig, Ubi),
    call: impl Fn(&Ubi) -> Result<(), UbiError>,
    judge: impl Fn(&Rig, &Ubi, &str),
) {
    let mut k = 1;
    loop {
        for torn in [Torn::Nothing, Torn::Partial { seed: k }, Torn::Complete] {
            let (rig, ubi) = prepare();
            rig.nand.with_chip(|chip| chip.cut_power_after(k, torn));
            let result = call(&ubi);
            if result.is_ok() {
                assert!(rig.nand.with_chip(|chip| chip.is_on()) || torn == Torn::Complete);
                assert!(k > 10, "too few operations to cut");
                return;
            }
            assert_eq!(result, Err(UbiError::PowerCut));
            ubi.detach();
            rig.nand.with_chip(|chip| chip.power_on());
            let ubi = rig.attach();
            judge(&rig, &ubi, &format!("cut {k}, {torn:?}"));
            assert_eq!(ubi.flush(), Ok(()));
            let counts = ubi.peb_counts();
            assert_eq!((counts.pending_pebs, counts.kept_pebs), (0, 0));
            assert_eq!(ubi.available_lebs() + ubi.reserved_lebs(), BLOCKS);
        }
        k += 1;
    }
}

fn two_volumes() -> (Rig, Ubi) {
    let rig = with_sub_pages();
    let ubi = rig.attach();
    ubi.flush().unwrap();
    for (name, kind, lebs) in [("a", VolumeKind::Dynamic, 6), ("b", VolumeKind::Static, 4)] {
        ubi.make_volume(&VolumeRequest::new(name, kind, VolumeSize::Lebs(lebs))).unwrap();
    }
    let volume = ubi.open(0).unwrap();
    for leb in 0..6 {
        volume.write(leb, 0, &content(leb, 0, 1024)).unwrap();
    }
    ubi.open(1).unwrap().update(&content(9, 0, 5000)).unwrap();
    (rig, ubi)
}

fn names(ubi: &Ubi) -> Vec<(String, u32)> {
    ubi.volumes().into_iter().map(|volume| (volume.name, volume.lebs)).collect()
}

fn expect_one_of(ubi: &Ubi, old: &[(&str, u32)], new: &[(&str, u32)], place: &str) {
    let found = names(ubi);
    let is = |expected: &[(&str, u32)]| found.iter().map(|(name, lebs)| (name.as_str(), *lebs)).eq(expected.to_vec());
    assert!(is(old) || is(new), "{place}: {found:?}");
}

fn expect_data(ubi: &Ubi, name: &str, place: &str) {
    let volume = ubi.open_by_name(name).unwrap();
    let mut data = [0; 1024];
    for leb in 0..4 {
        assert_eq!(volume.read(leb, 0, &mut data), Ok(()), "{place}");
        assert_eq!(data.as_slice(), content(leb, 0, 1024), "{place}");
    }
}

#[test]
fn the_volume_table_is_the_old_one_or_the_new_one() {
    let both = [("a", 6), ("b", 4)];
    let make = |ubi: &Ubi| {
        ubi.make_volume(&VolumeRequest::new("c", VolumeKind::Dynamic, VolumeSize::Lebs(2))).map(|id| assert_eq!(id, 2))
    };
    cut_everywhere(two_volumes, make, |_, ubi, place| {
        expect_one_of(ubi, &both, &[("a", 6), ("b", 4), ("c", 2)], place);
        expect_data(ubi, "a", place);
    });
    cut_everywhere(
        two_volumes,
        |ubi| ubi.resize_volume(0, 4),
        |_, ubi, place| {
            expect_one_of(ubi, &both, &[("a", 4), ("b", 4)], place);
            expect_data(ubi, "a", place);
        },
    );
    cut_everywhere(
        two_volumes,
        |ubi| ubi.resize_volume(0, 7),
        |_, ubi, place| expect_one_of(ubi, &both, &[("a", 7), ("b", 4)], place),
    );
    cut_everywhere(
        two_volumes,
        |ubi| ubi.rename_volume(0, "z"),
        |_, ubi, place| expect_one_of(ubi, &both, &[("z", 6), ("b", 4)], place),
    );
    cut_everywhere(
        two_volumes,
        |ubi| {
            ubi.remove_volume(0)?;
            ubi.flush()
        },
        |_, ubi, place| expect_one_of(ubi, &both, &[("b", 4)], place),
    );
}

#[test]
fn an_interrupted_update_is_noticed() {
    cut_everywhere(
        two_volumes,
        |ubi| ubi.open(1)?.update(&content(8, 1, 9000)),
        |_, ubi, place| {
            expect_data(ubi, "a", place);
            let volume = ubi.open(1).unwrap();
            let info = volume.info().unwrap();
            if info.update_interrupted {
                assert_eq!(volume.read(0, 0, &mut []), Err(UbiError::UpdateInterrupted).or(volume.read(0, 0, &mut [])));
            } else {
                assert!(!info.corrupted, "{place}");
                let (leb, version) = if info.used_bytes == 5000 { (9, 0) } else { (8, 1) };
                let expected = content(leb, version, info.used_bytes as usize);
                let mut data = vec![0; 3584];
                volume.read(0, 0, &mut data).unwrap();
                assert_eq!(data, expected[..3584], "{place}");
            }
            volume.update(&content(7, 2, 100)).unwrap();
            let mut data = [0; 100];
            volume.read(0, 0, &mut data).unwrap();
            assert_eq!(data.as_slice(), content(7, 2, 100));
        },
    );
}

/// As with the kernel: until the first copy of the volume table is written, an interrupted format leaves something that is
/// neither empty nor UBI.
#[test]
fn an_interrupted_format_is_finished_or_refused() {
    let mut finished = 0;
    for k in 1..60 {
        for torn in [Torn::Nothing, Torn::Partial { seed: k }, Torn::Complete] {
            let rig = with_sub_pages();
            rig.nand.with_chip(|chip| chip.cut_power_after(k, torn));
            let first = Ubi::attach(rig.mtd.clone(), &rig.options).map(|ubi| {
                let _ = ubi.flush();
                ubi.detach();
            });
            rig.nand.with_chip(|chip| chip.power_on());
            match Ubi::attach(rig.mtd.clone(), &rig.options) {
                Ok(ubi) => {
                    ubi.flush().unwrap();
                    assert_eq!(ubi.available_lebs(), 15);
                    assert_eq!(ubi.peb_counts().kept_pebs, 0);
                    finished += 1;
                }
                Err(AttachError::VolumeTable(_)) => assert_eq!(first, Err(AttachError::Ubi(UbiError::PowerCut))),
                Err(error) => panic!("cut {k}, {torn:?}: {error}"),
            }
        }
    }
    assert!(finished > 100);
}
