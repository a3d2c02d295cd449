//! BLAKE3 of extents in any order, merged through its tree; the threads that compute it.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use blake3::hazmat::{
    ChainingValue, HasherExt as _, Mode, left_subtree_len, merge_subtrees_non_root, merge_subtrees_root,
};
use crossbeam_channel::Receiver;

use super::board::Part;
use crate::platform::Lease;
use crate::value::Digest;

/// The tree over a file's blocks, merged as far as its extents are known: memory follows the extents in flight, not the file.
///
/// A node is `(level, index)`: it covers the blocks `index << level …`, `1 << level` of them. A block's chaining value depends on its
/// offset, so that not even equal blocks (zeros) share one.
pub(super) struct Tree {
    block_bytes: u64,
    nodes: HashMap<(u32, u64), ChainingValue>,
    /// Extents that are not full, by where they end; one, but for a source that shrinks while it is read.
    short: BTreeMap<u64, ChainingValue>,
    /// The root of the first extent, should it be the only one, and its length.
    first: Option<(u64, Digest)>,
}

impl Tree {
    /// `block_bytes` is a power of two and a multiple of BLAKE3's chunk, 1 KiB.
    pub(super) fn new(block_bytes: usize) -> Self {
        Self { block_bytes: block_bytes as u64, nodes: HashMap::new(), short: BTreeMap::new(), first: None }
    }

    fn insert(&mut self, extent: &Extent) {
        if extent.offset == 0 {
            self.first = Some((extent.bytes, extent.root));
        }
        if extent.bytes < self.block_bytes {
            self.short.insert(extent.offset + extent.bytes, extent.chaining);
            return;
        }
        let (mut level, mut index, mut chaining) = (0, extent.offset / self.block_bytes, extent.chaining);
        while let Some(&sibling) = self.nodes.get(&(level, index ^ 1)) {
            if index < 2 {
                // Both may turn out to be the root's children, which merge in another way.
                self.nodes.insert((level, index), chaining);
            } else {
                self.nodes.remove(&(level, index ^ 1));
            }
            let (left, right) =
                if index.is_multiple_of(2) { (chaining, sibling) } else { (sibling, chaining) };
            chaining = merge_subtrees_non_root(&left, &right, Mode::Hash);
            level += 1;
            index /= 2;
        }
        self.nodes.insert((level, index), chaining);
    }

    /// The digest of the first `bytes` bytes; `None` where an extent of them is missing.
    pub(super) fn root(&self, bytes: u64) -> Option<Digest> {
        if bytes == 0 {
            return Some(digest(blake3::hash(b"")));
        }
        if bytes <= self.block_bytes {
            return self.first.filter(|(length, _)| *length == bytes).map(|(_, root)| root);
        }
        let left = left_subtree_len(bytes);
        let root = merge_subtrees_root(&self.node(0, left)?, &self.node(left, bytes - left)?, Mode::Hash);
        Some(digest(root))
    }

    fn node(&self, offset: u64, bytes: u64) -> Option<ChainingValue> {
        if bytes < self.block_bytes {
            return self.short.get(&(offset + bytes)).copied();
        }
        let blocks = bytes / self.block_bytes;
        if bytes.is_power_of_two() {
            let level = blocks.trailing_zeros();
            return self.nodes.get(&(level, (offset / self.block_bytes) >> level)).copied();
        }
        let left = left_subtree_len(bytes);
        let (left_node, right_node) = (self.node(offset, left)?, self.node(offset + left, bytes - left)?);
        Some(merge_subtrees_non_root(&left_node, &right_node, Mode::Hash))
    }
}

/// One hashed extent, never empty.
struct Extent {
    offset: u64,
    bytes: u64,
    chaining: ChainingValue,
    root: Digest,
}

fn digest(hash: blake3::Hash) -> Digest {
    Digest(*hash.as_bytes())
}

/// What an extent holds.
pub(super) enum Content {
    /// The first so many bytes of a block, which is shared with whoever writes it.
    Block(Arc<Lease>, usize),
    /// So many zeros of a hole.
    Zeros(usize),
}

