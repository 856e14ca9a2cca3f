//! Writes messages of protocol buffers into bytes. Three kinds of fields are needed; a generated encoder would build each
//! packet as a tree of structs first, and allocate for it.

use crate::varint::push_varint;

/// A message under way, or a row of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Proto {
    pub bytes: Vec<u8>,
}

impl Proto {
    fn varint(&mut self, value: u64) {
        push_varint(&mut self.bytes, value);
    }

    fn tag(&mut self, field: u32, wire: u32) {
        self.varint(u64::from(field << 3 | wire));
    }

    pub fn uint(&mut self, field: u32, value: u64) {
        self.tag(field, 0);
        self.varint(value);
    }

    pub fn fixed64(&mut self, field: u32, value: u64) {
        self.tag(field, 1);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub fn double(&mut self, field: u32, value: f64) {
        self.fixed64(field, value.to_bits());
    }

    pub fn text(&mut self, field: u32, text: &str) {
        self.tag(field, 2);
        self.varint(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// A message in this one.
    pub fn message(&mut self, field: u32, build: impl FnOnce(&mut Proto)) {
        self.tag(field, 2);
        let at = self.bytes.len();
        self.bytes.push(0);
        build(self);
        let length = self.bytes.len() - at - 1;
        if length < 0x80 {
            self.bytes[at] = length as u8;
            return;
        }
        let mut prefix = Proto::default();
        prefix.varint(length as u64);
        self.bytes.splice(at..=at, prefix.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_encoded_as_the_documentation_of_the_format_shows() {
        let mut proto = Proto::default();
        proto.uint(1, 150);
        proto.text(2, "testing");
        proto.message(3, |inner| inner.uint(1, 150));
        let expected = b"\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01";
        assert_eq!(proto.bytes, expected);
    }

    #[test]
    fn a_long_message_has_a_longer_length() {
        let mut proto = Proto::default();
        proto.message(1, |inner| inner.text(2, &"x".repeat(300)));
        assert_eq!(&proto.bytes[..6], b"\x0a\xaf\x02\x12\xac\x02");
        assert_eq!(proto.bytes.len(), 3 + 3 + 300);
    }
}
