//! `all`: single calls that go on together.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use super::seat::{Outcome, Seat};
use super::step::{Finish, Given};
use super::{Call, StepError};
use crate::kernel::{Group, Json, Step};

impl Seat {
    /// Makes calls together: they are announced in their order, then all run to their end. The run sleeps when
    /// each is done or waits.
    pub async fn group(&self, calls: Vec<Call>) -> Result<Vec<Json>, StepError> {
        if calls.is_empty() {
            return self.check().map(|()| Vec::new());
        }
        let size = u32::try_from(calls.len()).expect("a group has fewer than 2^32 calls");
        let begun = self.begin(size).await?;
        let first = begun.first;
        let group = Group { first, size };
        let mut members = Vec::with_capacity(calls.len());
        for (step, call) in (first.0..).map(Step).zip(&calls) {
            match self.open(step, Some(group), call).await {
                Ok(fresh) => members.push(self.finish(step, call, fresh)),
                Err(error) => {
                    begun.done();
                    return Err(error);
                }
            }
        }
        let mut waits = Vec::new();
        let mut results = Vec::with_capacity(calls.len());
        for finish in together(members).await {
            match finish {
                Finish::Ended(result) => results.push(result.map(Given::into_json)),
                Finish::Waits(more) => waits.extend(more),
            }
        }
        if !waits.is_empty() {
            return self.end(Outcome::Waits(waits)).await;
        }
        begun.done();
        results.into_iter().collect()
    }
}

/// Drives futures side by side until each has ended; their values in the same order.
async fn together<T>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut members: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|cx| {
        let mut open = 0;
        for (future, value) in members.iter_mut().filter(|(_, value)| value.is_none()) {
            match Pin::as_mut(future).poll(cx) {
                Poll::Ready(ended) => *value = Some(ended),
                Poll::Pending => open += 1,
            }
        }
        if open == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    members.into_iter().filter_map(|(_, value)| value).collect()
}
