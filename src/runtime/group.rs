//! `all`: single calls that go on together.

use super::pace::together;
use super::seat::{Outcome, Seat};
use super::step::{Finish, Given, Opened};
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
        let mut waits = Vec::new();
        for (step, call) in (first.0..).map(Step).zip(&calls) {
            match self.open(step, Some(group), call).await {
                Ok(Opened::NotYet(more)) => {
                    // The members behind it are announced when it is: steps stand in the log in their order.
                    waits.extend(more);
                    break;
                }
                Ok(opened) => members.push(self.finish(step, call, matches!(opened, Opened::Now))),
                Err(error) => {
                    begun.done();
                    return Err(error);
                }
            }
        }
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
