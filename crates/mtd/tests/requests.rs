//! Writes, OOB areas, erases, bad blocks, partitions and costs.

use crate::common;

use common::*;
use ffslab_flash::Faults;
use ffslab_mtd::{Corrected, Driver, Ecc, Mtd, MtdError, Nand, OpCost, PageMemory};
use ffslab_sim::{EventSink, OpEvent, PowerMilliwatt, Preemption, Sim, SimConfig, Task};
use std::cell::RefCell;
use std::rc::Rc;

#[test]
fn sizes() {
    let mtd = Mtd::new(&nand(Ecc::HARDWARE), 4, 8).unwrap();
    assert_eq!((mtd.page_bytes(), mtd.erase_block_bytes(), mtd.size_bytes()), (2048, 8192, 65536));
    let (can, range) = (mtd.capabilities(), mtd.nand().unwrap().range());
    assert_eq!((mtd.blocks(), range, mtd.pages_per_block(), can.partial_program_bytes), (8, 4..12, 4, 512));
    assert_eq!((can.oob_bytes, can.oob_free_bytes), (64, 38));
}

#[test]
fn a_partition_must_be_on_the_chip() {
    let nand = nand(Ecc::HARDWARE);
    for (first, blocks) in [(0, 17), (16, 1), (0, 0), (u32::MAX, 2)] {
        assert!(Mtd::new(&nand, first, blocks).is_err());
    }
    assert_eq!(
        Mtd::new(&nand, 10, 7).err().unwrap().to_string(),
        "a partition of 7 blocks from block 10 is not on the chip, which has 16 blocks"
    );
}

#[test]
fn partitions_do_not_overlap() {
    let nand = nand(Ecc::HARDWARE);
    let (a, b) = (Mtd::new(&nand, 0, 2).unwrap(), Mtd::new(&nand, 2, 2).unwrap());
    b.write(0, &pattern(1, PAGE)).unwrap();
    let mut data = vec![0; PAGE as usize];
    a.read(0, &mut data).unwrap();
    assert_eq!(data, [0xFF; 2048]);
    whole(&nand).read(2 * BLOCK, &mut data).unwrap();
    assert_eq!(data, pattern(1, PAGE));
    b.erase(0).unwrap();
    assert_eq!(nand.with_chip(|chip| chip.erase_counts()[..4].to_vec()), [0, 0, 1, 0]);
}

#[test]
fn requests_outside_the_partition_cost_nothing() {
    let mtd = Mtd::new(&nand(Ecc::HARDWARE), 0, 2).unwrap();
    let end = mtd.size_bytes();
    let mut byte = [0; 2];
    assert_eq!(mtd.read(end - 1, &mut byte), Err(MtdError::OutOfRange));
    assert_eq!(mtd.read(u64::MAX, &mut byte), Err(MtdError::OutOfRange));
    assert_eq!(mtd.read(end, &mut []), Ok(Corrected::Clean));
    assert_eq!(mtd.write(end - PAGE, &[0; 4096]), Err(MtdError::OutOfRange));
    assert_eq!(mtd.erase(end), Err(MtdError::OutOfRange));
    assert_eq!(mtd.read_oob_free(end - PAGE, &mut [0; 39]), Err(MtdError::OutOfRange));
    assert_eq!(mtd.write_oob_free(u64::MAX, &[0; 1]), Err(MtdError::OutOfRange));
    assert_eq!(mtd.mark_bad(end), Err(MtdError::OutOfRange));
    assert!(mtd.is_bad(end));
    assert_eq!(mtd.sim().total().operations(), 0);
}

#[test]
fn writes_are_whole_aligned_pages() {
    let mtd = mtd(Ecc::HARDWARE);
    assert_eq!(mtd.write(0, &[0; 100]), Err(MtdError::Unaligned));
    assert_eq!(mtd.write(512, &[0; 2048]), Err(MtdError::Unaligned));
    assert_eq!(mtd.erase(PAGE), Err(MtdError::Unaligned));
    assert_eq!(mtd.write_page_with_oob(0, &[0; 4096], &[]), Err(MtdError::Unaligned));
    assert_eq!(mtd.sim().total().operations(), 0);
    let (counts, took_ns) = cost(&mtd, || mtd.write(PAGE, &pattern(1, 3 * PAGE)).unwrap());
    assert_eq!((counts.page_programs, counts.bus_in_bytes, took_ns), (3, 3 * 2112, 3 * 305_600));
    mtd.write(0, &[]).unwrap();
}

