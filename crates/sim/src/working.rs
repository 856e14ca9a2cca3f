//! How work is charged: its price, its count, and what of it is shown.

use crate::energy::PowerMilliwatt;
use crate::{Function, FunctionTime, MountingCosts, Sim, Spent, Work, WorkCost, WorkDone};

impl Sim {
    /// Advances the clock by the cost of a piece of work of the CPU, counts it for the current cause and charges its
    /// energy.
    #[inline]
    pub fn work(&self, work: Work, bytes: usize) {
        if let Some(costs) = &self.0.cpu_costs {
            self.do_work(costs.of[work as usize], costs.power, work, bytes);
        }
    }

    /// Clears what nothing is stored for in a page that is read (the `memset` of `do_readpage` and its like).
    pub fn clear(&self, bytes: &mut [u8]) {
        self.work(Work::PageClear, bytes.len());
        bytes.fill(0);
    }

    pub(crate) fn do_work(&self, cost: WorkCost, power: PowerMilliwatt, work: Work, bytes: usize) {
        {
            let done = &mut self.0.work_done.borrow_mut()[work as usize];
            done.count += 1;
            done.bytes += bytes as u64;
        }
        if work.fills_caches() {
            self.0.cold.set(true);
        }
        let duration_ns = self.paced(cost.ns(bytes));
        if duration_ns > 0 {
            self.spend_cpu(duration_ns);
            self.consume(power, duration_ns);
        }
    }

    /// Whether the CPU's caches hold other data since this was last called, which resets it. A caller that gets `true`
    /// pays [`Work::ColdCache`] for each of its paths, and warms the caches by that.
    pub fn takes_cold_caches(&self) -> bool {
        self.0.cold.replace(false)
    }

    /// How much of `work` was done so far. Nothing is counted on a machine on which work is free.
    pub fn work_done(&self, work: Work) -> WorkDone {
        self.0.work_done.borrow()[work as usize]
    }

    /// Records that a function of the file system began at `start_ns` and ends now. The duration includes the work of
    /// the tracer itself.
    #[inline]
    pub fn function_ends(&self, function: Function, start_ns: u64) {
        self.work(Work::TracedFunction, 0);
        let cell = &self.0.functions[function as usize];
        let FunctionTime { calls, total_ns } = cell.get();
        cell.set(FunctionTime { calls: calls + 1, total_ns: total_ns + (self.now_ns() - start_ns) });
    }

    /// How often `function` has run so far, and for how long.
    pub fn function_time(&self, function: Function) -> FunctionTime {
        self.0.functions[function as usize].get()
    }

    /// [`Sim::work`] on a node that is moved as it is ([`crate::CpuCosts::copied_node`]).
    pub fn work_of_copy(&self, work: Work, bytes: usize) {
        if let Some(costs) = &self.0.cpu_costs {
            let cost = costs.copied_node.map_or(costs.of[work as usize], |copied| copied.each_way);
            self.do_work(cost, costs.power, work, bytes);
        }
    }

    /// The check of such a node, which the price of a node that is moved as it is includes.
    pub fn work_of_check_of_copy(&self, bytes: usize) {
        if let Some(costs) = &self.0.cpu_costs {
            let cost = if costs.copied_node.is_some() { WorkCost::default() } else { costs.of[Work::Crc as usize] };
            self.do_work(cost, costs.power, Work::Crc, bytes);
        }
    }

    /// The beginning of such a move.
    pub fn copy_begins(&self) {
        if let Some(copied) = self.0.cpu_costs.and_then(|costs| costs.copied_node) {
            self.compute(copied.before_ns);
        }
    }

    /// A pass of garbage collection begins. `finds_work` is only asked where it matters.
    pub fn work_of_pass(&self, finds_work: impl FnOnce() -> bool) {
        match self.0.cpu_costs.and_then(|costs| costs.pass_in_vain_ns) {
            Some(in_vain_ns) if !finds_work() => self.compute(in_vain_ns),
            _ => self.work(Work::GcPass, 0),
        }
    }

    /// Garbage collection looks for the fragments of a node. `fragments`, over how many it walks, is only asked where that has a price.
    pub fn work_of_walk(&self, fragments: impl FnOnce() -> usize) {
        if let Some(costs) = self.0.cpu_costs.filter(|costs| costs.fragment_ns > 0) {
            self.compute(costs.fragment_ns * fragments() as u64);
        }
    }

    /// A file system is about to let the driver erase a block.
    pub fn work_of_erase(&self) {
        if let Some(costs) = self.0.cpu_costs.filter(|costs| costs.before_erase_ns > 0) {
            self.compute(costs.before_erase_ns);
        }
    }

    /// A header is put together.
    pub fn work_of_header(&self) {
        if let Some(costs) = self.0.cpu_costs.filter(|costs| costs.header_ns > 0) {
            self.compute(costs.header_ns);
        }
    }

    /// Advances the clock by computing time of system calls or of the file system, and counts it for the current cause.
    #[inline]
    pub fn compute(&self, duration_ns: u64) {
        self.spend_cpu(self.paced(duration_ns));
    }

    /// From now on code takes so many per cent of its price: another program has the CPU than the kernel of which the prices are, as a
    /// boot loader whose caches are off.
    pub fn code_takes(&self, percent: u64) {
        self.0.code_percent.set(percent);
    }

    #[inline]
    pub(crate) fn paced(&self, duration_ns: u64) -> u64 {
        match self.0.code_percent.get() {
            100 => duration_ns,
            percent => duration_ns * percent / 100,
        }
    }

    /// [`Sim::compute`] of a time in which the pace is already.
    #[inline]
    pub(crate) fn spend_cpu(&self, duration_ns: u64) {
        self.with_counts(|counts| counts.cpu_ns += self.charged(duration_ns));
        self.show_time(Spent::Computing, duration_ns);
        self.advance(duration_ns);
    }

    /// Attaching or mounting does something that has such a price on the board.
    pub fn work_of_mounting(&self, price_ns: impl FnOnce(&MountingCosts) -> u64) {
        let Some(costs) = &self.0.cpu_costs else { return };
        let duration_ns = self.paced(price_ns(&costs.mounting));
        if duration_ns > 0 {
            self.spend_cpu(duration_ns);
            self.consume(costs.power, duration_ns);
        }
    }

    /// The kernel prints so many characters on its console.
    pub fn prints(&self, characters: u64) {
        self.work_of_mounting(|costs| costs.console_char_ns * characters);
    }

    /// A summary is put together at the end of an erase block.
    pub fn work_of_summary(&self) {
        if let Some(costs) = self.0.cpu_costs.filter(|costs| costs.summary_ns > 0) {
            self.compute(costs.summary_ns);
        }
    }

    /// Charges the running task for the ticks that have come since.
    pub(crate) fn pay_for_ticks(&self) {
        let tick = self.now_ns() / self.tick_ns();
        let cost_ns = (tick - self.0.ticks_paid.replace(tick)) * self.0.config.tick_cost_ns;
        if cost_ns > 0 {
            self.with_counts(|counts| counts.cpu_ns += cost_ns);
            self.show_time(Spent::Computing, cost_ns);
            self.0.now_ns.set(self.now_ns() + cost_ns);
        }
    }
}
