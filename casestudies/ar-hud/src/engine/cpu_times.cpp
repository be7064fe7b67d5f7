/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "cpu_times.hpp"

#include <time.h>

namespace ar_hud {

namespace {

std::int64_t used_ns() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * std::int64_t{1'000'000'000} + used.tv_nsec;
}

} // namespace

StageWatch CpuTimes::watch() {
    return [this](Stage stage, std::size_t, bool begins) {
        if (begins)
            begin_ns = used_ns();
        else
            jobs_ms[stage].push_back(static_cast<double>(used_ns() - begin_ns) / 1e6);
    };
}

const std::vector<double> &CpuTimes::of_jobs_ms(Stage stage) const {
    static const std::vector<double> none;
    const auto jobs = jobs_ms.find(stage);
    return jobs == jobs_ms.end() ? none : jobs->second;
}

} // namespace ar_hud
