//! The drawn errors against the distribution that was set.

use super::*;

const FRAMES_PER_PAGE: u32 = 8;
const BLOCKS: u32 = 20_000;

fn model(shape: f64) -> Ageing {
    let promise =
        Promise { endurance_erases: 3_000, retention_years: 10.0, reads: 1e4, corrected_bits: 4, step_bytes: 512 };
    Ageing { seed: 7, frame_shape: shape, worn_erases: 3_000, ..Ageing::promised(&promise) }
}

fn state(model: Ageing, pages: u32) -> AgeingState {
    // 8 frames of 512 data bytes with 7 code bytes each, at the end of 64 OOB bytes.
    let oob: Vec<Option<u32>> = (0..64u32).map(|at| at.checked_sub(8).map(|at| at / 7)).collect();
    AgeingState::new(model, Frames::new(512 * FRAMES_PER_PAGE, 512, &oob), BLOCKS, pages)
}

fn read(page: u32, reads: u32) -> Read {
    Read {
        page,
        erases: 0,
        reads,
        now_ns: 0,
        column: 0,
        data_bytes: 512 * FRAMES_PER_PAGE,
        whole_oob: true,
        code_in_oob: true,
        has_data: true,
    }
}

/// Wrong bits of each frame of a page, and how many there are in free bytes.
fn errors_of_frames(state: &AgeingState, read: &Read) -> ([u32; FRAMES_PER_PAGE as usize], u32) {
    let mut flips = Vec::new();
    state.flip(read, &mut flips);
    let (mut frames, mut free) = ([0; FRAMES_PER_PAGE as usize], 0);
    for bit in flips {
        match (bit / 8).checked_sub(read.data_bytes) {
            None => frames[(bit / 8 / 512) as usize] += 1,
            Some(of_oob) if of_oob < 8 => free += 1,
            Some(of_oob) => frames[((of_oob - 8) / 7) as usize] += 1,
        }
    }
    (frames, free)
}

/// The statistic of the chi-square test, and its degrees of freedom; classes in which fewer than ten are expected are one.
fn chi_square(counts: &[u64], probabilities: &[f64]) -> (f64, u32) {
    let all: u64 = counts.iter().sum();
    let (mut statistic, mut classes) = (0.0, 0);
    let (mut rest_found, mut rest_wanted) = (all as f64, all as f64);
    for (&found, probability) in counts.iter().zip(probabilities) {
        let wanted = probability * all as f64;
        if wanted < 10.0 {
            break;
        }
        statistic += (found as f64 - wanted).powi(2) / wanted;
        (rest_found, rest_wanted, classes) = (rest_found - found as f64, rest_wanted - wanted, classes + 1);
    }
    statistic += (rest_found - rest_wanted).powi(2) / rest_wanted.max(1e-9);
    (statistic, classes)
}

/// A million frames have the numbers of errors that the closed form says. The statistic has a normal distribution of mean n and
/// variance 2 n for n degrees of freedom, nearly; four deviations are allowed, and binomial errors of the same mean
/// are refused by hundreds.
#[test]
fn errors_per_frame_are_beta_binomial() {
    let pages = 125_000;
    let state = state(model(1.5), pages);
    let reads = 1_000_000;
    let stress = Stress { erases: 3_000.0, reads: f64::from(reads), ..Stress::default() };
    let mean = state.model.rate(&stress, 0);
    let errors = FrameErrors { shape: 1.5, bits: state.frames.frame_bits(), mean };
    assert!((0.02..1.0).contains(&errors.mean_bits()), "{}", errors.mean_bits());
    let mut counts = vec![0u64; 64];
    for page in 0..pages {
        for count in errors_of_frames(&state, &read(page, reads)).0 {
            counts[count.min(63) as usize] += 1;
        }
    }
    assert_eq!(counts.iter().sum::<u64>(), 1_000_000);
    let (statistic, degrees) = chi_square(&counts, &errors.probabilities(63));
    let most = f64::from(degrees) + 4.0 * (2.0 * f64::from(degrees)).sqrt();
    assert!(degrees >= 3 && statistic < most, "{statistic} with {degrees} degrees of freedom: {counts:?}");
    let binomial = FrameErrors { shape: 1e6, ..errors };
    assert!(chi_square(&counts, &binomial.probabilities(63)).0 > 100.0 * most);
}

/// The same bits are wrong when a page is read again, and more stress leaves them wrong.
#[test]
fn errors_grow_and_never_heal() {
    let state = state(model(2.0), 64);
    let mut grew = false;
    for page in 0..64 {
        let mut before = Vec::new();
        for reads in [100_000u32, 1_000_000, 10_000_000, 100_000_000] {
            let (mut flips, mut again) = (Vec::new(), Vec::new());
            state.flip(&read(page, reads), &mut flips);
            state.flip(&read(page, reads), &mut again);
            assert_eq!(flips, again);
            assert!(before.iter().all(|bit| flips.contains(bit)), "page {page}, {reads} reads");
            grew |= flips.len() > before.len() && !before.is_empty();
            before = flips;
        }
    }
    assert!(grew);
}

