//! Which profile was meant by a name that none has.

use crate::built_in::{is_path, kind_of_built_in, names, Kind};
use crate::kernel::LINUX;
use ffslab_text::words::join_names;

/// More names than these are not read in an error.
const NAMES_MAX: usize = 12;
/// How many of the nearest ones are asked for.
const NEAREST_MAX: usize = 3;

/// Why `name`, which is no path, is not one of the kinds: "did you mean `w25n01gv`? `ffslab profiles ls` lists all 52, or
/// the path of a file such as ./my-part.toml". `what`: the kind as people say it, or "profile".
pub(crate) fn told(name: &str, kinds: &[Kind], what: &str) -> String {
    let known: Vec<&str> = kinds.iter().flat_map(|kind| names(*kind)).collect();
    let every = match known.len() {
        _ if kinds == [Kind::Kernel] => format!("known: every version from {} to {}", known[0], known[known.len() - 1]),
        count if count > NAMES_MAX => format!("`ffslab profiles ls` lists all {count}"),
        _ => format!("known: {}", known.join(", ")),
    };
    if let Some(kind) = kind_of_built_in(name) {
        return format!("is a {}; {every}", kind.name());
    }
    let near: Vec<String> = nearest_names(name, &known).into_iter().map(|name| format!("`{name}`")).collect();
    let meant = match &near[..] {
        [] => String::new(),
        near => format!("did you mean {}? ", join_names(&near.iter().map(String::as_str).collect::<Vec<_>>()))
            .replace(" and `", " or `"),
    };
    let file = if what == "profile" { "mine".to_string() } else { format!("my-{}", what.replace(' ', "-")) };
    let age = kinds.contains(&Kind::Kernel).then(|| LINUX.out_of_range(name)).flatten().unwrap_or_default();
    format!("{age}{meant}{every}, or the path of a file such as ./{file}.toml")
}

/// Why a name is none of a board (with Linux or RTEMS), part, kernel or block device, without the name.
/// `None`: it is one, or a path.
pub fn unknown_profile(name: &str, what: &str) -> Option<String> {
    let kinds: &[Kind] = match what {
        "board" => &[Kind::Board, Kind::RtemsBoard],
        "part" => &[Kind::Part],
        "kernel" => &[Kind::Kernel],
        _ => &[Kind::BlockDevice],
    };
    if is_path(name) || kinds.iter().any(|kind| is_built_in(*kind, name)) {
        return None;
    }
    let told = told(name, kinds, what);
    Some(if told.starts_with("is a ") { told } else { format!("unknown {what}: {told}") })
}

fn is_built_in(kind: Kind, name: &str) -> bool {
    names(kind).any(|one| one == name) || (kind == Kind::Kernel && LINUX.series(name).is_some())
}

/// The names that may be meant, at most three: of versions of Linux that of the nearest release.
pub fn nearest_names<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    let asked = name.to_lowercase();
    if let Some(release) = release(&asked) {
        return nearest_release(release, known).into_iter().collect();
    }
    let mut alike: Vec<(f64, &str)> = known.iter().map(|one| (similarity(&asked, one), *one)).collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    // A slip of one letter in a long name: nothing else is meant.
    if let Some((0.9.., one)) = alike.first() {
        return vec![*one];
    }
    let plain = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    let asked_plain = plain(&asked);
    let is_part = |one: &&&str| {
        let one = plain(one);
        asked_plain.len() >= 3 && (one.contains(&asked_plain) || asked_plain.contains(&one))
    };
    // Names of parts tell their family first.
    let is_of_family = |one: &&&str| asked_plain.get(..5).is_some_and(|family| plain(one).starts_with(family));
    let mut found: Vec<&str> = Vec::new();
    let similar = alike.iter().filter(|(much, _)| *much >= 0.7).map(|(_, one)| one);
    for one in known.iter().filter(is_part).chain(similar).chain(known.iter().filter(is_of_family)) {
        if !found.contains(one) {
            found.push(one);
        }
    }
    found.truncate(NEAREST_MAX);
    found
}

