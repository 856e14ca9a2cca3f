//! Which entries of which sectors count, and what is wrong with the others.

use super::sector::{has_crc, Ate, Close, Geometry, Sector};
use crate::key_values::{Flaw, Item, KeyState, Store, Value};
use crate::zephyr_ring::{self, is_setting_name, tell_settings_apart, ALL_CLOSED, SETTINGS};
use ffslab_fs::BlockSpace;
use std::collections::BTreeMap;
use std::ops::Range;

/// Zephyr's settings store how many names there are under this number, a name under each that follows, and its value that much further on.
const NAMES_ID: u16 = 0x8000;
const VALUE_FROM_NAME: u16 = 0x4000;
const WRITE_BLOCKS_BYTES: [usize; 4] = [1, 2, 4, 8];

/// All that is in a partition.
pub struct Partition {
    pub geometry: Geometry,
    pub sectors: Vec<Sector>,
    pub store: Store,
    /// `None`: all sectors are closed.
    pub written_sector_number: Option<u32>,
    pub deletions_count: usize,
    /// By Zephyr's own reckoning (`nvs_calc_free_space`): all but a sector, the ends of sectors, and what counts.
    pub free_bytes: usize,
}

/// An entry of a value, with where it stands.
struct Place<'s> {
    sector: &'s Sector,
    number: usize,
    ate: Ate,
}

impl Partition {
    pub fn of(image: &[u8], geometry: Geometry) -> Partition {
        let blocks = (0..).zip(image.chunks(geometry.sector_bytes));
        let sectors: Vec<Sector> = blocks.map(|(number, bytes)| Sector::of(bytes, number, &geometry)).collect();
        let mut store = Store::default();
        for sector in &sectors {
            flaws(sector, image, &geometry, &mut store);
        }
        let written_sector_number = written(&sectors);
        if written_sector_number.is_none() {
            store.doubts.push(ALL_CLOSED.to_string());
        }
        let places = in_order(&sectors, written_sector_number);
        let deletions_count = places.iter().filter(|place| place.ate.bytes == 0).count();
        let live_bytes = resolve(&places, image, &geometry, &mut store);
        let whole = sectors.len().saturating_sub(1) * geometry.sector_bytes.saturating_sub(2 * geometry.ate_bytes);
        interrupted(&sectors, written_sector_number, &mut store);
        store.space = spaces(&sectors, &places, &store, &geometry);
        Partition {
            geometry,
            store,
            written_sector_number,
            deletions_count,
            free_bytes: whole.saturating_sub(live_bytes),
            sectors,
        }
    }

    /// The largest unit that flash may write at once, by where values begin; their places are whole units.
    pub fn write_block_text(&self) -> String {
        if self.geometry.ate_bytes > 8 {
            return self.geometry.ate_bytes.to_string();
        }
        let starts = || self.sectors.iter().flat_map(|sector| sector.ates().map(|(_, ate)| ate.offset));
        let fits = |bytes: &&usize| starts().all(|at| at.is_multiple_of(**bytes));
        let most = WRITE_BLOCKS_BYTES.iter().rev().find(fits).copied().unwrap_or(1);
        if most == 1 {
            "1".to_string()
        } else {
            format!("{most} or less")
        }
    }
}

fn flaws(sector: &Sector, image: &[u8], geometry: &Geometry, store: &mut Store) {
    let mut flaw = |at: usize, what: String| {
        store.flaws.push(Flaw { block: sector.number, at_bytes: at as u32, what });
    };
    for (number, slot) in sector.slots.iter().enumerate().filter(|(_, slot)| slot.ate.is_none()) {
        flaw(slot.at_bytes, format!("entry {number}: it has a wrong check sum: what was written by it is lost, an older value may take its place"));
    }
    let end = geometry.sector_bytes - geometry.ate_bytes;
    let last = sector.slots.last().map_or(end, |slot| slot.at_bytes);
    match sector.close {
        Close::Damaged => flaw(end, "the entry that closes the sector has a wrong check sum".to_string()),
        Close::At(at) if at != last => flaw(
            end,
            format!("the sector was closed with its last entry at {at:#x}, and the last that is there is at {last:#x}"),
        ),
        _ => {}
    }
    let bytes = &image[sector.at_bytes..image.len().min(sector.at_bytes + geometry.sector_bytes)];
    let count = sector.of_nobody(bytes);
    if count > 0 && bytes.len() == geometry.sector_bytes {
        flaw(
            sector.data_end_bytes,
            format!("{count} B that no entry names: a write that was cut off, or a lost entry"),
        );
    }
}

