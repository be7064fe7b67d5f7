/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "job.hpp"

#include "../input_error.hpp"

#include <algorithm>
#include <fstream>
#include <tuple>

namespace ar_hud {

const char *name_of(Stage stage) {
    switch (stage) {
    case Stage::front_end:
        return "front-end";
    case Stage::mapping:
        return "mapping";
    case Stage::optimisation:
        return "optimisation";
    }
    return "";
}

void sort_jobs(std::vector<Job> &jobs) {
    std::stable_sort(jobs.begin(), jobs.end(), [](const Job &a, const Job &b) {
        return std::tie(a.stage, a.released_ns) < std::tie(b.stage, b.released_ns);
    });
}

std::vector<double> times_ms(const std::vector<Job> &jobs, Stage stage) {
    std::vector<double> times;
    for (const Job &job : jobs)
        if (job.stage == stage && job.started_ns && job.finished_ns)
            times.push_back(static_cast<double>(*job.finished_ns - *job.started_ns) / 1e6);
    return times;
}

void write_jobs(const std::filesystem::path &file, const std::vector<Job> &jobs) {
    std::ofstream out(file);
    const auto time = [&](const std::optional<std::int64_t> &time_ns) {
        out << ",";
        if (time_ns)
            out << *time_ns;
    };
    out << "stage,frame,released_ns,started_ns,finished_ns,dropped_ns\n";
    for (const Job &job : jobs) {
        out << name_of(job.stage) << "," << job.frame << "," << job.released_ns;
        time(job.started_ns);
        time(job.finished_ns);
        time(job.dropped_ns);
        out << "\n";
    }
    out.close();
    if (!out)
        throw InputError({file}, "cannot be written");
}

} // namespace ar_hud
