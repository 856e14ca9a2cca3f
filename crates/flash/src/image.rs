//! Image files: the bytes of a chip or of a range of blocks, as `nanddump` writes and `nandwrite` reads them.
//!
//! Without OOB: the data areas, page after page. With OOB: data, OOB, data, OOB ... (`nanddump --oob`, `nandwrite -o`).

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::chip::Chip;
use crate::hamming;

/// What an image file holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageLayout {
    /// Each page is followed by its OOB area.
    pub oob: bool,
    /// On saving with OOB: ECC bytes of programmed pages that are still 0xFF get the Hamming code that a kernel with
    /// software ECC expects ([`hamming`]), so that it accepts an image written by `nandwrite -o`. Steps whose program
    /// was cut off get a code with which the kernel, too, finds them uncorrectable.
    pub hamming_ecc: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ImageError {
    /// `why`: what the computer says that the simulation runs on.
    #[error("{path}: {why}")]
    Io { path: PathBuf, why: String },
    #[error("blocks {start} to {end} are not a part of the chip, which has {count} blocks")]
    Range { start: u32, end: u32, count: u32 },
    #[error(
        "{path}: {bytes} bytes are not a whole number of pages of {page_bytes} bytes ({layout}); \
         {fitting_bytes} bytes would be"
    )]
    NotWholePages { path: PathBuf, bytes: u64, page_bytes: u64, layout: &'static str, fitting_bytes: u64 },
    #[error("{path}: {bytes} bytes do not fit: the good blocks of the range hold {room_bytes} bytes ({layout})")]
    TooLarge { path: PathBuf, bytes: u64, room_bytes: u64, layout: &'static str },
    #[error("no place for Hamming ECC bytes in pages of {page_bytes} + {oob_bytes} bytes: Linux has layouts for 512 + 16, 2048 + 64, 2048 + 128 and 4096 + 128")]
    NoHammingLayout { page_bytes: u32, oob_bytes: u32 },
}

impl ImageError {
    fn io(path: &Path, error: &io::Error) -> ImageError {
        ImageError::Io { path: path.to_path_buf(), why: error.to_string() }
    }
}

impl ImageLayout {
    fn text(self) -> &'static str {
        if self.oob {
            "data and OOB"
        } else {
            "data only"
        }
    }
}

impl Chip {
    /// Erases a range of blocks and loads an image into it, without taking time or wear. Pages that are all 0xFF stay
    /// erased. A shorter image leaves the remaining blocks erased.
    ///
    /// An image without OOB skips bad blocks, as `nandwrite` does. An image with OOB is a dump and goes back block by
    /// block, with its bad block marks.
    ///
    /// Returns the number of pages the image has. On an error the chip is unchanged, unless the file cannot be read to
    /// its end.
    pub fn load_image(&mut self, path: &Path, blocks: Range<u32>, layout: ImageLayout) -> Result<u32, ImageError> {
        let at_path = |error| ImageError::io(path, &error);
        let mut file = File::open(path).map_err(at_path)?;
        let bytes = file.metadata().map_err(at_path)?.len();
        self.check_image_size(path, bytes, &blocks, layout)?;
        self.load(&mut BufReader::with_capacity(1 << 20, &mut file), bytes, blocks, layout).map_err(at_path)
    }

    /// As [`Chip::load_image`], from memory. `name` names the image in error messages.
    pub fn load_bytes(
        &mut self,
        name: &str,
        mut image: &[u8],
        blocks: Range<u32>,
        layout: ImageLayout,
    ) -> Result<u32, ImageError> {
        let bytes = image.len() as u64;
        self.load_from(name, &mut image, bytes, blocks, layout)
    }

    /// As [`Chip::load_bytes`], from a reader that yields `bytes` bytes.
    pub fn load_from(
        &mut self,
        name: &str,
        from: &mut dyn Read,
        bytes: u64,
        blocks: Range<u32>,
        layout: ImageLayout,
    ) -> Result<u32, ImageError> {
        let path = Path::new(name);
        self.check_image_size(path, bytes, &blocks, layout)?;
        self.load(from, bytes, blocks, layout).map_err(|error| ImageError::io(path, &error))
    }

    /// Writes a range of blocks into a file. The file appears complete or not at all: it is written under another name
    /// in the same folder and then renamed.
    pub fn save_image(&self, path: &Path, blocks: Range<u32>, layout: ImageLayout) -> Result<(), ImageError> {
        self.check_save(&blocks, layout)?;
        let at_path = |error| ImageError::io(path, &error);
        let name = path.file_name().ok_or_else(|| {
            at_path(io::Error::new(io::ErrorKind::InvalidInput, "this path has no file name to save an image under"))
        })?;
        let mut temporary_name = std::ffi::OsString::from(".");
        temporary_name.push(name);
        temporary_name.push(format!(".{}.part", std::process::id()));
        let temporary = path.with_file_name(temporary_name);
        let result = File::create(&temporary).and_then(|file| {
            let mut out = BufWriter::with_capacity(1 << 20, file);
            self.save(&mut out, blocks, layout)?;
            out.into_inner().map_err(|error| error.into_error())?.sync_all()?;
            std::fs::rename(&temporary, path)
        });
        result.map_err(|source| {
            // Only the first error is reported; the temporary file may not even exist.
            let _ = std::fs::remove_file(&temporary);
            at_path(source)
        })
    }

