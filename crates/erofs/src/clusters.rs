//! Physical clusters as they are read of the device and expanded: `z_erofs_submit_queue` and `z_erofs_decompress_queue` of
//! `fs/erofs/zdata.c`.

use crate::expand::expand;
use crate::extents::{Algorithm, Stored};
use crate::files::{Files, Page};
use crate::metadata::Metadata;
use crate::superblock::BLOCK_BYTES;
use ffslab_fs::{Errno, Result};
use ffslab_rawblock::Wrong;
use ffslab_sim::Work;
use std::collections::BTreeMap;
use std::ops::Range;

/// Which bytes of a page come from where in a cluster, once it is expanded.
pub struct Part {
    pub page: u64,
    pub bytes: Range<usize>,
    pub from_offset: u64,
}

/// A physical cluster that is wanted.
pub struct Cluster {
    pub stored: Stored,
    pub algorithm: Algorithm,
    /// Where its content begins in a block of the file, and how much of it is wanted.
    pub offset: u64,
    pub wanted_bytes: u64,
    /// Its pages stay in the managed cache.
    pub is_kept: bool,
    pub parts: Vec<Part>,
}

impl Cluster {
    /// The blocks in which it stands.
    pub fn blocks(&self) -> Range<u64> {
        match self.stored {
            Stored::Blocks { at, bytes } => at / BLOCK_BYTES..(at + bytes) / BLOCK_BYTES,
            _ => 0..0,
        }
    }
}

impl Files {
    /// What each cluster expands to; `None`: it cannot be had. The one that was added last is read first, and what stands behind one
    /// another is asked for at once.
    ///
    /// Errors: the power was cut.
    pub fn expand_all(&mut self, clusters: &[Cluster]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        let mut is_read = vec![false; clusters.len()];
        for (number, cluster) in clusters.iter().enumerate().rev() {
            for block in cluster.blocks().filter(|block| !self.managed.contains_key(block)) {
                is_read[number] = true;
                match runs.last_mut() {
                    Some(run) if run.end == block => run.end += 1,
                    _ => runs.push(block..block + 1),
                }
            }
        }
        let mut read: BTreeMap<u64, Page> = BTreeMap::new();
        let mut has_failed = false;
        for run in runs {
            match self.read_blocks(run.start, run.end - run.start) {
                Ok(held) => {
                    read.extend(
                        run.zip(held.chunks(BLOCK_BYTES as usize)).map(|(block, page)| (block, page.to_vec().into())),
                    );
                }
                Err(Errno::PowerCut) => return Err(Errno::PowerCut),
                Err(_) => has_failed = true,
            }
        }
        for cluster in clusters.iter().filter(|cluster| cluster.is_kept) {
            let kept = cluster.blocks().filter_map(|block| Some((block, read.get(&block)?.clone())));
            self.managed.extend(kept);
        }
        let mut expanded: Vec<Option<Vec<u8>>> = clusters.iter().map(|_| None).collect();
        // What needs no reading comes first.
        for wanted in [false, true] {
            for (number, cluster) in clusters.iter().enumerate().rev().filter(|(number, _)| is_read[*number] == wanted)
            {
                if !(wanted && has_failed) {
                    expanded[number] = self.expand_one(cluster, &read)?;
                }
            }
        }
        Ok(expanded)
    }

    fn expand_one(&mut self, cluster: &Cluster, read: &BTreeMap<u64, Page>) -> Result<Option<Vec<u8>>> {
        let stored = match cluster.stored {
            Stored::Metadata { at, bytes } => match self.take(at, bytes as usize) {
                Ok(stored) => stored,
                Err(wrong) => {
                    return match self.errno(wrong) {
                        Errno::PowerCut => Err(Errno::PowerCut),
                        _ => Ok(None),
                    }
                }
            },
            _ => {
                let page = |block: u64| read.get(&block).or_else(|| self.managed.get(&block));
                cluster.blocks().filter_map(page).flat_map(|page| page.iter().copied()).collect()
            }
        };
        let bytes = cluster.wanted_bytes as usize;
        let is_padded = self.superblock().is_padded_before();
        let plain = expand(&stored, cluster.algorithm, is_padded, cluster.offset, bytes);
        if cluster.algorithm == Algorithm::Lz4 {
            self.sim.work(Work::Lz4Decompress, bytes);
        }
        if plain.is_none() {
            let at = match cluster.stored {
                Stored::Blocks { at, .. } | Stored::Metadata { at, .. } => at,
                _ => 0,
            };
            self.errno(Wrong::new(at, "a physical cluster that does not expand"));
        }
        Ok(plain)
    }
}
