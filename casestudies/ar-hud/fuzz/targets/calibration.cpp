/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * sensor.yaml of both cameras, apart by a line of `---`. A pair that is accepted is rectified, in small
 * images: large ones take OpenCV a second.
 */
#include "../input.hpp"
#include "euroc/sequence.hpp"

#include <string_view>

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char *>(data), size);
    constexpr std::string_view line = "---\n";
    const std::size_t middle = std::min(text.find(line), size);
    const std::size_t second = std::min(middle + line.size(), size);
    return fuzz([&] {
        ar_hud::Camera left = ar_hud::read_camera(write_input("left.yaml", data, middle));
        const auto right_yaml = write_input("right.yaml", data + second, size - second);
        ar_hud::Camera right = ar_hud::read_camera(right_yaml);
        const Eigen::Matrix3d turn = left.body_from_camera.linear();
        expect((turn * turn.transpose()).isIdentity(1e-6) && turn.determinant() > 0);
        ar_hud::expect_pair(left, right, right_yaml);
        if (left.width > 100 || left.height > 100)
            return;
        const ar_hud::StereoRig rig(left, right);
        expect(rig.focal_length > 0 && rig.baseline_m > 0 && rig.principal_point.allFinite());
    });
}