#[test]
fn the_chips_rules_are_reported() {
    let mtd = mtd(Ecc::HARDWARE);
    for _ in 0..4 {
        mtd.write(0, &[0xFF; 2048]).unwrap();
    }
    assert_eq!(mtd.write(0, &[0xFF; 2048]), Err(MtdError::RuleBroken));
}

/// UBI with sub-pages: the EC header is a program of page 0, the VID header at 512 a reprogram, and both are there.
#[test]
fn sub_page_writes() {
    let mtd = mtd(Ecc::HARDWARE);
    let (counts, took_ns) = cost(&mtd, || {
        mtd.write_partial(0, &pattern(1, 512)).unwrap();
        mtd.write_partial(512, &pattern(2, 512)).unwrap();
    });
    assert_eq!((counts.page_programs, counts.reprograms, counts.bus_in_bytes), (2, 1, 2 * 2112));
    assert_eq!(took_ns, 2 * 305_600);
    let mut page = vec![0; 2048];
    mtd.read(0, &mut page).unwrap();
    assert_eq!(page, [pattern(1, 512), pattern(2, 512), vec![0xFF; 1024]].concat());
    for (at, bytes) in [(100, 512), (0, 100), (0, 0), (1536, 1024)] {
        assert_eq!(mtd.write_partial(at, &vec![0; bytes]), Err(MtdError::Unaligned), "{bytes} bytes at {at}");
    }
}

#[test]
fn free_oob_bytes_are_2_to_40() {
    let mtd = mtd(Ecc::HARDWARE);
    let (counts, took_ns) = cost(&mtd, || mtd.write_oob_free(BLOCK, b"\x85\x19\x03\x20\x08\0\0\0").unwrap());
    assert_eq!((counts.oob_programs, counts.page_programs, took_ns), (1, 0, 203_200));
    let oob = mtd.nand().unwrap().with_chip(|chip| chip.peek_oob(4).unwrap().to_vec());
    assert_eq!(
        (&oob[..2], &oob[2..10], &oob[10..]),
        (&[0xFF; 2][..], &b"\x85\x19\x03\x20\x08\0\0\0"[..], &[0xFF; 54][..])
    );
    let mut free = [0; 8];
    let (counts, took_ns) = cost(&mtd, || mtd.read_oob_free(BLOCK, &mut free).unwrap());
    assert_eq!((counts.oob_reads, counts.page_reads, took_ns, &free), (1, 0, 28_200, b"\x85\x19\x03\x20\x08\0\0\0"));
}

/// JFFS2 looks for foreign OOB bytes in the first pages of a block with one request.
#[test]
fn oob_requests_go_on_in_the_next_pages() {
    let mtd = mtd(Ecc::HARDWARE);
    let bytes = pattern(5, 2 * 38 + 10);
    let (counts, _) = cost(&mtd, || mtd.write_oob_free(PAGE, &bytes).unwrap());
    assert_eq!(counts.oob_programs, 3);
    let mut found = vec![0; 4 * 38];
    let (counts, _) = cost(&mtd, || mtd.read_oob_free(0, &mut found).unwrap());
    assert_eq!(counts.oob_reads, 4);
    assert_eq!(found, [vec![0xFF; 38], bytes, vec![0xFF; 28]].concat());
}

#[test]
fn a_page_and_its_tags_in_one_operation() {
    let mtd = mtd(Ecc::HARDWARE);
    let (data, tags) = (pattern(1, PAGE), pattern(2, 28));
    let (counts, took_ns) = cost(&mtd, || mtd.write_page_with_oob(PAGE, &data, &tags).unwrap());
    assert_eq!((counts.page_programs, counts.oob_programs, took_ns), (1, 0, 305_600));
    let (mut data_read, mut tags_read) = (vec![0; 2048], vec![0; 28]);
    let (counts, took_ns) = cost(&mtd, || {
        assert_eq!(mtd.read_page_with_oob(PAGE, &mut data_read, &mut tags_read), Ok(Corrected::Clean));
    });
    assert_eq!((counts.page_reads, counts.oob_reads, took_ns), (1, 0, 130_600));
    assert_eq!((data_read, tags_read), (data, tags));
    assert_eq!(mtd.write_page_with_oob(0, &[0; 2048], &[0; 39]), Err(MtdError::OutOfRange));
}

