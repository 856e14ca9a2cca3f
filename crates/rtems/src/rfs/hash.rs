//! The hash of names in directories: Bob Jenkins' `lookup3` (public domain), byte by byte.
//!
//! `rtems-rfs-dir-hash.c` reads words on little-endian CPUs and comes to the same value.

const SEED: u32 = 20_010_928;

/// Hash of a name.
pub fn name_hash(name: &[u8]) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(name.len() as u32).wrapping_add(SEED);
    let (mut a, mut b, mut c) = (start, start, start);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0u32, |word, &byte| word << 8 | u32::from(byte));
    let mut rest = name;
    while rest.len() > 12 {
        a = a.wrapping_add(word(&rest[..4]));
        b = b.wrapping_add(word(&rest[4..8]));
        c = c.wrapping_add(word(&rest[8..12]));
        a = a.wrapping_sub(c) ^ c.rotate_left(4);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(6);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(8);
        b = b.wrapping_add(a);
        a = a.wrapping_sub(c) ^ c.rotate_left(16);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(19);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(4);
        b = b.wrapping_add(a);
        rest = &rest[12..];
    }
    if rest.is_empty() {
        return c;
    }
    a = a.wrapping_add(word(&rest[..rest.len().min(4)]));
    if rest.len() > 4 {
        b = b.wrapping_add(word(&rest[4..rest.len().min(8)]));
    }
    if rest.len() > 8 {
        c = c.wrapping_add(word(&rest[8..]));
    }
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

#[cfg(test)]
mod tests {
    use super::name_hash;

    /// lookup3's own check values, with the seed that makes its start value ours.
    #[test]
    fn the_empty_name_hashes_to_the_start_value() {
        assert_eq!(name_hash(b""), 0xdead_beef_u32.wrapping_add(20_010_928));
    }

    #[test]
    fn each_byte_counts() {
        let name = b"a name of twenty-six bytes";
        for at in 0..name.len() {
            let mut other = *name;
            other[at] ^= 1;
            assert_ne!(name_hash(name), name_hash(&other), "byte {at}");
        }
    }
}
