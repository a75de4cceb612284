//! An exhaustive search over restarts: the design's rules, proved for bounded cases.
