//! Paths as text: a path consists of bytes, while a table holds text.

use std::fmt::Write;

/// The path as text. Bytes that are not text, and backslashes, are written as `\xNN`.
pub fn to_text(path: &[u8]) -> String {
    let mut text = String::new();
    for chunk in path.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => text.push_str("\\x5c"),
                c => text.push(c),
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// The path from which [`to_text`] made the text. Other backslashes are kept.
pub fn from_text(text: &str) -> Vec<u8> {
    let mut path = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\x") {
        path.extend_from_slice(before.as_bytes());
        match after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                path.push(byte);
                rest = &after[2..];
            }
            None => {
                path.extend_from_slice(b"\\x");
                rest = after;
            }
        }
    }
    path.extend_from_slice(rest.as_bytes());
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_comes_back() {
        for path in [&b"plain/name"[..], b"back\\slash", b"\xff\xfe/\xc3\xa4", "ä".as_bytes(), b"\\x41"] {
            assert_eq!(from_text(&to_text(path)), path);
        }
        assert_eq!(to_text(b"a\xffb"), "a\\xffb");
    }
}
