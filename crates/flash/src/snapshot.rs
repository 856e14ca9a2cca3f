//! Snapshots: the content of a chip, to be put back as often as a test needs it.

use thiserror::Error;

use crate::cells::Cells;
use crate::chip::Chip;
use crate::geometry::Geometry;

/// The content of a chip: data, OOB, program counts, wear. See [`Chip::snapshot`].
#[derive(Clone)]
pub struct ChipImage(Cells);

impl ChipImage {
    pub fn geometry(&self) -> Geometry {
        self.0.geometry
    }

    /// The content as bytes, for [`ChipImage::from_bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.to_bytes()
    }

    pub(crate) fn of(cells: &Cells) -> ChipImage {
        ChipImage(cells.clone())
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
        Cells::from_bytes(bytes, geometry).map(ChipImage)
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
    /// A copy of the content: data, OOB, program counts, wear. Faults, power and clock are not included.
    pub fn snapshot(&self) -> ChipImage {
        ChipImage::of(&self.cells)
    }

    /// Puts the content of a snapshot back; it must come from a chip of the same geometry.
    pub fn restore(&mut self, image: &ChipImage) -> Result<(), GeometryMismatch> {
        image.put_into(&mut self.cells)?;
        self.contents_changed();
        Ok(())
    }
}
