//! The key `repeat`: each variant several times, with another draw of what chance decides.

use super::{optional, Source, Variant, VARIANTS_MAX};
use crate::error::LabError;
use ffslab_workload::prng::SplitMix64;
use toml::de::DeTable;

/// Name of the axis whose values are the runs of a variant.
pub(crate) const RUN: &str = "run";

/// Machines are switched on within this time before their runs begin, by chance: it is long beside every period of a kernel
/// whose phase matters, such as the ticks by which JFFS2 chooses a block (fs/jffs2/gc.c) and write-back's 5 s.
const UPTIME_US_END: u64 = 60_000_000;

/// Reads the key.
///
/// Errors: no number of runs, or more runs than an experiment may have variants.
pub(super) fn read(source: &Source, root: &DeTable, combinations: usize) -> Result<Option<u32>, LabError> {
    let Some(repeat) = optional::<u32>(source, root, "repeat")? else { return Ok(None) };
    let at = root.get("repeat").map_or(0, |value| value.span().start);
    if repeat == 0 {
        return Err(source.error(at, "repeat is 0: a variant is run at least once"));
    }
    match combinations.checked_mul(repeat as usize) {
        Some(runs) if runs <= VARIANTS_MAX => Ok(Some(repeat)),
        _ => {
            let text = format!(
                "repeat = {repeat} makes {repeat} runs of {combinations} variants: {VARIANTS_MAX} are the limit"
            );
            Err(source.error(at, text))
        }
    }
}

/// One run of a variant, from 1. The first one is the variant as it is written.
pub(super) fn run_of(variant: &Variant, run: u32) -> Variant {
    let mut one = variant.clone();
    one.name = if variant.axes.is_empty() { format!("{RUN}={run}") } else { format!("{}, {RUN}={run}", variant.name) };
    one.axes.push((RUN.to_string(), toml::Value::Integer(run.into())));
    let shift = u64::from(run - 1);
    if shift == 0 {
        return one;
    }
    one.seed = variant.seed.wrapping_add(shift);
    let of_programs = one.programs.iter_mut().flat_map(|program| &mut program.steps);
    one.setup.iter_mut().chain(&mut one.measure).chain(of_programs).for_each(|step| step.shift_seed(shift));
    let uptime_us = SplitMix64::new(one.seed).below(UPTIME_US_END);
    one.stack.keys_mut().draw_anew(shift, uptime_us);
    one
}
