//! Device ids change when a disk is attached again; what was seen on it does not.

use crate::compare::Side;
use crate::plan::Plan;

impl Plan {
    /// Says that a file system which had one device id when the plan was made has another one now.
    pub fn follow_device(&mut self, side: Side, was: u64, is: u64) {
        for directory in &mut self.directories {
            let meta = match side {
                Side::Source => &mut directory.source,
                Side::Destination => &mut directory.destination,
            };
            if let Some(meta) = meta.as_mut().filter(|meta| meta.device == was) {
                meta.device = is;
            }
        }
        for action in &self.actions {
            let index = match side {
                Side::Source => action.source,
                Side::Destination => action.destination,
            };
            if let Some(meta) = self.metas.get_mut(index as usize).filter(|meta| meta.device == was) {
                meta.device = is;
            }
        }
    }
}
