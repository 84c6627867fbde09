//! What remembers and what moves: journals and buses.
