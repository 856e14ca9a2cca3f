//! The sizes of a store: headers stand at the ends of sectors, and say what they are.

use super::sector::{header_form, Form, Geometry, Sector, ATE_BYTES};
use ffslab_mtd::is_erased;

const SECTOR_BYTES_STEP: usize = 512;
/// Places for entries: 16 B, in whole units of what the flash writes at once (1 to 32 B).
const ATES_BYTES: [usize; 2] = [16, 32];
/// A store has at least two sectors, so that one can be erased.
const SECTORS_MIN: usize = 2;

/// The sizes that the headers in an image tell of, and how many there are. `said`: the sector size, if it is given.
pub fn find(image: &[u8], said: Option<usize>) -> Option<(Geometry, usize)> {
    ATES_BYTES
        .into_iter()
        .filter_map(|ate_bytes| with_places(image, ate_bytes, said))
        .max_by_key(|(_, headers)| *headers)
}

fn with_places(image: &[u8], ate_bytes: usize, said: Option<usize>) -> Option<(Geometry, usize)> {
    let header_before = |end: usize| {
        let place = image.get(end - ate_bytes..end)?;
        header_form(place).filter(|_| is_erased(&place[ATE_BYTES..]))
    };
    let step = said.unwrap_or(SECTOR_BYTES_STEP).max(SECTOR_BYTES_STEP);
    let ends = (step..=image.len()).step_by(step);
    let headers: Vec<(usize, Form)> = ends.filter_map(|end| Some((end, header_before(end)?))).collect();
    let form = headers.first()?.1;
    let sector_bytes = said.unwrap_or_else(|| headers.iter().fold(0, |size, (end, _)| divisor(size, *end)));
    let is_whole = sector_bytes >= SECTOR_BYTES_STEP && headers.iter().all(|(end, _)| end.is_multiple_of(sector_bytes));
    if !is_whole || image.len() / sector_bytes < SECTORS_MIN {
        return None;
    }
    let geometry = Geometry { sector_bytes, ate_bytes, form, has_data_crc: false };
    Some((with_form(image, geometry), headers.len()))
}

/// The largest number of which both are multiples.
fn divisor(a: usize, b: usize) -> usize {
    if b == 0 {
        a
    } else {
        divisor(b, a % b)
    }
}

/// Headers of early entries are those of narrow ones: the others tell which they are, and whether there are check sums of values.
fn with_form(image: &[u8], geometry: Geometry) -> Geometry {
    let forms = if geometry.form == Form::Narrow { vec![Form::Narrow, Form::Early] } else { vec![geometry.form] };
    let tried = forms.into_iter().map(|form| {
        let (mut score, mut right, mut wrong) = (0, 0, 0);
        let geometry = Geometry { form, ..geometry };
        for (number, bytes) in (0..).zip(image.chunks(geometry.sector_bytes)) {
            let sector = Sector::of(bytes, number, &geometry);
            score += sector.ates().filter(|(_, ate)| ate.is_mark()).count() + usize::from(sector.is_closed());
            for (_, ate) in sector.ates().filter(|(_, ate)| !ate.is_within) {
                score += 1;
                let is_right = crc32fast::hash(&bytes[ate.data()]) == ate.data_crc;
                (right, wrong) = (right + usize::from(is_right), wrong + usize::from(!is_right));
            }
        }
        (score, Geometry { has_data_crc: form != Form::Wide && right > wrong, ..geometry })
    });
    // Of two that are as good the first.
    let best = tried.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.map_or(geometry, |(_, geometry)| geometry)
}
