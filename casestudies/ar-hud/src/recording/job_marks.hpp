/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Tells `ringfence trace record` what a job is; by itself that is a store of a byte. */
#pragma once

namespace ar_hud {

class JobMarks {
  public:
    JobMarks();

    void begin();
    void end();

  private:
    volatile unsigned char *page;
};

} // namespace ar_hud
