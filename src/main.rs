//! The program; it has no command line yet.

fn main() {}
