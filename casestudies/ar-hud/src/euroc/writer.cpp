/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "writer.hpp"

#include <iomanip>
#include <opencv2/imgcodecs.hpp>

namespace ar_hud {

namespace fs = std::filesystem;

namespace {

constexpr const char *camera_folders[] = {"cam0", "cam1"};

std::ofstream created(const fs::path &file) {
    std::ofstream stream(file);
    if (!stream)
        throw InputError({file}, "cannot be written");
    stream << std::setprecision(17);
    return stream;
}

void closed(std::ofstream &stream, const fs::path &file) {
    stream.close();
    if (!stream)
        throw InputError({file}, "cannot be written to its end; is the disk full?");
}

void write_camera(const fs::path &file, const Camera &camera) {
    std::ofstream yaml = created(file);
    yaml << "sensor_type: camera\n"
         << "T_BS:\n  cols: 4\n  rows: 4\n  data: [";
    const Eigen::Matrix4d matrix = camera.body_from_camera.matrix();
    for (int n = 0; n < 16; n++)
        yaml << (n ? ", " : "") << matrix(n / 4, n % 4);
    yaml << "]\n"
         << "rate_hz: " << camera.rate_hz << "\n"
         << "resolution: [" << camera.width << ", " << camera.height << "]\n"
         << "camera_model: pinhole\n"
         << "intrinsics: [" << camera.fu << ", " << camera.fv << ", " << camera.cu << ", "
         << camera.cv << "]\n"
         << "distortion_model: radial-tangential\n"
         << "distortion_coefficients: [" << camera.k1 << ", " << camera.k2 << ", " << camera.p1
         << ", " << camera.p2 << "]\n";
    closed(yaml, file);
}

void write_ground_truth(const fs::path &file, const Trajectory &trajectory) {
    std::ofstream table = created(file);
    table << "#timestamp [ns],p_RS_R_x [m],p_RS_R_y [m],p_RS_R_z [m],"
             "q_RS_w [],q_RS_x [],q_RS_y [],q_RS_z []\n";
    for (const StampedPose &pose : trajectory) {
        const Eigen::Vector3d position = pose.world_from_body.translation();
        const Eigen::Quaterniond turn(pose.world_from_body.linear());
        table << pose.timestamp_ns << ',' << position.x() << ',' << position.y() << ','
              << position.z() << ',' << turn.w() << ',' << turn.x() << ',' << turn.y() << ','
              << turn.z() << '\n';
    }
    closed(table, file);
}

} // namespace

SequenceWriter::SequenceWriter(const fs::path &folder, const Camera &left, const Camera &right)
    : folder(folder), partial(folder.string() + ".partial") {
    if (fs::exists(folder))
        throw InputError({folder}, "is there already; choose another folder or remove it");
    std::error_code error;
    fs::remove_all(partial, error);
    const Camera *cameras[] = {&left, &right};
    for (int n = 0; n < 2; n++) {
        const fs::path camera = partial / camera_folders[n];
        fs::create_directories(camera / "data", error);
        write_camera(camera / "sensor.yaml", *cameras[n]);
        tables[n] = created(camera / "data.csv");
        tables[n] << "#timestamp [ns],filename\n";
    }
}

void SequenceWriter::add(std::int64_t timestamp_ns, const StereoImages &images) {
    const cv::Mat *pictures[] = {&images.left, &images.right};
    const std::string name = std::to_string(timestamp_ns) + ".png";
    for (int n = 0; n < 2; n++) {
        const fs::path file = partial / camera_folders[n] / "data" / name;
        if (!cv::imwrite(file.string(), *pictures[n]))
            throw InputError({file}, "cannot be written; is the disk full?");
        tables[n] << timestamp_ns << ',' << name << '\n';
    }
}

void SequenceWriter::finish(const Trajectory &ground_truth) {
    for (int n = 0; n < 2; n++)
        closed(tables[n], partial / camera_folders[n] / "data.csv");
    if (!ground_truth.empty()) {
        const fs::path truth = partial / "state_groundtruth_estimate0";
        fs::create_directories(truth);
        write_ground_truth(truth / "data.csv", ground_truth);
    }
    fs::rename(partial, folder);
}

} // namespace ar_hud
