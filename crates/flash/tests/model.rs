//! Long random sequences of operations against the simplest possible chip: one array of bytes.

use crate::common;

use common::*;
use rand_pcg::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

/// The cells as plain bytes; page data and OOB side by side.
#[derive(Clone)]
struct Plain {
    pages: Vec<[u8; PAGE + OOB]>,
    programs: Vec<u32>,
}

impl Plain {
    fn program(&mut self, page: usize, at: usize, bytes: &[u8]) {
        for (cell, byte) in self.pages[page][at..].iter_mut().zip(bytes) {
            *cell &= byte;
        }
    }
}

#[test]
fn the_chip_agrees_with_plain_bytes() {
    let mut random = Pcg32::seed_from_u64(11);
    let mut chip = chip();
    let mut plain = Plain { pages: vec![[0xFF; PAGE + OOB]; 32], programs: vec![0; 32] };
    let mut kept = (chip.snapshot(), plain.clone());
    let (mut programs, mut erases, mut restores) = (0, 0, 0);
    for step in 0..30_000 {
        let page = random.next_u32() % 32;
        let index = page as usize;
        let mut bytes = [0; PAGE + OOB];
        random.fill_bytes(&mut bytes);
        let (data, oob) = bytes.split_at(PAGE);
        match random.next_u32() % 16 {
            0..=4 if plain.programs[index] < 4 => {
                let with_oob = step % 3 == 0;
                chip.program_page(page, data, with_oob.then_some(oob)).unwrap();
                plain.program(index, 0, if with_oob { &bytes } else { data });
                plain.programs[index] += 1;
                programs += 1;
            }
            5 => {
                chip.program_oob(page, oob).unwrap();
                plain.program(index, PAGE, oob);
            }
            6 => {
                chip.erase(page / PAGES_PER_BLOCK).unwrap();
                let first = (page / PAGES_PER_BLOCK * PAGES_PER_BLOCK) as usize;
                plain.pages[first..first + 4].fill([0xFF; PAGE + OOB]);
                plain.programs[first..first + 4].fill(0);
                erases += 1;
            }
            7 if step % 5 == 0 => kept = (chip.snapshot(), plain.clone()),
            8 if step % 5 == 0 => {
                chip.restore(&kept.0).unwrap();
                plain = kept.1.clone();
                restores += 1;
            }
            9 => {
                let column = random.next_u32() as usize % PAGE;
                let mut part = vec![0; random.next_u32() as usize % (PAGE - column) + 1];
                assert_eq!(chip.read_part(page, column as u32, &mut part, 3), Ok(0));
                assert_eq!(part, plain.pages[index][column..column + part.len()]);
            }
            _ => assert_eq!(
                read(&mut chip, page),
                (plain.pages[index][..PAGE].into(), plain.pages[index][PAGE..].into())
            ),
        }
        let block = page / PAGES_PER_BLOCK;
        let first = (block * PAGES_PER_BLOCK) as usize;
        let programmed = plain.programs[first..first + 4].iter().filter(|&&programs| programs > 0).count();
        assert_eq!(chip.programmed_pages(block) as usize, programmed);
    }
    assert!(programs > 3_000 && erases > 1_000 && restores > 200, "{programs} {erases} {restores}");
}
