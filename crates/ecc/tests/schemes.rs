//! Schemes of controllers: pages that they wrote are recognised without a word about them, and corrected.

use ffslab_ecc::code::Codes;
use ffslab_ecc::controllers::{Controller, Kinds, CONTROLLERS};
use ffslab_ecc::layout::Sizes;
use ffslab_ecc::{find, CodeKind, Mask, Report, Scheme};
use rand_pcg::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

const PAGES: usize = 96;

/// Strength of a row's code in these tests, a page, and whether erased sectors have an erased code.
const DUMPS: [(&str, usize, (usize, usize), Mask); 15] = [
    ("software BCH of Linux", 4, (2048, 64), Mask::Erased),
    ("software BCH of Linux", 24, (4096, 224), Mask::Erased),
    ("TI OMAP and AM335x (ELM)", 8, (2048, 64), Mask::Nothing),
    ("Freescale IFC", 4, (2048, 64), Mask::Erased),
    ("Atmel PMECC", 8, (4096, 224), Mask::Nothing),
    ("Freescale GPMI (i.MX)", 8, (2048, 64), Mask::Nothing),
    ("Freescale GPMI (i.MX)", 2, (2048, 64), Mask::Nothing),
    ("Allwinner", 24, (8192, 640), Mask::Nothing),
    ("Qualcomm NANDc", 8, (2048, 128), Mask::Nothing),
    ("Qualcomm NANDc", 4, (2048, 64), Mask::Nothing),
    ("Broadcom", 4, (2048, 64), Mask::Nothing),
    ("MediaTek NFI", 4, (2048, 64), Mask::Nothing),
    ("Amlogic", 8, (4096, 256), Mask::Erased),
    ("TI DaVinci 4-bit ECC", 4, (2048, 64), Mask::Nothing),
    ("CAFE (Marvell 88ALP01)", 4, (2048, 64), Mask::Nothing),
];

fn kind_of(controller: &Controller, wanted: usize) -> Option<CodeKind> {
    Some(match controller.kinds {
        Kinds::ReedSolomon10 => CodeKind::ReedSolomon10,
        Kinds::ReedSolomon12 => CodeKind::ReedSolomon12,
        Kinds::Bch { polynomials, strengths } => {
            let strength = *strengths.iter().find(|strength| **strength == wanted)?;
            CodeKind::Bch { polynomial: polynomials[0], strength }
        }
    })
}

fn scheme_of(name: &str, strength: usize, (page, oob): (usize, usize), mask: Mask) -> Scheme {
    let of_row = |controller: &Controller| {
        let code = Codes::default().get(kind_of(controller, strength)?)?;
        let sizes = Sizes {
            page_bytes: page,
            oob_bytes: oob,
            sector_bytes: controller.sectors_bytes[0],
            code_bits: code.bits(),
        };
        let layout = controller.arrangement.layout(&sizes)?;
        let scrambled_over_pages = controller.is_scrambled.then_some(64);
        let (controller, order) = (Some(controller.name), controller.order);
        let swaps_mark = layout.kept_mark_at_bytes.is_some();
        Some(Scheme { controller, sizes, code, order, layout, scrambled_over_pages, mask, swaps_mark })
    };
    let rows = CONTROLLERS.iter().filter(|controller| controller.name == name);
    rows.filter_map(of_row).next().expect("the row is in the table")
}

/// Pages of data with erased OOB areas; some are erased, some hold zeros.
fn plain(scheme: &Scheme, draw: &mut Pcg32) -> Vec<Vec<u8>> {
    let page = |number: usize| {
        let mut page = vec![0xFF; scheme.sizes.all()];
        match number % 8 {
            3 => {}
            5 => page[..scheme.sizes.page_bytes].fill(0),
            _ => draw.fill_bytes(&mut page[..scheme.sizes.page_bytes]),
        }
        page
    };
    (0..PAGES).map(page).collect()
}

