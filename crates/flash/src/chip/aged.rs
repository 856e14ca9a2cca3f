//! The chip's side of ageing: what it tells the model of each operation, and what comes of it.

use super::Chip;
use crate::ageing::{Ageing, AgeingState, Ages, Frames};

impl Chip {
    /// The chip ages by this model from now on. Until a driver says otherwise ([`Chip::set_frames`]), frames are 256 data bytes
    /// without a code.
    pub fn set_ageing(&mut self, model: Ageing) {
        let geometry = self.geometry();
        let frames = Frames::new(geometry.page_bytes, 256, &vec![None; geometry.oob_bytes as usize]);
        self.reading.ageing = Some(Box::new(AgeingState::new(model, frames, geometry.blocks, geometry.pages())));
    }

    /// What the driver corrects together.
    pub fn set_frames(&mut self, frames: Frames) {
        if let Some(ageing) = &mut self.reading.ageing {
            ageing.frames = frames;
        }
    }

    /// The model by which the chip ages, if any.
    pub fn ageing(&self) -> Option<&Ageing> {
        self.reading.ageing.as_ref().map(|state| state.model())
    }

    /// So many seconds pass for the cells at this temperature while the device is switched off; virtual time stands still.
    /// Returns whether the chip ages at all.
    pub fn lies(&mut self, time_s: f64, celsius: f64) -> bool {
        match &mut self.reading.ageing {
            Some(ageing) => ageing.lies(time_s, celsius),
            None => return false,
        }
        // Who kept pages in RAM does not see what has happened to them.
        self.contents_changed();
        true
    }

    /// Selects the read retry mode of the following reads; 0: the normal one.
    pub fn set_read_retry(&mut self, mode: u32) {
        if let Some(ageing) = &mut self.reading.ageing {
            ageing.retry_mode = mode;
        }
    }

    pub(crate) fn ages(&self) -> Option<Ages> {
        self.reading.ageing.as_ref().map(|state| state.ages.clone())
    }

    /// A content without ages was programmed at time 0.
    pub(crate) fn put_ages(&mut self, ages: Option<&Ages>) {
        if let Some(ageing) = &mut self.reading.ageing {
            ageing.ages = ages.cloned().unwrap_or_else(|| Ages::of(self.cells.geometry.pages()));
        }
    }
}
