//! How a worker of the tests' world reaches everything, and what can go wrong at a chosen call.

use std::cell::Cell;
use std::rc::Rc;

use super::world::World;
use crate::kernel::*;

/// How long every call takes on its way, and again on its way back.
const LEG: Span = Span::from_millis(1);

/// How long a frozen worker is frozen.
const FREEZE: Span = Span::from_secs(120);

/// The owner of a client's tasks.
pub const CLIENT: u32 = 1_000;

/// What happens at a chosen call of a chosen worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The worker dies before the request leaves.
    CrashBefore,
    /// The worker dies when the request has been applied.
    CrashAfter,
    /// The worker dies with the request in flight; it is applied 40 s later.
    CrashInFlight,
    /// The request is lost, the caller told unknown.
    LostRequest,
    /// The reply is lost, the caller told unknown.
    LostReply,
    /// The caller is told unknown; the request is applied 3 s after that.
    LateRequest,
    /// The store does not take the request.
    Unavailable,
    /// The worker freezes for two minutes before the request leaves.
    Freeze,
    /// The worker freezes for two minutes when the request has been applied.
    FreezeAfter,
    /// As [`Fault::FreezeAfter`], and the worker's clock does not show it: a zombie that believes in its lease.
    FreezeUnnoticed,
    /// A client cancels the run meanwhile.
    Cancel,
    /// The worker is told to stop gracefully.
    Stop,
}

/// The faults that hurt.
pub const FAULTS: [Fault; 10] = [
    Fault::CrashBefore,
    Fault::CrashAfter,
    Fault::CrashInFlight,
    Fault::LostRequest,
    Fault::LostReply,
    Fault::LateRequest,
    Fault::Unavailable,
    Fault::Freeze,
    Fault::FreezeAfter,
    Fault::FreezeUnnoticed,
];

/// A worker's way to everything.
pub struct Line {
    pub world: Rc<World>,
    pub owner: u32,
}

impl Line {
    /// The fault at the call that is made now.
    fn fault(&self) -> Option<Fault> {
        let mut calls = self.world.calls.borrow_mut();
        let count = calls.entry(self.owner).or_default();
        *count += 1;
        let here = (self.owner, *count - 1);
        let faults = self.world.faults.borrow();
        faults.iter().find(|(owner, call, _)| (*owner, *call) == here).map(|(_, _, fault)| *fault)
    }

    /// Carries a call: `apply` is what it does at its far end, once it can.
    fn carry<T: 'static>(&self, waits: Span, apply: impl Apply<T>) -> Calling<T> {
        let (world, owner, fault) = (self.world.clone(), self.owner, self.fault());
        Box::pin(async move {
            if let Some(fault) = fault {
                match before(&world, owner, fault).await {
                    Departs::Now => {}
                    Departs::Never => return Err(CallError::Unknown),
                    Departs::Later(delay) => {
                        land_later(&world, delay, apply);
                        return Err(CallError::Unknown);
                    }
                    Departs::Refused => return Err(CallError::Unavailable),
                    Departs::Dead(delay) => {
                        if let Some(delay) = delay {
                            land_later(&world, delay, apply);
                        }
                        return std::future::pending().await;
                    }
                }
            }
            world.sleep(LEG).await;
            let until = world.now.get() + waits;
            let answer = loop {
                match apply(&world) {
                    Some(answer) => break answer,
                    None if world.now.get() >= until => return Err(CallError::Unknown),
                    None => world.sleep(Span::from_millis(500)).await,
                }
            };
            after(&world, owner, fault).await?;
            world.sleep(LEG).await;
            answer
        })
    }
}

/// What a call does at its far end; none while it has to wait there.
trait Apply<T>: Fn(&World) -> Option<Result<T, CallError>> + 'static {}
impl<T, F: Fn(&World) -> Option<Result<T, CallError>> + 'static> Apply<T> for F {}

/// Whether and when a request departs.
enum Departs {
    Now,
    Never,
    Later(Span),
    Refused,
    /// The worker is dead; the request may still land after this long.
    Dead(Option<Span>),
}

