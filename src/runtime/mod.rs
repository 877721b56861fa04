//! L1. The machine under test.
