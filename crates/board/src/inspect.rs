//! The verb `inspect`: what is in each partition of an image.

use crate::options::Options;
use crate::text::{layout_text, notes, one_line, path_text, pretty, size_text};
use ffslab_images::dump::Dump;
use ffslab_images::key_values::{KeyFacts, KeyState};
use ffslab_images::look::Look;
use ffslab_images::lost::Lost;
use ffslab_images::{ImageError, Layout, Part};
use ffslab_text::quoting::{as_text, quoted};
use serde_json::{json, Value};
use std::collections::BTreeMap;

/// Pieces of damage and lost files that a terminal shows; JSON has all.
const SHOWN_MAX: usize = 12;

/// A partition and what was found in it; an error: what it holds is not known.
struct Found {
    part: Part,
    seen: Result<Seen, String>,
}

struct Seen {
    layout: Layout,
    look: Look,
    lost: Option<Lost>,
}

/// What the verb prints, and whether something is wrong with the image.
pub fn inspected(options: &Options) -> Result<(String, bool), String> {
    let path = &options.image;
    let mut dump = Dump::read(path, &options.wanted)?;
    let refused = |why| String::from(ImageError::refused(path, why));
    let parts = dump.parts(&options.wanted, &crate::formats()).map_err(refused)?;
    let image = dump.image;
    let is_one = parts.len() == 1;
    let mut all = Vec::new();
    for part in parts {
        let place = part.place_bytes.clone();
        let seen = match part.layout.clone().and_then(Layout::sized) {
            Ok(layout) => {
                let mut look = Look::at(&image[place.clone()], &layout, place.start);
                look.complete(&image[place.clone()], &layout);
                let lost = options.deleted.then(|| look.lost(&image[place], &layout));
                Ok(Seen { layout, look, lost })
            }
            Err(why) if is_one => return Err(refused(why)),
            Err(why) => Err(why.to_string()),
        };
        all.push(Found { part, seen });
    }
    let is_damaged = all.iter().filter_map(|found| found.seen.as_ref().ok()).any(|seen| seen.complaints() > 0);
    let file = path.display().to_string();
    let shown = if options.json {
        pretty(&json(&file, image.len(), &all))?
    } else {
        all.iter().map(|found| text(&file, image.len(), found)).collect::<Vec<_>>().join("\n\n") + "\n"
    };
    Ok((shown, is_damaged))
}

impl Seen {
    /// Pieces of damage and files that cannot be read; no file at all is one, too.
    fn complaints(&self) -> u64 {
        self.pieces() + self.look.doubts.len() as u64 + u64::from(self.look.tree.entries.is_empty())
    }

    /// Pieces of damage, and files that cannot be read.
    fn pieces(&self) -> u64 {
        let entries = &self.look.tree.entries;
        let broken = entries.iter().filter(|entry| entry.error.is_some() || !entry.missing.is_empty()).count();
        self.look.scanned.damage_count + broken as u64
    }
}

/// As `ffslab inspect --json` has them, without costs and sums.
fn json(file: &str, file_bytes: usize, all: &[Found]) -> Value {
    let facts = |seen: &Seen| {
        let scanned = &seen.look.scanned;
        let files = seen.look.tree.entries.iter().map(|entry| {
            let error = entry.error.clone().or_else(|| (!entry.missing.is_empty()).then(|| entry.missing.join("; ")));
            json!({
                "path": as_text(&entry.path),
                "kind": entry.kind.name(),
                "size_B": entry.size_bytes,
                "links": entry.links,
                "error": error,
            })
        });
        json!({
            "file": file,
            "file_B": file_bytes,
            "layout": seen.layout,
            "superblock": scanned.superblock.iter().cloned().collect::<serde_json::Map<_, _>>(),
            "files": files.collect::<Vec<_>>(),
            "blocks": scanned.blocks,
            "keys": scanned.keys,
            "damage": scanned.damage,
            "damage_count": scanned.damage_count,
            "bad_blocks": scanned.bad_blocks,
            "lost": seen.lost,
            "notes": scanned.notes,
            "doubts": seen.look.doubts,
        })
    };
    match all {
        [Found { seen: Ok(seen), .. }] => facts(seen),
        _ => {
            let rows = all.iter().map(|Found { part, seen }| {
                json!({
                    "name": part.name,
                    "offset_B": part.offset_bytes,
                    "size_B": part.size_bytes,
                    "why": seen.as_ref().err(),
                    "facts": seen.as_ref().ok().map(facts),
                })
            });
            json!({ "file": file, "partitions": rows.collect::<Vec<_>>() })
        }
    }
}

fn text(file: &str, file_bytes: usize, found: &Found) -> String {
    let (file, part) = (quoted(file.as_bytes()), &found.part);
    let name = if part.name.is_empty() { String::new() } else { format!("{}: ", one_line(&part.text())) };
    let seen = match &found.seen {
        Ok(seen) => seen,
        Err(why) => return format!("{file}: {name}{why}"),
    };
    let mut lines = vec![format!("{file}: {name}{}, {}", size_text(file_bytes as u64), layout_text(&seen.layout))];
    lines.extend(notes(&seen.layout));
    lines.extend(seen.layout.because.iter().map(|reason| format!("  {reason}")));
    let scanned = &seen.look.scanned;
    lines.extend(scanned.superblock.iter().map(|(name, value)| match value {
        Value::String(text) => format!("  {name}: {}", one_line(text)),
        other => format!("  {name}: {other}"),
    }));
    lines.extend(space_line(seen));
    lines.extend(wear_line(seen));
    lines.extend(bad_blocks_line(seen));
    lines.extend(key_lines(seen));
    lines.extend(files_line(seen));
    lines.extend(lost_lines(seen));
    lines.extend(damage_lines(seen));
    lines.extend(scanned.notes.iter().map(|note| format!("note: {}", one_line(note))));
    lines.join("\n")
}

