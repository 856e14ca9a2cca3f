//! What the machine shows to those who watch it ([`crate::observer`]).

use crate::{CallDone, Energy, EventSink, MediumUnits, Observer, Op, OpEvent, PowerMilliwatt, Sim, Span, Spent};

/// Above the numbers of a mount's own owners.
const MOUNT_SHIFT: u32 = 56;

impl Sim {
    pub fn set_sink(&self, sink: Option<Box<dyn EventSink>>) {
        *self.0.watchers.sink.borrow_mut() = sink;
        self.0.watchers.count();
    }

    pub fn set_observer(&self, observer: Option<Box<dyn Observer>>) {
        *self.0.watchers.observer.borrow_mut() = observer;
        self.0.watchers.count();
    }

    #[inline]
    pub fn is_observed(&self) -> bool {
        self.0.watchers.is_observed.get()
    }

    /// The units of the medium. `None`: nobody has told them.
    pub fn medium_units(&self) -> Option<MediumUnits> {
        self.0.watchers.units.get()
    }

    /// The medium says of which units it consists.
    pub fn medium_has(&self, units: MediumUnits) {
        self.0.watchers.units.set(Some(units));
    }

    /// Of several programs this one goes on.
    pub fn program_goes_on(&self, program: usize) {
        self.show(|observer, _| observer.program_goes_on(program));
    }

    /// The call that began last has ended.
    #[inline]
    pub fn call_ends(&self, call: &CallDone) {
        self.show(|observer, _| observer.call_ends(call));
    }

    /// A step of the running program begins. `title` and `name` are only asked for if somebody watches.
    pub fn step_begins(&self, title: impl FnOnce() -> String, name: &str) {
        self.show(|observer, _| observer.step_begins(&title(), name));
    }

    pub fn step_ends(&self) {
        self.show(|observer, _| observer.step_ends());
    }

    /// Tells how many erase blocks are free, if somebody wants to know it now.
    #[inline]
    pub fn tells_free_blocks(&self, free_blocks: impl FnOnce() -> u64) {
        self.show(|observer, sim| {
            if observer.asks_for_free_blocks(sim.now_ns()) {
                observer.free_blocks_are(free_blocks());
            }
        });
    }

    /// The running task leaves a piece of work for later. It has not been left before, or was made up for.
    #[inline]
    pub fn puts_off(&self, owner: u64, item: u64) {
        self.show(|observer, sim| observer.puts_off(sim.owner(owner), item, sim.now_ns()));
    }

    /// A piece of work that was left is being done; `is_done` is false: nobody needs it any more.
    #[inline]
    pub fn makes_up(&self, owner: u64, item: u64, is_done: bool) {
        self.show(|observer, sim| observer.makes_up(sim.owner(owner), item, sim.now_ns(), is_done));
    }

    /// Nothing that this mount has left for later will be done.
    pub fn forgets_what_was_put_off(&self) {
        self.show(|observer, sim| observer.forgets(&|owner| owner >> MOUNT_SHIFT == u64::from(sim.1 .0), sim.now_ns()));
    }

    /// Mounts have owners of their own with the same numbers.
    fn owner(&self, owner: u64) -> u64 {
        owner ^ (u64::from(self.1 .0) << MOUNT_SHIFT)
    }

    #[inline]
    pub(crate) fn show(&self, show: impl FnOnce(&mut dyn Observer, &Sim)) {
        if self.is_observed() {
            if let Some(observer) = self.0.watchers.observer.borrow_mut().as_mut() {
                show(&mut **observer, self);
            }
        }
    }

    /// A span that begins now. The time of a device that works beside the clock is shown when somebody passes it.
    #[inline]
    pub(crate) fn show_time(&self, on: Spent, duration_ns: u64) {
        if duration_ns > 0 && !self.0.works_beside.get() {
            self.show(|observer, sim| {
                let (task, reason) = (sim.running(), sim.reason());
                observer.time_passes(&Span { start_ns: sim.now_ns(), duration_ns, on, task, reason });
            });
        }
    }

    #[cold]
    pub(crate) fn show_operation(&self, op: Op, address: u32, at_ns: u64, busy_ns: u64, is_waited_for: bool) {
        let event = OpEvent { at_ns, busy_ns, op, address, task: self.running(), reason: self.reason() };
        if let Some(sink) = self.0.watchers.sink.borrow_mut().as_mut() {
            sink.flash_op(&event);
        }
        self.show(|observer, _| observer.flash_op(&event, is_waited_for));
    }

    #[inline]
    pub(crate) fn show_energy(&self, power: PowerMilliwatt, duration_ns: u64) {
        self.show(|observer, sim| {
            let mut used = Energy::default();
            used.add(power, duration_ns);
            observer.energy_used(used, sim.running(), sim.reason());
        });
    }
}
