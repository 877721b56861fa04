//! Panics inside a world are faults of chronodrome, never verdicts: they are caught and named.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// Where the last panic of this thread came from.
    static LAST_PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A panic that was caught.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", place.as_deref().map(|place| format!(" (at {place})")).unwrap_or_default())]
pub struct Panic {
    /// What it said.
    pub message: String,
    /// The source line, where [`note_places`] was called before.
    pub place: Option<String>,
}

/// From now on panics print nothing and their places are noted for [`contain`]. For the command, which reports
/// every panic itself; a library leaves the hook of its process alone.
pub fn note_places() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|location| format!("{}:{}", location.file(), location.line()));
        LAST_PLACE.with(|last| *last.borrow_mut() = place);
    }));
}

/// Does `work`; whatever it worked on must be thrown away if it panics.
///
/// # Errors
/// When it panics.
pub fn contain<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| Panic {
        message: message_of(payload.as_ref()),
        place: LAST_PLACE.with(|last| last.borrow_mut().take()),
    })
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without words".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_with_its_words() {
        assert_eq!(contain(|| 7), Ok(7));
        let number = 3;
        let caught = contain(|| -> u8 { panic!("step {number} twice") }).unwrap_err();
        assert_eq!(caught.message, "step 3 twice");
    }
}
