//! A hub on port 0, scripted peers and a fault proxy for Jackfield's tests.
