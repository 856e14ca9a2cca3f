//! Long random sequences of commands against plain bytes, and what is counted of them.

use crate::arrays;

use std::cell::RefCell;
use std::rc::Rc;

use arrays::*;
use ffslab_flash::{
    Address, Array, ArrayConfig, Command, CopyBack, Failures, Faults, Law, PageIn, PageOut, Rules, Weak,
};
use ffslab_flash::{TimeLaw, DAMAGED};
use ffslab_sim::{EventSink, Op, OpEvent};
use rand_pcg::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

/// The cells as plain bytes; page data and OOB side by side.
struct Plain {
    pages: Vec<[u8; PAGE + OOB]>,
    programs: Vec<u32>,
}

struct Campaign {
    array: Array,
    plain: Plain,
    random: Pcg32,
    /// Programs allowed, reads that were compared, copies, erases, steps of cache sequences.
    done: [u32; 5],
}

const PROGRAMS_MAX: u32 = 3;

impl Campaign {
    fn new(seed: u64, overlapped_planes: bool) -> Campaign {
        let mut config = config(hierarchy(2, 1, 2, 4));
        config.rules = Rules { partial_programs_max: PROGRAMS_MAX, in_order: false };
        config.overlapped_planes = overlapped_planes;
        let law = Law::Normal { mean_ns: 200_000.0, deviation_ns: 50_000.0 };
        config.laws.program = TimeLaw { law, max_ns: 300_000 };
        config.register_copy_ns = 1_000;
        let array = array(config);
        let pages = array.geometry().pages() as usize;
        let plain = Plain { pages: vec![[0xFF; PAGE + OOB]; pages], programs: vec![0; pages] };
        Campaign { array, plain, random: Pcg32::seed_from_u64(seed), done: [0; 5] }
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.random.next_u32() % bound
    }

    fn number(&self, at: Address) -> usize {
        self.array.hierarchy().page_number(at) as usize
    }

    /// A page in each of some planes of a die.
    fn places(&mut self, page: u32) -> Vec<Address> {
        let (die, planes) = (self.below(4), 1 + self.below(4));
        let first = self.below(4);
        (first..first + planes).map(|plane| at(die, self.below(4) * 4 + plane % 4, page)).collect()
    }

    fn program(&mut self, places: &[Address], cached: Option<bool>) {
        if places.iter().any(|&at| self.plain.programs[self.number(at)] >= PROGRAMS_MAX) {
            return;
        }
        let with_oob = self.below(2) == 0;
        let bytes: Vec<[u8; PAGE + OOB]> = places
            .iter()
            .map(|_| {
                let mut bytes = [0xFF; PAGE + OOB];
                self.random.fill_bytes(&mut bytes[..if with_oob { PAGE + OOB } else { PAGE }]);
                bytes
            })
            .collect();
        let pages: Vec<PageIn> = places
            .iter()
            .zip(&bytes)
            .map(|(&at, bytes)| PageIn { at, data: &bytes[..PAGE], oob: with_oob.then_some(&bytes[PAGE..]) })
            .collect();
        let command = match cached {
            None => Command::Program(&pages),
            Some(more) => Command::CacheProgram { pages: &pages, more },
        };
        assert_eq!(self.array.issue(command).unwrap().failed, Failures::default());
        for (&at, bytes) in places.iter().zip(&bytes) {
            let number = self.number(at);
            self.plain.programs[number] += 1;
            self.plain.pages[number].iter_mut().zip(bytes).for_each(|(cell, byte)| *cell &= byte);
        }
        self.done[0] += places.len() as u32;
    }

    fn read(&mut self, places: &[Address], cached: Option<bool>) {
        let mut buffers = vec![([0; PAGE], [0; OOB]); places.len()];
        let mut pages: Vec<PageOut> = places
            .iter()
            .zip(&mut buffers)
            .map(|(&at, (data, oob))| PageOut::whole(at, data, Some(oob), OOB as u32))
            .collect();
        let command = match cached {
            None => Command::Read(&mut pages),
            Some(more) => Command::CacheRead { pages: &mut pages, more },
        };
        let done = self.array.issue(command).unwrap();
        assert!(done.begin_ns <= done.array_ns && done.array_ns < done.done_ns && done.done_ns <= done.next_ns);
        assert!(pages.iter().all(|page| page.flipped_bits == 0));
        for (&at, (data, oob)) in places.iter().zip(&buffers) {
            let plain = &self.plain.pages[self.number(at)];
            assert!(plain[..PAGE] == *data && plain[PAGE..] == *oob, "{at}");
        }
        self.done[1] += places.len() as u32;
    }

