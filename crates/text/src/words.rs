//! Texts for users: suggestions for a misspelt word, and reasons why a file cannot be read or written.

use std::io;

/// The known word that differs from `word` by the fewest edits, if these are few enough for a typing error.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).max(1);
    let with_edits =
        known.into_iter().map(|candidate| (edits(&word.to_lowercase(), &candidate.to_lowercase()), candidate));
    with_edits.min_by_key(|(count, _)| *count).filter(|(count, _)| *count <= allowed).map(|(_, candidate)| candidate)
}

/// Edit distance in which swapping two neighbours counts once (optimal string alignment).
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// Why a file cannot be read or written, as a part of a sentence.
pub fn io_reason(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::InvalidData && error.raw_os_error().is_none() {
        // The error comes from reading text. Errors of unpackers have a longer text.
        return error.to_string().replace("stream did not contain valid UTF-8", "it is no UTF-8 text");
    }
    let said = error.to_string();
    let plain = said.split(" (os error").next().unwrap_or(&said);
    let mut letters = plain.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// A size as people read it.
pub fn size_text(bytes: u64) -> String {
    match bytes {
        0..=1023 => format!("{bytes} B"),
        1024..=1_048_575 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

/// Names in a sentence: "a", "a and b", "a, b and c".
pub fn join_names(names: &[&str]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_speaks_in_words() {
        let absent = std::fs::read("/there/is/no/such/file").unwrap_err();
        assert_eq!(io_reason(&absent), "no such file or directory");
        let binary = io::read_to_string(&b"\xff"[..]).unwrap_err();
        assert_eq!(io_reason(&binary), "it is no UTF-8 text");
    }

    #[test]
    fn near_means_a_slip_not_another_word() {
        assert_eq!(nearest("parititon_blocks", ["first_block", "partition_blocks"]), Some("partition_blocks"));
        assert_eq!(nearest("fsnyc", ["fsync", "sync"]), Some("fsync"));
        assert_eq!(nearest("colour", ["fsync", "sync"]), None);
    }
}
