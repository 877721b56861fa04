//! A shared handle to a store in the same thread, so that a library user, or a runtime's own test, can use the
//! contracts without a simulation. Every call is applied when it is made, and its future is ready.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Config, Memory, Surroundings};
use crate::kernel::{AgentId, Calling, Reply, Request, RunId, RunIds, Store, Timestamp};

/// A shared [`Memory`] with a clock. Clones are handles to the same store.
///
/// A lease poll or a tail that finds nothing answers an empty list at once, whatever its `wait`: who polls in a
/// loop must sleep in between.
///
/// ```
/// use std::rc::Rc;
/// use chronodrome::kernel::{Inbox, Message, Scheduler, SpecDefaults, Timestamp, Version};
/// use chronodrome::store::memory::{Config, Local};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn ready<T>(future: impl Future<Output = T>) -> T {
/// #     match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
/// #         Poll::Ready(value) => value,
/// #         Poll::Pending => unreachable!(),
/// #     }
/// # }
/// # ready(async {
/// let store = Local::new(Config::default(), Rc::new(|| Timestamp::from_micros(0)));
/// store.register("billing".into(), Version(1), SpecDefaults::default()).await?;
/// let address = "billing/ann".parse().unwrap();
/// let message = Message {
///     id: "order-1".into(),
///     sender: "shop".parse().unwrap(),
///     data: Default::default(),
///     correlation: None,
///     reply_to: None,
/// };
/// assert_eq!(store.deliver(address, message, true).await?, Ok(true));
/// assert_eq!(store.pending().await?.len(), 1);
/// # Ok::<(), chronodrome::kernel::CallError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct Local {
    memory: Rc<RefCell<Memory>>,
    surroundings: Rc<RefCell<dyn Surroundings>>,
    clock: Rc<dyn Fn() -> Timestamp>,
}

impl Local {
    /// An empty store with this clock. Its run ids come from [`SerialIds`], begun at the clock's present time.
    pub fn new(config: Config, clock: Rc<dyn Fn() -> Timestamp>) -> Local {
        let ids = SerialIds::new(clock());
        Local::with(Memory::new(config), clock, Rc::new(RefCell::new(ids)))
    }

    /// A handle to this store, with this clock and these surroundings.
    pub fn with(
        memory: Memory,
        clock: Rc<dyn Fn() -> Timestamp>,
        surroundings: Rc<RefCell<dyn Surroundings>>,
    ) -> Local {
        Local { memory: Rc::new(RefCell::new(memory)), surroundings, clock }
    }

    /// Looks at the store. The closure must not call it.
    pub fn look<T>(&self, look: impl FnOnce(&Memory) -> T) -> T {
        look(&self.memory.borrow())
    }
}

impl Store for Local {
    fn call(&self, request: Request) -> Calling<Reply> {
        let now = (self.clock)();
        let surroundings = &mut *self.surroundings.borrow_mut();
        let reply = self.memory.borrow_mut().apply(now, &request, surroundings, &mut Vec::new());
        Box::pin(std::future::ready(Ok(reply)))
    }
}

/// Run ids that rise strictly from a start on: one after the other, whatever the address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SerialIds {
    millis: u64,
    minted: u64,
}

impl SerialIds {
    /// Ids with the time bits of `start`; before the epoch they are 0.
    pub fn new(start: Timestamp) -> SerialIds {
        SerialIds { millis: u64::try_from(start.as_micros() / 1_000).unwrap_or(0), minted: 0 }
    }
}

impl RunIds for SerialIds {
    fn mint(&mut self, _agent: &AgentId, _nth: u32) -> RunId {
        self.minted += 1;
        RunId::from_parts(self.millis, u128::from(self.minted))
    }
}

impl Surroundings for SerialIds {}
