//! The evenkeel program: options, start-up, listeners, workers and the wire between client and session.
