use super::*;
use std::path::Path;

fn parsed(text: &str) -> Trace {
    parse(Path::new("t"), text, None).unwrap()
}

fn error(text: &str) -> String {
    parse(Path::new("t"), text, None).unwrap_err().to_string()
}

fn calls(trace: &Trace) -> Vec<String> {
    trace.records.iter().map(|record| format!("{:?}", record.call).split(" {").next().unwrap().to_string()).collect()
}

fn size_of(trace: &Trace, name: &str) -> Option<u64> {
    trace.existing.iter().find(|existing| existing.path == name.as_bytes()).map(|existing| match existing.kind {
        ExistingKind::File { size_bytes } => size_bytes,
        _ => u64::MAX,
    })
}

/// The table as CSV text.
fn as_csv(trace: &Trace) -> String {
    let c = table::TraceColumns::of(trace);
    let mut text = "op,path,to,handle,process,start_ns,duration_ns,think_ns,offset_B,size_B,flags,permissions,uid,gid,result,error\n".to_string();
    fn shown<T: ToString>(value: &Option<T>) -> String {
        value.as_ref().map_or(String::new(), T::to_string)
    }
    for i in 0..c.op.len() {
        let cells = [
            c.op[i].to_string(),
            shown(&c.path[i]),
            shown(&c.to[i]),
            shown(&c.handle[i]),
            c.process[i].to_string(),
            c.start_ns[i].to_string(),
            c.duration_ns[i].to_string(),
            c.think_ns[i].to_string(),
            shown(&c.offset_bytes[i]),
            shown(&c.size_bytes[i]),
            shown(&c.flags[i]),
            shown(&c.permissions[i]),
            shown(&c.uid[i]),
            shown(&c.gid[i]),
            shown(&c.result[i]),
            shown(&c.error[i]),
        ];
        let quoted = cells.map(|cell| if cell.contains(',') { format!("\"{cell}\"") } else { cell });
        text += &(quoted.join(",") + "\n");
    }
    text
}

fn same(trace: &Trace, again: &Trace) {
    let plain = |trace: &Trace| trace.records.iter().map(|r| Record { line: 0, ..r.clone() }).collect::<Vec<_>>();
    assert_eq!(plain(trace), plain(again));
    assert_eq!(trace.existing, again.existing);
}

const FIO: &str = "fio version 3 iolog\n5 d/a add\n10 d/a open\n20 d/a read 0 4096\n1020 d/a write 8192 512\n1030 d/a sync 0 0\n1040 d/a close\n";

#[test]
fn a_fio_log_becomes_calls_with_their_distances() {
    let trace = parsed(FIO);
    assert_eq!(calls(&trace), ["Open", "ReadAt", "WriteAt", "Fsync", "Close"]);
    assert_eq!(trace.records[2].think_ns, 1_000_000);
    assert_eq!(size_of(&trace, "d/a"), Some(4096));
    assert_eq!(size_of(&trace, "d"), Some(u64::MAX));
    assert_eq!(
        error("fio version 3 iolog\n1 a add\nx\n"),
        "t:3: expected \"TIME FILE ACTION\" or \"TIME FILE ACTION OFFSET LENGTH\""
    );
}

const OPENFLASH: &str = "#<time_stamp>;<sys_call>;<arguments;>;<file_name>;<elapsed>\n\
    1400731049.95;open;3;0;0;0;/mnt/flash/test.db;0.000152\n\
    1400731050.26;read;3;0;100;/mnt/flash/test.db;0.000458\n\
    1400731050.92;open;4;0;0;0;/mnt/flash/test.db-journal;0.000245\n\
    1400731051.12;write;4;512;4;/mnt/flash/test.db-journal\n\
    1400731051.22;close;4;/mnt/flash/test.db-journal;0.000061\n";