/// The share of two names that is the same letters in the same order, from 0 to 1.
fn similarity(a: &str, b: &str) -> f64 {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut common = vec![0u32; b.len() + 1];
    for letter in &a {
        let mut before = 0;
        for at in 1..=b.len() {
            let above = common[at];
            common[at] = if b[at - 1] == *letter { before + 1 } else { above.max(common[at - 1]) };
            before = above;
        }
    }
    2.0 * f64::from(common[b.len()]) / (a.len() + b.len()).max(1) as f64
}

/// The name of the release that is nearest to one: of the same major number if there is any, and of two as far away the
/// newer one.
fn nearest_release<'a>((major, place): (u32, u32), known: &[&'a str]) -> Option<&'a str> {
    let versions: Vec<(u32, u32, &str)> =
        known.iter().filter_map(|one| release(one).map(|(major, place)| (major, place, *one))).collect();
    let has_same = versions.iter().any(|one| one.0 == major);
    let candidates = versions.iter().filter(|one| one.0 == major || !has_same);
    candidates.min_by_key(|one| (one.1.abs_diff(place), u32::MAX - one.1)).map(|one| one.2)
}

/// The major number of a version of Linux (`6.6`, `v6.6.30`, `linux-2.6.37`), and its place among all releases.
fn release(name: &str) -> Option<(u32, u32)> {
    // How many releases there were before the first one of a major number, from 2.6.0 on.
    const BEFORE: [(u32, u32); 6] = [(2, 0), (3, 40), (4, 60), (5, 81), (6, 101), (7, 121)];
    let version = name.strip_prefix("linux").map_or(name, |rest| rest.strip_prefix('-').unwrap_or(rest));
    let version = version.strip_prefix('v').unwrap_or(version).split('-').next()?;
    let mut numbers = version.split('.');
    let major = numbers.next()?.parse().ok().filter(|major| (2..=9).contains(major))?;
    if major == 2 && numbers.next()? != "6" {
        return None;
    }
    let minor: u32 = numbers.next().map_or(Some(0), |minor| minor.parse().ok())?;
    let before = BEFORE.iter().rev().find(|(first, _)| *first <= major)?.1;
    Some((major, before + minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_kernel_is_that_of_the_nearest_release() {
        let known = ["2.6.37", "4.19", "5.10", "5.15", "6.1", "6.6", "6.12"];
        for (name, near) in [
            ("6.8", "6.6"),
            ("6.10", "6.12"),
            ("v6.6", "6.6"),
            ("6.6.30", "6.6"),
            ("linux-5.4", "5.10"),
            ("5", "5.10"),
            ("7.0", "6.12"),
            ("3.18", "4.19"),
            ("2.6.32", "2.6.37"),
            ("6.1-rc3", "6.1"),
        ] {
            assert_eq!(nearest_names(name, &known), [near], "{name}");
        }
    }

    #[test]
    fn a_slip_means_one_name_and_a_family_several() {
        let parts: Vec<&str> = names(Kind::Part).collect();
        assert_eq!(nearest_names("k9f1g08u0b", &parts), ["k9f1g08u0a"]);
        assert_eq!(nearest_names("W25N01", &parts), ["w25n01gv", "w25n02kv"]);
        assert_eq!(nearest_names("nothing-like-it", &parts), Vec::<&str>::new());
        assert_eq!(nearest_names("2.4.20", &parts), Vec::<&str>::new());
    }

    #[test]
    fn few_names_are_told_and_many_are_listed_by_a_command() {
        let board = unknown_profile("beagleboard", "board").unwrap();
        assert!(board.ends_with("or the path of a file such as ./my-board.toml"), "{board}");
        let part = unknown_profile("w25n01", "part").unwrap();
        assert!(part.contains("did you mean `w25n01gv` or `w25n02kv`? `ffslab profiles ls` lists all "), "{part}");
        assert!(unknown_profile("omap3evm", "part").unwrap().starts_with("is a board; "));
        assert_eq!(unknown_profile("omap3evm", "board"), None);
        assert_eq!(unknown_profile("./mine.toml", "kernel"), None);
    }
}
