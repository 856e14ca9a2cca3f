//! Patterns for case names: `*` any text (also `/`), `?` one character, `[1-4]` and `[abc]` one of a set, `[!..]` none
//! of it.

/// Whether `name` as a whole matches `pattern`.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Position in the pattern after the latest star, and the position in the name where the text after the star is
    // tried next. When that does not fit, it is tried one character further.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, n));
            p += 1;
            continue;
        }
        if let Some(used) = one(&pattern[p..], name[n]) {
            p += used;
            n += 1;
            continue;
        }
        match star {
            Some((at, from)) => {
                star = Some((at, from + 1));
                (p, n) = (at + 1, from + 1);
            }
            None => return false,
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// Length of the pattern's first element if it accepts `c`.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => match set(pattern, c) {
            Some((true, used)) => Some(used),
            Some((false, _)) => None,
            // No closing bracket: an ordinary character.
            None => (c == '[').then_some(1),
        },
        &plain => (plain == c).then_some(1),
    }
}

/// Whether the set at the start of `pattern` contains `c`, and the length of the set in the pattern.
fn set(pattern: &[char], c: char) -> Option<(bool, usize)> {
    let negated = pattern.get(1) == Some(&'!');
    let first = if negated { 2 } else { 1 };
    // A closing bracket that comes first is an element of the set.
    let end = first + 1 + pattern.get(first + 1..)?.iter().position(|&p| p == ']')?;
    let mut members = &pattern[first..end];
    let mut found = false;
    while let Some(&low) = members.first() {
        let high = match members {
            [_, '-', high, ..] => *high,
            _ => low,
        };
        found |= (low..=high).contains(&c);
        let is_range = members.len() >= 3 && members[1] == '-';
        members = &members[if is_range { 3 } else { 1 }..];
    }
    Some((found != negated, end + 1))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_matches_slashes_too() {
        assert!(matches("linux-6.1/W/*", "linux-6.1/W/jffs2/plain/rand"));
        assert!(matches("*/jffs2/*/N8/*", "linux-6.1/R1/jffs2/ra0/rand/4KiB/N8/s1"));
        assert!(!matches("*/ubifs/*", "linux-6.1/R1/jffs2/ra0"));
        assert!(matches("*", ""));
        assert!(!matches("", "x"));
    }

    #[test]
    fn sets_and_single_characters() {
        assert!(matches("a/R[1-4]/?", "a/R3/x"));
        assert!(!matches("a/R[1-4]/?", "a/R5/x"));
        assert!(!matches("a/R[1-4]/?", "a/R1/xy"));
        assert!(matches("[!WG]*", "R1") && !matches("[!WG]*", "W"));
        assert!(matches("[WGL]", "L"));
        assert!(matches("a[b", "a[b"));
    }
}