fn written(sectors: &[Sector]) -> Option<u32> {
    let is_closed = |number: usize| sectors[number].close != Close::Open;
    let last_has_entries = sectors.last().is_some_and(|last| !last.slots.is_empty());
    zephyr_ring::written(sectors.len(), is_closed, last_has_entries).map(|number| number as u32)
}

/// All entries but marks, the oldest first.
fn in_order(sectors: &[Sector], written: Option<u32>) -> Vec<Place<'_>> {
    let ring = zephyr_ring::ring(sectors.len(), written.map(|number| number as usize)).map(|number| &sectors[number]);
    let places = |sector| Sector::ates(sector).map(move |(number, ate)| Place { sector, number, ate });
    ring.flat_map(places).filter(|place| !place.ate.is_mark()).collect()
}

fn interrupted(sectors: &[Sector], written: Option<u32>, store: &mut Store) {
    let Some(written) = written.map(|number| &sectors[number as usize]) else { return };
    let next = &sectors[(written.number as usize + 1) % sectors.len()];
    if !next.is_erased && next.number != written.number {
        store.notes.push(zephyr_ring::interrupted(next.number, written.number, written.is_collected()));
    }
}

/// Fills in the items; returns the bytes that the values that count take, with their entries.
fn resolve(places: &[Place<'_>], image: &[u8], geometry: &Geometry, store: &mut Store) -> usize {
    let newest: BTreeMap<u16, usize> = (0..).zip(places).map(|(at, place)| (place.ate.id, at)).collect();
    let value_of = |id: u16| {
        let place = &places[*newest.get(&id)?];
        (place.ate.bytes > 0).then(|| geometry.value(at(place)))
    };
    let mut live_bytes = 0;
    for (number, place) in places.iter().enumerate().filter(|(_, place)| place.ate.bytes > 0) {
        let last = newest[&place.ate.id];
        let state = match last {
            _ if places[last].ate.bytes == 0 => KeyState::Erased,
            last if last == number => KeyState::Current,
            _ => KeyState::Older,
        };
        let data = at(place);
        let is_damaged = geometry.has_data_crc && has_crc(&image[data.clone()]) != Some(true);
        let error = is_damaged.then(|| {
            format!(
                "sector {}, entry {}: the value of {:#06x} has a wrong check sum",
                place.sector.number, place.number, place.ate.id
            )
        });
        if state == KeyState::Current {
            let unit = geometry.ate_bytes;
            live_bytes += data.len() + unit;
            if is_damaged {
                store.flaws.push(Flaw {
                    block: place.sector.number,
                    at_bytes: place.ate.offset as u32,
                    what: format!("entry {}: the value of {:#06x} has a wrong check sum", place.number, place.ate.id),
                });
            }
        }
        let value = geometry.value(data);
        let name = place.ate.id.checked_sub(VALUE_FROM_NAME).filter(|name| *name > NAMES_ID).and_then(value_of);
        let name = name.map(|name| &image[name]).filter(|name| is_setting_name(name));
        store.items.push(Item {
            namespace: name.map(|_| SETTINGS.to_vec()),
            key: name.map_or_else(|| format!("{:#06x}", place.ate.id).into_bytes(), <[u8]>::to_vec),
            kind: "data",
            size_bytes: value.len() as u64,
            value: Value::Bytes { places: vec![value], is_text: false },
            state,
            block: place.sector.number,
            number: place.number as u32,
            error,
        });
    }
    tell_settings_apart(store);
    live_bytes
}

/// Position in the image of the data that an entry names.
fn at(place: &Place<'_>) -> Range<usize> {
    let data = place.ate.data();
    place.sector.at_bytes + data.start..place.sector.at_bytes + data.end
}

fn spaces(sectors: &[Sector], places: &[Place<'_>], store: &Store, geometry: &Geometry) -> Vec<BlockSpace> {
    let mut valid = vec![0; sectors.len()];
    // Items are the places with data, in their order.
    let with_data = places.iter().filter(|place| place.ate.bytes > 0);
    for (place, _) in with_data.zip(&store.items).filter(|(_, item)| item.state == KeyState::Current) {
        valid[place.sector.number as usize] += place.ate.bytes + geometry.ate_bytes;
    }
    let space = |(sector, valid): (&Sector, usize)| {
        let all = geometry.sector_bytes;
        let valid = valid.min(all);
        let free = match sector.close {
            _ if sector.is_erased => all,
            Close::Open => sector.table_at_bytes.saturating_sub(sector.data_end_bytes).min(all - valid),
            _ => 0,
        };
        BlockSpace { valid_bytes: valid as u32, invalid_bytes: (all - valid - free) as u32, free_bytes: free as u32 }
    };
    sectors.iter().zip(valid).map(space).collect()
}
