/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Sequences of the EuRoC MAV data set (Burri et al., "The EuRoC micro aerial vehicle datasets",
 * IJRR 2016), in the ASL format: a folder with cam0, cam1 and state_groundtruth_estimate0, each
 * with a data.csv, cameras with a sensor.yaml and their images in data/.
 */
#pragma once

#include "../camera/stereo.hpp"
#include "../input_error.hpp"

#include <cstdint>
#include <vector>

namespace ar_hud {

/* One image of a camera; `row` is where its table names it. */
struct ImageFile {
    std::int64_t timestamp_ns = 0;
    std::filesystem::path file;
    Place row;
};

/* What both cameras saw at one time. */
struct StereoFrame {
    ImageFile left;
    ImageFile right;
};

struct Sequence {
    Camera left;
    Camera right;
    std::vector<StereoFrame> frames;
    /* Images that only one of the cameras has; EuRoC's V2_03 has such. */
    std::size_t unpaired = 0;
    /* World from body; empty if the folder has none. */
    Trajectory ground_truth;

    /* Grey images of a frame. Throws InputError if one is missing, damaged or of another size
     * than its camera's. */
    StereoImages load(const StereoFrame &frame) const;
};

/* `folder` is a sequence's, or its mav0. Throws InputError. */
Sequence read_sequence(const std::filesystem::path &folder);

/* Parts of it. */
Camera read_camera(const std::filesystem::path &sensor_yaml);
std::vector<ImageFile> read_images(const std::filesystem::path &camera_folder);
Trajectory read_ground_truth(const std::filesystem::path &data_csv);
/* Throws InputError unless rectification can make a pair of them: side by side, looking the same way. */
void expect_pair(const Camera &left, const Camera &right, const std::filesystem::path &right_yaml);

} // namespace ar_hud
