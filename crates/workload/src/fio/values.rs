//! Values of fio options: sizes, times, ranges, splits, as `parse.c` and `options.c` of fio 3.33 read them.

use super::error::ValueError;

/// Larger sizes and times are mistakes. With smaller ones, sums of a few values cannot overflow.
const BYTES_MAX: u64 = 1 << 50;
const TIME_US_MAX: u64 = 366 * 86_400_000_000;

/// Reads a size: "4096", "4k", "1M", "0x1000". Suffixes are powers of 1024 (`kb_base=1024`, fio's default); with an "i"
/// ("4kib") they are, as in fio, powers of 1000.
///
/// Errors: what is wrong and what would be right.
pub fn bytes(text: &str) -> Result<u64, ValueError> {
    let text = text.to_string();
    let wrong = || ValueError::NoSize { text: text.clone() };
    if text.ends_with('%') {
        return Err(ValueError::Percentage { text });
    }
    let lower = text.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().filter(|&bytes| bytes <= BYTES_MAX).ok_or_else(wrong);
    }
    let split = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let number: u64 = lower[..split].parse().map_err(|_| wrong())?;
    let (base, power): (u64, u32) = match &lower[split..] {
        "" | "b" => (1, 0),
        "k" | "kb" => (1024, 1),
        "m" | "mb" => (1024, 2),
        "g" | "gb" => (1024, 3),
        "t" | "tb" => (1024, 4),
        "kib" => (1000, 1),
        "mib" => (1000, 2),
        "gib" => (1000, 3),
        "tib" => (1000, 4),
        _ => return Err(wrong()),
    };
    let product = number.checked_mul(base.pow(power)).filter(|&bytes| bytes <= BYTES_MAX);
    product.ok_or(ValueError::LargeSize { text })
}

/// Reads a time in microseconds. `unit_us` is what a bare number counts.
///
/// Errors: what is wrong and what would be right.
pub fn time_us(text: &str, unit_us: u64) -> Result<u64, ValueError> {
    let wrong = || ValueError::NoTime { text: text.to_string() };
    let lower = text.to_ascii_lowercase();
    let split = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let number: u64 = lower[..split].parse().map_err(|_| wrong())?;
    let factor = match &lower[split..] {
        "" => unit_us,
        "us" | "usec" => 1,
        "ms" | "msec" => 1_000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => return Err(wrong()),
    };
    let product = number.checked_mul(factor).filter(|&us| us <= TIME_US_MAX);
    product.ok_or_else(|| ValueError::LongTime { text: text.to_string() })
}

/// Reads a whole number.
///
/// Errors: it is none, or not in `least..=most`.
pub fn number(text: &str, least: u64, most: u64) -> Result<u64, ValueError> {
    let lower = text.to_ascii_lowercase();
    let parsed = match lower.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => lower.parse().ok(),
    };
    match parsed {
        Some(value) if (least..=most).contains(&value) => Ok(value),
        Some(value) => Err(ValueError::OutOfRange { value, least, most }),
        None => Err(ValueError::NoWholeNumber { text: text.to_string() }),
    }
}

/// Reads a switch: 1 or 0; an option without a value is on.
///
/// Errors: anything else.
pub fn switch(text: &str) -> Result<bool, ValueError> {
    match text {
        "" | "1" => Ok(true),
        "0" => Ok(false),
        _ => Err(ValueError::NoSwitch { text: text.to_string() }),
    }
}

/// Reads a decimal fraction.
///
/// Errors: it is none.
pub fn fraction(text: &str) -> Result<f64, ValueError> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(ValueError::NoNumber { text: text.to_string() }),
    }
}

/// The values for reads and writes in "READ,WRITE,TRIM". A missing value is the one before it.
pub fn per_direction<T: Clone>(text: &str, read: impl Fn(&str) -> Result<T, ValueError>) -> Result<[T; 2], ValueError> {
    let mut parts = text.split(',');
    let reads = read(parts.next().unwrap_or("").trim())?;
    let writes = match parts.next() {
        Some(part) if !part.trim().is_empty() => read(part.trim())?,
        _ => reads.clone(),
    };
    Ok([reads, writes])
}

/// Sizes of requests in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestSizes {
    pub least_bytes: u64,
    pub most_bytes: u64,
    /// Sizes with their percentages, rarest first; empty: any multiple of the least in the range.
    pub split: Vec<SplitBytes>,
}

/// A size and how often it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitBytes {
    pub request_bytes: u64,
    pub percent: u32,
}

impl RequestSizes {
    pub fn fixed(bytes: u64) -> RequestSizes {
        RequestSizes { least_bytes: bytes, most_bytes: bytes, split: Vec::new() }
    }

