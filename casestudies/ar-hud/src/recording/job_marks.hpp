/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Tells `ringfence trace record` what a job is; by itself that is a store of a byte. */
#pragma once

#include "../engine/stage.hpp"

namespace ar_hud {

class JobMarks {
  public:
    JobMarks();

    void begin();
    void end();

    /* Marks the jobs of one stage, of frames from this one on. The marks must outlive it. */
    StageWatch of_stage(Stage marked, std::size_t from_frame);

  private:
    volatile unsigned char *page;
};

} // namespace ar_hud
