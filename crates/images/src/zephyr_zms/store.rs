//! Which entries of which sectors count, and what is wrong with the others.

use super::sector::{Ate, Geometry, Sector, State};
use crate::key_values::{Flaw, Item, KeyState, Store, Value};
use crate::zephyr_ring::{self, is_setting_name, tell_settings_apart, ALL_CLOSED, SETTINGS};
use ffslab_fs::BlockSpace;
use std::collections::BTreeMap;
use std::ops::Range;

/// Zephyr's settings store a name under a number made of its hash, and its value that much further on (`settings_zms.h`).
const NAME_IDS: Range<u64> = 0x8000_0000..0xC000_0000;
const VALUE_FROM_NAME: u64 = 0x4000_0000;

/// All that is in a partition.
pub struct Partition {
    pub geometry: Geometry,
    pub sectors: Vec<Sector>,
    pub store: Store,
    /// `None`: all sectors are closed.
    pub written_sector_number: Option<u32>,
    pub deletions_count: usize,
    /// By Zephyr's own reckoning (`zms_calc_free_space`): of all sectors but one what is left if they were collected.
    pub free_bytes: usize,
}

/// An entry of a value, with where it stands.
struct Place<'s> {
    sector: &'s Sector,
    number: usize,
    ate: Ate,
}

impl Place<'_> {
    /// Position in the image of its value.
    fn data(&self) -> Range<usize> {
        let data = self.ate.data();
        self.sector.at_bytes + data.start..self.sector.at_bytes + data.end
    }

    /// Of the sector, with the entry.
    fn taken_bytes(&self, geometry: &Geometry) -> usize {
        geometry.ate_bytes + if self.ate.is_within { 0 } else { self.ate.bytes }
    }
}

impl Partition {
    pub fn of(image: &[u8], geometry: Geometry) -> Partition {
        let blocks = (0..).zip(image.chunks(geometry.sector_bytes));
        let sectors: Vec<Sector> = blocks.map(|(number, bytes)| Sector::of(bytes, number, &geometry)).collect();
        let mut store = Store::default();
        // Whoever erases leaves nothing in a sector that has only its header.
        let is_erasing = sectors.iter().filter(|sector| sector.is_empty()).all(|sector| sector.of_nobody_bytes == 0);
        for sector in &sectors {
            flaws(sector, image, &geometry, is_erasing, &mut store);
        }
        let last_has_entries = sectors.last().is_some_and(|last| !last.slots.is_empty());
        let written = zephyr_ring::written(sectors.len(), |number| sectors[number].is_closed(), last_has_entries);
        if written.is_none() {
            store.doubts.push(ALL_CLOSED.to_string());
        }
        let ring = zephyr_ring::ring(sectors.len(), written).map(|number| &sectors[number]);
        let entries = |sector| Sector::ates(sector).map(move |(number, ate)| Place { sector, number, ate });
        let places: Vec<Place> = ring.flat_map(entries).filter(|place| !place.ate.is_mark()).collect();
        resolve(&places, image, &geometry, &mut store);
        interrupted(&sectors, written, &mut store);
        let live_bytes = live(&sectors, &places, &store, &geometry);
        store.space = spaces(&sectors, &live_bytes, &geometry);
        let written_sector_number = written.map(|number| number as u32);
        let deletions_count = places.iter().filter(|place| place.ate.bytes == 0).count();
        let free_bytes = free(&live_bytes, written_sector_number, &geometry);
        Partition { geometry, sectors, store, written_sector_number, deletions_count, free_bytes }
    }
}

fn flaws(sector: &Sector, image: &[u8], geometry: &Geometry, is_erasing: bool, store: &mut Store) {
    let mut flaw = |at: usize, what: String| {
        store.flaws.push(Flaw { block: sector.number, at_bytes: at as u32, what });
    };
    let is_whole = image.len() >= sector.at_bytes + geometry.sector_bytes;
    if sector.state == State::Headless && is_whole {
        let at = geometry.sector_bytes - geometry.ate_bytes;
        flaw(at, "the sector has no right header, so that nothing in it counts".to_string());
    }
    for (number, slot) in sector.slots.iter().enumerate().filter(|(_, slot)| slot.ate.is_none()) {
        flaw(slot.at_bytes, format!("entry {number}: it has a wrong check sum or cycle: what was written by it is lost, an older value may take its place"));
    }
    if sector.is_close_damaged {
        let at = geometry.sector_bytes - 2 * geometry.ate_bytes;
        flaw(at, "the entry that closes the sector has a wrong check sum".to_string());
    }
    if sector.of_nobody_bytes > 0 && is_erasing {
        let count = sector.of_nobody_bytes;
        flaw(
            sector.data_end_bytes,
            format!("{count} B that no entry names: a write that was cut off, or a lost entry"),
        );
    }
}

