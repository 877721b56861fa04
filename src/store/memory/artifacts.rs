//! The artifacts: bytes kept by content. The same bytes have the same reference, and are kept once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::kernel::ArtifactRef;

/// All artifacts.
#[derive(Clone, Debug, Default)]
pub(super) struct Artifacts {
    contents: BTreeMap<ArtifactRef, Arc<[u8]>>,
}

impl Artifacts {
    /// Keeps `bytes` and tells their reference: their SHA-256 as 64 lower-case hex digits.
    pub fn put(&mut self, bytes: &Arc<[u8]>) -> ArtifactRef {
        let mut text = String::with_capacity(64);
        for byte in Sha256::digest(bytes) {
            write!(text, "{byte:02x}").expect("a String takes all text");
        }
        let artifact = ArtifactRef(text.into());
        self.contents.entry(artifact.clone()).or_insert_with(|| bytes.clone());
        artifact
    }

    /// The bytes behind a reference.
    pub fn get(&self, artifact: &ArtifactRef) -> Option<Arc<[u8]>> {
        self.contents.get(artifact).cloned()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.contents.clear();
    }
}
