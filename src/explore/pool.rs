//! Numbered units of work over threads, with a result that does not depend on how many there are.
//!
//! Units are handed out in order from one counter. A unit may say that nothing after it counts (a failure under
//! fail-fast, a panic): units before it are still finished, results of those behind it are thrown away. To
//! throw away little, a thread holds its results back until every earlier unit is done.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::{Listener, News};

/// Why work ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// Its time was over.
    Time,
    /// Somebody interrupted it.
    Interrupt,
}

impl Halt {
    /// In a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Halt::Time => "time",
            Halt::Interrupt => "interrupt",
        }
    }
}

/// How often the listener hears something at least.
const TICK: Duration = Duration::from_millis(50);

/// What a unit of work sees of the pool.
pub(super) struct Bench<'a> {
    halted: &'a AtomicBool,
    news: Sender<News>,
}

impl Bench<'_> {
    /// Whether to stop before the next schedule.
    pub(super) fn halted(&self) -> bool {
        self.halted.load(Ordering::Relaxed)
    }

    /// Tells the listener.
    pub(super) fn tell(&self, news: News) {
        // The listener may be gone only when the pool is; then nobody needs the news.
        let _ = self.news.send(news);
    }
}

/// The result of a unit.
pub(super) struct Done<R> {
    /// What it found.
    pub(super) result: R,
    /// Whether units behind it do not count.
    pub(super) last: bool,
}

/// Results that can be joined; joining must not depend on the order.
pub(super) trait Merge: Default {
    /// Takes in the result of other units.
    fn merge(&mut self, other: Self);
}

/// Does the units `0..units` on `jobs` threads and joins their results. `bench` makes what a thread keeps from
/// unit to unit.
pub(super) fn work_through<W, R, M, F>(
    jobs: usize,
    units: u64,
    make: M,
    unit: F,
    listener: &mut Listener<'_>,
) -> (R, Option<Halt>)
where
    R: Merge + Send,
    M: Fn() -> W + Sync,
    F: Fn(&mut W, u64, &Bench<'_>) -> Done<R> + Sync,
{
    let jobs = jobs.max(1);
    let halted = AtomicBool::new(false);
    let queue = Queue {
        next: AtomicU64::new(0),
        units,
        last: AtomicU64::new(u64::MAX),
        at: (0..jobs).map(|_| AtomicU64::new(0)).collect(),
    };
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs)
            .map(|job| {
                let bench = Bench { halted: &halted, news: sender.clone() };
                let (queue, make, unit) = (&queue, &make, &unit);
                scope.spawn(move || queue.serve(job, make(), unit, &bench))
            })
            .collect();
        drop(sender);
        let halt = listen(&receiver, listener, &halted);
        let (mut joined, mut held_back) = (R::default(), VecDeque::new());
        for thread in threads {
            let (certain, rest) = thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload));
            joined.merge(certain);
            held_back.extend(rest);
        }
        for (unit, result) in held_back {
            queue.join(&mut joined, unit, result);
        }
        (joined, halt)
    })
}

/// Passes on the news until every thread is done.
fn listen(news: &Receiver<News>, listener: &mut Listener<'_>, halted: &AtomicBool) -> Option<Halt> {
    let mut halt = None;
    loop {
        let heard = match news.recv_timeout(TICK) {
            Ok(news) => listener(news),
            Err(RecvTimeoutError::Timeout) => listener(News::Tick),
            Err(RecvTimeoutError::Disconnected) => return halt,
        };
        if halt.is_none() && heard.is_some() {
            halt = heard;
            halted.store(true, Ordering::Relaxed);
        }
    }
}

struct Queue {
    next: AtomicU64,
    units: u64,
    /// The smallest unit that said that nothing after it counts.
    last: AtomicU64,
    /// For each thread a unit that no unit in its hands is before.
    at: Vec<AtomicU64>,
}

impl Queue {
    fn take(&self, job: usize) -> Option<u64> {
        self.at[job].store(self.next.load(Ordering::SeqCst), Ordering::SeqCst);
        let unit = self.next.fetch_add(1, Ordering::SeqCst);
        let taken = unit < self.units && unit <= self.last.load(Ordering::SeqCst);
        self.at[job].store(if taken { unit } else { u64::MAX }, Ordering::SeqCst);
        taken.then_some(unit)
    }

    /// Every unit before this one is done.
    fn done_before(&self) -> u64 {
        self.at.iter().map(|at| at.load(Ordering::SeqCst)).min().unwrap_or(0)
    }

    /// Works until nothing is left; gives what is certain to count, and what is not yet.
    fn serve<W, R: Merge>(
        &self,
        job: usize,
        mut worker: W,
        work: impl Fn(&mut W, u64, &Bench<'_>) -> Done<R>,
        bench: &Bench<'_>,
    ) -> (R, VecDeque<(u64, R)>) {
        let mut joined = R::default();
        let mut held_back: VecDeque<(u64, R)> = VecDeque::new();
        while !bench.halted()
            && let Some(unit) = self.take(job)
        {
            let done = work(&mut worker, unit, bench);
            if done.last {
                self.last.fetch_min(unit, Ordering::SeqCst);
            }
            held_back.push_back((unit, done.result));
            let certain = self.done_before();
            while held_back.front().is_some_and(|(unit, _)| *unit < certain) {
                let (unit, result) = held_back.pop_front().expect("it was just looked at");
                self.join(&mut joined, unit, result);
            }
        }
        self.at[job].store(u64::MAX, Ordering::SeqCst);
        (joined, held_back)
    }

    fn join<R: Merge>(&self, joined: &mut R, unit: u64, result: R) {
        if unit <= self.last.load(Ordering::SeqCst) {
            joined.merge(result);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Sum(u64, u64);

    impl Merge for Sum {
        fn merge(&mut self, other: Self) {
            self.0 += other.0;
            self.1 += other.1;
        }
    }

    fn sum_to(jobs: usize, units: u64, stop_at: &[u64]) -> (u64, u64) {
        let unit = |_: &mut (), unit: u64, _: &Bench<'_>| {
            // The units that stop the others take longest, so that later ones are done before them.
            if stop_at.contains(&unit) {
                std::thread::yield_now();
            }
            Done { result: Sum(unit, 1), last: stop_at.contains(&unit) }
        };
        let (sum, halt) = work_through(jobs, units, || (), unit, &mut |_| None);
        assert_eq!(halt, None);
        (sum.0, sum.1)
    }

    #[test]
    fn every_unit_counts_once_whatever_the_number_of_threads() {
        for jobs in [1, 2, 7] {
            assert_eq!(sum_to(jobs, 1_000, &[]), (499_500, 1_000));
        }
        assert_eq!(sum_to(4, 0, &[]), (0, 0));
    }

    #[test]
    fn what_comes_after_the_first_unit_that_stops_is_not_counted() {
        for jobs in [1, 2, 7] {
            for _ in 0..50 {
                assert_eq!(sum_to(jobs, 1_000, &[400, 300, 301]).1, 301);
            }
        }
    }

    #[test]
    fn a_listener_ends_the_work() {
        let unit = |_: &mut (), _: u64, bench: &Bench<'_>| {
            bench.tell(News::Played(1));
            Done { result: Sum(0, 1), last: false }
        };
        let mut told = 0;
        let mut listener = |news| {
            told += u64::from(matches!(news, News::Played(_)));
            (told > 10).then_some(Halt::Interrupt)
        };
        let (sum, halt) = work_through(2, u64::MAX, || (), unit, &mut listener);
        assert_eq!(halt, Some(Halt::Interrupt));
        assert!(sum.1 > 10);
    }
}
