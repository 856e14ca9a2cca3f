//! How text that others have written is shown: names in images, logs, traces, files of experiments.
//!
//! Such text may contain characters that control a terminal instead of being displayed: escape sequences, line feeds
//! that fake lines, controls that change the direction of writing (Unicode Standard Annex 9). Names are quoted as GNU
//! `ls` does on a terminal (`--quoting-style=shell-escape`), so that a shell accepts what is printed. Such characters
//! in other text are escaped.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character controls the terminal or the text around it. Of these, `ls` escapes only the control characters.
fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
            // Line and paragraph separator.
            | '\u{2028}' | '\u{2029}')
}

/// Appends each byte as a backslash with a letter or octal digits, as a shell reads it in `$'...'`.
fn push_escape(out: &mut String, bytes: &[u8]) {
    for &byte in bytes {
        let letter = match byte {
            0x07 => 'a',
            0x08 => 'b',
            b'\t' => 't',
            b'\n' => 'n',
            0x0B => 'v',
            0x0C => 'f',
            b'\r' => 'r',
            _ => {
                let _ = write!(out, "\\{byte:03o}");
                continue;
            }
        };
        out.extend(['\\', letter]);
    }
}

/// The pieces of a name: characters, and bytes that must be escaped.
fn pieces(name: &[u8]) -> impl Iterator<Item = Result<char, &[u8]>> {
    name.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid();
        let characters = valid.char_indices().map(move |(at, character)| {
            if acts(character) {
                Err(&valid.as_bytes()[at..at + character.len_utf8()])
            } else {
                Ok(character)
            }
        });
        let invalid = Some(chunk.invalid()).filter(|bytes| !bytes.is_empty());
        characters.chain(invalid.map(Err))
    })
}

/// A name as `ls` shows it: unchanged if a shell would read it so, otherwise in quotes, such as `''$'\033''[31mred'`.
///
/// Which names need quotes is taken from gnulib's `quotearg.c`.
pub fn quoted(name: &[u8]) -> String {
    const SPECIAL: &str = " !\"$&'()*;<=>?[\\^`|";
    const PLAIN: &str = "%+,-./:@]_ '";
    let is_special = |(at, piece): (usize, Result<char, &[u8]>)| match piece {
        Ok(character) => {
            SPECIAL.contains(character)
                || (at == 0 && "#~".contains(character))
                || (name.len() == 1 && "{}".contains(character))
        }
        Err(_) => true,
    };
    let plain = || pieces(name).filter_map(Result::ok).collect::<String>();
    if !name.is_empty() && !pieces(name).enumerate().any(is_special) {
        return plain();
    }
    // A name in which only single quotes are unusual is shown in double quotes.
    let suits_double = |(at, piece): (usize, Result<char, &[u8]>)| {
        piece.is_ok_and(|character| {
            character.is_ascii_alphanumeric()
                || !character.is_ascii()
                || PLAIN.contains(character)
                || (at == 0 && "#~".contains(character))
        })
    };
    if name.contains(&b'\'') && pieces(name).enumerate().all(suits_double) {
        return format!("\"{}\"", plain());
    }
    let mut out = "'".to_string();
    let mut in_escape = false;
    for piece in pieces(name) {
        match (piece, in_escape) {
            (Err(_), false) => out.push_str("'$'"),
            // A single quote is written outside of the quotes and so ends the escapes by itself.
            (Ok(character), true) if character != '\'' => out.push_str("''"),
            _ => {}
        }
        in_escape = piece.is_err();
        match piece {
            Ok('\'') => out.push_str("'\\''"),
            Ok(character) => out.push(character),
            Err(bytes) => push_escape(&mut out, bytes),
        }
    }
    out.push('\'');
    out
}

/// Text in which no character controls a terminal: such characters are written as escapes. Line feeds and tabs are kept
/// in text of several lines, but not when it must be `one_line`.
pub fn printable(text: &[u8], one_line: bool) -> Cow<'_, str> {
    let stays = |character: char| !acts(character) || (!one_line && matches!(character, '\n' | '\t'));
    if let Ok(valid) = std::str::from_utf8(text) {
        if valid.chars().all(stays) {
            return Cow::Borrowed(valid);
        }
    }
    let mut out = String::with_capacity(text.len() + 16);
    for piece in pieces(text) {
        match piece {
            Ok(character) => out.push(character),
            Err(b"\n") if !one_line => out.push('\n'),
            Err(b"\t") if !one_line => out.push('\t'),
            Err(bytes) => push_escape(&mut out, bytes),
        }
    }
    out.into()
}

/// A name as text for JSON: bytes that are not UTF-8 are written as `\xff`, as by Python's `backslashreplace`.
pub fn as_text(name: &[u8]) -> String {
    let mut out = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_ls_does() {
        for (name, shown) in [
            ("plain-1.txt", "plain-1.txt"),
            ("/dir/name", "/dir/name"),
            ("日本 ü", "'日本 ü'"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", "\"it's\""),
            ("it's $x", "'it'\\''s $x'"),
            ("\x1b[31mred", "''$'\\033''[31mred'"),
            ("a\nb", "'a'$'\\n''b'"),
            ("a\n", "'a'$'\\n'"),
            ("\t\x7f", "''$'\\t\\177'"),
            ("#a", "'#a'"),
            ("a#", "a#"),
            ("\\", "'\\'"),
            ("\x01'$", "''$'\\001'\\''$'"),
        ] {
            assert_eq!(quoted(name.as_bytes()), shown);
        }
        assert_eq!(quoted(b"\xff\xfex"), "''$'\\377\\376''x'");
        assert_eq!(quoted("a\u{202e}gpj.b".as_bytes()), "'a'$'\\342\\200\\256''gpj.b'");
        assert_eq!(quoted("\u{9b}31m".as_bytes()), "''$'\\302\\233''31m'");
    }

    #[test]
    fn text_keeps_its_lines_unless_it_must_be_one() {
        let text = "a\tb\n\x1b[2J\u{2028}\u{85}c";
        assert_eq!(printable(text.as_bytes(), false), "a\tb\n\\033[2J\\342\\200\\250\\302\\205c");
        assert_eq!(printable(text.as_bytes(), true), "a\\tb\\n\\033[2J\\342\\200\\250\\302\\205c");
        assert_eq!(printable(b"\xff.", true), "\\377.");
        assert_eq!(as_text(b"a\xff\xc3\xb6"), "a\\xffö");
        assert!(matches!(printable("größer\n".as_bytes(), false), Cow::Borrowed(_)));
    }
}