/// The layouts of `drivers/mtd/nand/ecc.c`, also where the free bytes are in two pieces.
#[test]
fn oob_layouts() {
    for (page_bytes, oob_bytes, ecc, free) in [
        (512, 16, Ecc::SOFTWARE, (8..16, 0..0)),
        (512, 16, Ecc::HARDWARE, (8..16, 0..0)),
        (2048, 64, Ecc::SOFTWARE, (2..40, 0..0)),
        (2048, 128, Ecc::HARDWARE, (2..104, 0..0)),
        (2048, 128, Ecc::SOFTWARE, (2..80, 104..128)),
        (4096, 128, Ecc::SOFTWARE, (2..80, 0..0)),
        (4096, 224, Ecc::HARDWARE, (2..176, 0..0)),
    ] {
        let mtd = whole(&Nand::new(chip_of(page_bytes, oob_bytes), Driver { ecc, ..Driver::default() }).unwrap());
        let places: Vec<usize> = free.0.chain(free.1).collect();
        assert_eq!(mtd.oob_free_bytes() as usize, places.len(), "{page_bytes} + {oob_bytes}, {ecc:?}");
        mtd.write_oob_free(0, &vec![0; places.len()]).unwrap();
        let oob = mtd.nand().unwrap().with_chip(|chip| chip.peek_oob(0).unwrap().to_vec());
        let zeros: Vec<usize> = (0..oob.len()).filter(|&at| oob[at] == 0).collect();
        assert_eq!(zeros, places, "{page_bytes} + {oob_bytes}, {ecc:?}");
    }
}

#[test]
fn the_bad_block_table_comes_from_the_marks() {
    let nand = nand(Ecc::HARDWARE);
    let faults = Faults { badblocks: vec![3, 9], ..Faults::default() };
    nand.with_chip(|chip| chip.set_faults(&faults)).unwrap();
    let mtd = Mtd::new(&nand, 2, 10).unwrap();
    let bad: Vec<u64> = (0..10).filter(|block| mtd.is_bad(block * BLOCK + 5)).collect();
    assert_eq!(bad, [1, 7]);
    assert_eq!(mtd.erase(BLOCK), Err(MtdError::BadBlock));
    assert_eq!(mtd.sim().total().operations(), 0);
}

/// `nand_block_markbad_lowlevel`: an erase is attempted, then the mark is programmed.
#[test]
fn marking_a_block_bad() {
    let mtd = written(Ecc::HARDWARE);
    let (counts, _) = cost(&mtd, || mtd.mark_bad(BLOCK).unwrap());
    assert_eq!((counts.erases, counts.oob_programs, counts.page_programs), (1, 1, 0));
    assert!(mtd.is_bad(BLOCK) && mtd.nand().unwrap().with_chip(|chip| chip.is_marked_bad(1)));
    assert_eq!(mtd.nand().unwrap().with_chip(|chip| chip.peek_oob(4).unwrap()[0]), 0);
    let (counts, _) = cost(&mtd, || mtd.mark_bad(BLOCK).unwrap());
    assert_eq!(counts.operations(), 0, "it is bad already");
    mtd.nand().unwrap().nand().restart();
    assert!(mtd.is_bad(BLOCK));
}

#[test]
fn a_block_that_cannot_be_erased_is_marked_all_the_same() {
    let mtd = written(Ecc::HARDWARE);
    let faults = Faults {
        weakblocks: vec!["1:0".parse().unwrap()],
        weakpages: vec!["8:0".parse().unwrap()],
        ..Faults::default()
    };
    mtd.nand().unwrap().with_chip(|chip| chip.set_faults(&faults)).unwrap();
    assert_eq!(mtd.erase(BLOCK), Err(MtdError::EraseFailed));
    mtd.mark_bad(BLOCK).unwrap();
    assert!(mtd.is_bad(BLOCK));
    assert_eq!(mtd.write(2 * BLOCK, &[0; 2048]), Err(MtdError::ProgramFailed));
    assert_eq!(mtd.mark_bad(2 * BLOCK), Err(MtdError::ProgramFailed), "the mark itself");
    assert!(mtd.is_bad(2 * BLOCK), "the table knows it until the restart");
}

