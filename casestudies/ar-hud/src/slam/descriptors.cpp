/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "descriptors.hpp"

#include <algorithm>
#include <bitset>
#include <cstring>
#include <opencv2/features2d.hpp>

namespace ar_hud {

std::vector<std::optional<Descriptor>> describe(const cv::Mat &image,
                                                const std::vector<cv::Point2f> &corners) {
    constexpr int patch_px = 31;
    std::vector<std::optional<Descriptor>> descriptors(corners.size());
    if (corners.empty())
        return descriptors;
    std::vector<cv::KeyPoint> points;
    for (std::size_t n = 0; n < corners.size(); n++)
        points.emplace_back(corners[n], static_cast<float>(patch_px), 0.0F, 0.0F, 0,
                            static_cast<int>(n));
    /* One level: keyframes see a landmark from similar distances. */
    const auto orb = cv::ORB::create(static_cast<int>(corners.size()), 1.2F, 1, patch_px);
    cv::Mat bits;
    orb->compute(image, points, bits);
    for (std::size_t row = 0; row < points.size(); row++) {
        Descriptor &descriptor =
            descriptors[static_cast<std::size_t>(points[row].class_id)].emplace();
        std::memcpy(descriptor.data(), bits.ptr(static_cast<int>(row)), descriptor.size());
    }
    return descriptors;
}

int distance(const Descriptor &one, const Descriptor &other) {
    int bits = 0;
    for (std::size_t n = 0; n < one.size(); n += sizeof(std::uint64_t)) {
        std::uint64_t a = 0, b = 0;
        std::memcpy(&a, one.data() + n, sizeof a);
        std::memcpy(&b, other.data() + n, sizeof b);
        bits += static_cast<int>(std::bitset<64>(a ^ b).count());
    }
    return bits;
}

std::optional<std::uint32_t> best_match(const Descriptor &descriptor,
                                        const std::map<std::uint32_t, Descriptor> &among) {
    constexpr double ratio = 0.8;
    int best = same_max_bits + 1, second = 257;
    std::optional<std::uint32_t> match;
    for (const auto &[id, other] : among) {
        const int bits = distance(descriptor, other);
        if (bits < best) {
            second = best;
            best = bits;
            match = id;
        } else {
            second = std::min(second, bits);
        }
    }
    return best < ratio * second ? match : std::nullopt;
}

} // namespace ar_hud