    fn copy(&mut self, page: u32, to_page: u32) {
        let from = self.places(page);
        let copies: Vec<CopyBack> = from
            .iter()
            .map(|&from| {
                let plane = from.block % 4;
                CopyBack { from, to: at(from.die, self.below(4) * 4 + plane, to_page) }
            })
            .collect();
        if copies.iter().any(|copy| self.plain.programs[self.number(copy.to)] >= PROGRAMS_MAX) {
            return;
        }
        self.array.issue(Command::CopyBack(&copies)).unwrap();
        for &CopyBack { from, to } in &copies {
            let (source, to) = (self.plain.pages[self.number(from)], self.number(to));
            self.plain.programs[to] += 1;
            self.plain.pages[to].iter_mut().zip(source).for_each(|(cell, byte)| *cell &= byte);
        }
        self.done[2] += copies.len() as u32;
    }

    fn erase(&mut self) {
        let places = self.places(0);
        self.array.issue(Command::Erase(&places)).unwrap();
        for &at in &places {
            let first = self.number(at);
            self.plain.pages[first..first + 8].fill([0xFF; PAGE + OOB]);
            self.plain.programs[first..first + 8].fill(0);
        }
        self.done[3] += places.len() as u32;
    }

    /// A whole cache sequence: the places with other pages.
    fn sequence(&mut self, is_read: bool) {
        let places = self.places(0);
        let steps = 1 + self.below(4);
        let free = |campaign: &Campaign| {
            places.iter().all(|&at| {
                let first = campaign.number(at);
                campaign.plain.programs[first..first + 8].iter().all(|&programs| programs < PROGRAMS_MAX)
            })
        };
        if !is_read && !free(self) {
            return;
        }
        for step in 0..steps {
            let page = if is_read { self.below(8) } else { step };
            let places: Vec<Address> = places.iter().map(|&place| Address { page, ..place }).collect();
            let more = Some(step + 1 < steps);
            if is_read {
                self.read(&places, more);
            } else {
                self.program(&places, more);
            }
            self.done[4] += 1;
        }
    }
}

#[test]
fn the_array_agrees_with_plain_bytes() {
    for (seed, overlapped) in [(1, false), (2, true)] {
        let mut campaign = Campaign::new(seed, overlapped);
        for _ in 0..8_000 {
            let page = campaign.below(8);
            match campaign.below(16) {
                0..=4 => {
                    let places = campaign.places(page);
                    campaign.program(&places, None);
                }
                5 => campaign.sequence(true),
                6 => campaign.sequence(false),
                7 => campaign.copy(page, (page + 3) % 8),
                8 => campaign.erase(),
                9 => campaign.array.wait_until(campaign.array.die_ready_ns(page % 4)),
                _ => {
                    let places = campaign.places(page);
                    campaign.read(&places, None);
                }
            }
        }
        assert!(campaign.done.iter().all(|&done| done > 400), "{:?}", campaign.done);
        for number in 0..campaign.array.geometry().pages() {
            let place = campaign.array.hierarchy().address_of(number);
            let (data, oob, flipped_bits) = bytes_of(&mut campaign.array, place);
            assert!([data, oob].concat() == campaign.plain.pages[number as usize] && flipped_bits == 0, "{place}");
        }
        let total = campaign.array.sim().total();
        assert_eq!(total.page_programs, u64::from(campaign.done[0] + campaign.done[2]));
        assert_eq!(total.erases, u64::from(campaign.done[3]));
        let erases: u32 = campaign.array.erase_counts().iter().sum();
        assert_eq!(erases, campaign.done[3]);
    }
}

