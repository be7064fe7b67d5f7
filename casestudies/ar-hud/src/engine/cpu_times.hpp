/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the stages take of a processor in virtual time, whatever else the machine does meanwhile. */
#pragma once

#include "stage.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace ar_hud {

class CpuTimes {
  public:
    /*
     * For run_in_virtual_time: adds what the calling thread has used from a job's begin to its end. What
     * OpenCV does in threads of its own is not counted: it is to have none. This has to outlive the watch.
     */
    StageWatch watch();

    /* Of a stage's jobs, in their order. */
    const std::vector<double> &of_jobs_ms(Stage stage) const;

  private:
    std::int64_t begin_ns = 0; /* of the thread's CPU time */
    std::map<Stage, std::vector<double>> jobs_ms;
};

} // namespace ar_hud
