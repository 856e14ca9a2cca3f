//! Block maps: they translate a block of a file into a block of the device.
//!
//! Follows `rtems-rfs-block.c`. The levels of a map depend only on the number of blocks: up to 5 blocks are in the
//! slots of the inode; above, the slots name 5 tables; above that, 5 tables of tables. When a level is added the five
//! slots move into the first new table.

use super::handle::Handle;
use super::inode::Inode;
use super::layout::INODE_BLOCKS;
use super::store::{Of, Store};
use crate::bdbuf::Bdbuf;
use ffslab_fs::Errno;

/// A position in a file: number of the block and offset in it. `block` is the block on the device, 0 when it is not
/// known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    pub number: u32,
    pub offset: u32,
    pub block: u32,
}

/// The size of a file: number of blocks, and bytes used in the last block. 0 bytes means that the last block is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub count: u32,
    pub offset: u32,
}

impl Size {
    pub fn bytes(&self, block_bytes: u32) -> u64 {
        match self.count {
            0 => 0,
            count => {
                let last = if self.offset == 0 { block_bytes } else { self.offset };
                u64::from(count - 1) * u64::from(block_bytes) + u64::from(last)
            }
        }
    }

    /// The position at which the next byte is appended.
    pub fn end(&self) -> Position {
        let number = if self.offset > 0 { self.count.saturating_sub(1) } else { self.count };
        Position { number, offset: self.offset, block: 0 }
    }

    /// `rtems_rfs_block_pos_past_end`. In 2018 a position inside a full last block counts as past the end.
    pub fn is_past(&self, position: &Position, fixed: bool) -> bool {
        if position.number >= self.count {
            return true;
        }
        let last = position.number == self.count - 1;
        last && position.offset > self.offset && !(fixed && self.offset == 0)
    }

    pub fn is_last(&self, position: &Position) -> bool {
        (position.number == 0 && self.count == 0) || position.number == self.count.wrapping_sub(1)
    }
}

impl Position {
    pub fn of_bytes(bytes: u64, block_bytes: u32) -> Position {
        let number = u32::try_from(bytes / u64::from(block_bytes)).unwrap_or(u32::MAX);
        Position { number, offset: (bytes % u64::from(block_bytes)) as u32, block: 0 }
    }

