//! Which files damage hits, and whether they need what is damaged.

use super::history::{History, Past};
use super::paths::Paths;
use crate::format::Layout;
use crate::scan::{Damage, Hit};
use crate::tree::{Content, Tree};
use ffslab_text::quoting::as_text;
use std::collections::BTreeMap;

/// Completes what the scan could tell of the files that damage hits: their paths, and whether the damaged nodes are in use.
/// `tree`: the files that are there; `None`: they cannot be read.
pub fn complete(damage: &mut [Damage], image: &[u8], layout: &Layout, tree: Option<&Tree>) {
    if damage.iter().all(|damage| damage.hits.is_none()) {
        return;
    }
    let volumes = layout.fs.format().volumes(image, layout);
    if volumes.is_empty() {
        return complete_in_one(damage.iter_mut().collect(), image, layout, tree);
    }
    for (number, (folder, layout)) in volumes.into_iter().enumerate() {
        let is_in = |damage: &&mut Damage| damage.hits.as_ref().is_some_and(|hit| hit.volume_number == number);
        let mut of_it: Vec<&mut Damage> = damage.iter_mut().filter(is_in).collect();
        if of_it.is_empty() {
            continue;
        }
        complete_in_one(
            of_it.iter_mut().map(|damage| &mut **damage).collect(),
            image,
            &layout,
            layout.tree(image, Content::Check).ok().as_ref(),
        );
        let paths = of_it.into_iter().filter_map(|damage| damage.hits.as_mut()?.path.as_mut());
        paths.for_each(|path| *path = format!("{}/{path}", as_text(&folder)));
    }
}

fn complete_in_one(damage: Vec<&mut Damage>, image: &[u8], layout: &Layout, tree: Option<&Tree>) {
    let Some(History { pasts, names, root_ino, .. }) = layout.fs.format().history(image, layout) else { return };
    let paths = Paths::new(&names, root_ino, tree);
    // Of several objects that had a number, the last.
    let pasts: BTreeMap<u32, &Past> = pasts.iter().map(|past| (past.ino, past)).collect();
    for damage in damage {
        let Some(hit) = &mut damage.hits else { continue };
        if !paths.has_name(hit.ino) && !pasts.contains_key(&hit.ino) {
            // Nothing else knows of such a file: the number may be wrong itself.
            damage.hits = None;
            continue;
        }
        hit.path = paths.has_name(hit.ino).then(|| as_text(&paths.of(hit.ino)));
        hit.is_in_use = match tree {
            Some(_) if !paths.is_live(hit.ino) => Some(false),
            Some(_) => hit.sequence.map(|sequence| needs(pasts.get(&hit.ino).copied(), hit, sequence)),
            None => None,
        };
    }
}

/// Whether no later step has taken the place of the damaged one.
fn needs(past: Option<&Past>, hit: &Hit, sequence: u64) -> bool {
    let Some(past) = past else { return true };
    let later = || past.steps.iter().filter(|step| step.sequence > sequence);
    let Some([from, to]) = hit.range_bytes else { return later().all(|step| step.size_bytes.is_none()) };
    let shortest = later().filter_map(|step| step.size_bytes).min().unwrap_or(u64::MAX);
    let mut pieces: Vec<(u64, u64)> =
        later().filter_map(|step| step.piece.map(|piece| (piece.offset, piece.end()))).collect();
    pieces.sort_unstable();
    // The first byte that no later step has written.
    let reached = pieces.into_iter().fold(from, |at, (begin, end)| if begin <= at { at.max(end) } else { at });
    reached < to.min(shortest)
}
