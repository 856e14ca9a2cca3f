//! What a step makes of an image.

/// An image of which something was undone.
pub(super) struct Plain {
    pub image: Vec<u8>,
    /// What was undone, in a sentence each.
    pub said: Vec<String>,
    /// Why its content may be wrong.
    pub doubts: Vec<String>,
}
