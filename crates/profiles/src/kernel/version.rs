//! Versions of Linux.

use serde::Deserialize;
use std::fmt;

/// A version without the number of its stable release: 2.6.37, 6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Version {
    major: u32,
    minor: u32,
    /// Of the series 2.6, whose third number names a version; of others 0.
    third: u32,
}

/// The last minor number of each major one that has ended.
const LAST_MINOR: [(u32, u32); 3] = [(3, 19), (4, 20), (5, 19)];

impl Version {
    /// The version that a text such as 2.6.37, 6.8 or 6.1.192 names, and whether it names a stable release of it. `None`: there is none.
    pub fn of(text: &str) -> Option<(Version, bool)> {
        let number = |digits: &str| digits.parse().ok().filter(|_| digits.bytes().all(|digit| digit.is_ascii_digit()));
        let numbers: Vec<u32> = text.split('.').map(number).collect::<Option<_>>()?;
        let (version, more) = match numbers[..] {
            [2, 6, third, ref more @ ..] => (Version { major: 2, minor: 6, third }, more.len()),
            [major, minor, ref more @ ..] if major >= 3 => (Version { major, minor, third: 0 }, more.len()),
            _ => return None,
        };
        let ends = LAST_MINOR.iter().find(|(major, _)| *major == version.major);
        let is_one = more <= 1 && ends.is_none_or(|(_, last)| version.minor <= *last);
        is_one.then_some((version, more == 1))
    }
}

impl TryFrom<String> for Version {
    type Error = String;
    fn try_from(text: String) -> Result<Version, String> {
        match Version::of(&text) {
            Some((version, false)) => Ok(version),
            _ => Err(format!("`{text}` is no version of Linux without a stable release")),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.major {
            2 => write!(f, "2.6.{}", self.third),
            major => write!(f, "{major}.{}", self.minor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_one_that_there_was_and_a_third_number_a_stable_release() {
        let read = |text| Version::of(text).map(|(version, is_stable)| (version.to_string(), is_stable));
        for (text, version, is_stable) in
            [("2.6.37", "2.6.37", false), ("2.6.37.6", "2.6.37", true), ("6.8", "6.8", false), ("6.1.192", "6.1", true)]
        {
            assert_eq!(read(text), Some((version.to_string(), is_stable)));
        }
        for none in ["2.4.20", "2.6", "6", "4.21", "5.20", "6.1-rc3", "6.+1", "6.1.2.3", "v6.1", ""] {
            assert_eq!(read(none), None, "{none}");
        }
        let order = ["2.6.37", "3.0", "4.9", "4.19", "5.0", "6.6", "6.12"].map(|text| Version::of(text).unwrap());
        assert!(order.is_sorted());
    }
}
