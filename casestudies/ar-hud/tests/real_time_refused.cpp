/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What real time cannot have is refused. Not with the tests of threads: ThreadSanitizer, under which they
 * run, makes mlockall do nothing. */
#include "engine/real_time.hpp"
#include "hall/sequences.hpp"

#include <catch2/catch.hpp>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ar_hud;

TEST_CASE("cores that are not there are refused before any frame") {
    RealTimeOptions options;
    options.front_end.cores = {CPU_SETSIZE - 1};
    const StereoRig rig(hall_camera_left(), hall_camera_right());
    CHECK_THROWS_WITH(run_in_real_time(rig, {0}, {StereoImages()}, options),
                      Catch::Contains("cores cannot be had"));
}

namespace {

/* In a child, without root: a limit that is lowered stays so, and root is above it. */
bool holds_without_rights(int limited, bool (*check)()) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const rlimit none{0, 0};
        setrlimit(static_cast<__rlimit_resource>(limited), &none);
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
            _exit(2);
        _exit(check() ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return status == 0;
}

std::string complaint(const RealTimeOptions &options) {
    try {
        const StereoRig rig(hall_camera_left(), hall_camera_right());
        run_in_real_time(rig, {0}, {StereoImages()}, options);
    } catch (const std::exception &error) {
        return error.what();
    }
    return "";
}

} // namespace

TEST_CASE("memory that cannot be locked is refused before any frame, and what to do is said") {
    CHECK(holds_without_rights(RLIMIT_MEMLOCK, [] {
        RealTimeOptions options;
        options.lock_memory = true;
        return complaint(options).find("ulimit -l") != std::string::npos;
    }));
}

TEST_CASE("who is refused a priority keeps the cores that he had") {
    CHECK(holds_without_rights(RLIMIT_RTPRIO, [] {
        cpu_set_t before, after;
        sched_getaffinity(0, sizeof before, &before);
        RealTimeOptions options;
        options.front_end = {10, {0}};
        const bool said = complaint(options).find("cannot be had") != std::string::npos;
        sched_getaffinity(0, sizeof after, &after);
        return said && CPU_EQUAL(&before, &after);
    }));
}
