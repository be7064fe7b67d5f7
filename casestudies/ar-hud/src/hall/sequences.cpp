/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "sequences.hpp"

#include "../euroc/writer.hpp"
#include "../input_error.hpp"

#include <cmath>
#include <stdexcept>

namespace ar_hud {

namespace {

constexpr double rate_hz = 20;
constexpr double truth_rate_hz = 200;
/* When the flight begins; any time would do that is no 0, which readers may take for "none". */
constexpr std::int64_t begin_ns = 1'000'000'000;

std::int64_t nanoseconds(double time_s) {
    return begin_ns + std::llround(time_s * 1e9);
}

Camera camera_of(double focal, double cu, double cv, double baseline_m) {
    Camera camera;
    camera.width = 752;
    camera.height = 480;
    camera.rate_hz = rate_hz;
    camera.fu = focal;
    camera.fv = focal - 1.4;
    camera.cu = cu;
    camera.cv = cv;
    camera.k1 = -0.283;
    camera.k2 = 0.074;
    camera.p1 = 0.0002;
    camera.p2 = 0.00002;
    /* The body's x is up, its z forward; the camera's x is right, its y down. */
    camera.body_from_camera.linear() << 0, -1, 0, 1, 0, 0, 0, 0, 1;
    camera.body_from_camera.translation() << -0.02, -0.065 + baseline_m, 0.01;
    return camera;
}

Trajectory truth_of(const Flight &flight, double duration_s) {
    Trajectory truth;
    const auto poses = static_cast<std::size_t>(std::llround(duration_s * truth_rate_hz)) + 1;
    for (std::size_t n = 0; n < poses; n++) {
        const double time_s = static_cast<double>(n) / truth_rate_hz;
        truth.push_back({nanoseconds(time_s), flight.world_from_body(time_s)});
    }
    return truth;
}

} // namespace

const std::vector<SequenceKind> &sequence_kinds() {
    constexpr double dark = 0.35;
    static const std::vector<SequenceKind> kinds = {
        {"MH01", {80.6, 182, 0.22}, {}},
        {"MH02", {73.5, 150, 0.21}, {}},
        {"MH03", {130.9, 132, 0.29}, {}},
        {"MH04", {91.7, 99, 0.24}, {0.012, dark}},
        {"MH05", {97.6, 111, 0.21}, {0.012, dark}},
    };
    return kinds;
}

const SequenceKind &sequence_kind(const std::string &name) {
    std::string known;
    for (const SequenceKind &kind : sequence_kinds()) {
        if (kind.name == name)
            return kind;
        known += " " + kind.name;
    }
    throw std::invalid_argument("there is no sequence '" + name + "'; there are" + known);
}

Camera hall_camera_left() {
    return camera_of(458.7, 367.2, 248.4, 0);
}

Camera hall_camera_right() {
    return camera_of(457.6, 380.0, 255.2, 0.11);
}

void generate_sequence(const SequenceKind &kind, std::uint64_t seed, std::size_t frames,
                       const std::filesystem::path &folder,
                       const std::function<void(std::size_t, std::size_t)> &progress) {
    const Flight flight(kind.flight, seed);
    const Scene scene = Scene::furnish(seed);
    const Imager left(hall_camera_left()), right(hall_camera_right());
    const auto all = static_cast<std::size_t>(std::llround(flight.duration_s() * rate_hz));
    const std::size_t count = frames == 0 ? all : std::min(frames, all);

    SequenceWriter writer(folder, hall_camera_left(), hall_camera_right());
    for (std::size_t n = 0; n < count; n++) {
        const double time_s = static_cast<double>(n) / rate_hz;
        const std::uint64_t noise = seed * 1'000'003 + 2 * n;
        writer.add(nanoseconds(time_s),
                   {left.take(scene, flight, kind.conditions, time_s, noise),
                    right.take(scene, flight, kind.conditions, time_s, noise + 1)});
        progress(n + 1, count);
    }
    writer.finish(truth_of(flight, static_cast<double>(count) / rate_hz));
}

} // namespace ar_hud
