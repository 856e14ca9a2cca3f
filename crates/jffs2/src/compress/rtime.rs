//! rtime: run lengths of what followed the last occurrence of a byte (`fs/jffs2/compr_rtime.c`).

use ffslab_sim::{Sim, Work};

/// Compresses the beginning of `data`. Returns how many bytes of `data` were compressed; `None`: the data did not
/// become shorter.
pub fn compress(sim: &Sim, data: &[u8], space: usize, out: &mut Vec<u8>) -> Option<usize> {
    if space <= 3 {
        return None;
    }
    let mut last_seen = [0u16; 256];
    let mut at = 0;
    while at < data.len() && out.len() <= space - 2 {
        let value = data[at];
        at += 1;
        let mut back = usize::from(std::mem::replace(&mut last_seen[usize::from(value)], at as u16));
        let mut run = 0u8;
        while back < at && at < data.len() && run < 255 && data[at] == data[back] {
            at += 1;
            back += 1;
            run += 1;
        }
        out.push(value);
        out.push(run);
    }
    sim.work(Work::RtimeCompress, at);
    (out.len() < at).then_some(at)
}

pub fn decompress(data: &[u8], plain: &mut [u8]) -> bool {
    let mut last_seen = [0u16; 256];
    let mut at = 0;
    let mut pairs = data.chunks_exact(2);
    while at < plain.len() {
        let Some(&[value, run]) = pairs.next() else { return false };
        plain[at] = value;
        at += 1;
        let back = usize::from(std::mem::replace(&mut last_seen[usize::from(value)], at as u16));
        let run = usize::from(run);
        if at + run > plain.len() || back + run > at + run || back > at {
            return false;
        }
        // Source and target may overlap, so the bytes are copied one by one.
        for i in 0..run {
            plain[at + i] = plain[back + i];
        }
        at += run;
    }
    true
}
