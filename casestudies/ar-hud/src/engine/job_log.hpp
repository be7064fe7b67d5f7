/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Jobs in real time, as one thread sees them: kept for the table, and told to ringfence. */
#pragma once

#include "job.hpp"

namespace ar_hud {

/* One thread's. Times are of CLOCK_MONOTONIC. */
class JobLog {
  public:
    /* For all jobs that may come, so that none waits for memory. `start_ns` is the first tick, set before
     * the first of them. */
    JobLog(std::size_t most, const std::int64_t &start_ns);

    /* The thread's place with ringfence, while this lives; made by the thread itself. */
    class Place {
      public:
        explicit Place(Stage stage);
        ~Place();
        Place(const Place &) = delete;
        Place &operator=(const Place &) = delete;
    };

    static void released(Stage stage, std::size_t frame, std::int64_t time_ns);
    static void begun(Stage stage, std::size_t frame, std::int64_t time_ns);
    void finished(Stage stage, std::size_t frame, std::int64_t released_ns, std::int64_t started_ns,
                  std::int64_t finished_ns);
    void dropped(Stage stage, std::size_t frame, std::int64_t released_ns, std::int64_t dropped_ns);

    const std::vector<Job> &all() const {
        return jobs;
    }

  private:
    const std::int64_t &start_ns;
    std::vector<Job> jobs;
};

} // namespace ar_hud
