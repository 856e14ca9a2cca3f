//! Encrypted files of UBIFS, with their master key: names, targets of links and blocks become what they were.
//!
//! **Follows.** `Documentation/filesystems/fscrypt.rst` of Linux (policies, key derivation, modes), `fs/crypto/fscrypt_private.h` (the
//! context that each inode keeps), `fs/crypto/keysetup_v1.c`, `fs/crypto/hkdf.c`, `fs/crypto/fname.c`, `fs/ubifs/crypto.c` (what of a data
//! node is encrypted).
//!
//! **Leaves out.** Adiantum, HCTR2 and SM4, which are named; policies that derive a key from inode numbers, which UBIFS does not take.

use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use aes::{Aes128, Aes256, Block};
use hkdf::Hkdf;
use sha2::{Digest, Sha256, Sha512};

const BLOCK_BYTES: usize = 16;
const NONCE_BYTES: usize = 16;
const IDENTIFIER_BYTES: usize = 16;
const DESCRIPTOR_BYTES: usize = 8;
/// A master key has no fewer bytes and no more.
pub const KEY_BYTES: std::ops::RangeInclusive<usize> = 16..=64;
/// Padding of names; other flags say how keys are derived, and need modes or file systems that are not read here.
const FLAGS_OF_PADDING: u8 = 3;
/// So many names tell whether a key is right.
const NAMES_TRIED: usize = 64;
const HKDF_PREFIX: &[u8] = b"fscrypt\0";
const HKDF_IDENTIFIER: u8 = 1;
const HKDF_FILE_KEY: u8 = 2;

/// What an encrypted inode keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    version: u8,
    contents_mode: u8,
    names_mode: u8,
    flags: u8,
    /// Of version 1 eight bytes that whoever made the policy chose, of version 2 sixteen that follow from the key.
    key_name: Vec<u8>,
    nonce: [u8; NONCE_BYTES],
}

impl Context {
    pub fn of(bytes: &[u8]) -> Option<Context> {
        let (version, name_at, name_bytes) = match *bytes.first()? {
            1 => (1, 4, DESCRIPTOR_BYTES),
            2 => (2, 8, IDENTIFIER_BYTES),
            _ => return None,
        };
        let (key_name, nonce) = bytes.get(name_at..)?.split_at_checked(name_bytes)?;
        Some(Context {
            version,
            contents_mode: bytes[1],
            names_mode: bytes[2],
            flags: bytes[3],
            key_name: key_name.to_vec(),
            nonce: *nonce.first_chunk()?,
        })
    }

    /// How people name the key that it wants.
    pub fn key_text(&self) -> String {
        let digits: String = self.key_name.iter().map(|byte| format!("{byte:02x}")).collect();
        let kind = if self.version == 1 { "descriptor" } else { "identifier" };
        format!("the key with the {kind} {digits}")
    }

    fn mode(&self, of_names: bool) -> u8 {
        if of_names {
            self.names_mode
        } else {
            self.contents_mode
        }
    }
}

/// The master keys that somebody has given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MasterKeys {
    keys: Vec<Vec<u8>>,
    /// A key whose name says nothing of it has made no text of names: it is not used.
    is_doubted: bool,
}

impl MasterKeys {
    /// `None`: a master key has other sizes.
    pub fn of(keys: Vec<Vec<u8>>) -> Option<MasterKeys> {
        keys.iter().all(|key| KEY_BYTES.contains(&key.len())).then_some(MasterKeys { keys, is_doubted: false })
    }

    /// The keys without one that makes no text of these names, each with the context of its directory. What is opened with a wrong key is
    /// other bytes, and nothing tells.
    pub fn proven<'n>(&self, names: impl Iterator<Item = (&'n Context, &'n [u8])>) -> MasterKeys {
        let is_unproven = |context: &Context| context.version == 1 && self.named(context).is_none();
        let texts =
            names.filter(|(context, _)| is_unproven(context)).take(NAMES_TRIED).filter_map(|(context, name)| {
                let opened = self.open(context, true).ok()?;
                Some(opened.name(name).is_some_and(|name| is_text(&name)))
            });
        let (all, right) = texts.fold((0, 0), |(all, right), is_right| (all + 1, right + usize::from(is_right)));
        MasterKeys { keys: self.keys.clone(), is_doubted: 2 * right < all }
    }

    /// What opens names or content of the inode with this context.
    ///
    /// Errors: why nothing does.
    pub fn open(&self, context: &Context, of_names: bool) -> Result<Opened, String> {
        let mode = context.mode(of_names);
        let bytes = match mode {
            1 => 64,
            4 => 32,
            5 | 6 => 16,
            other => return Err(format!("it is encrypted with {}, which is not read", mode_name(other))),
        };
        if context.flags & !FLAGS_OF_PADDING != 0 {
            return Err(format!(
                "it is encrypted by a policy with the flags {:#04x}, which are not known",
                context.flags
            ));
        }
        let master = self.key_of(context).ok_or_else(|| {
            let other = if self.is_doubted { ": the one that is given makes no text of the names" } else { "" };
            format!("it is encrypted, and {} is not given{other}", context.key_text())
        })?;
        let key = match context.version {
            1 => derived_v1(master, &context.nonce, bytes),
            _ => expanded(master, HKDF_FILE_KEY, &context.nonce, bytes),
        };
        let key = key.ok_or_else(|| format!("its key has {} B, and {bytes} are needed", master.len()))?;
        Opened::new(mode, &key).ok_or_else(|| "its key has another size".to_string())
    }

    /// The key of a policy. That of version 1 has a name that says nothing of it, but tools make it of the key.
    fn key_of(&self, context: &Context) -> Option<&[u8]> {
        let is_taken = context.version == 1 && self.keys.len() == 1 && !self.is_doubted;
        self.named(context).or(self.keys.first().filter(|_| is_taken).map(Vec::as_slice))
    }

    /// The key from which the name in the context follows.
    fn named(&self, context: &Context) -> Option<&[u8]> {
        let has_name = |key: &&Vec<u8>| match context.version {
            1 => Sha512::digest(Sha512::digest(key)).starts_with(&context.key_name),
            _ => expanded(key, HKDF_IDENTIFIER, &[], IDENTIFIER_BYTES).as_ref() == Some(&context.key_name),
        };
        self.keys.iter().find(has_name).map(Vec::as_slice)
    }
}