fn dump(scheme: &Scheme, pages: &[Vec<u8>]) -> Vec<u8> {
    let is_erased = |page: &[u8]| page.iter().all(|&byte| byte == 0xFF);
    let write = |(number, page): (usize, &Vec<u8>)| {
        if is_erased(page) {
            page.clone()
        } else {
            scheme.written(number, page)
        }
    };
    pages.iter().enumerate().flat_map(write).collect()
}

/// Flips bits of each word, up to the strength of the code and `more`; tells how many, and the words with more.
fn flip(scheme: &Scheme, image: &mut [u8], draw: &mut Pcg32, errors: &dyn Fn(usize, usize) -> usize) -> Report {
    let mut report = Report::default();
    for (number, page) in image.chunks_exact_mut(scheme.sizes.all()).enumerate() {
        let mut corrected = 0;
        for (index, word) in scheme.layout.words.iter().enumerate() {
            let all: Vec<usize> = word.data_bits.iter().chain([&word.code_bits]).cloned().flatten().collect();
            let count = errors(number, index);
            let mut wrong: Vec<usize> = Vec::new();
            while wrong.len() < count {
                let at = draw.next_u32() as usize % all.len();
                // In different symbols.
                if wrong.iter().all(|other: &usize| other.abs_diff(at) >= 12) {
                    wrong.push(at);
                }
            }
            for at in wrong.iter().map(|at| all[*at]) {
                let mask = if scheme.order == ffslab_ecc::controllers::Order::HighestFirst {
                    0x80 >> (at % 8)
                } else {
                    1 << (at % 8)
                };
                page[at / 8] ^= mask;
            }
            if count > scheme.code.strength() {
                report.hopeless_steps.push((number, index));
            } else {
                corrected += count;
            }
        }
        if corrected > 0 {
            report.corrected_bits.push((number, corrected));
        }
    }
    report
}

#[test]
fn controllers_are_recognised_from_their_dumps_alone_and_what_they_wrote_is_corrected() {
    for (name, strength, sizes, mask) in DUMPS {
        let scheme = scheme_of(name, strength, sizes, mask);
        let mut draw = Pcg32::seed_from_u64(11);
        let pages = plain(&scheme, &mut draw);
        let mut image = dump(&scheme, &pages);
        let wanted = flip(&scheme, &mut image, &mut draw, &|page, word| (7 * page + 3 * word) % (strength + 1));
        let found = find(&image, sizes.0, sizes.1).unwrap_or_else(|| panic!("{name}: nothing was found"));
        assert_eq!(found.text(), scheme.text());
        let (corrected, report) = found.corrected(&image);
        assert_eq!(report, wanted, "{name}");
        for (number, (page, plain)) in corrected.chunks_exact(scheme.sizes.all()).zip(&pages).enumerate() {
            assert!(page[..sizes.0] == plain[..sizes.0], "{name}, page {number}");
        }
    }
}

#[test]
fn words_with_more_errors_are_named_and_stay_as_they_are() {
    let scheme = scheme_of("TI OMAP and AM335x (ELM)", 8, (2048, 64), Mask::Nothing);
    let mut draw = Pcg32::seed_from_u64(12);
    let mut image = dump(&scheme, &plain(&scheme, &mut draw));
    let lost = |page: usize, word: usize| (page, word) == (9, 2) || (page, word) == (70, 0);
    let wanted = flip(&scheme, &mut image, &mut draw, &|page, word| {
        if lost(page, word) {
            9
        } else {
            usize::from(page % 3 == 1)
        }
    });
    assert_eq!(wanted.hopeless_steps, [(9, 2), (70, 0)]);
    let (corrected, report) = find(&image, 2048, 64).expect("a scheme").corrected(&image);
    assert_eq!(report, wanted);
    let sector = 9 * 2112 + 1024..9 * 2112 + 1536;
    assert!(corrected[sector.clone()] == image[sector]);
}