    /// Reads one size of `bs`.
    ///
    /// Errors: see [`bytes`]; 0.
    pub fn of_bs(text: &str) -> Result<RequestSizes, ValueError> {
        match bytes(text)? {
            0 => Err(ValueError::ZeroBlock),
            size => Ok(RequestSizes::fixed(size)),
        }
    }

    /// Reads one range of `bsrange`: "1k-4k".
    ///
    /// Errors: no range, or one that is upside down or begins at 0.
    pub fn of_range(text: &str) -> Result<RequestSizes, ValueError> {
        let (low, high) = text.split_once('-').ok_or_else(|| ValueError::NoRange { text: text.to_string() })?;
        let (least_bytes, most_bytes) = (bytes(low.trim())?, bytes(high.trim())?);
        if least_bytes == 0 || least_bytes > most_bytes {
            return Err(ValueError::UpsideDown { text: text.to_string() });
        }
        Ok(RequestSizes { least_bytes, most_bytes, split: Vec::new() })
    }

    /// Reads one list of `bssplit`: "4k/10:64k/50:32k". Sizes without a percentage share what is left.
    ///
    /// Errors: broken sizes, percentages above 100 in all.
    pub fn of_split(text: &str) -> Result<RequestSizes, ValueError> {
        let mut entries = Vec::new();
        for entry in text.split(':').filter(|entry| !entry.is_empty()) {
            let (size, share) = entry.split_once('/').unwrap_or((entry, ""));
            let percent = match share.trim() {
                "" | "0" => None,
                share => Some(number(share, 0, 100)? as u32),
            };
            match bytes(size.trim())? {
                0 => return Err(ValueError::ZeroBlockIn { entry: entry.to_string() }),
                size => entries.push((size, percent)),
            }
        }
        let given: u32 = entries.iter().filter_map(|(_, percent)| *percent).sum();
        let open = entries.iter().filter(|(_, percent)| percent.is_none()).count() as u32;
        if entries.is_empty() || given > 100 {
            return Err(ValueError::NoSplit { text: text.to_string() });
        }
        // This is fio's own rounding: a single size without a percentage gets 0 % and is used nevertheless.
        let rest = (100 - given).checked_div(open).unwrap_or(0);
        let mut split: Vec<SplitBytes> = entries
            .into_iter()
            .map(|(request_bytes, percent)| SplitBytes { request_bytes, percent: percent.unwrap_or(rest) })
            .collect();
        split.sort_by_key(|entry| entry.percent);
        let sizes = || split.iter().map(|entry| entry.request_bytes);
        let (least_bytes, most_bytes) = (sizes().min().unwrap_or(1), sizes().max().unwrap_or(1));
        Ok(RequestSizes { least_bytes, most_bytes, split })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_suffixes_of_fio() {
        assert_eq!(bytes("4k"), Ok(4096));
        assert_eq!(bytes("4KB"), Ok(4096));
        assert_eq!(bytes("4kib"), Ok(4000));
        assert_eq!(bytes("0x10"), Ok(16));
        assert_eq!(bytes("2g"), Ok(2 << 30));
        assert!(bytes("20%").unwrap_err().to_string().contains("percentages"));
        assert!(bytes("9999999t").unwrap_err().to_string().contains("more than any file"));
        assert!(bytes("4q").unwrap_err().to_string().contains("is no size"));
    }

    #[test]
    fn times_count_in_the_unit_of_their_option() {
        assert_eq!(time_us("2", 1_000_000), Ok(2_000_000));
        assert_eq!(time_us("2", 1), Ok(2));
        assert_eq!(time_us("3ms", 1_000_000), Ok(3_000));
        assert!(time_us("soon", 1).is_err());
        assert!(time_us("9999d", 1).unwrap_err().to_string().contains("a year"));
    }

    #[test]
    fn what_a_split_leaves_open_is_shared() {
        let sizes = RequestSizes::of_split("4k/50:1k:16k").unwrap();
        let entries: Vec<_> = sizes.split.iter().map(|e| (e.request_bytes, e.percent)).collect();
        assert_eq!(entries, [(1024, 25), (16384, 25), (4096, 50)]);
        assert_eq!((sizes.least_bytes, sizes.most_bytes), (1024, 16384));
        assert!(RequestSizes::of_split("4k/80:1k/30").unwrap_err().to_string().contains("up to 100"));
    }

    #[test]
    fn a_direction_that_is_left_out_is_as_the_one_before() {
        assert_eq!(per_direction("1k,2k", bytes), Ok([1024, 2048]));
        assert_eq!(per_direction("1k", bytes), Ok([1024, 1024]));
        assert_eq!(per_direction("1k,,8k", bytes), Ok([1024, 1024]));
    }
}
