//! Which contents of one file may be found after a power cut.

/// A file's states since it was last durable.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileHistory {
    /// Its content when fsync or sync last succeeded.
    pub safe: Vec<u8>,
    /// Writes and size changes since then.
    pub pending: Vec<Pending>,
    /// Smallest and largest size since then.
    pub size_min: usize,
    pub size_max: usize,
}

#[derive(Clone, Debug)]
pub(crate) enum Pending {
    Data { at: usize, data: Vec<u8> },
    Size(usize),
}

/// Of a file's content that is compared at once.
const PIECE_BYTES: usize = 256;
const ZEROS: [u8; PIECE_BYTES] = [0; PIECE_BYTES];

impl FileHistory {
    /// Checks whether `found` may be the content after a power cut; `older_data`: see [`crate::history::Latitude`].
    ///
    /// Errors: the size or the first byte that cannot be, in words.
    pub fn explains(&self, found: &[u8], older_data: bool) -> Result<(), String> {
        if !(self.size_min..=self.size_max).contains(&found.len()) {
            return Err(format!("{} bytes, expected {} to {}", found.len(), self.size_min, self.size_max));
        }
        for (number, piece) in found.chunks(PIECE_BYTES).enumerate() {
            let at = number * PIECE_BYTES;
            if !self.explains_whole(at, piece) {
                self.explains_bytes(at, piece, older_data)?;
            }
        }
        Ok(())
    }

    /// Whether one state explains the whole piece at `at`, as nearly always: comparing slices is many times faster than
    /// asking for each byte.
    fn explains_whole(&self, at: usize, piece: &[u8]) -> bool {
        let end = at + piece.len();
        let are_zeros = || piece == &ZEROS[..piece.len()];
        match self.safe.get(at..end) {
            Some(safe) if safe == piece => return true,
            None if at >= self.safe.len() && are_zeros() => return true,
            _ => {}
        }
        self.pending.iter().any(|pending| match pending {
            Pending::Data { at: begin, data } => {
                at.checked_sub(*begin).and_then(|from| data.get(from..from + piece.len())) == Some(piece)
            }
            Pending::Size(size) => at >= *size && are_zeros(),
        })
    }

    /// Each byte of the piece at `at` for itself.
    fn explains_bytes(&self, at: usize, piece: &[u8], older_data: bool) -> Result<(), String> {
        for (at, &byte) in (at..).zip(piece) {
            let safe = self.safe.get(at).copied().unwrap_or(0);
            let forgiven = older_data && (safe == 0 || self.pending.iter().any(|pending| pending.cuts(at)));
            if byte != safe && !forgiven && !self.pending.iter().any(|pending| pending.allows(at, byte)) {
                return Err(format!(
                    "byte {at} is {byte:#04x}, safe was {safe:#04x} (of {} bytes), and nobody wrote that since",
                    self.safe.len()
                ));
            }
        }
        Ok(())
    }
}

impl Pending {
    fn cuts(&self, offset: usize) -> bool {
        matches!(self, Pending::Size(size) if offset >= *size)
    }

    fn allows(&self, offset: usize, byte: u8) -> bool {
        match self {
            Pending::Data { at, data } => offset.checked_sub(*at).and_then(|i| data.get(i)) == Some(&byte),
            Pending::Size(size) => byte == 0 && offset >= *size,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Random;

    /// Contents of few values, so that pieces often fit a state, and often only in parts.
    fn content(random: &mut Random, bytes: usize) -> Vec<u8> {
        let mut content = vec![0; bytes];
        for _ in 0..random.below(4) {
            let from = random.below(bytes as u64) as usize;
            content[from..].fill(random.below(3) as u8);
        }
        content
    }

    #[test]
    fn pieces_are_judged_as_their_bytes_are() {
        let mut random = Random(1);
        let mut explained = 0;
        for number in 0..20_000 {
            let sizes: Vec<usize> = (0..3).map(|_| 1 + random.below(3 * PIECE_BYTES as u64) as usize).collect();
            let file = FileHistory {
                safe: content(&mut random, sizes[0]),
                pending: (0..random.below(3))
                    .map(|_| match random.below(3) {
                        0 => Pending::Size(random.below(sizes[0] as u64) as usize),
                        _ => Pending::Data {
                            at: random.below(PIECE_BYTES as u64) as usize,
                            data: content(&mut random, sizes[1]),
                        },
                    })
                    .collect(),
                size_min: 0,
                size_max: usize::MAX,
            };
            let mut found = match random.below(3) {
                0 => content(&mut random, sizes[2]),
                _ => file.safe.clone(),
            };
            if let (Some(Pending::Data { at, data }), true) = (file.pending.first(), random.below(2) == 0) {
                found.resize(found.len().max(at + data.len()), 0);
                found[*at..at + data.len()].copy_from_slice(data);
            }
            let older_data = random.below(2) == 0;
            let judged = file.explains(&found, older_data);
            assert_eq!(judged, file.explains_bytes(0, &found, older_data), "case {number}");
            explained += u32::from(judged.is_ok());
        }
        assert!((1_000..19_000).contains(&explained), "{explained} of 20,000 contents may be found");
    }
}
