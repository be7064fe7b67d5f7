/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The calibration of a camera, as the ASL format has it. */
#include "sequence.hpp"

#include <cmath>
#include <yaml-cpp/yaml.h>

namespace ar_hud {

namespace {

class SensorFile {
  public:
    explicit SensorFile(std::filesystem::path file) : file(std::move(file)) {
        try {
            root = YAML::LoadFile(this->file.string());
        } catch (const YAML::BadFile &) {
            throw InputError({this->file}, "cannot be read; expected a camera's calibration");
        } catch (const YAML::Exception &error) {
            throw InputError(at(error.mark), "is no YAML: " + error.msg);
        }
        if (!root.IsMap())
            throw InputError(at(root.Mark()), "expected keys and values");
    }

    YAML::Node key(const YAML::Node &parent, const std::string &name) const {
        const YAML::Node node = parent.IsMap() ? parent[name] : YAML::Node();
        if (!node.IsDefined() || node.IsNull())
            throw InputError(at(parent.Mark()), "the key '" + name + "' is missing");
        return node;
    }

    void word(const std::string &name, const std::string &only) const {
        const YAML::Node node = key(root, name);
        if (!node.IsScalar() || node.Scalar() != only)
            throw InputError(at(node.Mark()), name + ": only '" + only + "' is supported");
    }

    std::vector<double> numbers(const YAML::Node &node, const std::string &name,
                                std::size_t count) const {
        if (!node.IsSequence() || node.size() != count)
            throw InputError(at(node.Mark()),
                             name + ": expected " + std::to_string(count) + " numbers");
        std::vector<double> values;
        for (const YAML::Node &item : node)
            values.push_back(number(item, name));
        return values;
    }

    double number(const YAML::Node &node, const std::string &name) const {
        double value = NAN;
        if (!node.IsScalar() || !YAML::convert<double>::decode(node, value) ||
            !std::isfinite(value))
            throw InputError(at(node.Mark()), name + ": expected a number");
        return value;
    }

    Place at(const YAML::Mark &mark) const {
        if (mark.is_null())
            return {file};
        return {file, static_cast<std::size_t>(mark.line) + 1,
                static_cast<std::size_t>(mark.column) + 1};
    }

    [[noreturn]] void refuse(const YAML::Node &node, const std::string &what) const {
        throw InputError(at(node.Mark()), what);
    }

    YAML::Node root;

  private:
    std::filesystem::path file;
};

constexpr double mounted_max_m = 100;
constexpr double focal_length_max_px = 100'000;
/* Lenses for which the model is made have less than 1. */
constexpr double distortion_max = 10;

Pose read_mounting(const SensorFile &sensor) {
    const YAML::Node node = sensor.key(sensor.root, "T_BS");
    const auto values = sensor.numbers(sensor.key(node, "data"), "T_BS", 16);
    const Eigen::Matrix4d matrix =
        Eigen::Map<const Eigen::Matrix<double, 4, 4, Eigen::RowMajor>>(values.data());
    const Eigen::Matrix3d turn = matrix.topLeftCorner<3, 3>();
    /* Written so that what is not a number is refused, too. */
    if (!((turn * turn.transpose() - Eigen::Matrix3d::Identity()).norm() <= 1e-3) ||
        !(turn.determinant() > 0))
        sensor.refuse(node, "T_BS: the upper left 3 x 3 is no rotation");
    if (!((matrix.row(3) - Eigen::RowVector4d(0, 0, 0, 1)).norm() <= 1e-9))
        sensor.refuse(node, "T_BS: the last row is not 0, 0, 0, 1");
    if (!(matrix.topRightCorner<3, 1>().norm() <= mounted_max_m))
        sensor.refuse(node, "T_BS: the camera is more than 100 m from the body; expected metres");
    Pose pose = Pose::Identity();
    /* The nearest rotation: files have some ten digits. */
    pose.linear() = Eigen::Quaterniond(turn).normalized().toRotationMatrix();
    pose.translation() = matrix.topRightCorner<3, 1>();
    return pose;
}

void read_resolution(const SensorFile &sensor, Camera &camera) {
    constexpr double most = 8192;
    const YAML::Node node = sensor.key(sensor.root, "resolution");
    const auto size = sensor.numbers(node, "resolution", 2);
    for (double pixels : size)
        if (pixels < 16 || pixels > most || pixels != std::floor(pixels))
            sensor.refuse(node, "resolution: expected whole pixels, 16 to 8192");
    camera.width = static_cast<int>(size[0]);
    camera.height = static_cast<int>(size[1]);
}

void read_intrinsics(const SensorFile &sensor, Camera &camera) {
    const YAML::Node node = sensor.key(sensor.root, "intrinsics");
    const auto values = sensor.numbers(node, "intrinsics", 4);
    camera.fu = values[0];
    camera.fv = values[1];
    camera.cu = values[2];
    camera.cv = values[3];
    for (double focal_length : {camera.fu, camera.fv})
        if (focal_length < 1 || focal_length > focal_length_max_px)
            sensor.refuse(node,
                          "intrinsics: expected focal lengths fu and fv of 1 to 100000 pixels");
    if (camera.cu <= 0 || camera.cu >= camera.width || camera.cv <= 0 || camera.cv >= camera.height)
        sensor.refuse(node, "intrinsics: the principal point cu, cv is not in the image");
}

} // namespace

Camera read_camera(const std::filesystem::path &sensor_yaml) {
    const SensorFile sensor(sensor_yaml);
    Camera camera;
    sensor.word("camera_model", "pinhole");
    sensor.word("distortion_model", "radial-tangential");
    camera.body_from_camera = read_mounting(sensor);
    const YAML::Node rate = sensor.key(sensor.root, "rate_hz");
    camera.rate_hz = sensor.number(rate, "rate_hz");
    if (camera.rate_hz <= 0 || camera.rate_hz > 1000)
        sensor.refuse(rate, "rate_hz: expected more than 0, at most 1000");
    read_resolution(sensor, camera);
    read_intrinsics(sensor, camera);
    const YAML::Node coefficients = sensor.key(sensor.root, "distortion_coefficients");
    const auto distortion = sensor.numbers(coefficients, "distortion_coefficients", 4);
    for (double coefficient : distortion)
        if (std::abs(coefficient) > distortion_max)
            sensor.refuse(coefficients, "distortion_coefficients: expected -10 to 10 each");
    camera.k1 = distortion[0];
    camera.k2 = distortion[1];
    camera.p1 = distortion[2];
    camera.p2 = distortion[3];
    return camera;
}

} // namespace ar_hud
