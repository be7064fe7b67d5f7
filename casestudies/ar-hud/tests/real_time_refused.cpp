/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What real time cannot have is refused. Not with the tests of threads: ThreadSanitizer, under which they
 * run, makes mlockall do nothing. */
#include "engine/real_time.hpp"
#include "hall/sequences.hpp"

#include <catch2/catch.hpp>
#include <cstring>
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

TEST_CASE("memory that cannot be locked is refused before any frame, and what to do is said") {
    /* In a child: a limit that is lowered stays so, and root is above it. */
    const StereoRig rig(hall_camera_left(), hall_camera_right());
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const rlimit none{0, 0};
        setrlimit(RLIMIT_MEMLOCK, &none);
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
            _exit(2);
        bool said = false;
        RealTimeOptions options;
        options.lock_memory = true;
        try {
            run_in_real_time(rig, {0}, {StereoImages()}, options);
        } catch (const std::exception &error) {
            said = std::strstr(error.what(), "ulimit -l") != nullptr;
        }
        _exit(said ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}
