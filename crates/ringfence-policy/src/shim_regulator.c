/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Gives regulator.h's inline functions external linkage for the Rust face. */