    /// Writes a range of blocks to `out`.
    pub fn write_image(&self, out: &mut dyn Write, blocks: Range<u32>, layout: ImageLayout) -> Result<(), ImageError> {
        self.check_save(&blocks, layout)?;
        self.save(out, blocks, layout).map_err(|error| ImageError::io(Path::new("image"), &error))
    }

    fn check_range(&self, blocks: &Range<u32>) -> Result<(), ImageError> {
        let count = self.geometry().blocks;
        if blocks.start > blocks.end || blocks.end > count {
            return Err(ImageError::Range { start: blocks.start, end: blocks.end, count });
        }
        Ok(())
    }

    fn check_save(&self, blocks: &Range<u32>, layout: ImageLayout) -> Result<(), ImageError> {
        self.check_range(blocks)?;
        let geometry = self.geometry();
        let (page_bytes, oob_bytes) = (geometry.page_bytes, geometry.oob_bytes);
        if layout.oob && layout.hamming_ecc && hamming::oob_place(page_bytes, oob_bytes, 0).is_none() {
            return Err(ImageError::NoHammingLayout { page_bytes, oob_bytes });
        }
        Ok(())
    }

    fn check_image_size(
        &self,
        path: &Path,
        bytes: u64,
        blocks: &Range<u32>,
        layout: ImageLayout,
    ) -> Result<(), ImageError> {
        self.check_range(blocks)?;
        let geometry = self.geometry();
        let page_bytes = u64::from(geometry.page_bytes + if layout.oob { geometry.oob_bytes } else { 0 });
        if !bytes.is_multiple_of(page_bytes) {
            return Err(ImageError::NotWholePages {
                path: path.to_path_buf(),
                bytes,
                page_bytes,
                layout: layout.text(),
                fitting_bytes: bytes.next_multiple_of(page_bytes),
            });
        }
        let good_blocks = blocks.clone().filter(|&block| layout.oob || !self.is_marked_bad(block)).count() as u64;
        let room_bytes = good_blocks * u64::from(geometry.pages_per_block) * page_bytes;
        if bytes > room_bytes {
            let layout = layout.text();
            return Err(ImageError::TooLarge { path: path.to_path_buf(), bytes, room_bytes, layout });
        }
        Ok(())
    }

    fn load(&mut self, from: &mut dyn Read, bytes: u64, blocks: Range<u32>, layout: ImageLayout) -> io::Result<u32> {
        let geometry = self.geometry();
        let mut data = vec![0; geometry.page_bytes as usize];
        let mut oob = vec![0xFF; geometry.oob_bytes as usize];
        let (erased, erased_oob) = (vec![0xFF; data.len()], oob.clone());
        let page_bytes = (data.len() + if layout.oob { oob.len() } else { 0 }) as u64;
        let pages = (bytes / page_bytes) as u32;
        let mut loaded = 0;
        self.contents_changed();
        for block in blocks {
            if !layout.oob && self.is_marked_bad(block) {
                continue;
            }
            self.cells.wipe(block);
            for index in 0..geometry.pages_per_block.min(pages - loaded) {
                let page = block * geometry.pages_per_block + index;
                from.read_exact(&mut data)?;
                if data != erased {
                    self.cells.program_data(page, &data);
                }
                if layout.oob {
                    from.read_exact(&mut oob)?;
                    if oob != erased_oob {
                        self.cells.program_oob(page, &oob);
                    }
                }
                loaded += 1;
            }
        }
        Ok(pages)
    }

    fn save(&self, out: &mut dyn Write, blocks: Range<u32>, layout: ImageLayout) -> io::Result<()> {
        let geometry = self.geometry();
        let erased = vec![0xFF; geometry.page_bytes as usize];
        let mut oob = vec![0xFF; geometry.oob_bytes as usize];
        for page in blocks.start * geometry.pages_per_block..blocks.end * geometry.pages_per_block {
            let data = self.peek_data(page);
            out.write_all(data.unwrap_or(&erased))?;
            if layout.oob {
                self.cells.read_oob(page, &mut oob);
                if let (true, Some(data)) = (layout.hamming_ecc, data) {
                    self.fill_hamming(page, data, &mut oob);
                }
                out.write_all(&oob)?;
            }
        }
        out.flush()
    }

    /// Puts the code of each step whose three ECC bytes are still erased into `oob`.
    fn fill_hamming(&self, page: u32, data: &[u8], oob: &mut [u8]) {
        let geometry = self.geometry();
        let damaged = self.damaged_units(page);
        for (step, bytes) in data.chunks_exact(hamming::STEP_BYTES).enumerate() {
            let first = (step * hamming::CODE_BYTES) as u32;
            let place =
                |k| hamming::oob_place(geometry.page_bytes, geometry.oob_bytes, first + k).map(|at| at as usize);
            let (Some(a), Some(b), Some(c)) = (place(0), place(1), place(2)) else { return };
            if oob[a] & oob[b] & oob[c] == 0xFF {
                let lost = damaged >> step & 1 == 1;
                [oob[a], oob[b], oob[c]] = if lost { hamming::uncorrectable_code(bytes) } else { hamming::code(bytes) };
            }
        }
    }
}