/// One extent to be hashed. The content goes first: its block is back in the pool before the transfer ends.
pub(super) struct HashWork {
    pub(super) content: Content,
    pub(super) offset: u64,
    pub(super) part: Part,
}

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Feeds zeros to a hasher.
pub(super) fn update_zeros(hasher: &mut blake3::Hasher, bytes: u64) {
    let mut left = bytes;
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(usize::MAX).min(ZEROS.len());
        hasher.update(ZEROS.get(..part).unwrap_or(&ZEROS));
        left -= part as u64;
    }
}

/// A hash thread: hashes what comes until nobody can send any more. Never waits for a block. A panic fails the transfer in hand and no other.
pub(super) fn hash_all(work: &Receiver<HashWork>) {
    for work in work {
        let one = AssertUnwindSafe(|| {
            let work = work;
            let open = work.part.open();
            if !open.is_failed()
                && let Some(extent) = hash(&work)
            {
                open.tree().insert(&extent);
            }
        });
        let _ = catch_unwind(one);
    }
}

fn hash(work: &HashWork) -> Option<Extent> {
    let mut hasher = blake3::Hasher::new();
    hasher.set_input_offset(work.offset);
    match &work.content {
        Content::Block(block, bytes) => {
            hasher.update(block.get(..*bytes)?);
        }
        Content::Zeros(bytes) => update_zeros(&mut hasher, *bytes as u64),
    }
    let bytes = hasher.count();
    if bytes == 0 {
        return None;
    }
    // A root says nothing but at offset 0, where the extent may be the whole file.
    let root = if work.offset == 0 { digest(hasher.finalize()) } else { Digest([0; 32]) };
    Some(Extent { offset: work.offset, bytes, chaining: hasher.finalize_non_root(), root })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BLOCK_BYTES: usize = 1024;

    fn sample(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 7 + at / 251).to_le_bytes()[0]).collect()
    }

    fn extent(bytes: &[u8], index: usize) -> Extent {
        let from = index * BLOCK_BYTES;
        let block = &bytes[from..bytes.len().min(from + BLOCK_BYTES)];
        let mut hasher = blake3::Hasher::new();
        hasher.set_input_offset(from as u64).update(block);
        Extent {
            offset: from as u64,
            bytes: block.len() as u64,
            chaining: hasher.finalize_non_root(),
            root: digest(if from == 0 { hasher.finalize() } else { blake3::hash(b"") }),
        }
    }

    proptest! {
        #[test]
        fn any_order_gives_the_root_of_the_whole(
            length in 1usize..40_000,
            order in Just((0usize..40).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let bytes = sample(length);
            let mut tree = Tree::new(BLOCK_BYTES);
            for index in order.into_iter().filter(|index| index * BLOCK_BYTES < length) {
                prop_assert_eq!(tree.root(length as u64), None);
                tree.insert(&extent(&bytes, index));
            }
            prop_assert_eq!(tree.root(length as u64), Some(digest(blake3::hash(&bytes))));
        }
    }

    #[test]
    fn a_source_that_shrank_is_hashed_to_its_new_end() {
        let bytes = sample(9000);
        for end in [0, 1, 1023, 1025, 2048, 3000, 4096, 5000] {
            let mut tree = Tree::new(BLOCK_BYTES);
            for index in (0..9).rev() {
                let from = index * BLOCK_BYTES;
                let upto = if from <= end && end < from + BLOCK_BYTES { &bytes[..end] } else { &bytes[..] };
                if from < upto.len() {
                    tree.insert(&extent(upto, index));
                }
            }
            assert_eq!(tree.root(end as u64), Some(digest(blake3::hash(&bytes[..end]))), "{end}");
        }
    }

    #[test]
    fn memory_follows_the_extents_in_flight() {
        let block = [7u8; BLOCK_BYTES];
        let mut tree = Tree::new(BLOCK_BYTES);
        for index in 0..100_000u64 {
            let mut hasher = blake3::Hasher::new();
            hasher.set_input_offset(index * BLOCK_BYTES as u64).update(&block);
            tree.insert(&Extent {
                offset: index * BLOCK_BYTES as u64,
                bytes: BLOCK_BYTES as u64,
                chaining: hasher.finalize_non_root(),
                root: Digest([0; 32]),
            });
        }
        assert!(tree.nodes.len() < 64, "{}", tree.nodes.len());
    }
}