#[test]
fn an_openflash_trace_has_durations_and_one_root() {
    let trace = parsed(OPENFLASH);
    assert_eq!(trace.root, "/mnt/flash");
    assert_eq!(calls(&trace), ["Open", "ReadAt", "Open", "WriteAt", "Close"]);
    assert_eq!((trace.records[1].at_ns, trace.records[1].duration_ns), (310_000_000, 458_000));
    assert_eq!(trace.records[1].think_ns, 310_000_000 - 152_000);
    assert!(matches!(&trace.records[2].call, Call::Open { flags, .. } if flags.create && flags.write));
    assert_eq!((size_of(&trace, "test.db"), size_of(&trace, "test.db-journal")), (Some(100), None));
    assert!(error(&OPENFLASH.replace("close;4", "cloze;4")).starts_with("t:6: expected \"TIME;read;FD"));
}

const BLKPARSE: &str = "  8,0    3        1     0.000000000   697  Q   W 8 + 8 [kjournald]\n\
      8,0    3        2     0.000001829   697  G   W 8 + 8 [kjournald]\n\
      8,0    3        3     0.000100000   697  D   W 8 + 8 [kjournald]\n\
      8,0    3        4     0.002000000   697  Q   R 16 + 16 [cat]\n\
      8,0    3        5     0.003000000   697  Q  FN [cat]\n\
      8,0    3        6     0.004000000   697  Q   D 0 + 8 [fstrim]\n\
    CPU3 (8,0):\n Reads Queued:           1,        8KiB\n";

#[test]
fn block_events_are_taken_once_and_count_in_bytes() {
    let trace = parsed(BLKPARSE);
    assert_eq!(calls(&trace), ["Open", "WriteAt", "ReadAt", "Fsync", "Trim"]);
    assert!(matches!(trace.records[2].call, Call::ReadAt { offset: 8192, bytes: 8192, .. }));
    assert!(matches!(trace.records[4].call, Call::Trim { offset: 0, bytes: 4096, .. }));
    assert!(trace.ignored.is_empty());
    assert_eq!(size_of(&trace, "8,0"), Some(16384));
    // Without queueing events the issues count.
    let issues: String =
        BLKPARSE.lines().filter(|line| !line.contains(" Q ")).map(|line| format!("{line}\n")).collect();
    assert_eq!(calls(&parsed(&issues)), ["Open", "WriteAt"]);
}

/// A flush before a write, a write that lasts when it ends, both, a flush alone in its three spellings, and a message.
#[test]
fn flushes_around_a_write_become_calls() {
    let of = |kind: &str| {
        let text = format!("8,0 0 1 0.0 7 Q R 0 + 8 [a]\n8,0 0 2 0.1 7 Q {kind} [a]\n");
        let trace = parsed(&text);
        (calls(&trace).split_off(2), trace.ignored)
    };
    assert_eq!(of("FWS 8 + 8").0, ["Fsync", "WriteAt"]);
    assert_eq!(of("WFS 8 + 8").0, ["WriteAt", "Fsync"]);
    assert_eq!(of("FWFS 8 + 8").0, ["Fsync", "WriteAt", "Fsync"]);
    for flush in ["FWS", "FN", "FF", "FWS 0 + 0"] {
        assert_eq!(of(flush).0, ["Fsync"], "{flush}");
    }
    assert_eq!(of("DS 8 + 8").0, ["Trim"]);
    assert_eq!(of("RAM 8 + 8").0, ["ReadAt"]);
    assert_eq!(of("N"), (vec![], vec![("event N".to_string(), 1)]));
    assert!(error("8,0 0 1 0.0 7 Q R 0 + 8 [a]\n8,0 0 2 0.1 7 Q WS [a]\n").starts_with("t:2: expected"));
}

/// Lines as the collections have them.
const MSR: &str = "128166372003061629,hm,1,Read,383496192,32768,413\n\
    128166372016382155,hm,1,Write,310983680,4096,2326\n\
    128166372026382245,hm,0,Write,3221266432,4096,1388\n";

