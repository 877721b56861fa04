//! How an error is told to a program: one envelope for all.

use serde_json::{Value, json};

use super::DocumentError;
use super::read::Field;
use crate::kernel::{Json, Name};

/// What went wrong, as a word and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// 400: a tempo token that is none, or is not registered.
    InvalidTempoToken,
    /// 400: a document that is otherwise none.
    InvalidDocument,
    /// 404: nobody has configured this user.
    UnknownUser,
    /// 404: no plan, or occurrence, of this id.
    UnknownPlan,
    /// 409: a plan with a uid that there is already.
    DuplicateUid,
    /// 409: a step that a plan's status does not allow.
    IllegalTransition,
    /// 409: feedback on what was not executed, or from before it was.
    NotExecuted,
}

impl ErrorKind {
    /// All of them.
    pub const ALL: [ErrorKind; 7] = [
        ErrorKind::InvalidTempoToken,
        ErrorKind::InvalidDocument,
        ErrorKind::UnknownUser,
        ErrorKind::UnknownPlan,
        ErrorKind::DuplicateUid,
        ErrorKind::IllegalTransition,
        ErrorKind::NotExecuted,
    ];

    /// The kind of a document that was refused: `InvalidTempoToken` where the field is one of tokens.
    pub fn of(error: &DocumentError) -> ErrorKind {
        let field = error.place.rsplit('.').next().unwrap_or_default();
        let name = field.split('[').next().unwrap_or_default();
        let is_of_token = matches!(name, "tempo_token" | "tempo_tokens" | "tokens");
        if is_of_token { ErrorKind::InvalidTempoToken } else { ErrorKind::InvalidDocument }
    }

    /// The word under `error`.
    pub const fn as_str(self) -> &'static str {
        match self {
            ErrorKind::InvalidTempoToken => "InvalidTempoToken",
            ErrorKind::InvalidDocument => "InvalidDocument",
            ErrorKind::UnknownUser => "UnknownUser",
            ErrorKind::UnknownPlan => "UnknownPlan",
            ErrorKind::DuplicateUid => "DuplicateUid",
            ErrorKind::IllegalTransition => "IllegalTransition",
            ErrorKind::NotExecuted => "NotExecuted",
        }
    }

    /// The number under `status_code`.
    pub const fn status_code(self) -> u16 {
        match self {
            ErrorKind::InvalidTempoToken | ErrorKind::InvalidDocument => 400,
            ErrorKind::UnknownUser | ErrorKind::UnknownPlan => 404,
            ErrorKind::DuplicateUid | ErrorKind::IllegalTransition | ErrorKind::NotExecuted => 409,
        }
    }
}

/// An error as a document: `{ "status": "error", "error", "detail", "status_code", "trace_id", "hint"? }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorEnvelope {
    /// What went wrong, in a word; an [`ErrorKind`] says it where the error is ours.
    pub error: Name,
    /// What went wrong, in words, with its place.
    pub detail: Name,
    /// The status of HTTP, 400 to 599.
    pub status_code: u16,
    /// The request that it answers.
    pub trace_id: Name,
    /// What would be right.
    pub hint: Option<Name>,
}

impl ErrorEnvelope {
    /// The envelope of an error of this kind, in answer to the request `trace_id`.
    pub fn new(kind: ErrorKind, detail: &str, trace_id: &str) -> ErrorEnvelope {
        ErrorEnvelope {
            error: kind.as_str().into(),
            detail: detail.into(),
            status_code: kind.status_code(),
            trace_id: trace_id.into(),
            hint: None,
        }
    }

    /// The envelope of a document that was refused.
    pub fn of(error: &DocumentError, trace_id: &str) -> ErrorEnvelope {
        let detail = format!("{}: {}", error.place, error.reason);
        let hint = error.hint.as_deref().map(Into::into);
        ErrorEnvelope { hint, ..ErrorEnvelope::new(ErrorKind::of(error), &detail, trace_id) }
    }

    /// Reads an envelope.
    ///
    /// # Errors
    /// The first thing that is wrong: a field that is missing, of the wrong type or out of range.
    pub fn parse(document: &Json) -> Result<ErrorEnvelope, DocumentError> {
        let doc = Field::document(document)?;
        doc.need("status")?.one_of(&[("error", ())])?;
        let status_code = doc.need("status_code")?.integer(400, 599)?;
        Ok(ErrorEnvelope {
            error: doc.need("error")?.name()?,
            detail: doc.need("detail")?.name()?,
            status_code: u16::try_from(status_code).expect("the bound is one of 16 bits"),
            trace_id: doc.need("trace_id")?.name()?,
            hint: doc.read("hint", Field::name)?,
        })
    }

    /// The envelope as a document.
    pub fn to_json(&self) -> Value {
        let mut document = json!({
            "status": "error",
            "error": &*self.error,
            "detail": &*self.detail,
            "status_code": self.status_code,
            "trace_id": &*self.trace_id,
        });
        if let Some(hint) = &self.hint {
            document["hint"] = json!(&**hint);
        }
        document
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tempo::document::check;

    #[test]
    fn an_envelope_is_read_as_it_is_written() {
        for kind in ErrorKind::ALL {
            let envelope = ErrorEnvelope::new(kind, "it is wrong", "req-1");
            assert_eq!(ErrorEnvelope::parse(&envelope.to_json().into()), Ok(envelope.clone()));
            let hinted = ErrorEnvelope { hint: Some("do it right".into()), ..envelope };
            assert_eq!(ErrorEnvelope::parse(&hinted.to_json().into()), Ok(hinted));
        }
    }

    #[test]
    fn a_refused_token_is_told_as_one() {
        let cases = [
            (json!({ "tokens": ["<tempo:Noonish>"] }), ErrorKind::InvalidTempoToken, "tokens[0]"),
            (json!({ "tokens": "none" }), ErrorKind::InvalidTempoToken, "tokens"),
            (json!([]), ErrorKind::InvalidDocument, "document"),
        ];
        for (document, kind, place) in cases {
            let envelope = ErrorEnvelope::of(&check("tempo_tokens", &document).unwrap_err(), "req-1");
            assert_eq!((&*envelope.error, envelope.status_code), (kind.as_str(), 400));
            assert!(envelope.detail.starts_with(&format!("{place}: ")), "{}", envelope.detail);
        }
        assert_eq!(ErrorKind::DuplicateUid.status_code(), 409);
    }
}
