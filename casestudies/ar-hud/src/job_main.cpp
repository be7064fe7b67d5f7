/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The command `ar-hud-job`: one job of a stage, for `ringfence trace record`. */
#include "recording/job_marks.hpp"
#include "recording/stage_file.hpp"

#include <cstdio>
#include <opencv2/core/utility.hpp>

namespace {

/* What is done only once, such as finding a library's functions, is done before. */
void run(const ar_hud::StageJob &job) {
    ar_hud::JobMarks marks;
    for (bool marked : {false, true}) {
        ar_hud::StageJob fresh = job;
        std::visit(
            [&](auto &stage) {
                if (marked)
                    marks.begin();
                const auto result = stage();
                if (marked)
                    marks.end();
            },
            fresh);
    }
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fputs("usage: ar-hud-job FILE\nRuns a job that `ar-hud stage-job` wrote, marked for "
                   "`ringfence trace record`.\n",
                   stderr);
        return 1;
    }
    try {
        /* So that all accesses are in one stream. */
        cv::setNumThreads(1);
        run(ar_hud::read_stage_job(argv[1]));
    } catch (const std::exception &error) {
        std::fprintf(stderr, "ar-hud-job: %s\n", error.what());
        return 1;
    }
    return 0;
}
