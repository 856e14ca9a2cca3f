//! Snapshots: the content of a chip, to be put back as often as a test needs it.

use thiserror::Error;

use crate::ageing::Ages;
use crate::cells::Cells;
use crate::chip::Chip;
use crate::geometry::Geometry;

/// Ends the bytes of an image of a chip that ages.
const AGES_MARK: &[u8; 8] = b"ffslabA1";

/// The content of a chip: data, OOB, program counts, wear; of one that ages, when its pages were programmed. See
/// [`Chip::snapshot`].
#[derive(Clone)]
pub struct ChipImage(Cells, Option<Ages>);

impl ChipImage {
    pub fn geometry(&self) -> Geometry {
        self.0.geometry
    }

    /// The content as bytes, for [`ChipImage::from_bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.0.to_bytes();
        if let Some(ages) = &self.1 {
            let content_bytes = bytes.len() as u64;
            bytes.extend_from_slice(&ages.to_bytes());
            bytes.extend_from_slice(&content_bytes.to_le_bytes());
            bytes.extend_from_slice(AGES_MARK);
        }
        bytes
    }

    pub(crate) fn cells(&self) -> &Cells {
        &self.0
    }

    pub(crate) fn cells_mut(&mut self) -> &mut Cells {
        &mut self.0
    }

    /// Whether it tells when its pages were programmed.
    pub fn has_ages(&self) -> bool {
        self.1.is_some()
    }

    pub(crate) fn of(cells: &Cells) -> ChipImage {
        ChipImage(cells.clone(), None)
    }

    pub(crate) fn put_into(&self, cells: &mut Cells) -> Result<(), GeometryMismatch> {
        if self.0.geometry != cells.geometry {
            return Err(GeometryMismatch { image: self.0.geometry, chip: cells.geometry });
        }
        cells.clone_from(&self.0);
        Ok(())
    }

    /// `None`: the bytes are not those of a chip of this geometry. Apart from that they are trusted.
    pub fn from_bytes(bytes: &[u8], geometry: Geometry) -> Option<ChipImage> {
        let Some(with_length) = bytes.strip_suffix(AGES_MARK) else {
            return Cells::from_bytes(bytes, geometry).map(|cells| ChipImage(cells, None));
        };
        let (rest, content_bytes) = with_length.split_last_chunk::<8>()?;
        let (content, ages) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*content_bytes)).ok()?)?;
        let ages = Ages::from_bytes(ages, geometry.pages())?;
        Some(ChipImage(Cells::from_bytes(content, geometry)?, Some(ages)))
    }
}

/// A snapshot of a different chip.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the snapshot is of another chip: it was taken of {image:?}, this chip is {chip:?}")]
pub struct GeometryMismatch {
    pub image: Geometry,
    pub chip: Geometry,
}

impl Chip {
    /// A copy of the content: data, OOB, program counts, wear, and of a chip that ages when its pages were programmed. Faults, power
    /// and clock are not included.
    pub fn snapshot(&self) -> ChipImage {
        ChipImage(self.cells.clone(), self.ages())
    }

    /// Puts the content of a snapshot back; it must come from a chip of the same geometry.
    pub fn restore(&mut self, image: &ChipImage) -> Result<(), GeometryMismatch> {
        image.put_into(&mut self.cells)?;
        self.put_ages(image.1.as_ref());
        self.contents_changed();
        Ok(())
    }
}
