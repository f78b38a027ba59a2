//! Archives and transfers with real files: one program for all tests.

mod files;
mod judged;
