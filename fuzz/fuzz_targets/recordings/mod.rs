//! Damaged recordings: an input chooses one of each format and patches its text; or is a text of its own.
//!
//! What is read must be written as a table that says the same, and its calls on one file must be found without a panic.

use ffslab_workload::trace::table::TraceColumns;
use ffslab_workload::trace::{parse, Trace};
use std::path::Path;

const RECORDINGS: &[&str] = &[
    "128166372003061629,hm,1,Read,383496192,32768,413\n128166372016382155,hm,1,Write,310983680,4096,2326\n\
     128166372026382245,hm,0,Write,3221266432,4096,1388\n",
    "0,20941264,8192,W,0.551706\n0,20939840,8192,w,0.554041\n1,3436288,15872,r,1.011732,further\n",
    "8,0 3 1 0.000000000 697 Q FWFS 8 + 8 [a]\n8,0 3 2 0.1 697 D W 8 + 8 [a]\n8,16 3 3 0.2 697 Q DS 16 + 16 [b]\n\
     8,0 3 4 0.3 697 Q FN [a]\nCPU0 (8,0):\n",
    "fio version 3 iolog\n5 a add\n10 a open\n20 a read 0 4096\n1020 a trim 8192 512\n1030 a sync 0 0\n1040 a close\n",
    "14.95;open;3;0;0;0;/mnt/a;0.1\n15.26;read;3;0;100;/mnt/a;0.4\n15.9;write;4;0;9;/mnt/b\n",
    "op,path,to,offset_B,size_B\nexists-file,a,,,9\nread,a,,0,9\nrename,a,b,,\nwrite,d/c,,4,4\ntrim,d/c,,0,4\n",
];

/// The text of an input: the first byte chooses a recording; each further three bytes say where a byte is replaced, and by
/// what. From 128 on the first byte stands before a text of its own.
fn text_of(input: &[u8]) -> Option<String> {
    let (&choice, rest) = input.split_first()?;
    if choice >= 0x80 {
        return Some(String::from_utf8_lossy(rest).into_owned());
    }
    let mut text = RECORDINGS[usize::from(choice) % RECORDINGS.len()].as_bytes().to_vec();
    for patch in rest.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([patch[0], patch[1]])) % text.len();
        // Half of the bytes are digits and separators: others seldom get beyond the first check.
        const LIKELY: &[u8] = b"0123456789,;.-+ \n/RWDFQ";
        text[at] = if patch[2] < 0x80 { LIKELY[usize::from(patch[2]) % LIKELY.len()] } else { patch[2] & 0x7F };
    }
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Panics at a finding.
pub fn check(input: &[u8]) {
    let Some(text) = text_of(input) else { return };
    let Ok(trace) = parse(Path::new("recording"), &text, None) else { return };
    let columns = TraceColumns::of(&trace);
    assert_eq!(columns.op.len(), trace.existing.len() + trace.records.len());
    for name in columns.path.iter().flatten() {
        let of_one: Option<Trace> = trace.clone().onto("disk", Some(name)).ok();
        if let Some(of_one) = of_one {
            assert!(of_one.records.len() <= trace.records.len());
            assert!(of_one.records.iter().all(|record| record.think_ns <= record.at_ns));
        }
    }
}
