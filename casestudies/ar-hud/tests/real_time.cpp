/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What holds however fast the machine is: nothing here asks how long anything took. */
#include "engine/real_time.hpp"
#include "engine/shared_map.hpp"

#include <catch2/catch.hpp>
#include <opencv2/imgproc.hpp>

using namespace ar_hud;

namespace {

Keyframe keyframe(KeyframeId id, std::vector<LandmarkId> seen) {
    Keyframe one;
    one.id = id;
    for (LandmarkId landmark : seen) {
        one.observations.emplace_back();
        one.observations.back().landmark = landmark;
    }
    return one;
}

Pose shift(double x) {
    Pose pose = Pose::Identity();
    pose.translation().x() = x;
    return pose;
}

/*
 * A pair that flies sideways along a wall, two pixels a frame: pictures cut out of one, so that they cost
 * next to nothing also under ThreadSanitizer.
 */
struct Clip {
    static constexpr int width = 320, height = 240, focal_px = 200, shift_px = 2;
    static constexpr double wall_m = 2, baseline_m = 0.11;

    explicit Clip(int frames) : rig(camera(0), camera(baseline_m)) {
        const int disparity_px = static_cast<int>(focal_px * baseline_m / wall_m);
        cv::Mat dots((height + 3) / 4, (width + disparity_px + shift_px * frames + 3) / 4, CV_8U);
        cv::theRNG().state = 1;
        cv::randu(dots, 0, 255);
        cv::Mat wall;
        cv::resize(dots, wall, {}, 4, 4, cv::INTER_CUBIC);
        for (int n = 0; n < frames; n++) {
            const cv::Rect seen(shift_px * n, 0, width, height);
            images.push_back({wall(seen).clone(), wall(seen + cv::Point(disparity_px, 0)).clone()});
            ticks_ns.push_back(n * 50'000'000LL);
        }
    }

    static Camera camera(double x_m) {
        Camera one;
        one.width = width;
        one.height = height;
        one.fu = one.fv = focal_px;
        one.cu = width / 2.0;
        one.cv = height / 2.0;
        one.body_from_camera = shift(x_m);
        return one;
    }
    static Eigen::Vector3d truth(std::size_t frame) {
        return {static_cast<double>(frame) * shift_px * wall_m / focal_px, 0, 0};
    }

    StereoRig rig;
    std::vector<StereoImages> images;
    std::vector<std::int64_t> ticks_ns;
};

} // namespace

TEST_CASE("the latest part of a map has what its keyframes see, and where that hangs") {
    Map map;
    map.add(keyframe(0, {1, 2}));
    map.add(keyframe(1, {2}));
    map.add(keyframe(2, {2}));
    MappingResult result;
    result.keyframe = 0;
    result.landmarks = {{1, {0, {0, 0, 1}}}, {2, {0, {0, 0, 2}}}};
    map.apply(result);
    const Map part = map.latest(2);
    REQUIRE(part.keyframes().size() == 3);
    CHECK(part.keyframes().at(0).observations.empty());
    CHECK(part.keyframes().at(0).redundant);
    CHECK_FALSE(part.position(1));
    REQUIRE(part.position(2));
    CHECK(*part.position(2) == Eigen::Vector3d(0, 0, 2));
    CHECK(part.observers(2) == std::vector<KeyframeId>{1, 2});
}

TEST_CASE("a keyframe that was computed before a correction is corrected when it comes") {
    SharedMap map;
    map.add(keyframe(0, {}), Pose::Identity());
    const Snapshot before = map.snapshot();
    OptimisationResult result;
    result.world_from_left = {{0, shift(1)}};
    map.apply(result);
    Keyframe late = keyframe(1, {});
    late.world_from_left = shift(5);
    map.add(late, before.moved);
    CHECK(before.map->keyframes().at(0).world_from_left.translation().x() == 0);
    const Snapshot after = map.snapshot();
    CHECK(after.map->keyframes().at(1).world_from_left.translation().x() == Approx(6));
    CHECK(after.moved.translation().x() == Approx(1));
}

TEST_CASE("a snapshot that was read is freed by who changes the map") {
    SharedMap map;
    map.add(keyframe(0, {}), Pose::Identity());
    std::optional<Snapshot> read = map.snapshot();
    const std::weak_ptr<const Map> watched = read->map;
    map.add(keyframe(1, {}), Pose::Identity());
    CHECK_FALSE(watched.expired());
    read.reset();
    CHECK_FALSE(watched.expired());
    map.add(keyframe(2, {}), Pose::Identity());
    CHECK(watched.expired());
}

TEST_CASE("corrections stay rigid, however many there are") {
    SharedMap map;
    const Pose turn =
        Pose(Eigen::AngleAxisd(0.1, Eigen::Vector3d(1, 2, 3).normalized())) * shift(1);
    for (KeyframeId id = 0; id < 400; id++) {
        const Snapshot now = map.snapshot();
        Keyframe one = keyframe(id, {});
        one.world_from_left = turn;
        map.add(one, now.moved);
        OptimisationResult result;
        result.newest_before = map.snapshot().map->keyframes().at(id).world_from_left;
        result.world_from_left = {{id, turn}};
        map.apply(result);
    }
    const Eigen::Matrix3d rotation = map.snapshot().moved.linear();
    CHECK((rotation * rotation.transpose() - Eigen::Matrix3d::Identity()).norm() < 1e-12);
}

TEST_CASE("three threads follow a clip, with as many drops as it takes") {
    constexpr std::size_t frames = 40;
    const Clip clip(frames);
    RealTimeOptions options;
    options.speed = GENERATE(0.5, 20.0, 1000.0);
    const RealTimeRun done = run_in_real_time(clip.rig, clip.ticks_ns, clip.images, options);
    REQUIRE(done.run.frames.size() == frames);
    std::size_t processed = 0, keyframes = 0;
    std::int64_t ready_ns = 0;
    for (const FrameRecord &frame : done.run.frames) {
        if (frame.dropped)
            continue;
        processed++;
        keyframes += frame.keyframe;
        CHECK(frame.ready_ns > ready_ns);
        ready_ns = frame.ready_ns;
        CHECK(frame.ready_ns > frame.tick_ns);
        if (frame.tracking == Tracking::tracked)
            CHECK((frame.world_from_body.translation() - clip.truth(frame.frame)).norm() < 0.05);
    }
    CHECK_FALSE(done.run.frames.back().dropped); /* nothing newer comes */
    CHECK(done.front_end_ms.size() == processed);
    CHECK(keyframes >= 1);
    CHECK(done.mapping_ms.size() == keyframes);
    CHECK(done.optimisation_ms.size() == done.run.optimisations);
    CHECK(done.run.optimisations + done.run.optimisations_skipped <= keyframes);
}

TEST_CASE("what a stage throws comes out, when all threads have ended") {
    Clip clip(20);
    for (std::size_t n = 1; n < clip.images.size(); n++)
        clip.images[n].left = cv::Mat();
    CHECK_THROWS_AS(run_in_real_time(clip.rig, clip.ticks_ns, clip.images, {}), cv::Exception);
}
