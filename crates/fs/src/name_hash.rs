//! The hash of a name that the kernel offers its file systems.

/// How `full_name_hash` makes 32 bits of a name. It is not the same on all machines, and what is ordered by it in
/// memory, as JFFS2's directories are, is ordered differently there.
///
/// By the word since Linux 4.8, with `CONFIG_DCACHE_WORD_ACCESS`, which x86, arm64 and little-endian ARM from v6 on
/// have (`fs/namei.c`; `arch/*/Kconfig`); by the byte elsewhere (`include/linux/stringhash.h`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameHash {
    #[default]
    Bytes,
    /// Little-endian machines whose `unsigned long` has 32 bits.
    Words32,
    /// Little-endian machines whose `unsigned long` has 64 bits.
    Words64,
}

impl NameHash {
    /// The hash of `name`, without salt.
    pub fn of(self, name: &[u8]) -> u32 {
        match self {
            NameHash::Bytes => by_byte(name),
            NameHash::Words32 => by_word32(name),
            NameHash::Words64 => by_word64(name),
        }
    }
}

const GOLDEN_RATIO_32: u32 = 0x61C8_8647;
const GOLDEN_RATIO_64: u64 = 0x61C8_8646_80B5_83EB;

fn by_byte(name: &[u8]) -> u32 {
    let mut hash: u64 = 0;
    for &byte in name {
        let c = u64::from(byte);
        hash = (hash + (c << 4) + (c >> 4)).wrapping_mul(11);
    }
    // end_name_hash is hash_long to 32 bits. That of kernels before 4.6 only cut off the upper half; they are not told apart.
    (hash.wrapping_mul(GOLDEN_RATIO_64) >> 32) as u32
}

/// Whole words are mixed into two sums; the rest of the name, filled up with zeros, enters the first one only.
fn by_word32(name: &[u8]) -> u32 {
    let (words, rest) = name.as_chunks();
    let (mut x, mut y) = (0u32, 0u32);
    for &word in words {
        x ^= u32::from_le_bytes(word);
        y ^= x;
        x = x.rotate_left(7).wrapping_add(y);
        y = y.rotate_left(20).wrapping_mul(9);
    }
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    x ^= u32::from_le_bytes(last);
    (y ^ x.wrapping_mul(GOLDEN_RATIO_32)).wrapping_mul(GOLDEN_RATIO_32)
}

fn by_word64(name: &[u8]) -> u32 {
    let (words, rest) = name.as_chunks();
    let (mut x, mut y) = (0u64, 0u64);
    for &word in words {
        x ^= u64::from_le_bytes(word);
        y ^= x;
        x = x.rotate_left(12).wrapping_add(y);
        y = y.rotate_left(45).wrapping_mul(9);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    x ^= u64::from_le_bytes(last);
    ((y ^ x.wrapping_mul(GOLDEN_RATIO_64)).wrapping_mul(GOLDEN_RATIO_64) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::NameHash;

    /// `readdir` of JFFS2 on Debian's kernels for x86-64: of 5.10, 6.1 and 6.12 (the measured cases
    /// `reference/jffs2-names`), and names of up to five words on 6.1.
    #[test]
    fn words_of_64_bits_order_names_as_measured_kernels_do() {
        let short = [
            "f0002", "f0034", "f0007", "f0039", "f0023", "f0028", "f0012", "f0017", "f0001", "f0033", "f0006", "f0038",
            "f0022", "f0027", "f0011", "f0016", "f0000", "f0032",
        ];
        let long = [
            "journal",
            "kernel-journal",
            "driver-block-page-index-wear.txt",
            "journal-journal-data-data-page81",
            "table-erase-erase-data-level.txt",
            "level-kernel-index-journal-backup76",
            "block-index-config-table-erase.db",
            "ccc",
            "five5",
            "kernel",
            "table-level-sensor-config-level.db",
            "wear-level-log-journal-block.db",
            "seven77",
            "page-sensor33",
            "block-journal",
            "backup.txt",
            "config-block-backup-driver-erase",
            "log-wear31",
            "wear",
            "table.txt",
            "backup-log86",
            "page95",
            "data.db",
            "level-table-table-index-level54",
            "page",
            "block",
            "wear-index.txt",
            "index.txt",
            "backup58",
            "kernel.db",
            "config8",
            "bb",
        ];
        let ordered = |names: &[&str], hash: NameHash| names.is_sorted_by_key(|name| hash.of(name.as_bytes()));
        for names in [&short[..], &long[..]] {
            assert!(ordered(names, NameHash::Words64));
            assert!(!ordered(names, NameHash::Words32) && !ordered(names, NameHash::Bytes));
        }
    }

    /// Worked out apart from this code, from the rule: of a name of one byte two multiplications remain; one of four
    /// bytes is a word without a rest.
    #[test]
    fn words_of_32_bits_follow_the_rule() {
        let golden = 0x61C8_8647_u32;
        assert_eq!(NameHash::Words32.of(b""), 0);
        assert_eq!(NameHash::Words32.of(b"a"), 0x61u32.wrapping_mul(golden).wrapping_mul(golden));
        assert_eq!(NameHash::Words32.of(b"abcd"), 0xEEE7_CC35);
        assert_eq!(NameHash::Words32.of(b"f0001"), 0xAABA_A81E);
    }
}
