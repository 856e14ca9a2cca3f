//! Which entries of which sectors count, and what is wrong with the others.

use super::log::{Entry, Geometry, Sector};
use crate::key_values::{Flaw, Item, KeyState, Store, Value};
use crate::zephyr_ring::{is_setting_name, SETTINGS};
use ffslab_fs::BlockSpace;
use std::collections::BTreeMap;

/// Of a name, as `SETTINGS_MAX_NAME_LEN` has it.
const NAME_BYTES_MAX: usize = 64;

/// All that is in a partition.
pub struct Partition {
    pub sectors: Vec<Sector>,
    pub store: Store,
    /// Its entries are lines of Zephyr's settings: `name=value`.
    pub has_settings: bool,
    pub deletions_count: usize,
    pub free_bytes: usize,
}

impl Partition {
    pub fn of(image: &[u8], geometry: Geometry) -> Partition {
        let blocks = (0..).zip(image.chunks(geometry.sector_bytes));
        let sectors: Vec<Sector> = blocks.map(|(number, bytes)| Sector::of(bytes, number, &geometry)).collect();
        let mut store = Store::default();
        for sector in &sectors {
            flaws(sector, image, &geometry, &mut store);
        }
        let order = in_order(&sectors);
        let entries: Vec<(&Sector, usize, &Entry)> = order
            .iter()
            .flat_map(|&sector| sector.right().map(move |(number, entry)| (sector, number, entry)))
            .collect();
        let name = |sector: &Sector, entry: &Entry| {
            let data = &image[sector.at_bytes + entry.data.start..sector.at_bytes + entry.data.end];
            let end = data.iter().position(|&byte| byte == b'=').filter(|end| *end <= NAME_BYTES_MAX)?;
            Some(data[..end].to_vec()).filter(|name| is_setting_name(name))
        };
        let has_settings =
            !entries.is_empty() && entries.iter().all(|(sector, _, entry)| name(sector, entry).is_some());
        let keys: Vec<Vec<u8>> = entries
            .iter()
            .map(|(sector, number, entry)| match name(sector, entry) {
                Some(name) if has_settings => name,
                _ => format!("{:05}-{number:05}", sector.id.unwrap_or(0)).into_bytes(),
            })
            .collect();
        let newest: BTreeMap<&[u8], usize> = (0..).zip(&keys).map(|(at, key)| (key.as_slice(), at)).collect();
        // A name and its sign stand before the value.
        let is_gone = |at: usize| has_settings && entries[at].2.data.len() == keys[at].len() + 1;
        let mut valid_bytes = vec![0; sectors.len()];
        let mut deletions_count = 0;
        for (at, (&(sector, number, entry), key)) in entries.iter().zip(&keys).enumerate() {
            if is_gone(at) {
                deletions_count += 1;
                continue;
            }
            let last = newest[key.as_slice()];
            let state = match last {
                last if last == at => KeyState::Current,
                last if is_gone(last) => KeyState::Erased,
                _ => KeyState::Older,
            };
            if state == KeyState::Current {
                valid_bytes[sector.number as usize] += entry.taken_bytes;
            }
            let from = sector.at_bytes + entry.data.start + if has_settings { key.len() + 1 } else { 0 };
            let place = from..sector.at_bytes + entry.data.end;
            store.items.push(Item {
                namespace: has_settings.then(|| SETTINGS.to_vec()),
                key: key.clone(),
                kind: "data",
                size_bytes: place.len() as u64,
                value: Value::Bytes { places: vec![place], is_text: false },
                state,
                block: sector.number,
                number: number as u32,
                error: None,
            });
        }
        let last = order.last().map(|sector| sector.number);
        store.space = spaces(&sectors, &valid_bytes, last, &geometry);
        let free_bytes = store.space.iter().map(|space| space.free_bytes as usize).sum();
        Partition { sectors, store, has_settings, deletions_count, free_bytes }
    }
}

fn flaws(sector: &Sector, image: &[u8], geometry: &Geometry, store: &mut Store) {
    let mut flaw = |at: usize, what: String| {
        store.flaws.push(Flaw { block: sector.number, at_bytes: at as u32, what });
    };
    let is_whole = image.len() >= sector.at_bytes + geometry.sector_bytes;
    if sector.id.is_none() && !sector.is_erased && is_whole {
        flaw(0, "the sector has another magic number, with which Zephyr refuses the log".to_string());
    }
    for (number, entry) in sector.entries.iter().enumerate().filter(|(_, entry)| !entry.is_right) {
        flaw(entry.at_bytes, format!("entry {number}: it has a wrong check sum: it was not finished, or is damaged"));
    }
    if sector.of_nobody_bytes > 0 && is_whole {
        let count = sector.of_nobody_bytes;
        flaw(sector.end_bytes, format!("{count} B of no entry: one that does not end in its sector, or a lost one"));
    }
}

/// Those in use, the oldest first. Their numbers have 16 bits and begin anew.
fn in_order(sectors: &[Sector]) -> Vec<&Sector> {
    let mut used: Vec<(u16, &Sector)> = sectors.iter().filter_map(|sector| Some((sector.id?, sector))).collect();
    let Some(&(first, _)) = used.first() else { return Vec::new() };
    used.sort_by_key(|(id, sector)| (id.wrapping_sub(first) as i16, sector.number));
    used.into_iter().map(|(_, sector)| sector).collect()
}

/// Free is what stands behind the last entry of the newest sector, and what is erased.
fn spaces(sectors: &[Sector], valid_bytes: &[usize], last: Option<u32>, geometry: &Geometry) -> Vec<BlockSpace> {
    let space = |(sector, valid): (&Sector, &usize)| {
        let all = geometry.sector_bytes;
        let free = match sector.id {
            None if sector.is_erased => all,
            Some(_) if last == Some(sector.number) && sector.of_nobody_bytes == 0 => all - sector.end_bytes.min(all),
            _ => 0,
        };
        let valid = (*valid).min(all - free);
        BlockSpace { valid_bytes: valid as u32, invalid_bytes: (all - valid - free) as u32, free_bytes: free as u32 }
    };
    sectors.iter().zip(valid_bytes).map(space).collect()
}
