//! What an input means: see ../README.md.

use ffslab_flash::Geometry;

/// The damaged image that an input stands for.
pub struct Damaged {
    /// Which of the images it was.
    pub number: usize,
    pub image: Vec<u8>,
    /// Checksums are to be made right again.
    pub reseal: bool,
}

/// Takes an image and applies the patches of `input` to it. `None`: the input is empty.
pub fn apply(input: &[u8], images: &[Vec<u8>], geometry: Geometry) -> Option<Damaged> {
    let (&choice, mut patches) = input.split_first()?;
    let number = usize::from(choice & 0x7F) % images.len();
    let mut image = images[number].clone();
    let stride = (geometry.page_bytes + geometry.oob_bytes) as usize;
    while let [page_low, page_high, offset_low, offset_high, length, rest @ ..] = patches {
        let page = usize::from(u16::from_le_bytes([*page_low, *page_high])) % geometry.pages() as usize;
        let offset = usize::from(u16::from_le_bytes([*offset_low, *offset_high])) % stride;
        let length = usize::from(*length).min(rest.len()).min(stride - offset);
        let start = page * stride + offset;
        image[start..start + length].copy_from_slice(&rest[..length]);
        patches = &rest[length..];
    }
    Some(Damaged { number, image, reseal: choice & 0x80 != 0 })
}