fn space_line(seen: &Seen) -> Option<String> {
    let blocks = || seen.look.scanned.blocks.iter();
    blocks().any(|block| block.valid_bytes.or(block.free_bytes).is_some()).then(|| {
        let [valid, invalid, free] = [
            blocks().filter_map(|block| block.valid_bytes).map(u64::from).sum(),
            blocks().filter_map(|block| block.invalid_bytes).map(u64::from).sum(),
            blocks().filter_map(|block| block.free_bytes).map(u64::from).sum(),
        ]
        .map(size_text);
        format!("space: valid {valid}, invalid {invalid}, free {free}")
    })
}

fn wear_line(seen: &Seen) -> Option<String> {
    let blocks = &seen.look.scanned.blocks;
    let erases: Vec<u32> = blocks.iter().filter_map(|block| block.erases).collect();
    let (kind, values) = if erases.is_empty() {
        ("sequence number", blocks.iter().filter_map(|block| block.sequence).collect())
    } else {
        ("erase counter", erases)
    };
    let (least, most) = (values.iter().min()?, values.iter().max()?);
    let mean = values.iter().copied().map(f64::from).sum::<f64>() / values.len() as f64;
    Some(format!("wear: {kind} of {} blocks: least {least}, mean {mean:.1}, most {most}", values.len()))
}

fn bad_blocks_line(seen: &Seen) -> Option<String> {
    if seen.layout.fs.format().is_volume() {
        return None;
    }
    Some(match seen.look.scanned.bad_blocks.as_deref() {
        None => "bad blocks: not known without OOB areas".to_string(),
        Some([]) => "no bad blocks".to_string(),
        Some([one]) => format!("1 bad block: number {one}"),
        Some(bad) => {
            let shown: Vec<String> = bad.iter().take(SHOWN_MAX).map(u32::to_string).collect();
            let more = if bad.len() > SHOWN_MAX { ", ..." } else { "" };
            format!("{} bad blocks: numbers {}{more}", bad.len(), shown.join(", "))
        }
    })
}

fn files_line(seen: &Seen) -> Option<String> {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    seen.look.tree.entries.iter().for_each(|entry| *kinds.entry(entry.kind.name()).or_default() += 1);
    let counted = kinds.iter().map(|(kind, count)| match (*count, kind.strip_suffix('y')) {
        (1, _) => format!("1 {kind}"),
        (count, Some(stem)) => format!("{count} {stem}ies"),
        (count, None) => format!("{count} {kind}s"),
    });
    (!kinds.is_empty()).then(|| format!("files: {}", counted.collect::<Vec<_>>().join(", ")))
}

/// Those that count, of a store of keys and values.
fn key_lines(seen: &Seen) -> Vec<String> {
    let is_current = |key: &&KeyFacts| key.state == KeyState::Current;
    let line = |key: &KeyFacts| {
        let name = [key.namespace.as_deref().unwrap_or_default(), &key.key].join("/");
        let value = key.value.as_deref().unwrap_or("damaged");
        format!(
            "  {}: {}, {} B, {}",
            quoted(name.trim_start_matches('/').as_bytes()),
            key.kind,
            key.size_bytes,
            one_line(value)
        )
    };
    let keys: Vec<&KeyFacts> = seen.look.scanned.keys.iter().filter(is_current).collect();
    let shown = keys.iter().take(SHOWN_MAX).map(|key| line(key));
    shown.chain(more_line(keys.len())).collect()
}

fn lost_lines(seen: &Seen) -> Vec<String> {
    let Some(lost) = &seen.lost else { return Vec::new() };
    let mut lines = vec![format!("deleted or overwritten: {}", lost.files.len())];
    lines.extend(lost.files.iter().take(SHOWN_MAX).map(|file| {
        let (path, held) = (path_text(&file.path_bytes), size_text(file.held_bytes));
        // By the words that JSON has.
        let word = |value: Value| value.as_str().unwrap_or_default().to_string();
        format!("  {path}: {}, {}, {held} are there", word(json!(file.why)), word(json!(file.state)))
    }));
    lines.extend(more_line(lost.files.len()));
    lines.extend(lost.notes.iter().map(|note| format!("note: {}", one_line(note))));
    lines
}

fn damage_lines(seen: &Seen) -> Vec<String> {
    let scanned = &seen.look.scanned;
    let entries = &seen.look.tree.entries;
    let broken = entries.iter().flat_map(|entry| {
        let name = path_text(&entry.path);
        entry.error.iter().chain(&entry.missing).map(move |why| format!("  {name}: {why}"))
    });
    let damage = scanned
        .damage
        .iter()
        .map(|piece| format!("  block {}, offset {:#x}: {}", piece.block, piece.offset, piece.what));
    let count = seen.pieces() as usize;
    if entries.is_empty() {
        return vec!["no files could be read: the notes say why".to_string()];
    }
    if count == 0 {
        let but = if seen.look.doubts.is_empty() { "" } else { ", but the notes say what may be wrong" };
        return vec![format!("no damage was found{but}")];
    }
    let mut lines = vec![format!("damage: {count} piece{}", if count == 1 { "" } else { "s" })];
    lines.extend(broken.chain(damage).take(SHOWN_MAX));
    lines.extend(more_line(count));
    lines
}

fn more_line(count: usize) -> Option<String> {
    count.checked_sub(SHOWN_MAX).filter(|more| *more > 0).map(|more| format!("  ... and {more} more: --json has all"))
}