/// The same commands give the same times, though these are drawn.
#[test]
fn runs_repeat_to_the_nanosecond() {
    let run = |seed| {
        let mut campaign = Campaign::new(seed, false);
        for _ in 0..500 {
            let places = campaign.places(0);
            campaign.program(&places, None);
            campaign.erase();
        }
        campaign.array.all_done_ns()
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn operations_are_counted_with_the_time_at_which_they_begin() {
    struct Log(Rc<RefCell<Vec<OpEvent>>>);
    impl EventSink for Log {
        fn flash_op(&mut self, event: &OpEvent) {
            self.0.borrow_mut().push(*event);
        }
    }
    let mut array = array(config(hierarchy(1, 1, 2, 2)));
    let log = Rc::new(RefCell::new(Vec::new()));
    array.sim().set_sink(Some(Box::new(Log(log.clone()))));
    program(&mut array, &[at(1, 0, 0), at(1, 1, 0)], 0).unwrap();
    array.issue(Command::Erase(&[at(0, 3, 0)])).unwrap();
    array.issue(Command::CopyBack(&[CopyBack { from: at(0, 1, 0), to: at(0, 5, 0) }])).unwrap();
    let seen: Vec<_> = log.borrow().iter().map(|event| (event.op, event.address, event.at_ns, event.busy_ns)).collect();
    let in_ns = 2 * MOVE_NS;
    let expected = [
        (Op::PageProgram, 64, in_ns, 200_000 + MOVE_NS),
        (Op::PageProgram, 72, in_ns, 200_000 + MOVE_NS),
        (Op::Erase, 3, 0, 1_500_000),
        (Op::PageRead, 8, 1_500_000, 25_000),
        (Op::PageProgram, 40, 1_525_000, 200_000),
    ];
    assert_eq!(seen, expected);
    let total = array.sim().total();
    assert_eq!((total.bus_in_bytes, total.bus_out_bytes, total.busy_ns), (2 * u64::from(MOVED_BYTES), 0, 0));
    array.wait_until(array.all_done_ns());
    assert_eq!(array.sim().total().busy_ns, 1_725_000);
}

#[test]
fn failures_are_told_with_their_place_in_the_command() {
    let mut array = array(config(hierarchy(1, 1, 1, 4)));
    let sizes = array.hierarchy();
    let weak = |number| Weak { number, good_operations: 0 };
    let faults = Faults {
        weakpages: vec![weak(sizes.page_number(at(0, 2, 0)))],
        weakblocks: vec![weak(1), weak(3)],
        gravepages: vec![weak(sizes.page_number(at(0, 1, 0)))],
        ..Faults::default()
    };
    array.set_faults(&faults).unwrap();
    let places: Vec<Address> = (0..4).map(|block| at(0, block, 0)).collect();
    let done = program(&mut array, &places, 0x55).unwrap();
    assert_eq!((done.failed, done.failed.any(), done.failed.has(2)), (Failures(0b0100), true, true));
    assert_eq!(bytes_of(&mut array, at(0, 1, 0)).2, DAMAGED);
    assert_eq!(bytes_of(&mut array, at(0, 0, 0)).2, 0);
    assert_eq!(array.issue(Command::Erase(&places)).unwrap().failed, Failures(0b1010));
    assert!(array.set_faults(&Faults { badblocks: vec![16], ..Faults::default() }).is_err());
}

/// No ECC stands between the two halves of a copy-back.
#[test]
fn a_copy_back_copies_flipped_bits_and_what_cannot_be_read() {
    let mut array = array(config(hierarchy(1, 1, 1, 1)));
    for page in 0..8 {
        program(&mut array, &[at(0, 0, page)], 0).unwrap();
    }
    array.set_faults(&Faults { bitflips: 3, seed: 2, ..Faults::default() }).unwrap();
    let mut flipped = 0;
    for round in 0..2_000 {
        let to = at(0, 1, 0);
        array.issue(Command::CopyBack(&[CopyBack { from: at(0, 0, round % 8), to }])).unwrap();
        let ones: u32 = array.peek_data(to).unwrap().iter().map(|byte| byte.count_ones()).sum();
        flipped += ones;
        array.issue(Command::Erase(&[to])).unwrap();
    }
    assert!(flipped > 0, "one read of 1024 is hit");
    let grave = Faults { gravepages: vec![Weak { number: 0, good_operations: 0 }], ..Faults::default() };
    array.set_faults(&grave).unwrap();
    array.issue(Command::CopyBack(&[CopyBack { from: at(0, 0, 0), to: at(0, 1, 0) }])).unwrap();
    array.set_faults(&Faults::default()).unwrap();
    assert_eq!(bytes_of(&mut array, at(0, 1, 0)).2, DAMAGED);
}

#[test]
fn snapshots_restore_content_and_wear() {
    let make = || array(ArrayConfig { rules: RULES, ..config(hierarchy(1, 1, 2, 1)) });
    let mut first = make();
    program(&mut first, &[at(1, 2, 0)], 7).unwrap();
    first.issue(Command::Erase(&[at(0, 1, 0)])).unwrap();
    let image = first.snapshot();
    first.issue(Command::Erase(&[at(1, 2, 0)])).unwrap();
    first.restore(&image).unwrap();
    assert_eq!(bytes_of(&mut first, at(1, 2, 0)).0, [7; PAGE]);
    assert_eq!(first.erase_counts().iter().sum::<u32>(), 1);
    assert!(array(config(hierarchy(1, 1, 1, 1))).restore(&image).is_err());
}