/// Energy and time of each kind of operation: chip time plus overhead, power for as long as both last.
#[test]
fn overheads_and_energy() {
    let op = |overhead_ns, cpu, memory| OpCost { overhead_ns, power: PowerMilliwatt { cpu, memory } };
    let (read, program, erase) = (op(10_000, 100.0, 10.0), op(20_000, 200.0, 20.0), op(30_000, 300.0, 30.0));
    let driver = Driver { ecc: Ecc::SOFTWARE, read, program, erase, ..Driver::default() };
    let mtd = whole(&Nand::new(chip_of(2048, 64), driver).unwrap());
    let check = |what: &str, cost: OpCost, chip_ns: u64, f: &dyn Fn()| {
        let (before_ns, before) = (mtd.sim().now_ns(), mtd.sim().energy());
        f();
        let took_ns = mtd.sim().now_ns() - before_ns;
        assert_eq!(took_ns, chip_ns + cost.overhead_ns, "{what}");
        let used = mtd.sim().energy() - before;
        assert!((used.cpu_uj - cost.power.cpu * took_ns as f64 * 1e-6).abs() < 1e-9, "{what}");
        assert!((used.memory_uj - cost.power.memory * took_ns as f64 * 1e-6).abs() < 1e-9, "{what}");
    };
    check("program", program, 305_600, &|| mtd.write(0, &[0xFF; 2048]).unwrap());
    check("sub-page program", program, 305_600, &|| mtd.write_partial(0, &[0xFF; 512]).unwrap());
    check("program with OOB", program, 305_600, &|| mtd.write_page_with_oob(0, &[0xFF; 2048], &[0; 4]).unwrap());
    check("OOB program", program, 203_200, &|| mtd.write_oob_free(0, &[0; 4]).unwrap());
    check("read", read, 130_600, &|| assert!(mtd.read(0, &mut [0; 2048]).is_ok()));
    check("partial read", read, 37_950, &|| assert!(mtd.read(0, &mut [0; 64]).is_ok()));
    check("read with OOB", read, 130_600, &|| assert!(mtd.read_page_with_oob(0, &mut [0; 2048], &mut [0; 4]).is_ok()));
    check("OOB read", read, 28_200, &|| mtd.read_oob_free(0, &mut [0; 4]).unwrap());
    check("erase", erase, 500_000, &|| mtd.erase(0).unwrap());
    let faults = Faults { weakblocks: vec!["0:0".parse().unwrap()], ..Faults::default() };
    mtd.nand().unwrap().with_chip(|chip| chip.set_faults(&faults)).unwrap();
    check("failed erase", erase, 500_000, &|| assert!(mtd.erase(0).is_err()));
    let total = mtd.sim().total();
    let operations = [total.page_reads + total.oob_reads, total.page_programs + total.oob_programs, total.erases];
    assert_eq!(operations, [4, 4, 2]);
    assert_eq!(mtd.sim().now_ns(), total.busy_ns + 4 * 10_000 + 4 * 20_000 + 2 * 30_000, "overheads are not chip time");
}

/// Who only asks whether pages are erased pays and counts as for reading them.
#[test]
fn looking_whether_pages_are_erased_is_reading_them() {
    for ecc in [Ecc::HARDWARE, Ecc::SOFTWARE] {
        let mtd = written(ecc);
        let requests = [
            (0, 2 * PAGE, false),
            (2 * BLOCK, 2 * PAGE, true),
            (2 * BLOCK - PAGE, 2 * PAGE, false),
            (2 * BLOCK, 512, true),
            (100, 512, false),
        ];
        for (at, bytes, erased) in requests {
            let mut data = vec![0; bytes as usize];
            mtd.nand().unwrap().nand().restart();
            let read = cost(&mtd, || assert_eq!(mtd.read(at, &mut data), Ok(Corrected::Clean)));
            mtd.nand().unwrap().nand().restart();
            let asked = cost(&mtd, || assert_eq!(mtd.reads_erased(at, &mut data), Ok(erased)));
            assert_eq!(asked, read, "{bytes} bytes at {at}");
        }
        assert_eq!(mtd.reads_erased(mtd.size_bytes(), &mut [0; 2048]), Err(MtdError::OutOfRange));
    }
}

