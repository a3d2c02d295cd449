//! Linux: everything through rustix; the few calls it lacks as raw ones in `raw.rs`.

mod attributes;
mod dir;
mod environment;
mod file;
mod lock;
mod mounts;
mod paths;
mod place;
mod pool;
mod raw;
mod root;
mod statx;
#[cfg(test)]
mod tests;
mod whole;

pub use attributes::{Attributes, Node, Xattr};
pub use dir::{Dir, Listed, RenameMode};
pub use environment::Environment;
pub use file::{Access, Alignment, File};
pub use lock::{Lock, LockMode};
pub use mounts::{Mount, Volume, mounts, volumes};
pub use paths::{
    list_paths, make_directories, path_bytes, path_from_bytes, read_bytes, read_text, real_path, untrusted,
    write_new,
};
pub use place::place_at;
pub use pool::{Lease, Pool};
pub use root::{RootError, open_root};
pub use whole::{NewFile, begins_with, read_lines};
