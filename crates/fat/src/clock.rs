//! The time that entries get. The crate asks an object for it that lives as long as the volume, so each call says before what time it is.

use fatfs::{Date, DateTime, Time, TimeProvider};
use ffslab_fs::civil_time;
use std::cell::Cell;

const DAY_S: u64 = 86_400;
/// 1 January 1980, with which FAT's dates begin, in days since 1970.
const FIRST_DAY: u64 = 3_652;
/// FAT's dates end with 2107.
const LAST_DAY: u64 = 50_402;

#[derive(Debug, Default)]
pub(crate) struct Clock {
    /// Seconds since 1970; `None`: nobody knows.
    now_s: Cell<Option<u64>>,
}

impl Clock {
    pub fn set(&self, now_s: Option<u64>) {
        self.now_s.set(now_s);
    }
}

impl TimeProvider for Clock {
    fn get_current_date(&self) -> Date {
        self.get_current_date_time().date
    }

    fn get_current_date_time(&self) -> DateTime {
        match self.now_s.get() {
            Some(now_s) => at(now_s),
            // Zeros: FAT's way to say that there is no date. The crate's own clock says so, too, without an operating system.
            None => DateTime {
                date: Date { year: 1980, month: 0, day: 0 },
                time: Time { hour: 0, min: 0, sec: 0, millis: 0 },
            },
        }
    }
}

/// With the two seconds' resolution of entries, so that a time which was written is the same when it is read.
fn at(unix_s: u64) -> DateTime {
    let days = (unix_s / DAY_S).clamp(FIRST_DAY, LAST_DAY);
    // A day outside of FAT's calendar is its first or last one, at its beginning.
    let within_s = if unix_s / DAY_S == days { unix_s } else { days * DAY_S };
    let ((year, month, day), (hour, minute, second)) = civil_time(within_s as i64);
    let time = Time { hour: hour.into(), min: minute.into(), sec: (second / 2 * 2).into(), millis: 0 };
    DateTime { date: Date { year: year as u16, month: month.into(), day: day.into() }, time }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        let date = |unix_s| {
            let Date { year, month, day } = at(unix_s).date;
            (year, month, day)
        };
        assert_eq!(date(0), (1980, 1, 1));
        assert_eq!(date(951_782_400), (2000, 2, 29));
        assert_eq!(date(1_293_840_000), (2011, 1, 1));
        assert_eq!(date(u64::MAX), (2107, 12, 31));
        assert_eq!(at(1_293_840_000 + 3_723).time, Time { hour: 1, min: 2, sec: 2, millis: 0 });
    }
}