/// Bits flip in the answer as they do in that of a read.
#[test]
fn bit_flips_are_seen_by_who_asks_whether_pages_are_erased() {
    let mut seen = [0; 3];
    let mut answers = [false, true].map(|asks| {
        let mtd = mtd(Ecc::HARDWARE);
        mtd.write_oob_free(0, &[0x85; 8]).unwrap();
        let faults = Faults { bitflips: 3, seed: 5, ..Faults::default() };
        mtd.nand().unwrap().with_chip(|chip| chip.set_faults(&faults)).unwrap();
        move || {
            let mut data = vec![0; PAGE as usize];
            if asks {
                mtd.reads_erased(0, &mut data)
            } else {
                mtd.read(0, &mut data).map(|_| data.iter().all(|&byte| byte == 0xFF))
            }
        }
    });
    for _ in 0..20_000 {
        let [read, asked] = answers.each_mut().map(|answer| answer());
        assert_eq!(asked, read);
        seen[match read {
            Ok(true) => 0,
            Ok(false) => 1,
            Err(_) => 2,
        }] += 1;
    }
    assert!(seen[0] > 0 && seen[2] > 0, "{seen:?}");
}

#[test]
fn a_driver_without_a_table_reads_the_mark_of_a_block_when_it_is_asked_and_before_an_erase() {
    for (has_bad_block_table, oob_reads) in [(true, [0, 0, 0]), (false, [1, 2, 3])] {
        let driver = Driver { has_bad_block_table, ..Driver::default() };
        let nand = Nand::new(chip_of(2048, 64), driver).unwrap();
        let mtd = whole(&nand);
        let oob_reads_of = |mtd: &Mtd| mtd.sim().total().oob_reads;
        assert!(!mtd.is_bad(0) && !mtd.ask_bad(0));
        assert_eq!(oob_reads_of(&mtd), oob_reads[0]);
        mtd.erase(BLOCK).unwrap();
        assert_eq!(oob_reads_of(&mtd), oob_reads[1]);
        mtd.mark_bad(BLOCK).unwrap();
        assert_eq!(oob_reads_of(&mtd), oob_reads[2], "marking erases the block first");
        assert_eq!(mtd.erase(BLOCK), Err(MtdError::BadBlock));
    }
}

/// When each operation began.
struct Begins(Rc<RefCell<Vec<u64>>>);

impl EventSink for Begins {
    fn flash_op(&mut self, event: &OpEvent) {
        self.0.borrow_mut().push(event.at_ns);
    }
}

/// A chip that is simulated in memory takes some for each page that is programmed first. The kernel may take the CPU there, in the middle
/// of a request; the task that comes finds its lock taken.
#[test]
fn who_programs_into_memory_may_lose_the_cpu_in_the_middle_of_a_request() {
    static OTHER: Task = Task { name: "other", title: "other", nice: 0, process: "other" };
    let config = SimConfig { preemption: Preemption::Voluntary, vain_turn_ns: 30_000, ..SimConfig::default() };
    let sim = Sim::new(config);
    let memory = PageMemory { pages_per_slab: 15, slab_ns: 0, draw_ns: 0, free_ns: 0, slabs_at_hand: 0 };
    let driver = Driver { page_memory: Some(memory), ..Driver::default() };
    let mtd = whole(&Nand::new(chip_on(sim.clone(), 2048, 64), driver).unwrap());
    let begins = Rc::new(RefCell::new(Vec::new()));
    sim.set_sink(Some(Box::new(Begins(Rc::clone(&begins)))));
    sim.spawn(&OTHER);
    let waits_before_first_ns = || {
        sim.lock_is_had();
        sim.wake(&OTHER);
        sim.takes_lock_from(&OTHER);
        sim.gives_others_a_chance();
        let asked_ns = sim.now_ns();
        begins.borrow_mut().clear();
        mtd.write(0, &[0; 2 * PAGE as usize]).unwrap();
        assert!(sim.came_in_vain());
        let first_ns = begins.borrow()[0];
        first_ns - asked_ns
    };
    let (without_memory_ns, with_memory_ns) = (waits_before_first_ns(), waits_before_first_ns());
    assert_eq!(without_memory_ns - with_memory_ns, 30_000);
}
