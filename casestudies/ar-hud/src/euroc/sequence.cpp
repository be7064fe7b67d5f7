/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "sequence.hpp"

#include "../table/table.hpp"

#include <opencv2/imgcodecs.hpp>

namespace ar_hud {

namespace fs = std::filesystem;

namespace {

std::vector<StereoFrame> pair_by_time(const std::vector<ImageFile> &left,
                                      const std::vector<ImageFile> &right) {
    std::vector<StereoFrame> frames;
    for (auto l = left.begin(), r = right.begin(); l != left.end() && r != right.end();) {
        if (l->timestamp_ns < r->timestamp_ns)
            l++;
        else if (r->timestamp_ns < l->timestamp_ns)
            r++;
        else
            frames.push_back({*l++, *r++});
    }
    return frames;
}

cv::Mat load_grey(const ImageFile &image, const Camera &camera) {
    if (!fs::is_regular_file(image.file))
        throw InputError(image.row, "names the image " + image.file.string() +
                                        ", which is not there; remove the row or add the image");
    cv::Mat grey;
    try {
        grey = cv::imread(image.file.string(), cv::IMREAD_GRAYSCALE);
    } catch (const cv::Exception &) {
        /* Sizes that OpenCV refuses to allocate: damaged as well. */
    }
    if (grey.empty())
        throw InputError({image.file},
                         "is no whole image (named at " + image.row.text() + "); copy it again");
    if (grey.cols != camera.width || grey.rows != camera.height)
        throw InputError({image.file},
                         "has " + std::to_string(grey.cols) + " x " + std::to_string(grey.rows) +
                             " pixels, but its camera's sensor.yaml says " +
                             std::to_string(camera.width) + " x " + std::to_string(camera.height));
    return grey;
}

} // namespace

void expect_pair(const Camera &left, const Camera &right, const fs::path &right_yaml) {
    constexpr double apart_min_m = 1e-3, apart_max_m = 10, turned_max_rad = 0.5;
    if (left.width != right.width || left.height != right.height)
        throw InputError({right_yaml}, "has another resolution than cam0; a stereo pair has one");
    const Pose left_from_right = left.body_from_camera.inverse() * right.body_from_camera;
    const Eigen::Vector3d beside = left_from_right.translation();
    if (beside.norm() < apart_min_m)
        throw InputError({right_yaml},
                         "T_BS puts this camera within 1 mm of cam0; a stereo pair is apart");
    if (beside.norm() > apart_max_m)
        throw InputError({right_yaml},
                         "T_BS puts this camera more than 10 m from cam0; expected metres");
    const double turned_rad = Eigen::AngleAxisd(left_from_right.linear()).angle();
    if (turned_rad > turned_max_rad)
        throw InputError({right_yaml}, "T_BS turns this camera by " + std::to_string(turned_rad) +
                                           " rad against cam0; expected at most 0.5");
    if (beside.x() < 0.9 * beside.norm())
        throw InputError({right_yaml}, "T_BS does not put this camera to the right of cam0; "
                                       "expected a pair side by side, the left one as cam0");
}

std::vector<ImageFile> read_images(const fs::path &camera_folder) {
    TableReader table(camera_folder / "data.csv", Separator::comma, 2);
    std::vector<ImageFile> images;
    while (table.next()) {
        const std::int64_t timestamp_ns = table.timestamp_ns(0);
        table.expect_later(timestamp_ns);
        const fs::path name(table.text(1));
        if (name.empty() || name != name.filename() || name == "." || name == "..")
            throw InputError(table.place(1), "expected the name of an image in data/, without a "
                                             "folder");
        images.push_back({timestamp_ns, camera_folder / "data" / name, table.place(1)});
    }
    if (images.empty())
        throw InputError({camera_folder / "data.csv"}, "names no image");
    return images;
}

Trajectory read_ground_truth(const fs::path &data_csv) {
    /* Time, position, orientation (w first); velocity and biases are not needed. */
    TableReader table(data_csv, Separator::comma, 8);
    Trajectory trajectory;
    while (table.next()) {
        const std::int64_t timestamp_ns = table.timestamp_ns(0);
        table.expect_later(timestamp_ns);
        trajectory.push_back({timestamp_ns, read_pose(table, 1, QuaternionOrder::w_first)});
    }
    if (trajectory.empty())
        throw InputError({data_csv}, "has no pose; without ground truth, remove its folder");
    return trajectory;
}

StereoImages Sequence::load(const StereoFrame &frame) const {
    return {load_grey(frame.left, left), load_grey(frame.right, right)};
}

Sequence read_sequence(const fs::path &folder) {
    const fs::path root = fs::is_directory(folder / "mav0") ? folder / "mav0" : folder;
    if (!fs::is_directory(root / "cam0") || !fs::is_directory(root / "cam1"))
        throw InputError({folder}, "is no stereo sequence: expected the folders cam0 and cam1 in "
                                   "it or in its mav0; a .zip has to be unpacked first");
    Sequence sequence;
    sequence.left = read_camera(root / "cam0" / "sensor.yaml");
    sequence.right = read_camera(root / "cam1" / "sensor.yaml");
    expect_pair(sequence.left, sequence.right, root / "cam1" / "sensor.yaml");

    const auto left = read_images(root / "cam0");
    const auto right = read_images(root / "cam1");
    sequence.frames = pair_by_time(left, right);
    if (sequence.frames.empty())
        throw InputError({root / "cam1" / "data.csv"}, "has no time in common with cam0's");
    sequence.unpaired = left.size() + right.size() - 2 * sequence.frames.size();

    const fs::path truth = root / "state_groundtruth_estimate0";
    if (fs::exists(truth)) {
        sequence.ground_truth = read_ground_truth(truth / "data.csv");
        if (sequence.ground_truth.back().timestamp_ns < sequence.frames.front().left.timestamp_ns ||
            sequence.ground_truth.front().timestamp_ns > sequence.frames.back().left.timestamp_ns)
            throw InputError({truth / "data.csv"},
                             "has no pose from the time of the images; is it of this sequence?");
    }
    return sequence;
}

} // namespace ar_hud
