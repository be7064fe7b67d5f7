/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The stages of SLAM, for those who watch them at work. */
#pragma once

#include <cstddef>
#include <functional>

namespace ar_hud {

enum class Stage { front_end, mapping, optimisation };

/* Called when a stage begins with what a frame gives it to do, and when that is done. */
using StageWatch = std::function<void(Stage, std::size_t frame, bool begins)>;

} // namespace ar_hud