    pub fn bytes(&self, block_bytes: u32) -> u64 {
        u64::from(self.number) * u64::from(block_bytes) + u64::from(self.offset)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Map {
    dirty: bool,
    pub size: Size,
    pub position: Position,
    last_map_block: u32,
    last_data_block: u32,
    slots: [u32; INODE_BLOCKS as usize],
    /// Handles that keep the tables in use between calls.
    singly: Handle,
    doubly: Handle,
}

impl Map {
    pub fn set_size_offset(&mut self, offset: u32) {
        self.size.offset = offset;
        self.dirty = true;
    }

    pub fn set_size(&mut self, size: Size) {
        self.size = size;
        self.dirty = true;
    }

    fn slot(&mut self, index: u32) -> Result<&mut u32, Errno> {
        self.slots.get_mut(index as usize).ok_or(Errno::FBig)
    }
}

impl Store {
    /// `rtems_rfs_block_map_open`.
    pub fn map_open(&mut self, cache: &mut Bdbuf, inode: &mut Inode) -> Result<Map, Errno> {
        self.inode_load(cache, inode)?;
        let mut map = Map {
            size: Size { count: inode.block_count(cache), offset: u32::from(inode.block_offset(cache)) },
            last_map_block: inode.last_map_block(cache),
            last_data_block: inode.last_data_block(cache),
            ..Map::default()
        };
        for slot in 0..INODE_BLOCKS {
            map.slots[slot as usize] = inode.slot(cache, slot);
        }
        self.inode_unload(cache, inode, false);
        // The original does not check this, and would copy beyond the end of the buffer.
        if map.size.offset < self.layout.block_bytes {
            Ok(map)
        } else {
            Err(Errno::Io)
        }
    }

    /// `rtems_rfs_block_map_write`: writes the map into the inode if it has changed.
    pub fn map_write(&mut self, cache: &mut Bdbuf, map: &mut Map, inode: &mut Inode) -> Result<(), Errno> {
        if !map.dirty {
            return Ok(());
        }
        self.inode_load(cache, inode)?;
        for slot in 0..INODE_BLOCKS {
            inode.set_slot(cache, slot, map.slots[slot as usize]);
        }
        inode.set_block_count(cache, map.size.count);
        inode.set_block_offset(cache, map.size.offset as u16);
        inode.set_last_map_block(cache, map.last_map_block);
        inode.set_last_data_block(cache, map.last_data_block);
        self.inode_unload(cache, inode, true);
        map.dirty = false;
        Ok(())
    }

    /// `rtems_rfs_block_map_close`: writes the map into the inode, if one is given, and releases the tables.
    pub fn map_close(&mut self, cache: &mut Bdbuf, map: &mut Map, inode: Option<&mut Inode>) -> Result<(), Errno> {
        let written = inode.map_or(Ok(()), |inode| self.map_write(cache, map, inode));
        self.map_release_tables(cache, map);
        written
    }

    pub fn map_release_tables(&mut self, cache: &mut Bdbuf, map: &mut Map) {
        self.held.close(cache, &mut map.singly);
        self.held.close(cache, &mut map.doubly);
    }

    /// `rtems_rfs_block_find_indirect`: reads an entry of a table. A number beyond the device becomes 0, which means no
    /// block.
    fn table_entry(&mut self, cache: &mut Bdbuf, table: &mut Handle, block: u32, index: u32) -> Result<u32, Errno> {
        if block >= self.layout.blocks {
            return Err(Errno::Io);
        }
        self.held.request(cache, table, block, true)?;
        let entry = table.read_u32(cache, index);
        Ok(if entry < self.layout.blocks { entry } else { 0 })
    }

    /// `rtems_rfs_block_map_find`: the block on the device for a position; ENXIO when it is past the end of the file.
    pub fn map_find(&mut self, cache: &mut Bdbuf, map: &mut Map, position: &Position) -> Result<u32, Errno> {
        if position.number >= map.size.count {
            return Err(Errno::NxIo);
        }
        let block = if position.number == map.position.number && map.position.block != 0 {
            map.position.block
        } else if map.size.count <= INODE_BLOCKS {
            map.slots[position.number as usize]
        } else {
            let slots = self.layout.table_slots();
            let (direct, singly) = (position.number % slots, position.number / slots);
            if map.size.count <= self.layout.singly_blocks() {
                let table = *map.slot(singly)?;
                self.table_entry(cache, &mut map.singly, table, direct)?
            } else if map.size.count < self.layout.doubly_blocks() {
                let table = *map.slot(singly / slots)?;
                let table = self.table_entry(cache, &mut map.doubly, table, singly % slots)?;
                self.table_entry(cache, &mut map.singly, table, direct)?
            } else {
                return Err(Errno::NxIo);
            }
        };
        map.position = Position { block, ..*position };
        Ok(block)
    }

    /// `rtems_rfs_block_map_seek`, from the map's position on.
    pub fn map_seek(&mut self, cache: &mut Bdbuf, map: &mut Map, forward_bytes: u64) -> Result<u32, Errno> {
        let block_bytes = self.layout.block_bytes;
        let position = Position::of_bytes(map.position.bytes(block_bytes) + forward_bytes, block_bytes);
        self.map_find(cache, map, &position)
    }

    /// `rtems_rfs_block_map_next_block`.
    pub fn map_next(&mut self, cache: &mut Bdbuf, map: &mut Map) -> Result<u32, Errno> {
        let position = Position { number: map.position.number + 1, offset: 0, block: 0 };
        self.map_find(cache, map, &position)
    }

    /// `rtems_rfs_block_map_indirect_alloc`: allocates a new table. `upping`: the table takes over the slots of the
    /// inode.
    fn new_table(&mut self, cache: &mut Bdbuf, map: &mut Map, doubly: bool, upping: bool) -> Result<u32, Errno> {
        let block = self.allocate(cache, map.last_map_block, Of::Blocks)?;
        let slots = map.slots;
        let table = if doubly { &mut map.doubly } else { &mut map.singly };
        if let Err(error) = self.held.request(cache, table, block, false) {
            let _ = self.free(cache, block, Of::Blocks);
            return Err(error);
        }
        table.data_mut(cache).fill(0xff);
        if upping {
            for (index, slot) in slots.iter().enumerate() {
                table.write_u32(cache, index as u32, *slot);
            }
            map.slots = [0; INODE_BLOCKS as usize];
        }
        table.dirty = true;
        map.last_map_block = block;
        Ok(block)
    }

    /// `rtems_rfs_block_map_grow`: adds one block to the file. Returns the new block.
    pub fn map_grow(&mut self, cache: &mut Bdbuf, map: &mut Map) -> Result<u32, Errno> {
        if map.size.count.saturating_add(1) >= self.layout.doubly_blocks() {
            return Err(Errno::FBig);
        }
        let block = self.allocate(cache, map.last_data_block, Of::Blocks)?;
        if let Err(error) = self.map_append(cache, map, block) {
            let _ = self.free(cache, block, Of::Blocks);
            return Err(error);
        }
        map.size = Size { count: map.size.count + 1, offset: 0 };
        map.last_data_block = block;
        map.dirty = true;
        Ok(block)
    }

    fn map_append(&mut self, cache: &mut Bdbuf, map: &mut Map, block: u32) -> Result<(), Errno> {
        let count = map.size.count;
        if count < INODE_BLOCKS {
            map.slots[count as usize] = block;
            return Ok(());
        }
        let slots = self.layout.table_slots();
        let (direct, singly) = (count % slots, count / slots);
        if count < self.layout.singly_blocks() {
            if direct == 0 || (singly == 0 && direct == INODE_BLOCKS) {
                let table = self.new_table(cache, map, false, count == INODE_BLOCKS)?;
                *map.slot(singly)? = table;
            } else {
                let table = *map.slot(singly)?;
                self.held.request(cache, &mut map.singly, table, true)?;
            }
        } else {
            let (doubly, singly) = (singly / slots, singly % slots);
            if direct == 0 {
                let table = self.new_table(cache, map, false, false)?;
                let result = self.append_table(cache, map, doubly, singly, table);
                if let Err(error) = result {
                    let _ = self.free(cache, table, Of::Blocks);
                    return Err(error);
                }
            } else {
                let tables = *map.slot(doubly)?;
                self.held.request(cache, &mut map.doubly, tables, true)?;
                let table = map.doubly.read_u32(cache, singly);
                self.held.request(cache, &mut map.singly, table, true)?;
            }
        }
        map.singly.write_u32(cache, direct, block);
        Ok(())
    }

    fn append_table(
        &mut self,
        cache: &mut Bdbuf,
        map: &mut Map,
        doubly: u32,
        singly: u32,
        table: u32,
    ) -> Result<(), Errno> {
        if singly == 0 || (doubly == 0 && singly == INODE_BLOCKS) {
            let upping = map.size.count == self.layout.singly_blocks();
            let tables = self.new_table(cache, map, true, upping)?;
            *map.slot(doubly)? = tables;
        } else {
            let tables = *map.slot(doubly)?;
            self.held.request(cache, &mut map.doubly, tables, true)?;
        }
        map.doubly.write_u32(cache, singly, table);
        Ok(())
    }

    /// `rtems_rfs_block_map_shrink`: frees blocks at the end of the file.
    pub fn map_shrink(&mut self, cache: &mut Bdbuf, map: &mut Map, blocks: u32) -> Result<(), Errno> {
        if map.size.count == 0 {
            return Ok(());
        }
        for _ in 0..blocks.min(map.size.count) {
            let block = self.map_cut(cache, map, map.size.count - 1)?;
            self.free(cache, block, Of::Blocks)?;
            map.size = Size { count: map.size.count - 1, offset: 0 };
            map.last_data_block = block;
            map.dirty = true;
        }
        if map.size.count == 0 {
            map.last_map_block = 0;
            map.last_data_block = 0;
        }
        if map.size.is_past(&map.position, self.fixed()) {
            map.position = map.size.end();
        }
        Ok(())
    }

    /// Takes the last block out of the map, and frees the tables that become empty.
    fn map_cut(&mut self, cache: &mut Bdbuf, map: &mut Map, number: u32) -> Result<u32, Errno> {
        if number < INODE_BLOCKS {
            let slot = map.slot(number)?;
            return Ok(std::mem::take(slot));
        }
        let slots = self.layout.table_slots();
        let (direct, singly) = (number % slots, number / slots);
        if number < self.layout.singly_blocks() {
            let table = *map.slot(singly)?;
            self.held.request(cache, &mut map.singly, table, true)?;
            let block = map.singly.read_u32(cache, direct);
            self.cut_table(cache, map, false, singly, direct)?;
            return Ok(block);
        }
        if number >= self.layout.doubly_blocks() {
            return Err(Errno::Io);
        }
        let (doubly, in_doubly) = (singly / slots, singly % slots);
        let tables = *map.slot(doubly)?;
        self.held.request(cache, &mut map.doubly, tables, true)?;
        let table = map.doubly.read_u32(cache, in_doubly);
        self.held.request(cache, &mut map.singly, table, true)?;
        let block = map.singly.read_u32(cache, direct);
        if direct == 0 {
            self.free(cache, table, Of::Blocks)?;
            map.last_map_block = table;
            self.cut_table(cache, map, true, doubly, in_doubly)?;
        }
        Ok(block)
    }

    /// `rtems_rfs_block_map_indirect_shrink`: frees the table in a slot when its first entry was removed, or when the
    /// rest of its entries fits into the inode, into which they move.
    fn cut_table(
        &mut self,
        cache: &mut Bdbuf,
        map: &mut Map,
        doubly: bool,
        slot: u32,
        index: u32,
    ) -> Result<(), Errno> {
        let moves_up = slot == 0 && index == INODE_BLOCKS;
        if index != 0 && !moves_up {
            return Ok(());
        }
        let table = *map.slot(slot)?;
        if moves_up {
            let handle = if doubly { map.doubly } else { map.singly };
            for at in 0..INODE_BLOCKS {
                map.slots[at as usize] = handle.read_u32(cache, at);
            }
        } else {
            *map.slot(slot)? = 0;
        }
        self.free(cache, table, Of::Blocks)?;
        map.last_map_block = table;
        Ok(())
    }

    pub fn map_free_all(&mut self, cache: &mut Bdbuf, map: &mut Map) -> Result<(), Errno> {
        self.map_shrink(cache, map, map.size.count)
    }
}
