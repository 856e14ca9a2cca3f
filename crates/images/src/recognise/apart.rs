//! Images of one file system that stand in a file one behind the other, out of step: a maker's header before each, or an archive of them.

use super::part::{own_name, whole, Part};
use super::{within, Given};
use crate::format::ImageFs;
use std::ops::Range;

/// The partitions of such a file. `None`: it is none.
pub fn several(image: &[u8], given: &Given, formats: &[ImageFs]) -> Option<Vec<Part>> {
    let asked = formats.iter().filter(|fs| given.fs.is_none_or(|given| given == **fs));
    let (fs, places) = asked.map(|fs| (fs, fs.format().runs(image))).find(|(_, places)| places.len() > 1)?;
    let mut parts = Vec::new();
    let mut at = 0;
    for place in places {
        let given = Given { fs: Some(*fs), starts_at_bytes: place.start as u64, ..*given };
        let found = whole(&image[place.clone()], &given, &[*fs]).ok()?;
        between(&mut parts, image, at..place.start, &given, formats);
        at = place.end;
        let name = own_name(&parts, fs.name());
        let offset_bytes = place.start as u64;
        parts.push(Part { name, offset_bytes, size_bytes: place.len() as u64, place_bytes: place, ..found });
    }
    between(&mut parts, image, at..image.len(), given, formats);
    parts.retain(|part| given.fs.is_none_or(|fs| part.layout.as_ref().is_ok_and(|layout| layout.fs == fs)));
    Some(parts)
}

fn between(parts: &mut Vec<Part>, image: &[u8], place: Range<usize>, given: &Given, formats: &[ImageFs]) {
    if !super::superblocks::is_padding(&image[place.clone()]) {
        within::add_to(parts, image, place, &Given { fs: None, ..*given }, formats);
    }
}
