//! The pieces of variants as bytes, from one process of a run to another: both are the same program, so numbers stand as they are in memory.

use crate::columns::{BlockColumns, BlockRow, RequestColumns};
use crate::observed::StackColumns;
use crate::pieces::{Piece, VariantText};
use crate::requests::CallOp;
use crate::table::Column;
use ffslab_fs::BlockSpace;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// What can be sent. `take` moves `from` behind what it has read; `None`: the bytes are not what was sent.
pub(super) trait Wire: Sized {
    fn put(&self, to: &mut Vec<u8>);

    fn take(from: &mut &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($Number:ty),+) => {$(
        impl Wire for $Number {
            fn put(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_ne_bytes());
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = from.split_first_chunk()?;
                *from = rest;
                Some(Self::from_ne_bytes(*bytes))
            }
        }
    )+};
}
numbers!(u8, u16, u32, u64, f64);

/// The fields of a type, one after the other.
macro_rules! fields {
    ($Type:ty { $($field:ident),+ $(,)? }) => {
        impl Wire for $Type {
            fn put(&self, to: &mut Vec<u8>) {
                $(self.$field.put(to);)+
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: Wire::take(from)?),+ })
            }
        }
    };
}
fields!(BlockSpace { valid_bytes, invalid_bytes, free_bytes });
fields!(BlockRow { block, erases_main, erases_total, erases_formatting, programmed_pages, before, after });
fields!(BlockColumns { variants, rows });
fields!(StackColumns { variant, task, call, reason, operation, time_ns, energy_uj, operations, erases });
fields!(RequestColumns {
    variant_index,
    variant_names,
    step,
    i,
    op,
    file,
    file_names,
    program_index,
    program_names,
    waited_us,
    offset_bytes,
    bytes,
    start_us,
    latency_us,
    cause_index,
    causes,
    cause_us,
    flash_us,
    page_reads,
    page_programs,
    erases,
});
fields!(Piece<VariantText> { told, figures, requests, blocks, images, logs, film, stacks });

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, to: &mut Vec<u8>) {
        (self.len() as u64).put(to);
        self.iter().for_each(|one| one.put(to));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        (0..u64::take(from)?).map(|_| T::take(from)).collect()
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, to: &mut Vec<u8>) {
        u8::from(self.is_some()).put(to);
        self.iter().for_each(|one| one.put(to));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        match u8::take(from)? {
            0 => Some(None),
            _ => Some(Some(T::take(from)?)),
        }
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
        self.1.put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some((A::take(from)?, B::take(from)?))
    }
}

fn put_text(text: &str, to: &mut Vec<u8>) {
    (text.len() as u64).put(to);
    to.extend_from_slice(text.as_bytes());
}

fn take_text<'a>(from: &mut &'a [u8]) -> Option<&'a str> {
    let bytes = usize::try_from(u64::take(from)?).ok()?;
    let (text, rest) = from.split_at_checked(bytes)?;
    *from = rest;
    std::str::from_utf8(text).ok()
}

impl Wire for String {
    fn put(&self, to: &mut Vec<u8>) {
        put_text(self, to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        take_text(from).map(str::to_string)
    }
}

/// Names of columns, tasks and reasons, of which there are few: each is kept for as long as the program runs.
impl Wire for &'static str {
    fn put(&self, to: &mut Vec<u8>) {
        put_text(self, to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let text = take_text(from)?;
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = known.get(text) {
            return Some(*name);
        }
        let name: &'static str = Box::leak(Box::<str>::from(text));
        known.insert(name);
        Some(name)
    }
}

impl Wire for CallOp {
    fn put(&self, to: &mut Vec<u8>) {
        (*self as u8).put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        CallOp::ALL.get(usize::from(u8::take(from)?)).copied()
    }
}

impl Wire for VariantText {
    fn put(&self, to: &mut Vec<u8>) {
        put_text(self.0.get(), to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        RawValue::from_string(String::take(from)?).ok().map(VariantText)
    }
}

impl Wire for Column {
    fn put(&self, to: &mut Vec<u8>) {
        let kind: u8 = match self {
            Column::U32(_) => 0,
            Column::U64(_) => 1,
            Column::F64(_) => 2,
            Column::Optional(_) => 3,
            Column::Texts(..) => 4,
        };
        kind.put(to);
        match self {
            Column::U32(numbers) => numbers.put(to),
            Column::U64(numbers) => numbers.put(to),
            Column::F64(numbers) => numbers.put(to),
            Column::Optional(numbers) => numbers.put(to),
            Column::Texts(names, positions) => {
                names.put(to);
                positions.put(to);
            }
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(match u8::take(from)? {
            0 => Column::U32(Wire::take(from)?),
            1 => Column::U64(Wire::take(from)?),
            2 => Column::F64(Wire::take(from)?),
            3 => Column::Optional(Wire::take(from)?),
            4 => Column::Texts(Wire::take(from)?, Wire::take(from)?),
            _ => return None,
        })
    }
}
