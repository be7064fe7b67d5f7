/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "engine/work_queue.hpp"

#include <catch2/catch.hpp>

using namespace ar_hud;

TEST_CASE("a full queue refuses, and what is worked on counts") {
    WorkQueue<int> queue(2);
    CHECK(queue.offer(1));
    CHECK(queue.offer(2));
    CHECK_FALSE(queue.has_room());
    CHECK_FALSE(queue.offer(3));
    CHECK(queue.take() == 1);
    CHECK_FALSE(queue.offer(3));
    queue.done();
    CHECK(queue.offer(3));
}

TEST_CASE("the newest replaces what waits") {
    WorkQueue<int> queue(2);
    queue.replace(1);
    queue.replace(2);
    CHECK(queue.take() == 2);
    CHECK(queue.is_last());
}

TEST_CASE("a closed queue gives what it has, then nothing") {
    WorkQueue<int> queue(1);
    queue.offer(1);
    queue.close();
    CHECK(queue.take() == 1);
    CHECK_FALSE(queue.take().has_value());
}