/// Chips whose every sector has wrong bits.
#[test]
fn a_scheme_is_found_where_no_word_is_right() {
    let scheme = scheme_of("Freescale GPMI (i.MX)", 8, (2048, 64), Mask::Nothing);
    let mut draw = Pcg32::seed_from_u64(13);
    let mut image = dump(&scheme, &plain(&scheme, &mut draw));
    flip(&scheme, &mut image, &mut draw, &|page, word| 1 + (page + word) % 8);
    assert_eq!(find(&image, 2048, 64).map(|found| found.text()), Some(scheme.text()));
}

/// Codes stand where no controller that is known puts them, and a constant is added to them.
#[test]
fn a_code_in_another_place_is_found_without_a_name() {
    let mut scheme = scheme_of("software BCH of Linux", 8, (2048, 128), Mask::Erased);
    let mut constant = [0; 15];
    constant[0] = 0x0123_4567_89AB_CDEF;
    scheme.mask = Mask::Constant(constant);
    scheme
        .layout
        .words
        .iter_mut()
        .for_each(|word| word.code_bits = word.code_bits.start - 8 * 31..word.code_bits.end - 8 * 31);
    let mut draw = Pcg32::seed_from_u64(14);
    let pages = plain(&scheme, &mut draw);
    let mut image = dump(&scheme, &pages);
    let wanted = flip(&scheme, &mut image, &mut draw, &|page, _| page % 5);
    let found = find(&image, 2048, 128).expect("a scheme");
    assert_eq!((found.controller, found.mask), (None, scheme.mask));
    assert_eq!(found.corrected(&image).1, wanted);
}

#[test]
fn pages_without_a_code_have_no_scheme() {
    let scheme = scheme_of("software BCH of Linux", 4, (2048, 64), Mask::Erased);
    let mut draw = Pcg32::seed_from_u64(15);
    let mut image: Vec<u8> = plain(&scheme, &mut draw).concat();
    assert!(find(&image, 2048, 64).is_none());
    // Noise instead of a code, or tags that count.
    image.chunks_exact_mut(2112).for_each(|page| draw.fill_bytes(&mut page[2048..]));
    assert!(find(&image, 2048, 64).is_none());
    image.chunks_exact_mut(2112).enumerate().for_each(|(number, page)| page[2048..2112].fill(number as u8));
    assert!(find(&image, 2048, 64).is_none());
}

/// What images of simulated software BCH hold: codes that were there stay, steps whose program was cut off are lost.
/// Zeros are a right word of every code, so what has a few bits more could be "corrected" to them: a file with holes, and the
/// numbers of its blocks.
#[test]
fn zeros_with_a_few_bits_among_them_are_no_words_of_a_code() {
    for (page, oob) in [(4096, 1024), (2048, 512), (2048, 64)] {
        let mut image = vec![0u8; 256 * (page + oob)];
        for (number, block) in image.chunks_exact_mut(512).enumerate() {
            block[..2].copy_from_slice(&(number as u16).to_le_bytes());
        }
        assert_eq!(find(&image, page, oob).map(|found| found.text()), None, "{page} + {oob} B");
    }
}

#[test]
fn codes_are_filled_in_where_they_are_erased() {
    let scheme = Scheme::software(2048, 64, 512, 4).expect("it fits");
    let mut draw = Pcg32::seed_from_u64(16);
    let mut page = vec![0xFF; 2112];
    draw.fill_bytes(&mut page[..1536]);
    page[2048 + 36..2048 + 43].fill(0);
    scheme.fill(&mut page, &|step| step == 2);
    assert_eq!(page[2048 + 36..2048 + 43], [0; 7], "a code that was there");
    assert_eq!(page[2048 + 57..], [0xFF; 7], "that of an erased step");
    let (corrected, report) = scheme.corrected(&page);
    assert_eq!((report.corrected_bits, report.hopeless_steps), (vec![], vec![(0, 0), (0, 2)]));
    assert!(corrected == page);
    assert!(Scheme::software(2048, 64, 512, 8).is_some_and(|scheme| scheme.layout.words.len() == 4));
    assert!(Scheme::software(2048, 64, 512, 10).is_none(), "65 B of code");
}