#[test]
fn a_trace_of_msr_cambridge_counts_from_its_first_request() {
    let trace = parsed(MSR);
    assert_eq!(calls(&trace), ["Open", "ReadAt", "WriteAt", "Open", "WriteAt"]);
    assert!(matches!(trace.records[1].call, Call::ReadAt { offset: 383_496_192, bytes: 32_768, .. }));
    assert_eq!((trace.records[1].at_ns, trace.records[1].duration_ns), (0, 41_300));
    assert_eq!((trace.records[2].at_ns, trace.records[2].think_ns), (1_332_052_600, 1_332_052_600 - 41_300));
    assert_eq!(size_of(&trace, "hm_1"), Some(383_496_192 + 32_768));
    let headed = format!("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n{MSR}");
    assert_eq!(parsed(&headed).records.len(), trace.records.len());
    for broken in ["Read,383496192", "Raed,1,2,3", "Read,-1,2,3", "Read,1,2,3,4", "Read,99999999999999999999,2,3"] {
        assert!(error(&format!("{MSR}1,hm,1,{broken}\n")).starts_with("t:4: expected \"TIME,HOST"), "{broken}");
    }
    // A line that is earlier than the first one, and times at the end of what numbers hold.
    let odd = format!("{MSR}1,hm,1,Read,0,512,18446744073709551615\n18446744073709551615,hm,1,Read,0,512,1\n");
    assert_eq!(parsed(&odd).records[5].at_ns, 0);
}

const SPC: &str = "0,20941264,8192,W,0.551706\n0,20939840,8192,w,0.554041\n1,3436288,15872,r,1.011732,further\n";

#[test]
fn a_trace_of_the_storage_performance_council_counts_blocks_of_512_bytes() {
    let trace = parsed(SPC);
    assert_eq!(calls(&trace), ["Open", "WriteAt", "WriteAt", "Open", "ReadAt"]);
    assert!(matches!(trace.records[1].call, Call::WriteAt { offset: 10_721_927_168, bytes: 8192, .. }));
    assert_eq!((trace.records[2].think_ns, trace.records[4].at_ns), (2_335_000, 1_011_732_000));
    assert_eq!(size_of(&trace, "asu1"), Some(3_436_288 * 512 + 15_872));
    for broken in ["0,1,512,X,1.0", "0,1,512,R", "0,-1,512,R,1", "0,99999999999999999,512,R,1", "0,1,512,R,1e3"] {
        assert!(error(&format!("{SPC}{broken}\n")).starts_with("t:4: expected \"ASU,BLOCK"), "{broken}");
    }
}

#[test]
fn one_device_of_a_recording_becomes_another_file() {
    let several = parsed(MSR).onto("disk", None).unwrap_err().to_string();
    assert_eq!(several, "t: has not one file or device but these, of which `only` must name one: hm_0 hm_1");
    let none = parsed(MSR).onto("disk", Some("hm_2")).unwrap_err().to_string();
    assert_eq!(none, "t: has no file or device `hm_2`: it has hm_0 hm_1");
    let trace = parsed(MSR).onto("/disk", Some("hm_1")).unwrap();
    assert_eq!(calls(&trace), ["Open", "ReadAt", "WriteAt"]);
    assert!(matches!(&trace.records[0].call, Call::Open { path, .. } if path == b"disk"));
    assert_eq!(size_of(&trace, "disk"), Some(383_496_192 + 32_768));
    assert_eq!(trace.ignored, [("on others than hm_1".to_string(), 2)]);
    // What is left out leaves its time to the pause.
    let other = parsed(MSR).onto("disk", Some("hm_0")).unwrap();
    assert_eq!((other.records[1].at_ns, other.records[1].think_ns), (2_332_061_600, 0));
    let single = parsed(BLKPARSE).onto("disk", None).unwrap();
    assert_eq!(calls(&single), calls(&parsed(BLKPARSE)));
    assert_eq!(single.records[2].think_ns, parsed(BLKPARSE).records[2].think_ns);
}

#[test]
fn a_fio_log_of_a_device_keeps_its_trims() {
    let log = "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdb write 4096 512\n/dev/sdb trim 0 8192\n\
        /dev/sdb datasync 0 0\n/dev/sdb close\n";
    let trace = parsed(log).onto("disk", None).unwrap();
    assert_eq!(calls(&trace), ["Open", "WriteAt", "Trim", "Fsync", "Close"]);
    assert!(matches!(trace.records[2].call, Call::Trim { offset: 0, bytes: 8192, .. }));
    assert!(matches!(&trace.records[0].call, Call::Open { flags, .. } if flags.write));
}

