//! A seeded world's executor: tasks in groups, and events in virtual time. It knows nothing of networks,
//! stores or workers; who uses it says what an event is.
//!
//! Tasks run in the order in which they were woken; events come in the order of their time, equal times in the
//! order in which they were scheduled. Nothing else decides anything.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use crate::kernel::{Task, Timestamp};

thread_local! {
    /// The tasks that were woken, in order. One world at a time runs on a thread.
    static WOKEN: RefCell<VecDeque<u32>> = const { RefCell::new(VecDeque::new()) };
}

/// Which tasks live and die together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group(pub u32);

struct TaskWaker {
    task: u32,
    queued: AtomicBool,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::Relaxed) {
            WOKEN.with_borrow_mut(|woken| woken.push_back(self.task));
        }
    }
}

struct TaskSlot {
    group: Group,
    future: Option<Task>,
    state: Arc<TaskWaker>,
    waker: Waker,
}

/// The tasks of a world.
#[derive(Default)]
pub(super) struct Tasks {
    slots: Vec<TaskSlot>,
    free: Vec<u32>,
}

impl Tasks {
    /// Starts a task; it is polled when its turn comes.
    pub fn spawn(&mut self, group: Group, future: Task) {
        let task = match self.free.pop() {
            Some(task) => {
                let slot = &mut self.slots[task as usize];
                slot.group = group;
                slot.future = Some(future);
                task
            }
            None => {
                let task = u32::try_from(self.slots.len()).expect("fewer than 2^32 tasks");
                let state = Arc::new(TaskWaker { task, queued: AtomicBool::new(false) });
                let waker = Waker::from(state.clone());
                self.slots.push(TaskSlot { group, future: Some(future), state, waker });
                task
            }
        };
        self.slots[task as usize].waker.wake_by_ref();
    }

    /// The next woken task and its group. A task that has ended since is passed over.
    pub fn next_woken(&mut self) -> Option<(u32, Group)> {
        loop {
            let task = WOKEN.with_borrow_mut(VecDeque::pop_front)?;
            let slot = &self.slots[task as usize];
            slot.state.queued.store(false, Ordering::Relaxed);
            if slot.future.is_some() {
                return Some((task, slot.group));
            }
        }
    }

    /// Wakes a task, as its own waker would.
    pub fn wake(&self, task: u32) {
        self.slots[task as usize].waker.wake_by_ref();
    }

    /// Polls a task.
    pub fn poll(&mut self, task: u32) {
        let slot = &mut self.slots[task as usize];
        let Some(mut future) = slot.future.take() else { return };
        let waker = slot.waker.clone();
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => self.slots[task as usize].future = Some(future),
            Poll::Ready(()) => self.free.push(task),
        }
    }

    /// Ends all tasks of a group at once: their futures are dropped.
    pub fn kill(&mut self, group: Group) {
        for task in 0..self.slots.len() {
            if self.slots[task].group == group && self.slots[task].future.take().is_some() {
                self.free.push(u32::try_from(task).expect("fewer than 2^32 tasks"));
            }
        }
    }

    /// Ends all tasks.
    pub fn clear(&mut self) {
        for (task, slot) in self.slots.iter_mut().enumerate() {
            if slot.future.take().is_some() {
                self.free.push(u32::try_from(task).expect("fewer than 2^32 tasks"));
            }
        }
        WOKEN.with_borrow_mut(VecDeque::clear);
        for slot in &self.slots {
            slot.state.queued.store(false, Ordering::Relaxed);
        }
        self.free.sort_unstable_by(|left, right| right.cmp(left));
    }
}

/// What is scheduled, in order of time, then of scheduling.
pub(super) struct Agenda<E> {
    heap: BinaryHeap<Reverse<(Timestamp, u64, Payload<E>)>>,
    scheduled: u64,
}

/// An event that takes no part in the order.
struct Payload<E>(E);

impl<E> PartialEq for Payload<E> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl<E> Eq for Payload<E> {}
impl<E> PartialOrd for Payload<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Payload<E> {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Agenda { heap: BinaryHeap::new(), scheduled: 0 }
    }
}

impl<E> Agenda<E> {
    /// Schedules an event.
    pub fn push(&mut self, at: Timestamp, event: E) {
        self.scheduled += 1;
        self.heap.push(Reverse((at, self.scheduled, Payload(event))));
    }

    /// When the next event is due.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Takes the next event.
    pub fn pop(&mut self) -> Option<(Timestamp, E)> {
        self.heap.pop().map(|Reverse((at, _, Payload(event)))| (at, event))
    }

    /// What is scheduled and has not come, in no particular order, but always in the same.
    pub fn pending(&self) -> impl Iterator<Item = (Timestamp, u64, &E)> {
        self.heap.iter().map(|Reverse((at, number, Payload(event)))| (*at, *number, event))
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.heap.clear();
        self.scheduled = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    #[test]
    fn events_come_by_time_and_equal_times_in_order_of_scheduling() {
        let mut agenda = Agenda::default();
        let at = Timestamp::from_micros;
        for (time, event) in [(5, 'd'), (1, 'a'), (5, 'e'), (3, 'c'), (1, 'b')] {
            agenda.push(at(time), event);
        }
        let order: String = std::iter::from_fn(|| agenda.pop()).map(|(_, event)| event).collect();
        assert_eq!(order, "abcde");
    }

    #[test]
    fn killing_a_group_drops_its_tasks_and_no_other() {
        let mut tasks = Tasks::default();
        let polled = Rc::new(Cell::new(0));
        for group in [0, 0, 1] {
            let polled = polled.clone();
            tasks.spawn(
                Group(group),
                Box::pin(async move {
                    polled.set(polled.get() + 1);
                    std::future::pending::<()>().await;
                }),
            );
        }
        tasks.kill(Group(0));
        while let Some((task, _)) = tasks.next_woken() {
            tasks.poll(task);
        }
        assert_eq!((polled.get(), Rc::strong_count(&polled)), (1, 2));
        tasks.clear();
    }
}
