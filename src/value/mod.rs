//! The words of Twinlane as types: paths, sizes, times, metadata, places, ids.
//!
//! What comes in and goes out are plain values; nothing here touches the operating system, so every room
//! may name this one and it names none.

mod bandwidth;
mod base64;
mod cancel;
mod digest;
mod fields;
mod meta;
mod path;
mod place;
mod run_id;
mod size;
mod stage;
mod stamp;
mod sums;
mod when;
mod zone;

pub use bandwidth::{Bandwidth, BandwidthWindow};
pub use base64::{from_base64, to_base64};
pub use cancel::{Cancel, Wish};
pub use digest::Digest;
pub use fields::{from_fields, to_fields};
pub use meta::{Entry, Kind, Meta, PERMISSION_BITS};
pub use path::{RelPath, RelPathError, escape};
pub use place::{Case, Place, SyncTrust};
pub use run_id::{RunId, RunIdError};
pub use size::{ByteCount, Percent, SizeError};
pub use stage::StageName;
pub use stamp::Stamp;
pub use sums::{SumLine, SumLineError};
pub use when::{When, WhenError};
pub use zone::Zone;