fn is_text(name: &[u8]) -> bool {
    std::str::from_utf8(name).is_ok_and(|text| !text.contains(char::is_control))
}

fn mode_name(mode: u8) -> String {
    match mode {
        9 => "Adiantum".to_string(),
        10 => "AES-256-HCTR2".to_string(),
        7 | 8 => "SM4".to_string(),
        other => format!("the mode {other}"),
    }
}

/// Version 1: the master key encrypted with the nonce.
fn derived_v1(master: &[u8], nonce: &[u8; NONCE_BYTES], bytes: usize) -> Option<Vec<u8>> {
    let cipher = Aes128::new(nonce.into());
    let mut key = master.get(..bytes)?.to_vec();
    key.chunks_exact_mut(BLOCK_BYTES).for_each(|block| cipher.encrypt_block(Block::from_mut_slice(block)));
    Some(key)
}

/// Version 2: HKDF-SHA512 without salt.
fn expanded(master: &[u8], context: u8, info: &[u8], bytes: usize) -> Option<Vec<u8>> {
    let mut key = vec![0; bytes];
    let info = [HKDF_PREFIX, &[context], info].concat();
    Hkdf::<Sha512>::new(None, master).expand(&info, &mut key).ok()?;
    Some(key)
}

/// A key of an inode, ready.
pub enum Opened {
    /// XTS of blocks: the key of the data, and that of the tweak.
    Xts(Box<(Aes256, Aes256)>),
    /// CBC of blocks with a start that is encrypted (ESSIV).
    CbcEssiv(Box<(Aes128, Aes256)>),
    Cts256(Box<Aes256>),
    Cts128(Box<Aes128>),
}

impl Opened {
    fn new(mode: u8, key: &[u8]) -> Option<Opened> {
        Some(match mode {
            1 => {
                let (data, tweak) = key.split_at_checked(32)?;
                let of = |key: &[u8]| Aes256::new_from_slice(key).ok();
                Opened::Xts(Box::new((of(data)?, of(tweak)?)))
            }
            4 => Opened::Cts256(Box::new(Aes256::new_from_slice(key).ok()?)),
            5 => {
                let start = Aes256::new(&Sha256::digest(key));
                Opened::CbcEssiv(Box::new((Aes128::new_from_slice(key).ok()?, start)))
            }
            6 => Opened::Cts128(Box::new(Aes128::new_from_slice(key).ok()?)),
            _ => return None,
        })
    }

    /// Opens a block of a file, whole blocks of the cipher.
    pub fn block(&self, number: u32, bytes: &mut [u8]) {
        let mut start = Block::default();
        start[..4].copy_from_slice(&number.to_le_bytes());
        match self {
            Opened::Xts(keys) => xts(&keys.0, &keys.1, start, bytes),
            Opened::CbcEssiv(keys) => {
                keys.1.encrypt_block(&mut start);
                cbc(&keys.0, start, bytes);
            }
            Opened::Cts256(key) => cbc(key.as_ref(), start, bytes),
            Opened::Cts128(key) => cbc(key.as_ref(), start, bytes),
        }
    }

    /// A name or the target of a link, without the zeros that fill it up. `None`: with this key it is none.
    pub fn name(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut plain = bytes.to_vec();
        match self {
            Opened::Cts256(key) => cts(key.as_ref(), &mut plain)?,
            Opened::Cts128(key) => cts(key.as_ref(), &mut plain)?,
            Opened::Xts(_) | Opened::CbcEssiv(_) => return None,
        }
        let end = plain.iter().rposition(|&byte| byte != 0)? + 1;
        plain.truncate(end);
        (!plain.contains(&0)).then_some(plain)
    }
}