#[test]
fn a_table_says_its_units() {
    let text = "start_ms;op;file;offset_KiB;size_B\n1.5;read;a;4;100\n2;write;a;0;512\n3;rename;a;;\n";
    assert!(error(text).contains("t:4: `rename` needs a column `to`"), "{}", error(text));
    let trace = parsed(&text.replace("3;rename;a;;\n", "3;fsync;a;;\n4;unlink;a;;\n"));
    assert_eq!(calls(&trace), ["Open", "ReadAt", "WriteAt", "Fsync", "Unlink"]);
    assert_eq!(trace.records[1].at_ns, 1_500_000);
    assert!(matches!(trace.records[1].call, Call::ReadAt { offset: 4096, bytes: 100, .. }));
    assert_eq!(size_of(&trace, "a"), Some(4196));
}

#[test]
fn a_broken_table_is_one_line() {
    assert!(error("op,path,offset\n").contains("t:1: column `offset` does not say its unit: write one of offset_B"));
    assert!(error("op,path,ofset_B\n").contains("did you mean `offset_B`?"));
    assert!(error("op,path\nraed,a\n").contains("t:2: unknown op `raed`: did you mean `read`?"));
    assert!(error("op,path,size_B\nread,a,many\n").contains("t:2: size_B: \"many\" is not a number of 0 or more"));
    assert!(error("op,path\n").contains("holds no event"));
    assert!(error("op,handle,path\nread,3,\n").contains("handle 3 is not open"));
}

#[test]
fn every_trace_survives_its_table() {
    for text in [FIO, OPENFLASH, BLKPARSE, MSR, SPC] {
        let trace = parsed(text);
        same(&trace, &parsed(&as_csv(&trace)));
    }
    let strace = "1 1.0 openat(AT_FDCWD, \"/w/a\", O_RDWR|O_CREAT, 0644) = 3 <0.000010>\n\
        1 1.1 write(3, \"x\"..., 10) = 10 <0.000010>\n\
        1 1.2 lseek(3, 0, SEEK_SET) = 0 <0.000001>\n\
        1 1.3 fdatasync(3) = 0 <0.1>\n\
        1 1.4 rename(\"/w/a\", \"/w/b\") = 0 <0.001>\n\
        1 1.5 stat(\"/w/c\", 0x7ffd) = -1 ENOENT (No such file or directory) <0.00001>\n\
        1 1.55 lstat(\"/w\", 0x7ffd) = 0 <0.00001>\n\
        1 1.6 close(3) = 0 <0.000010>\n";
    let trace = crate::strace::parse(Path::new("t"), strace.as_bytes(), Some("/w")).unwrap();
    assert_eq!(trace.records.len(), 8);
    same(&trace, &parsed(&as_csv(&trace)));
}

#[test]
fn only_files_below_the_root_are_replayed() {
    let text = "op,path,size_B,offset_B\nread,/data/a,10,0\nread,/etc/b,10,0\n";
    let trace = parse(Path::new("t"), text, Some("/data")).unwrap();
    assert_eq!(calls(&trace), ["Open", "ReadAt"]);
    assert_eq!(trace.ignored, [("outside of /data".to_string(), 1)]);
    assert_eq!(parsed(text).root, "");
}

