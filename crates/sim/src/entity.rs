//! What the scheduler knows of a task.

pub const NICE_0_WEIGHT: i64 = 1024;

/// Load weight of a nice level (`kernel/sched/core.c`, `sched_prio_to_weight`): each level is worth 25 %.
pub fn weight_of(nice: i8) -> i64 {
    (1024.0 / 1.25f64.powi(i32::from(nice))).round() as i64
}

#[derive(Clone, Copy)]
pub struct Entity {
    pub(crate) exists: bool,
    pub(crate) runnable: bool,
    /// It is made when it is woken for the first time.
    pub(crate) is_unborn: bool,
    /// It was placed ahead of the minimum as a new task, and nobody has been woken while it ran.
    pub(crate) is_ahead: bool,
    pub(crate) weight: i64,
    pub(crate) virtual_run_ns: i64,
    /// Which task has waited longer for the CPU: a number that grows.
    pub(crate) queued: u64,
    /// The timer fires within this range (`wake_at_ns ..= wake_by_ns`).
    pub(crate) wake_at_ns: u64,
    pub(crate) wake_by_ns: u64,
}

pub const ABSENT: Entity = Entity {
    exists: false,
    runnable: false,
    is_unborn: false,
    is_ahead: false,
    weight: NICE_0_WEIGHT,
    virtual_run_ns: 0,
    queued: 0,
    wake_at_ns: u64::MAX,
    wake_by_ns: u64::MAX,
};
