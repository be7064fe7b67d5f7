/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Gives the policy core's inline functions external linkage for the Rust face. */
