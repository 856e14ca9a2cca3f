//! The fragment map against an array that says for each byte which node it comes from.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::Bench;
use crate::fragments::FragmentMap;
use crate::refs::{NodeRef, NodeState, RefId, NONE};
use crate::space::InodeState;
use crate::store::Store;
use crate::Options;

const INO: u32 = 7;
/// On flash every node of this test takes as much, whatever it covers of the file.
const NODE_BYTES: u32 = 68;

#[derive(Clone, Debug)]
enum Op {
    Add { offset: u32, bytes: u32 },
    Truncate { bytes: u32 },
}

fn op() -> impl Strategy<Value = Op> {
    let offset = prop_oneof![0..40_000u32, (0..10u32).prop_map(|page| page * 4096)];
    let bytes = prop_oneof![1..9000u32, Just(4096u32), 1..64u32];
    prop_oneof![
        9 => (offset.clone(), bytes).prop_map(|(offset, bytes)| Op::Add { offset, bytes }),
        1 => offset.prop_map(|bytes| Op::Truncate { bytes }),
    ]
}

/// A node on flash, as if it had just been written.
fn new_node(store: &mut Store, offset: u32, bytes: u32) -> RefId {
    store.reserve_for_gc(NODE_BYTES, crate::summary::NO_SUMMARY).unwrap();
    let at = store.space.write_offset();
    let node = store.space.link_node(at, NodeState::Pristine, NODE_BYTES, INO);
    store.space.refs[node].set_covered(offset, bytes);
    node
}

/// Node of each byte, `None` where no node ever was.
fn bytes_of(map: &FragmentMap) -> Vec<RefId> {
    let mut bytes = Vec::new();
    for fragment in map.starting_at(0) {
        assert_eq!(fragment.offset as usize, bytes.len(), "a gap or an overlap");
        assert_ne!(fragment.bytes, 0);
        bytes.resize(fragment.end() as usize, fragment.node);
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_byte_comes_from_the_newest_node_that_covers_it(ops in prop::collection::vec(op(), 1..60)) {
        let mut bench = Bench::new(12, Options::default());
        let store = &mut bench.fs.store;
        store.space.inode_cache_mut(INO).state = InodeState::Present;
        let mut map = FragmentMap::default();
        let mut model: Vec<RefId> = Vec::new();
        let mut nodes = Vec::new();
        let mut truncated = false;
        for op in ops {
            match op {
                Op::Add { offset, bytes } => {
                    let id = new_node(store, offset, bytes);
                    nodes.push(id);
                    map.add(&mut store.space, &store.flash, id);
                    let end = (offset + bytes) as usize;
                    if model.len() < end {
                        model.resize(end, NONE);
                    }
                    model[offset as usize..end].fill(id);
                }
                Op::Truncate { bytes } => {
                    truncated = true;
                    let left = map.truncate(&mut store.space, &store.flash, bytes);
                    model.truncate(bytes as usize);
                    prop_assert_eq!(left as usize, model.len());
                }
            }
            prop_assert_eq!(&bytes_of(&map), &model);
            // A node lives as long as a byte of the file comes from it, and knows from how many runs.
            nodes.retain(|&id| {
                let runs = map.starting_at(0).filter(|f| f.node == id).count() as u32;
                assert_eq!(store.space.refs[id].is_obsolete(), runs == 0);
                if runs != 0 {
                    assert_eq!(store.space.refs[id].fragments_or_slot, runs);
                }
                runs != 0
            });
            // Garbage collection copies pristine nodes as they are, so none may be overwritten in part. Two exceptions
            // are the kernel's: it takes what a truncation leaves of a node for as good as new, and it does not look
            // at nodes that cross the end of a page, as only holes do.
            for &id in nodes.iter().filter(|_| !truncated) {
                let NodeRef { file_offset: offset, file_bytes: bytes, .. } = store.space.refs[id];
                if offset / 4096 != (offset + bytes - 1) / 4096 {
                    continue;
                }
                let whole = model[offset as usize..(offset + bytes) as usize].iter().all(|&d| d == id);
                prop_assert!(whole || store.space.refs[id].state() == NodeState::Normal, "node {id} at {offset}");
            }
        }
    }
}
