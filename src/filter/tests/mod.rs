//! What the filter promises, on literal trees; gitignore semantics are checked against git itself.

mod explaining;
mod gitignore;
mod judging;
mod table;
mod tree;
