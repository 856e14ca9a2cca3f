//! The properties of all LEBs for an observer of the simulation: what the tree holds in memory, and what it holds on
//! flash where it was not read yet. No flash operation, and nothing stays in memory: what is in memory decides what
//! garbage collection finds.

use super::nodes::{unpack_nnode, unpack_pnode};
use super::{Place, FANOUT, FANOUT_SHIFT};
use crate::error::Res;
use crate::leb::Lebs;
use crate::space::Space;

impl Space {
    /// Free and dirty bytes of each LEB of the main area.
    ///
    /// Errors: a damaged node.
    pub fn look_at_lprops(&self, lebs: &Lebs) -> Res<Vec<(u32, u32)>> {
        let mut found = vec![(lebs.geo.leb_bytes, 0); (self.lpt.geo.pnode_cnt * FANOUT) as usize];
        let root = self.lpt.root();
        self.look_below(lebs, self.lpt.geo.height, 0, Place { lnum: root.lnum, offs: root.offs }, &mut found)?;
        found.truncate(lebs.geo.main_lebs as usize);
        Ok(found)
    }

    fn look_below(&self, lebs: &Lebs, level: u32, index: u32, at: Place, found: &mut [(u32, u32)]) -> Res<()> {
        let mut bytes = Vec::new();
        if level == 0 {
            let first = (index * FANOUT) as usize;
            let places = &mut found[first..first + FANOUT as usize];
            if self.lpt.pnodes[index as usize].loaded {
                for (place, lp) in places.iter_mut().zip(&self.lpt.props[first..]) {
                    *place = (lp.free, lp.dirty);
                }
            } else if at.lnum != 0 {
                bytes.resize(self.lpt.geo.pnode_bytes as usize, 0);
                lebs.look(at.lnum, at.offs, &mut bytes)?;
                for (place, (free, dirty, _)) in
                    places.iter_mut().zip(unpack_pnode(&self.lpt.geo, &lebs.geo, index, &bytes)?)
                {
                    *place = (free, dirty);
                }
            }
            return Ok(());
        }
        let is_loaded = self.lpt.nnodes[level as usize - 1][index as usize].loaded;
        let mut children = [Place::default(); 4];
        if !is_loaded && at.lnum != 0 {
            bytes.resize(self.lpt.geo.nnode_bytes as usize, 0);
            lebs.look(at.lnum, at.offs, &mut bytes)?;
            children = unpack_nnode(&self.lpt.geo, &lebs.geo, level, index, &bytes)?;
        }
        for (i, mut place) in children.into_iter().enumerate() {
            let child = (index << FANOUT_SHIFT) + i as u32;
            if !self.lpt.has_node(level - 1, child) {
                continue;
            }
            if is_loaded {
                let node = match level {
                    1 => &self.lpt.pnodes[child as usize],
                    _ => &self.lpt.nnodes[level as usize - 2][child as usize],
                };
                place = Place { lnum: node.lnum, offs: node.offs };
            }
            self.look_below(lebs, level - 1, child, place, found)?;
        }
        Ok(())
    }
}
