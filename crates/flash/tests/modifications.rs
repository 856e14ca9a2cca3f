//! What was kept of a run gives the content that a power cut at any of its operations leaves, whichever way it is torn: the same as in
//! a run that is really cut.

use ffslab_flash::modification::apply_to_nor;
use ffslab_flash::{Chip, ChipImage, Geometry, NorFlash, Pairing, Rules, Timing, Torn};
use ffslab_sim::{Sim, SimConfig};

const GEOMETRY: Geometry = Geometry { page_bytes: 512, oob_bytes: 16, pages_per_block: 8, blocks: 4 };
const OPERATIONS: u64 = 30;

fn chip(pairing: Option<&Pairing>) -> Chip {
    let timing = Timing { read_ns: 10, program_ns: 100, erase_ns: 1000, bus_ps_per_byte: 0 };
    let rules = Rules { partial_programs_max: 255, in_order: false };
    let mut chip = Chip::new(Sim::new(SimConfig::default()), GEOMETRY, timing, rules).unwrap();
    if let Some(pairing) = pairing {
        chip.set_pairing(Some(pairing.clone())).unwrap();
    }
    chip
}

/// Programs of pages with and without OOB bytes, of OOB bytes alone, again, and erases.
fn work(chip: &mut Chip) {
    for k in 0..OPERATIONS as u32 {
        let (page, fill) = (k * 5 % 16, k as u8);
        let done = match k % 5 {
            0 | 3 => chip.program_page(page, &[fill; 512], Some(&[!fill; 16])),
            1 => chip.program_page(page, &[fill; 512], None),
            2 => chip.program_oob(page, &[fill; 16]),
            _ => chip.erase(k % 2),
        };
        if done.is_err() {
            return;
        }
    }
}

fn hashes(image: &ChipImage) -> Vec<u64> {
    (0..GEOMETRY.blocks).map(|block| image.block_hash(block)).collect()
}

#[test]
fn a_cut_that_is_made_afterwards_leaves_what_a_cut_leaves() {
    for pairing in [None, Some(Pairing::distance_3(GEOMETRY.pages_per_block).unwrap())] {
        let mut whole = chip(pairing.as_ref());
        let base = whole.snapshot();
        whole.keep_modifications();
        work(&mut whole);
        let kept = whole.take_modifications();
        assert_eq!(kept.len() as u64, OPERATIONS);
        for k in 1..=OPERATIONS {
            for torn in [Torn::Nothing, Torn::Partial { seed: k }, Torn::Partial { seed: k + 99 }, Torn::Complete] {
                let mut cut = chip(pairing.as_ref());
                cut.cut_power_after(k, torn);
                work(&mut cut);
                assert!(!cut.is_on());
                let mut image = base.clone();
                let (before, from) = kept.split_at(k as usize - 1);
                before.iter().for_each(|change| image.apply(change, Torn::Complete, pairing.as_ref()));
                let block = image.block_of(&from[0]);
                let part = image.block_content(block);
                let before = image.to_bytes();
                image.apply(&from[0], torn, pairing.as_ref());
                assert_eq!(image.to_bytes(), cut.snapshot().to_bytes(), "operation {k}, {torn:?}");
                assert_eq!(hashes(&image), hashes(&cut.snapshot()));
                image.put_block_content(&part);
                assert_eq!(image.to_bytes(), before);
            }
        }
    }
}

#[test]
fn so_it_is_with_nor() {
    let work = |chip: &NorFlash| {
        for k in 0..20u64 {
            let done =
                if k % 4 == 3 { chip.erase(k % 8 / 4 * 1024) } else { chip.write(k * 97 % 2000, &[k as u8; 40]) };
            if done.is_err() {
                return;
            }
        }
    };
    let made = || NorFlash::new(Sim::new(SimConfig::default()), 1024, 2);
    let whole = made();
    whole.keep_modifications();
    work(&whole);
    let kept = whole.take_modifications();
    for k in 1..=kept.len() {
        for torn in [Torn::Nothing, Torn::Partial { seed: k as u64 }, Torn::Complete] {
            let cut = made();
            cut.cut_power_after(k as u64, torn);
            work(&cut);
            let mut bytes = vec![0xFF; 2048];
            kept[..k - 1].iter().for_each(|change| apply_to_nor(&mut bytes, 1024, change, Torn::Complete));
            apply_to_nor(&mut bytes, 1024, &kept[k - 1], torn);
            assert_eq!(bytes, cut.image(), "operation {k}, {torn:?}");
        }
    }
}
