//! The civil calendar in UTC, for the dates that file systems keep and lists show.

const DAY_S: i64 = 86_400;

/// A second of the civil calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CivilTime {
    pub year: i64,
    /// From 1.
    pub month: u8,
    /// From 1.
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
}

impl CivilTime {
    /// Of seconds since 1970, which may be negative.
    pub fn of_unix(unix_s: i64) -> CivilTime {
        let (days, second) = (unix_s.div_euclid(DAY_S), unix_s.rem_euclid(DAY_S));
        // Years are counted in eras of 400, in which the leap years repeat, and begin in March, so that the day which only
        // leap years have is the last one.
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        CivilTime {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month: month as u8,
            day: day as u8,
            hour: (second / 3_600) as u8,
            minute: (second / 60 % 60) as u8,
            second: (second % 60) as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_their_dates() {
        for (unix_s, expected) in [
            (0, (1970, 1, 1, 0, 0, 0)),
            (-1, (1969, 12, 31, 23, 59, 59)),
            (951_782_400, (2000, 2, 29, 0, 0, 0)),
            (1_293_840_000 + 3_723, (2011, 1, 1, 1, 2, 3)),
            (4_107_542_400, (2100, 3, 1, 0, 0, 0)),
        ] {
            let CivilTime { year, month, day, hour, minute, second } = CivilTime::of_unix(unix_s);
            assert_eq!((year, month, day, hour, minute, second), expected, "{unix_s}");
        }
    }
}
