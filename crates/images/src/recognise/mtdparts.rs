//! Partitions in the syntax of the kernel's command line: `mtdparts=CHIP:SIZE[@OFFSET][(NAME)][ro][lk][slc],...`.
//!
//! Follows `drivers/mtd/parsers/cmdlinepart.c`; numbers are read as by `memparse` (`lib/cmdline.c`).

/// Larger than any chip: what a list says beyond the image shows with it.
const ANY_CHIP_BYTES: u64 = 1 << 40;

/// A partition of a chip. Offsets and sizes count page data only, as the kernel does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defined {
    pub name: String,
    pub offset_bytes: u64,
    pub size_bytes: u64,
}

/// The partitions of a chip of `chip_bytes`. "mtdparts=" and the chip's name may be left out.
///
/// Errors: one line; what cannot be read and what the syntax is.
pub fn parse(text: &str, chip_bytes: u64) -> Result<Vec<Defined>, String> {
    let wrong = |why: String| {
        format!("mtdparts \"{text}\": {why}: as the kernel has it, CHIP:SIZE@OFFSET(NAME)ro,...,-(NAME), is needed")
    };
    let chips = text.trim().trim_start_matches("mtdparts=");
    if chips.contains(';') {
        return Err(wrong("it names several chips, and this is the dump of one".to_string()));
    }
    // The chip's name may contain colons. So only the text before the first name of a partition is searched for the
    // last colon.
    let before = chips.find('(').unwrap_or(chips.len());
    let mut rest = chips[..before].rfind(':').map_or(chips, |colon| &chips[colon + 1..]);
    let mut found: Vec<Defined> = Vec::new();
    let (mut next, mut number) = (0u64, 0);
    loop {
        let fills = rest.starts_with('-');
        let size = if fills {
            u64::MAX
        } else {
            memparse(&mut rest).ok_or_else(|| wrong(format!("no size at \"{rest}\"")))?
        };
        rest = rest.strip_prefix('-').filter(|_| fills).unwrap_or(rest);
        if size == 0 {
            return Err(wrong(format!("partition {number} has size 0")));
        }
        if let Some(after) = rest.strip_prefix('@') {
            rest = after;
            next = memparse(&mut rest).ok_or_else(|| wrong(format!("no offset at \"{rest}\"")))?;
        }
        let mut name = format!("Partition_{number:03}");
        if let Some(after) = rest.strip_prefix('(') {
            let end = after.find(')').ok_or_else(|| wrong("a name is not closed".to_string()))?;
            name = after[..end].to_string();
            rest = &after[end + 1..];
        }
        for flag in ["ro", "lk", "slc"] {
            rest = rest.strip_prefix(flag).unwrap_or(rest);
        }
        // The kernel cuts off the part of a partition that is beyond the end of the chip, and skips a partition of
        // which nothing is left.
        let size_bytes = size.min(chip_bytes.saturating_sub(next));
        if size_bytes > 0 {
            found.push(Defined { name, offset_bytes: next, size_bytes });
        }
        next = next.saturating_add(size_bytes);
        number += 1;
        if rest.is_empty() {
            break;
        }
        match rest.strip_prefix(',') {
            Some(_) if fills => return Err(wrong("nothing may follow the partition that takes the rest".to_string())),
            Some(after) => rest = after,
            None => return Err(wrong(format!("\"{rest}\" is not understood"))),
        }
    }
    if found.is_empty() {
        return Err(wrong(format!("no partition is in the {chip_bytes} B of the image")));
    }
    if let Some(twice) = found.iter().enumerate().find(|(at, part)| found[..*at].iter().any(|b| b.name == part.name)) {
        return Err(wrong(format!("two partitions are called {}", twice.1.name)));
    }
    Ok(found)
}

/// What the list has that the image has not: the kernel leaves it out. `who` has the list.
pub fn beyond(parts: &[Defined], text: &str, who: &str) -> Option<String> {
    let all = parse(text, ANY_CHIP_BYTES).ok()?;
    let is_rest = |part: &Defined| part.offset_bytes + part.size_bytes == ANY_CHIP_BYTES;
    let lacks = |part: &&Defined| !is_rest(part) && !parts.contains(part);
    let lacking = all.iter().find(lacks)?;
    let end = lacking.offset_bytes + lacking.size_bytes;
    Some(format!("{who} has the partition {} to {end:#x}, behind the end of the file", lacking.name))
}

/// A number with a unit: decimal, 0x for hexadecimal, 0 for octal; K, M, G, T, P, E are powers of 1024.
pub fn memparse(text: &mut &str) -> Option<u64> {
    let (radix, digits) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &text[2..]),
        [b'0', b'0'..=b'7', ..] => (8, &text[1..]),
        _ => (10, *text),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let value = u64::from_str_radix(&digits[..end], radix).ok()?;
    let rest = &digits[end..];
    let power = rest.chars().next().and_then(|unit| "KMGTPE".find(unit.to_ascii_uppercase()));
    *text = &rest[usize::from(power.is_some())..];
    value.checked_mul(1u64 << (10 * power.map_or(0, |power| power as u32 + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<(String, u64, u64)> {
        let parts = parse(text, 16 << 20).unwrap();
        parts.into_iter().map(|part| (part.name, part.offset_bytes, part.size_bytes)).collect()
    }

    #[test]
    fn partitions_are_those_of_the_kernel() {
        let text = "mtdparts=omap2-nand.0:512k(SPL)ro,0x100000(u-boot)ro,8M@0x400000(root:fs)lk,-(data)slc";
        let all = [("SPL", 0, 512 << 10), ("u-boot", 512 << 10, 1 << 20), ("root:fs", 4 << 20, 8 << 20)];
        let expected = [&all[..], &[("data", 12 << 20, 4 << 20)]].concat();
        let expected: Vec<_> = expected.into_iter().map(|(name, at, size)| (name.to_string(), at, size)).collect();
        assert_eq!(parsed(text), expected);
        // Bus addresses have colons; unnamed partitions have numbers; sizes are cut off at the end of the chip.
        assert_eq!(
            parsed("spi0:1:010000k,1G"),
            [("Partition_000".to_string(), 0, 4096 << 10), ("Partition_001".to_string(), 4 << 20, 12 << 20)]
        );
        assert_eq!(parsed("-(all)"), [("all".to_string(), 0, 16 << 20)]);
    }

    #[test]
    fn what_is_not_understood_is_told() {
        for (text, told) in [
            ("", "no size at"),
            ("nand:1M(a", "a name is not closed"),
            ("nand:0(a)", "partition 0 has size 0"),
            ("nand:-(a),1M(b)", "nothing may follow"),
            ("nand:1M(a)rw", "\"rw\" is not understood"),
            ("nand:1M(a);nor:1M(b)", "several chips"),
            ("nand:1M(a),1M(a)", "two partitions are called a"),
            ("nand:1M@1G(a)", "no partition is in"),
        ] {
            let error = parse(text, 16 << 20).unwrap_err();
            assert!(error.contains(told) && !error.contains('\n'), "{error}");
        }
    }
}