/// Power was cut while the sector behind the written one was emptied.
fn interrupted(sectors: &[Sector], written: Option<usize>, store: &mut Store) {
    let Some(written) = written.map(|number| &sectors[number]) else { return };
    let next = &sectors[(written.number as usize + 1) % sectors.len()];
    if next.is_closed() && next.number != written.number {
        store.notes.push(zephyr_ring::interrupted(next.number, written.number, written.is_collected()));
    }
}

/// Fills in the items.
fn resolve(places: &[Place<'_>], image: &[u8], geometry: &Geometry, store: &mut Store) {
    let newest: BTreeMap<u64, usize> = (0..).zip(places).map(|(at, place)| (place.ate.id, at)).collect();
    let value_of = |id: u64| Some(places[*newest.get(&id)?].data()).filter(|data| !data.is_empty());
    for (number, place) in places.iter().enumerate().filter(|(_, place)| place.ate.bytes > 0) {
        let last = newest[&place.ate.id];
        let state = match last {
            _ if places[last].ate.bytes == 0 => KeyState::Erased,
            last if last == number => KeyState::Current,
            _ => KeyState::Older,
        };
        let (id, data) = (place.ate.id, place.data());
        let is_damaged = geometry.has_data_crc
            && !place.ate.is_within
            && crc32fast::hash(&image[data.clone()]) != place.ate.data_crc;
        let what = || format!("entry {}: the value of {id:#010x} has a wrong check sum", place.number);
        if is_damaged && state == KeyState::Current {
            let at_bytes = place.ate.offset as u32;
            store.flaws.push(Flaw { block: place.sector.number, at_bytes, what: what() });
        }
        let name = id.checked_sub(VALUE_FROM_NAME).filter(|name| NAME_IDS.contains(name)).and_then(value_of);
        let name = name.map(|name| &image[name]).filter(|name| is_setting_name(name));
        store.items.push(Item {
            namespace: name.map(|_| SETTINGS.to_vec()),
            key: name.map_or_else(|| format!("{id:#010x}").into_bytes(), <[u8]>::to_vec),
            kind: "data",
            size_bytes: data.len() as u64,
            value: Value::Bytes { places: vec![data], is_text: false },
            state,
            block: place.sector.number,
            number: place.number as u32,
            error: is_damaged.then(|| format!("sector {}, {}", place.sector.number, what())),
        });
    }
    tell_settings_apart(store);
}

/// What counts in each sector, with its entries. Items are the places with data, in their order.
fn live(sectors: &[Sector], places: &[Place<'_>], store: &Store, geometry: &Geometry) -> Vec<usize> {
    let mut bytes = vec![0; sectors.len()];
    let with_data = places.iter().filter(|place| place.ate.bytes > 0);
    for (place, _) in with_data.zip(&store.items).filter(|(_, item)| item.state == KeyState::Current) {
        bytes[place.sector.number as usize] += place.taken_bytes(geometry);
    }
    bytes
}

/// Header, closing entry, end of a collection, and a deletion have their places in each sector.
fn free(live_bytes: &[usize], written: Option<u32>, geometry: &Geometry) -> usize {
    let room = geometry.sector_bytes.saturating_sub(5 * geometry.ate_bytes);
    // The one behind the written sector is the empty one.
    let empty = written.map(|number| (number as usize + 1) % live_bytes.len());
    let kept = live_bytes.iter().enumerate().filter(|(number, _)| Some(*number) != empty);
    kept.map(|(_, live)| room.saturating_sub(*live)).sum()
}

fn spaces(sectors: &[Sector], live_bytes: &[usize], geometry: &Geometry) -> Vec<BlockSpace> {
    let space = |(sector, live): (&Sector, &usize)| {
        let all = geometry.sector_bytes;
        let valid = (*live).min(all);
        let free = match sector.state {
            State::Erased => all,
            State::Open => sector.table_at_bytes.saturating_sub(sector.data_end_bytes).min(all - valid),
            _ => 0,
        };
        BlockSpace { valid_bytes: valid as u32, invalid_bytes: (all - valid - free) as u32, free_bytes: free as u32 }
    };
    sectors.iter().zip(live_bytes).map(space).collect()
}