/// Does what a fault does before the request leaves.
async fn before(world: &Rc<World>, owner: u32, fault: Fault) -> Departs {
    match fault {
        Fault::CrashBefore => {
            world.crash(owner);
            return Departs::Dead(None);
        }
        Fault::CrashInFlight => {
            world.crash(owner);
            return Departs::Dead(Some(Span::from_secs(40)));
        }
        Fault::LateRequest => {
            world.sleep(CALL_TIMEOUT).await;
            return Departs::Later(Span::from_secs(3));
        }
        Fault::LostRequest => {
            world.sleep(CALL_TIMEOUT).await;
            return Departs::Never;
        }
        Fault::Unavailable => return Departs::Refused,
        Fault::Freeze => freeze(world, owner),
        Fault::Stop => world.stoppers.borrow()[&owner].stop(),
        Fault::Cancel => world.cancel(world.first_run(), "enough"),
        Fault::CrashAfter | Fault::LostReply | Fault::FreezeAfter | Fault::FreezeUnnoticed => {}
    }
    Departs::Now
}

/// Does what a fault does when the request has been applied.
async fn after(world: &World, owner: u32, fault: Option<Fault>) -> Result<(), CallError> {
    match fault {
        Some(Fault::CrashAfter) => {
            world.crash(owner);
            std::future::pending().await
        }
        Some(Fault::LostReply) => {
            world.sleep(CALL_TIMEOUT).await;
            Err(CallError::Unknown)
        }
        Some(Fault::FreezeAfter) => {
            freeze(world, owner);
            Ok(())
        }
        Some(Fault::FreezeUnnoticed) => {
            freeze(world, owner);
            world.behind.borrow_mut().insert(owner, FREEZE);
            Ok(())
        }
        _ => Ok(()),
    }
}

fn freeze(world: &World, owner: u32) {
    world.frozen.borrow_mut().insert(owner, world.now.get() + FREEZE);
}

/// Lets a request land after `delay`, whoever still waits for it.
fn land_later<T: 'static>(world: &Rc<World>, delay: Span, apply: impl Apply<T>) {
    let (later, far_end) = (world.sleep(delay), world.clone());
    let landing = async move {
        later.await;
        apply(&far_end);
    };
    world.spawn(u32::MAX, Box::pin(landing));
}

impl Store for Line {
    fn call(&self, request: Request) -> Calling<Reply> {
        self.world.asked.borrow_mut().push((self.owner, request.clone()));
        let (store, now) = (self.world.store.clone(), self.world.now.clone());
        let wait = if let Request::Lease { wait, .. } = &request { *wait } else { Span::ZERO };
        let arrived = Cell::new(None);
        self.carry(wait + CALL_TIMEOUT, move |world| {
            let since = arrived.get().unwrap_or_else(|| now.get());
            arrived.set(Some(since));
            let waited = now.get().since(since);
            let mut reply = world.ask(store.call(request.clone()));
            if let Reply::Leases(leases) = &mut reply {
                leases.iter_mut().for_each(|lease| lease.waited = waited);
                if leases.is_empty() && waited < wait {
                    return None;
                }
            }
            world.applied.borrow_mut().push(request.clone());
            Some(Ok(reply))
        })
    }
}

impl Outside for Line {
    fn perform(&self, request: Perform) -> Calling<Performed> {
        self.carry(Span::ZERO, move |world| Some(world.script(&request.effect)))
    }
}

impl Host for Line {
    fn now(&self) -> Timestamp {
        let behind = self.world.behind.borrow().get(&self.owner).copied().unwrap_or(Span::ZERO);
        self.world.now.get() - behind
    }

    fn sleep(&self, span: Span) -> Task {
        self.world.sleep(span)
    }

    fn spawn(&self, task: Task) {
        self.world.spawn(self.owner, task);
    }

    fn random(&self, run: RunId, step: Step) -> u128 {
        run.as_u128().wrapping_mul(u128::from(step.0) + 1)
    }
}
