//! Many inputs out of one line, from a seed in the file.