/// `crypto/xts.c`: each block has a tweak, twice that of the one before in GF(2^128).
fn xts(data: &Aes256, tweak_key: &Aes256, mut tweak: Block, bytes: &mut [u8]) {
    tweak_key.encrypt_block(&mut tweak);
    for block in bytes.chunks_exact_mut(BLOCK_BYTES) {
        let mix = |block: &mut [u8]| block.iter_mut().zip(&tweak).for_each(|(byte, mask)| *byte ^= mask);
        mix(block);
        data.decrypt_block(Block::from_mut_slice(block));
        mix(block);
        let number = u128::from_le_bytes(tweak.into());
        let carry = if number >> 127 == 1 { 0x87 } else { 0 };
        tweak = (number << 1 ^ carry).to_le_bytes().into();
    }
}

fn cbc<C: BlockDecrypt<BlockSize = aes::cipher::consts::U16>>(key: &C, mut before: Block, bytes: &mut [u8]) {
    for block in bytes.chunks_exact_mut(BLOCK_BYTES) {
        let stored = *Block::from_slice(block);
        key.decrypt_block(Block::from_mut_slice(block));
        block.iter_mut().zip(&before).for_each(|(byte, mask)| *byte ^= mask);
        before = stored;
    }
}

/// `crypto/cts.c`: CBC from zeros, whose last two blocks stand in the other order, the last one cut to what is left.
/// `None`: fewer bytes than a block.
fn cts<C: BlockDecrypt<BlockSize = aes::cipher::consts::U16>>(key: &C, bytes: &mut [u8]) -> Option<()> {
    let all = bytes.len();
    if all <= BLOCK_BYTES {
        (all == BLOCK_BYTES).then(|| cbc(key, Block::default(), bytes))?;
        return Some(());
    }
    let last_two = (all - 1) / BLOCK_BYTES * BLOCK_BYTES - BLOCK_BYTES;
    let before = match last_two.checked_sub(BLOCK_BYTES) {
        Some(at) => *Block::from_slice(&bytes[at..last_two]),
        None => Block::default(),
    };
    cbc(key, Block::default(), &mut bytes[..last_two]);
    let (full, short) = bytes[last_two..].split_at_mut(BLOCK_BYTES);
    let mut mixed = *Block::from_slice(full);
    key.decrypt_block(&mut mixed);
    // What is missing of the last block stands behind its end in the one that was mixed with it.
    let mut stored = mixed;
    stored[..short.len()].copy_from_slice(short);
    let mut first = stored;
    key.decrypt_block(&mut first);
    full.iter_mut().zip(first.iter().zip(&before)).for_each(|(byte, (plain, mask))| *byte = plain ^ mask);
    short.iter_mut().zip(mixed.iter().zip(&stored)).for_each(|(byte, (plain, mask))| *byte = plain ^ mask);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(digits: &str) -> Vec<u8> {
        let of = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.as_bytes().chunks(2).map(of).collect()
    }

    /// Vectors of RFC 3962 (appendix B), for "I would like the General Gau's Chicken, please, and wonton soup.".
    #[test]
    fn the_ends_of_names_are_those_of_the_rfc() {
        let key = Aes128::new_from_slice(b"chicken teriyaki").unwrap();
        let text = b"I would like the General Gau's Chicken, please, and wonton soup.";
        let stored = [
            (17, "c6353568f2bf8cb4d8a580362da7ff7f97"),
            (31, "fc00783e0efdb2c1d445d4c8eff7ed2297687268d6ecccc0c07b25e25ecfe5"),
            (32, "39312523a78662d5be7fcbcc98ebf5a897687268d6ecccc0c07b25e25ecfe584"),
            (47, "97687268d6ecccc0c07b25e25ecfe584b3fffd940c16a18c1b5549d2f838029e39312523a78662d5be7fcbcc98ebf5"),
        ];
        for (count, digits) in stored {
            let mut plain = bytes(digits);
            cts(&key, &mut plain).unwrap();
            assert_eq!(plain, &text[..count], "{count} B");
        }
    }

    /// Vector 10 of IEEE 1619-2007: AES-256, data unit 0xFF.
    #[test]
    fn blocks_are_those_of_the_standard() {
        let halves = "2718281828459045235360287471352662497757247093699959574966967627\
                      3141592653589793238462643383279502884197169399375105820974944592";
        let opened = Opened::new(1, &bytes(halves)).unwrap();
        let mut held = bytes("1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b");
        opened.block(0xFF, &mut held);
        assert_eq!(held, (0..32).collect::<Vec<u8>>());
    }

    #[test]
    fn whatever_stands_there_ends() {
        for count in 0..100 {
            let opened = Opened::new(4, &[7; 32]).unwrap();
            let _ = opened.name(&vec![0x5A; count]);
            assert!(Context::of(&vec![2; count]).is_none() == (count < 40));
        }
    }
}
