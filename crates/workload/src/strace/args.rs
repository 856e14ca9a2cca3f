//! Splitting a call's arguments, and their values.

/// Splits `text`, which follows the opening parenthesis, at its top-level commas. Returns the arguments and what
/// stands behind the closing parenthesis; `None` when there is none.
pub fn split(text: &str) -> Option<(Vec<&str>, &str)> {
    let bytes = text.as_bytes();
    let mut arguments = Vec::new();
    let mut depth = 0u32;
    let mut start = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at)?,
            b'/' if bytes[at..].starts_with(b"/*") => at += text[at..].find("*/")? + 1,
            b'<' if opens_annotation(bytes, at) => at = end_of_annotation(bytes, at)?,
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => {
                let last = text[start..at].trim();
                if !(arguments.is_empty() && last.is_empty()) {
                    arguments.push(last);
                }
                return Some((arguments, &text[at + 1..]));
            }
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                arguments.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Position of the closing quote of the string that opens at `at`.
fn end_of_string(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    while *bytes.get(at)? != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    Some(at)
}

/// Whether `<` begins the path of `3</path>` or `AT_FDCWD</path>` in a trace of strace -y, and is not the shift
/// operator.
fn opens_annotation(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).map(|i| bytes[i]);
    before.is_some_and(|b| b.is_ascii_digit() || b == b'D') && bytes.get(at + 1) != Some(&b'<')
}

fn end_of_annotation(bytes: &[u8], at: usize) -> Option<usize> {
    let mut depth = 0;
    for (i, byte) in bytes.iter().enumerate().skip(at) {
        match byte {
            b'<' => depth += 1,
            b'>' if bytes[i - 1] != b'-' => depth -= 1, // "->" joins the two ends of a socket
            _ => {}
        }
        if depth == 0 {
            return Some(i);
        }
    }
    None
}

/// A descriptor argument: its number and, with -y, the path of its file.
pub fn descriptor(argument: &str) -> Option<(i32, Option<Vec<u8>>)> {
    let number_end = argument.find('<').unwrap_or(argument.len());
    let number = match &argument[..number_end] {
        "AT_FDCWD" => CURRENT_DIRECTORY,
        digits => digits.trim().parse().ok()?,
    };
    Some((number, annotation(argument)))
}

/// Number that stands for `AT_FDCWD`.
pub const CURRENT_DIRECTORY: i32 = -100;

/// The path inside `3</path>`; `None` for pipes, sockets and the like.
fn annotation(text: &str) -> Option<Vec<u8>> {
    let start = text.find('<')? + 1;
    let inner = text.get(start..end_of_annotation(text.as_bytes(), start - 1)?)?;
    let inner = inner.split('<').next()?; // -yy: </dev/null<char 1:3>>
    inner.starts_with('/').then(|| unescape(inner))
}

/// A string argument, unquoted; the mark of a shortened string is dropped. `None` for NULL and addresses.
pub fn string(argument: &str) -> Option<Vec<u8>> {
    let inner = argument.strip_prefix('"')?;
    let end = end_of_string(argument.as_bytes(), 0)?;
    Some(unescape(&inner[..end - 1]))
}

/// Undoes the escapes of C strings.
fn unescape(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' || at + 1 == bytes.len() {
            plain.push(bytes[at]);
            at += 1;
            continue;
        }
        at += 1;
        let digits = |radix: u32, from: usize, most: usize| {
            bytes[from..].iter().take(most).take_while(|b| (**b as char).is_digit(radix)).count()
        };
        let (value, length) = match bytes[at] {
            b'n' => (b'\n', 1),
            b't' => (b'\t', 1),
            b'r' => (b'\r', 1),
            b'v' => (0x0b, 1),
            b'f' => (0x0c, 1),
            b'x' if digits(16, at + 1, 2) > 0 => {
                let n = digits(16, at + 1, 2);
                (u8::from_str_radix(&text[at + 1..at + 1 + n], 16).unwrap_or(b'?'), n + 1)
            }
            b'0'..=b'7' => {
                let n = digits(8, at, 3);
                (u16::from_str_radix(&text[at..at + n], 8).unwrap_or(0) as u8, n)
            }
            other => (other, 1),
        };
        plain.push(value);
        at += length;
    }
    plain
}

/// A decimal, octal or hexadecimal number, as strace writes sizes, offsets and modes.
pub fn number(argument: &str) -> Option<i64> {
    let digits = argument.strip_prefix('-').unwrap_or(argument);
    let magnitude = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8).ok()?,
        None => digits.parse().ok()?,
    };
    let magnitude = i64::try_from(magnitude).ok()?;
    Some(if argument.starts_with('-') { -magnitude } else { magnitude })
}

/// Whether `flag` is among flags joined by `|`.
pub fn has_flag(flags: &str, flag: &str) -> bool {
    flags.split('|').any(|f| f.trim() == flag)
}

/// The number behind `key=` in a structure such as `{st_mode=S_IFREG|0644, st_size=2048, ...}`.
pub fn field<'a>(structure: &'a str, key: &str) -> Option<&'a str> {
    let mut rest = structure;
    loop {
        let at = rest.find(key)?;
        let named = at == 0 || matches!(rest.as_bytes()[at - 1], b'{' | b' ' | b',');
        let value = &rest[at + key.len()..];
        if let (true, Some(value)) = (named, value.strip_prefix('=')) {
            return Some(value[..value.find([',', '}']).unwrap_or(value.len())].trim());
        }
        rest = value;
    }
}

/// Sum of the lengths in the vector of readv and writev: `[{iov_base="..", iov_len=5}, ...]`.
pub fn vector_bytes(argument: &str) -> Option<u64> {
    let mut sum = 0u64;
    let mut rest = argument;
    while let Some(at) = rest.find("iov_len=") {
        rest = &rest[at + "iov_len=".len()..];
        let digits = &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())];
        sum = sum.checked_add(digits.parse().ok()?)?;
    }
    // "...]" ends a vector that strace has shortened; "..." inside only marks shortened contents.
    (argument.starts_with('[') && !argument.ends_with("...]")).then_some(sum)
}
