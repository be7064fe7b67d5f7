/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "estimator.hpp"

#include "../input_error.hpp"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

namespace ar_hud {

namespace {

constexpr int side = 224;
constexpr int classes = 66;
const std::vector<cv::String> outputs = {"yaw", "pitch", "roll"};

/* Mean and deviation of ImageNet's channels, as networks for it are trained. */
const cv::Scalar mean(0.485, 0.456, 0.406), deviation(0.229, 0.224, 0.225);

cv::Mat blob_of(const cv::Mat &face) {
    cv::Mat scaled;
    cv::resize(face, scaled, {side, side});
    scaled.convertTo(scaled, CV_32F, 1.0 / 255);
    scaled = (scaled - mean) / deviation;
    return cv::dnn::blobFromImage(scaled, 1, {}, {}, true);
}

} // namespace

double angle_deg(const cv::Mat1f &scores) {
    const float most = *std::max_element(scores.begin(), scores.end());
    double sum = 0, weighted = 0;
    int n = 0;
    for (float score : scores) {
        const double weight = std::exp(static_cast<double>(score - most));
        sum += weight;
        weighted += weight * n++;
    }
    return weighted / sum * 3 - 99;
}

HeadPoseEstimator::HeadPoseEstimator(const std::filesystem::path &model) {
    const std::string wrong = "is no network for head poses: expected ONNX with the input image "
                              "and the outputs yaw, pitch and roll";
    try {
        network = cv::dnn::readNetFromONNX(model.string());
        estimate(cv::Mat(side, side, CV_8UC3, cv::Scalar(0, 0, 0)));
    } catch (const cv::Exception &error) {
        throw InputError({model}, wrong + " (" + error.err + ")");
    }
}

HeadPose HeadPoseEstimator::estimate(const cv::Mat &face) {
    network.setInput(blob_of(face), "image");
    std::vector<cv::Mat> results;
    network.forward(results, outputs);
    HeadPose pose;
    double *angles[] = {&pose.yaw_deg, &pose.pitch_deg, &pose.roll_deg};
    for (std::size_t n = 0; n < results.size(); n++) {
        CV_Assert(results[n].total() == classes);
        *angles[n] = angle_deg(results[n].reshape(1, 1));
    }
    return pose;
}

} // namespace ar_hud