/// A read of some frames finds the same wrong cells as one of the whole page.
#[test]
fn a_part_of_a_page_has_the_errors_of_the_whole() {
    let state = state(model(2.0), 16);
    for page in 0..16 {
        let whole = read(page, 30_000_000);
        let mut flips = Vec::new();
        state.flip(&whole, &mut flips);
        let part = Read { column: 1024, data_bytes: 1024, whole_oob: false, code_in_oob: false, ..whole };
        let mut of_part = Vec::new();
        state.flip(&part, &mut of_part);
        let data = |flips: &[u32], from: u32, bytes: u32| {
            let bits: Vec<u32> = flips.iter().filter_map(|bit| bit.checked_sub(from * 8)).collect();
            bits.into_iter().filter(|bit| *bit < bytes * 8).collect::<Vec<_>>()
        };
        assert_eq!(data(&flips, 1024, 1024), data(&of_part, 0, 1024));
        // Code bytes of frames 2 and 3.
        assert_eq!(data(&flips, 4096 + 8 + 14, 14), data(&of_part, 1024, 14));
    }
}

#[test]
fn an_erase_draws_new_cells_and_time_begins_anew() {
    let mut state = state(model(2.0), 4);
    state.programmed(0, 0, 0);
    state.lies(400.0 * YEAR_S, 55.0);
    let aged = Read { reads: 0, ..read(0, 0) };
    let mut before = Vec::new();
    state.flip(&aged, &mut before);
    assert!(!before.is_empty());
    let erased = Read { erases: 1, ..aged };
    state.programmed(0, 1, 0);
    let mut after = Vec::new();
    state.flip(&erased, &mut after);
    assert!(after.is_empty(), "{after:?}");
    state.lies(400.0 * YEAR_S, 55.0);
    state.flip(&erased, &mut after);
    assert!(!after.is_empty() && after != before);
}

/// Who quotes JESD218: 1 year at 30 C, 500 h at 52 C and 96 h at 66 C lose the same.
#[test]
fn heat_ages_by_the_law_of_arrhenius() {
    let model = model(2.0);
    let year_h = YEAR_S / 3600.0;
    for (celsius, hours) in [(52.0, 500.0), (66.0, 96.0)] {
        let faster = model.acceleration(celsius) / model.acceleration(30.0);
        assert!((faster * hours / year_h - 1.0).abs() < 0.05, "{celsius} C: {faster}");
    }
    assert!((model.acceleration(model.rated_celsius) - 1.0).abs() < 1e-12);
}

/// What a data sheet promises is kept exactly: at the rated retention, after a tenth of the erases.
#[test]
fn the_promise_of_a_data_sheet_is_kept() {
    let model = model(2.0);
    let rated = Stress { erases: 300.0, reads: 0.0, rated_s: model.retention_s };
    let mut model_without_writes = model.clone();
    model_without_writes.write_rate = 0.0;
    let lost = model_without_writes.frame_errors(&rated, 4096).failure(4) / 4096.0;
    assert!((lost / 1e-15 - 1.0).abs() < 1e-3, "{lost}");
}

#[test]
fn as_many_blocks_fail_at_the_endurance_as_the_data_sheet_says() {
    let state = state(Ageing { worn_erases: 0, ..model(2.0) }, 64);
    let worn = |erases: u32| (0..BLOCKS).filter(|&block| state.worn_out(block, erases).is_some()).count();
    let at_endurance = worn(3_000);
    // 400 of 20,000, with a deviation of 20.
    assert!((320..480).contains(&at_endurance), "{at_endurance}");
    assert_eq!(worn(100), 0);
    let later: Vec<usize> = [3_000, 5_000, 8_000, 12_000].map(worn).to_vec();
    assert!(later.is_sorted() && later[3] > BLOCKS as usize * 9 / 10, "{later:?}");
    let programs =
        (0..BLOCKS).filter(|&block| matches!(state.worn_out(block, 12_000), Some(WornOut::Programs { .. }))).count();
    assert!((8_500..11_500).contains(&programs), "{programs}");
}

#[test]
fn ages_survive_as_bytes() {
    let mut state = state(model(2.0), 3);
    state.lies(5.0, 40.0);
    state.programmed(1, 2, 3_000_000_000);
    let bytes = state.ages.to_bytes();
    assert_eq!(Ages::from_bytes(&bytes, 3), Some(state.ages));
    assert_eq!(Ages::from_bytes(&bytes, 2), None);
    assert_eq!(Ages::from_bytes(&bytes[..20], 3), None);
}

#[test]
fn every_constant_has_a_source_and_a_status() {
    for known in &CONSTANTS {
        assert!(!known.source.is_empty() && ["published", "unverified"].contains(&known.status), "{known:?}");
    }
}
