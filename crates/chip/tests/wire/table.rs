//! The tables of commands in docs/chip-serve.md: each command is sent to the part, and what comes back is what stands there.

use crate::host::{at, Host};
use crate::raw_nand::Cycles;
use std::fmt::Write;

const DOC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/chip-serve.md");

/// A command: what it is called, what must come before, what is sent, how much is taken.
type Row = (&'static str, &'static [&'static [u8]], Vec<u8>, usize);

const ON: &[u8] = &[0x06];

fn nor() -> Vec<Row> {
    let data: &[u8] = &[0x5A];
    vec![
        ("READ JEDEC ID", &[], vec![0x9F], 3),
        ("READ SFDP", &[], at(0x5A, 0, 3, &[0]), 4),
        ("READ MANUFACTURER, DEVICE", &[], at(0x90, 0, 3, &[]), 2),
        ("READ UNIQUE ID", &[], at(0x4B, 0, 3, &[0]), 8),
        ("READ STATUS 1", &[], vec![0x05], 1),
        ("READ STATUS 2", &[], vec![0x35], 1),
        ("READ STATUS 3", &[], vec![0x15], 1),
        ("WRITE ENABLE", &[], vec![0x06], 0),
        ("WRITE ENABLE, volatile", &[], vec![0x50], 0),
        ("WRITE DISABLE", &[ON], vec![0x04], 0),
        ("WRITE STATUS 1 (and 2)", &[ON], vec![0x01, 0x00, 0x02], 0),
        ("WRITE STATUS 2", &[ON], vec![0x31, 0x02], 0),
        ("WRITE STATUS 3", &[ON], vec![0x11, 0x60], 0),
        ("READ", &[], at(0x03, 0, 3, &[]), 2),
        ("FAST READ", &[], at(0x0B, 0, 3, &[0]), 2),
        ("DUAL OUTPUT READ", &[], at(0x3B, 0, 3, &[0]), 2),
        ("QUAD OUTPUT READ", &[], at(0x6B, 0, 3, &[0]), 2),
        ("PAGE PROGRAM, a byte", &[ON], at(0x02, 0, 3, data), 0),
        ("PAGE PROGRAM, a page", &[ON], at(0x02, 0, 3, &[0; 256]), 0),
        ("SECTOR ERASE, 4 KiB", &[ON], at(0x20, 0, 3, &[]), 0),
        ("BLOCK ERASE, 32 KiB", &[ON], at(0x52, 0, 3, &[]), 0),
        ("BLOCK ERASE, 64 KiB", &[ON], at(0xD8, 0, 3, &[]), 0),
        ("CHIP ERASE", &[ON], vec![0xC7], 0),
        ("SUSPEND", &[ON, &[0x20, 0, 0, 0]], vec![0x75], 0),
        ("RESUME", &[], vec![0x7A], 0),
        ("POWER DOWN", &[], vec![0xB9], 0),
        ("RELEASE POWER DOWN, ID", &[&[0xB9]], at(0xAB, 0, 3, &[]), 1),
        ("RESET", &[&[0x66]], vec![0x99], 0),
        ("unknown", &[], vec![0xA5], 1),
    ]
}

fn spi_nand() -> Vec<Row> {
    const OPEN: &[u8] = &[0x1F, 0xA0, 0];
    vec![
        ("READ ID", &[], vec![0x9F, 0], 3),
        ("GET FEATURE, protection", &[], vec![0x0F, 0xA0], 1),
        ("GET FEATURE, configuration", &[], vec![0x0F, 0xB0], 1),
        ("GET FEATURE, status", &[], vec![0x0F, 0xC0], 1),
        ("SET FEATURE, protection", &[], vec![0x1F, 0xA0, 0], 0),
        ("SET FEATURE, ECC off", &[], vec![0x1F, 0xB0, 0x08], 0),
        ("WRITE ENABLE", &[], vec![0x06], 0),
        ("WRITE DISABLE", &[ON], vec![0x04], 0),
        ("PAGE READ", &[], at(0x13, 0, 3, &[]), 0),
        ("PAGE READ, ECC off", &[&[0x1F, 0xB0, 0x08]], at(0x13, 0, 3, &[]), 0),
        ("READ FROM CACHE", &[], at(0x03, 0, 2, &[0]), 2),
        ("FAST READ FROM CACHE", &[], at(0x0B, 0, 2, &[0]), 2),
        ("READ FROM CACHE x2", &[], at(0x3B, 0, 2, &[0]), 2),
        ("READ FROM CACHE dual IO", &[], at(0xBB, 0, 2, &[0]), 2),
        ("READ FROM CACHE x4", &[], at(0x6B, 0, 2, &[0]), 2),
        ("READ FROM CACHE quad IO", &[], at(0xEB, 0, 2, &[0, 0]), 2),
        ("PROGRAM LOAD", &[], at(0x02, 0, 2, &[0x5A]), 0),
        ("PROGRAM LOAD x4", &[], at(0x32, 0, 2, &[0x5A]), 0),
        ("RANDOM PROGRAM LOAD", &[], at(0x84, 0, 2, &[0x5A]), 0),
        ("RANDOM PROGRAM LOAD x4", &[], at(0x34, 0, 2, &[0x5A]), 0),
        ("PROGRAM EXECUTE", &[OPEN, ON], at(0x10, 0, 3, &[]), 0),
        ("PROGRAM EXECUTE, protected", &[ON], at(0x10, 0, 3, &[]), 0),
        ("BLOCK ERASE", &[OPEN, ON], at(0xD8, 0, 3, &[]), 0),
        ("BLOCK ERASE, not enabled", &[OPEN], at(0xD8, 0, 3, &[]), 0),
        ("RESET", &[], vec![0xFF], 0),
        ("unknown", &[], vec![0xA5], 1),
    ]
}

fn raw_nand() -> Vec<Row> {
    let row = |name, cycles: Cycles| (name, &[][..], cycles.0, cycles.1);
    let new = Cycles::new;
    vec![
        row("READ ID", new().command(0x90).addresses(&[0x00]).read(5)),
        row("READ ID, ONFI", new().command(0x90).addresses(&[0x20]).read(4)),
        row("READ PARAMETER PAGE", new().command(0xEC).addresses(&[0])),
        row("READ UNIQUE ID", new().command(0xED).addresses(&[0])),
        row("READ STATUS", new().command(0x70).read(1)),
        row("READ", new().command(0x00).place(0, 0).command(0x30)),
        row("CHANGE READ COLUMN", new().command(0x05).addresses(&[0, 0]).command(0xE0).read(2)),
        row("PROGRAM", new().command(0x80).place(0, 0).write(&[0x5A]).command(0x10)),
        row(
            "PROGRAM with CHANGE WRITE COLUMN",
            new().command(0x80).place(0, 0).write(&[0x5A]).command(0x85).addresses(&[0, 8]).write(&[0]).command(0x10),
        ),
        row("BLOCK ERASE", new().command(0x60).addresses(&[0, 0, 0]).command(0xD0)),
        row("GET FEATURES", new().command(0xEE).addresses(&[1])),
        row("SET FEATURES", new().command(0xEF).addresses(&[1]).write(&[4, 0, 0, 0])),
        row("RESET", new().command(0xFF)),
        row("unknown", new().command(0x77)),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(" ")
}

/// Cycles as people write them.
fn spelled(mut cycles: &[u8]) -> String {
    let mut said = Vec::new();
    while let [kind, rest @ ..] = cycles {
        let (count, from) = match kind {
            b'C' => (1, 0),
            b'A' => (usize::from(rest[0]), 1),
            _ => (usize::from(u16::from_le_bytes([rest[0], rest[1]])), 2),
        };
        let bytes = if *kind == b'R' { 0 } else { count };
        said.push(match kind {
            b'C' => format!("{}h", hex(&rest[..1])),
            b'R' => format!("[read {count}]"),
            b'A' => format!("<{}>", hex(&rest[1..1 + count])),
            _ => format!("[{}]", hex(&rest[2..2 + count])),
        });
        cycles = &rest[from + bytes..];
    }
    said.join(" ")
}

fn time(ns: u64) -> String {
    match ns {
        0 => String::new(),
        1..1_000_000 => format!("{} us", ns / 1_000),
        _ => format!("{} ms", ns / 1_000_000),
    }
}

fn table(part: &str, is_raw: bool, rows: Vec<Row>, busy: &[&[u8]]) -> String {
    let kind = if is_raw { 2 } else { 1 };
    let mut text = String::from(
        "| command | sent | answer | busy | refused | while the part is busy |\n|---|---|---|--:|---|---|\n",
    );
    for (name, before, sent, taken) in rows {
        let mut host = Host::new(part);
        for bytes in before {
            host.ask(kind, 0, bytes, 0).unwrap();
        }
        host.passes_us(1);
        let answer = host.ask(kind, 0, &sent, taken).unwrap();
        let refused = if host.is_refused { host.wire.why().to_string() } else { String::new() };
        let took = if host.is_ready { 0 } else { host.ready_at_ns - host.now_ns };
        let mut working = Host::new(part);
        for bytes in busy {
            working.ask(kind, 0, bytes, 0).unwrap();
        }
        assert!(!working.is_ready);
        let meanwhile = working.ask(kind, 0, &sent, taken).unwrap();
        let meanwhile = match (working.is_refused, taken) {
            (true, _) => "refused".to_string(),
            (false, 0) => "done".to_string(),
            (false, _) => hex(&meanwhile),
        };
        let shown = if is_raw {
            spelled(&sent)
        } else if sent.len() > 8 {
            format!("{} ... ({} bytes)", hex(&sent[..5]), sent.len())
        } else {
            hex(&sent)
        };
        writeln!(text, "| {name} | `{shown}` | {} | {} | {refused} | {meanwhile} |", hex(&answer), time(took)).unwrap();
    }
    text
}

#[test]
fn the_tables_of_the_page_are_what_parts_answer() {
    let erase = Cycles::new().command(0x60).addresses(&[0, 0, 0]).command(0xD0).0;
    let tables = [
        ("w25q128jv", table("w25q128jv", false, nor(), &[ON, &[0x20, 0, 0, 0]])),
        ("w25n01gv", table("w25n01gv", false, spi_nand(), &[&[0x1F, 0xA0, 0], ON, &[0xD8, 0, 0, 0]])),
        ("mt29f2g08abaea", table("mt29f2g08abaea", true, raw_nand(), &[&erase])),
    ];
    let page = std::fs::read_to_string(DOC).unwrap();
    let others: Vec<String> = tables
        .iter()
        .filter(|(_, table)| !page.contains(table))
        .map(|(part, table)| format!("the table of {part} is\n\n{table}\n"))
        .collect();
    assert!(others.is_empty(), "docs/chip-serve.md: {}", others.concat());
}