/// Every format, packed or not: the batches are the table of the whole, and the same mistakes are told.
#[test]
fn batches_are_the_table_of_the_whole_recording() {
    let folder = tempfile_folder();
    let strace = include_str!("../../tests/batches.strace");
    let blk = "8,0 3 1 0.0 697 Q W 8 + 8 [a]\n8,0 3 2 0.1 697 D W 8 + 8 [a]\n8,0 3 3 0.2 697 Q R 16 + 16 [b]\nCPU0 (8,0):\nx\n";
    let flash = "#c\n14.95;open;3;0;0;0;/mnt/a;0.1\n15.26;read;3;0;100;/mnt/a;0.4\n15.9;write;4;0;9;/mnt/b\n";
    let table = "op,path,to,offset_B,size_B\nexists-file,a,,,9\nread,a,,0,9\nrename,a,b,,\nwrite,d/c,,4,4\n";
    for (number, text) in [FIO, strace, blk, flash, table, MSR, SPC].into_iter().enumerate() {
        for packed in [false, true] {
            let file = folder.join(format!("{number}-{packed}"));
            std::fs::write(&file, if packed { gzip(text) } else { text.as_bytes().to_vec() }).unwrap();
            for root in [None, Some("/mnt"), Some("/srv")] {
                let whole = read(&file, root);
                let mut columns = table::TraceColumns::default();
                let mut found_root = String::new();
                let head = stream::batches(
                    &file,
                    root,
                    &|| true,
                    &mut |head| {
                        found_root.clone_from(&head.root);
                        true
                    },
                    &mut |batch| {
                        columns = batch;
                        true
                    },
                );
                match (whole, head) {
                    (Ok(whole), Ok(head)) => {
                        assert_eq!(columns, table::TraceColumns::of(&whole), "{number}");
                        assert_eq!((found_root, head.ignored), (whole.root, whole.ignored), "{number}");
                    }
                    (whole, head) => assert_eq!(whole.unwrap_err(), head.unwrap_err(), "{number} {root:?}"),
                }
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// More rows than one batch: none is lost or told twice, and the reader may stop.
#[test]
fn a_long_recording_comes_in_several_batches() {
    let folder = tempfile_folder();
    let rows = 2 * stream::BATCH_ROWS as u64 + 5;
    let mut text = "op,file,offset_B,size_B\n".to_string();
    (0..rows).for_each(|i| text += &format!("read,a,{i},1\n"));
    let file = folder.join("t.csv");
    std::fs::write(&file, text).unwrap();
    let (mut sizes, mut offsets) = (Vec::new(), Vec::new());
    stream::batches(&file, None, &|| true, &mut |_| true, &mut |batch| {
        sizes.push(batch.op.len());
        offsets.extend(batch.offset_bytes.into_iter().flatten());
        true
    })
    .unwrap();
    // A file that must exist and the call that opens it come before.
    assert_eq!((sizes.len(), sizes.iter().sum::<usize>() as u64), (3, rows + 2));
    assert_eq!(offsets, (0..rows as i64).collect::<Vec<_>>());
    let mut batches = 0;
    let stopped = stream::batches(&file, None, &|| true, &mut |_| true, &mut |_| {
        batches += 1;
        false
    });
    assert!(stopped.is_ok() && batches == 1);
    assert!(stream::batches(&file, None, &|| false, &mut |_| true, &mut |_| true).is_err());
    std::fs::remove_dir_all(folder).unwrap();
}

fn tempfile_folder() -> PathBuf {
    let name = std::thread::current().name().unwrap_or_default().replace(':', "_");
    let folder = std::env::temp_dir().join(format!("ffslab-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packer, text.as_bytes()).unwrap();
    packer.finish().unwrap()
}

#[test]
fn what_contradicts_itself_in_a_table_is_refused() {
    for (text, wanted) in [
        ("op,file,offset_KiB,size_B\nread,a,4,1\nread,a,-4,1\n", "t:3: an offset of -4096 B: `read` needs 0 or more"),
        ("op,file,size_B,size_B\n", "t:1: the column `size_B` is there twice: keep one"),
        ("op,file,start_us,start_ns\n", "t:1: the columns `start_us` and `start_ns` say the same: keep one"),
        ("op,file,path\n", "t:1: the columns `file` and `path` say the same: keep one"),
    ] {
        assert!(error(text).starts_with(wanted), "{}", error(text));
    }
    assert_eq!(calls(&parsed("op,file,offset_B,flags\nread,a,0,\nlseek,a,-4,current\n")), ["Open", "ReadAt", "Seek"]);
}
