//! Randomness for ids.

use std::io;

/// 128 random bits from the kernel.
///
/// # Errors
/// Those of `getrandom(2)`.
pub fn random_u128() -> io::Result<u128> {
    let mut bytes = [0u8; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        let rest = bytes.get_mut(filled..).unwrap_or_default();
        filled += rustix::io::retry_on_intr(|| {
            rustix::rand::getrandom(&mut *rest, rustix::rand::GetRandomFlags::empty())
        })?;
    }
    Ok(u128::from_le_bytes(bytes))
}
