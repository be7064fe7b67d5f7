//! The safe Rust face of the policy core in policy/.
