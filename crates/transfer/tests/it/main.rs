//! Archives and transfers with real files; all tests link as a single program.

mod files;
mod judged;
