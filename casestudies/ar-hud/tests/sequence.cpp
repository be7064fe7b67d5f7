/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "euroc/sequence.hpp"

#include "euroc/writer.hpp"
#include "hall/sequences.hpp"
#include "temporary_folder.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <opencv2/imgcodecs.hpp>
#include <sstream>

using namespace ar_hud;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

/* Three frames of noise, and a truth of four poses. */
void write_sequence(const fs::path &folder) {
    SequenceWriter writer(folder, hall_camera_left(), hall_camera_right());
    for (int n = 0; n < 3; n++) {
        cv::Mat1b picture(480, 752);
        cv::theRNG().state = static_cast<std::uint64_t>(n + 1);
        cv::randu(picture, 0, 255);
        writer.add(1'000 + n * 50'000'000, {picture, picture});
    }
    Trajectory truth;
    for (int n = 0; n < 4; n++) {
        StampedPose pose{1'000 + n * 50'000'000};
        pose.world_from_body.translation() = Eigen::Vector3d(n, 0.1 * n, 1.0 / 3);
        pose.world_from_body.rotate(Eigen::AngleAxisd(0.3 * n, Eigen::Vector3d::UnitZ()));
        truth.push_back(pose);
    }
    writer.finish(truth);
}

void replace(const fs::path &file, const std::string &what, const std::string &with) {
    std::string text = read_text(file);
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    write_text(file, text.replace(at, what.size(), with));
}

/* Puts cam1 there, in cam0's coordinates: x right, y down, z forward. */
void mount_right(const fs::path &folder, const Eigen::Vector3d &at_m, double turn_rad = 0) {
    const Pose mounted = hall_camera_left().body_from_camera * Eigen::Translation3d(at_m) *
                         Eigen::AngleAxisd(turn_rad, Eigen::Vector3d::UnitY());
    std::ostringstream data;
    data.precision(17);
    for (int n = 0; n < 16; n++)
        data << (n ? ", " : "data: [") << mounted.matrix()(n / 4, n % 4);
    const fs::path file = folder / "cam1/sensor.yaml";
    const std::string text = read_text(file);
    const std::size_t from = text.find("data: ["), to = text.find(']', from);
    replace(file, text.substr(from, to - from), data.str());
}

/* What reading the sequence says, with all its images. */
std::string complaint(const fs::path &folder) {
    try {
        const Sequence sequence = read_sequence(folder);
        for (const StereoFrame &frame : sequence.frames)
            sequence.load(frame);
    } catch (const InputError &error) {
        return error.what();
    }
    return "";
}

} // namespace

TEST_CASE("what was written is read") {
    const TemporaryFolder temporary;
    write_sequence(temporary.path / "mav0");
    for (const fs::path &folder : {temporary.path, temporary.path / "mav0"}) {
        const Sequence sequence = read_sequence(folder);
        CHECK(sequence.frames.size() == 3);
        CHECK(sequence.unpaired == 0);
        CHECK(sequence.frames[1].left.timestamp_ns == 50'001'000);
        CHECK(sequence.left.body_from_camera.isApprox(hall_camera_left().body_from_camera));
        CHECK(sequence.right.cu == hall_camera_right().cu);
        CHECK(sequence.ground_truth.size() == 4);
        CHECK(sequence.ground_truth[3].world_from_body.translation().x() == 3);
        CHECK(sequence.load(sequence.frames[2]).right.size() == cv::Size(752, 480));
    }
    CHECK_THROWS_WITH(SequenceWriter(temporary.path / "mav0", {}, {}),
                      Contains("is there already"));
}

TEST_CASE("EuRoC's own files have other line ends, more columns and comments") {
    const TemporaryFolder temporary;
    write_sequence(temporary.path / "s");
    write_text(temporary.path / "s/cam0/data.csv", "#timestamp [ns],filename\r\n"
                                                   "1000,1000.png\r\n\r\n"
                                                   "50001000, 50001000.png\r\n");
    write_text(temporary.path / "s/state_groundtruth_estimate0/data.csv",
               "#timestamp, p, q, v, bw, ba\r\n"
               "1000,4.68,-1.78,0.78,0.534108,-0.153029,-0.827383,-0.082152,0,0,0,1,2,3,4,5,6\r\n");
    const Sequence sequence = read_sequence(temporary.path / "s");
    CHECK(sequence.frames.size() == 2);
    CHECK(sequence.unpaired == 1);
    CHECK(sequence.ground_truth.size() == 1);
}

TEST_CASE("what is wrong with a sequence is said with its place") {
    struct Case {
        const char *name;
        std::function<void(const fs::path &)> spoil;
        const char *place;
        const char *what;
    };
    const Case cases[] = {
        {"an image is missing", [](const fs::path &s) { fs::remove(s / "cam1/data/50001000.png"); },
         "cam1/data.csv:3:10: ", "which is not there"},
        {"an image is cut",
         [](const fs::path &s) { fs::resize_file(s / "cam0/data/1000.png", 20'000); },
         "cam0/data/1000.png: ", "is no whole image"},
        {"an image is empty", [](const fs::path &s) { write_text(s / "cam0/data/1000.png", ""); },
         "cam0/data/1000.png: ", "is no whole image"},
        {"an image has another size",
         [](const fs::path &s) {
             cv::imwrite((s / "cam0/data/1000.png").string(), cv::Mat1b(480, 640, uchar(7)));
         },
         "cam0/data/1000.png: ", "has 640 x 480 pixels"},
        {"a time stands twice",
         [](const fs::path &s) { replace(s / "cam0/data.csv", "50001000,", "1000,"); },
         "cam0/data.csv:3:1: ", "stands in the row above, too"},
        {"times are not sorted",
         [](const fs::path &s) { replace(s / "cam0/data.csv", "50001000,", "999,"); },
         "cam0/data.csv:3:1: ", "is before that of the row above"},
        {"a time is no number",
         [](const fs::path &s) { replace(s / "cam1/data.csv", "50001000,", "5e7,"); },
         "cam1/data.csv:3:1: ", "found '5e7', expected a time"},
        {"a table names nothing",
         [](const fs::path &s) { write_text(s / "cam1/data.csv", "#timestamp,filename\n"); },
         "cam1/data.csv: ", "names no image"},
        {"an image is in another folder",
         [](const fs::path &s) { replace(s / "cam0/data.csv", ",1000.png", ",../1000.png"); },
         "cam0/data.csv:2:6: ", "without a folder"},
        {"a row is too short",
         [](const fs::path &s) { replace(s / "cam0/data.csv", ",1000.png", ""); },
         "cam0/data.csv:2:5: ", "found 1 columns, expected at least 2"},
        {"ground truth without poses",
         [](const fs::path &s) { write_text(s / "state_groundtruth_estimate0/data.csv", ""); },
         "state_groundtruth_estimate0/data.csv: ", "has no pose"},
        {"ground truth that is not a number",
         [](const fs::path &s) {
             write_text(s / "state_groundtruth_estimate0/data.csv", "#\n1,0,nan,0,1,0,0,0\n");
         },
         "state_groundtruth_estimate0/data.csv:2:5: ", "found 'nan', expected a number"},
        {"a quaternion in other units",
         [](const fs::path &s) {
             write_text(s / "state_groundtruth_estimate0/data.csv", "1,0,0,0,1,1,0,0\n");
         },
         "state_groundtruth_estimate0/data.csv:1:9: ",
         "norm is 1.414214, expected 1 with the order w x y z"},
        {"a calibration is no YAML",
         [](const fs::path &s) { write_text(s / "cam0/sensor.yaml", "a: [1, 2\nb: 3\n"); },
         "cam0/sensor.yaml:", "is no YAML"},
        {"a calibration of another model",
         [](const fs::path &s) {
             replace(s / "cam0/sensor.yaml", "radial-tangential", "equidistant");
         },
         "cam0/sensor.yaml:10:19: ", "only 'radial-tangential' is supported"},
        {"a calibration whose rotation is none",
         [](const fs::path &s) { replace(s / "cam0/sensor.yaml", "data: [0, -1", "data: [0, -2"); },
         "cam0/sensor.yaml:", "is no rotation"},
        {"a calibration whose rotation is none, of numbers too large to tell",
         [](const fs::path &s) {
             replace(s / "cam0/sensor.yaml", "data: [0, -1, 0", "data: [1e200, -1e200, 1e200");
         },
         "cam0/sensor.yaml:3:3: ", "is no rotation"},
        {"a calibration in millimetres", [](const fs::path &s) { mount_right(s, {110, 0, 0}); },
         "cam1/sensor.yaml:3:3: ", "more than 100 m from the body"},
        {"cameras too far apart", [](const fs::path &s) { mount_right(s, {11, 0, 0}); },
         "cam1/sensor.yaml: ", "more than 10 m from cam0"},
        {"cameras one above the other", [](const fs::path &s) { mount_right(s, {0, 0.11, 0}); },
         "cam1/sensor.yaml: ", "not put this camera to the right of cam0"},
        {"cameras one behind the other", [](const fs::path &s) { mount_right(s, {0, 0, 0.11}); },
         "cam1/sensor.yaml: ", "not put this camera to the right of cam0"},
        {"cameras in the other order", [](const fs::path &s) { mount_right(s, {-0.11, 0, 0}); },
         "cam1/sensor.yaml: ", "not put this camera to the right of cam0"},
        {"cameras that look elsewhere",
         [](const fs::path &s) { mount_right(s, {0.11, 0, 0}, 1.5); },
         "cam1/sensor.yaml: ", "turns this camera by 1.5"},
        {"a focal length is zero",
         [](const fs::path &s) {
             replace(s / "cam0/sensor.yaml", "intrinsics: [458", "intrinsics: [0");
         },
         "cam0/sensor.yaml:9:13: ", "focal lengths fu and fv of 1 to 100000 pixels"},
        {"a focal length is infinite",
         [](const fs::path &s) {
             replace(s / "cam0/sensor.yaml", "intrinsics: [458", "intrinsics: [.inf, 8");
         },
         "cam0/sensor.yaml:9:", "intrinsics"},
        {"a distortion that no lens has",
         [](const fs::path &s) {
             replace(s / "cam0/sensor.yaml", "coefficients: [-0.2", "coefficients: [-10.2");
         },
         "cam0/sensor.yaml:11:26: ", "expected -10 to 10 each"},
        {"a resolution of another camera",
         [](const fs::path &s) {
             for (const char *camera : {"cam0", "cam1"})
                 replace(s / camera / "sensor.yaml", "[752, 480]", "[800, 480]");
         },
         "cam0/data/1000.png: ",
         "has 752 x 480 pixels, but its camera's sensor.yaml says 800 x 480"},
        {"ground truth of another time",
         [](const fs::path &s) {
             write_text(s / "state_groundtruth_estimate0/data.csv",
                        "1,0,0,0,1,0,0,0\n999,0,0,0,1,0,0,0\n");
         },
         "state_groundtruth_estimate0/data.csv: ", "no pose from the time of the images"},
        {"ground truth that begins when the images have ended",
         [](const fs::path &s) {
             write_text(s / "state_groundtruth_estimate0/data.csv", "900000000000,0,0,0,1,0,0,0\n");
         },
         "state_groundtruth_estimate0/data.csv: ", "no pose from the time of the images"},
        {"a time in nobody's lifetime",
         [](const fs::path &s) { replace(s / "cam0/data.csv", "1000,", "4000000000000000001,"); },
         "cam0/data.csv:2:1: ", "expected a time in whole nanoseconds, 0 to 4e18"},
        {"a key is missing",
         [](const fs::path &s) { replace(s / "cam0/sensor.yaml", "intrinsics", "intrinsic"); },
         "cam0/sensor.yaml:1:1: ", "the key 'intrinsics' is missing"},
        {"the principal point is elsewhere",
         [](const fs::path &s) { replace(s / "cam1/sensor.yaml", "380, 255", "380, 2550"); },
         "cam1/sensor.yaml:9:13: ", "is not in the image"},
        {"both cameras are at one place",
         [](const fs::path &s) {
             fs::copy_file(s / "cam0/sensor.yaml", s / "cam1/sensor.yaml",
                           fs::copy_options::overwrite_existing);
         },
         "cam1/sensor.yaml: ", "within 1 mm of cam0"},
        {"a camera is missing", [](const fs::path &s) { fs::remove_all(s / "cam1"); },
         "s: ", "expected the folders cam0 and cam1"},
    };
    const TemporaryFolder temporary;
    write_sequence(temporary.path / "whole");
    REQUIRE(complaint(temporary.path / "whole").empty());
    for (const Case &spoiled : cases) {
        CAPTURE(spoiled.name);
        const fs::path folder = temporary.path / "s";
        fs::remove_all(folder);
        fs::copy(temporary.path / "whole", folder, fs::copy_options::recursive);
        spoiled.spoil(folder);
        CHECK_THAT(complaint(folder), Contains(spoiled.place) && Contains(spoiled.what));
    }
}
