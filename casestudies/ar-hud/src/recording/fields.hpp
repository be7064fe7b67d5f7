/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What cereal has to know of the types that jobs are made of. */
#pragma once

#include "stage_job.hpp"

#include <cereal/types/array.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/variant.hpp>
#include <cereal/types/vector.hpp>

namespace Eigen {

template <typename Archive, int Rows, int Columns>
void serialize(Archive &archive, Matrix<double, Rows, Columns> &matrix) {
    archive(cereal::binary_data(matrix.data(), sizeof(double) * matrix.size()));
}

template <typename Archive> void serialize(Archive &archive, Isometry3d &pose) {
    archive(pose.matrix());
}

} // namespace Eigen

namespace cv {

template <typename Archive> void serialize(Archive &archive, Point2f &point) {
    archive(point.x, point.y);
}

template <typename Archive> void serialize(Archive &archive, Size &size) {
    archive(size.width, size.height);
}

/* With what lies around it: optical flow looks beyond the border of a pyramid's images. */
template <typename Archive> void save(Archive &archive, const Mat &image) {
    Size whole;
    Point at;
    Mat around = image;
    if (!image.empty()) {
        image.locateROI(whole, at);
        around.adjustROI(at.y, whole.height - at.y - image.rows, at.x,
                         whole.width - at.x - image.cols);
    }
    archive(image.type(), image.cols, image.rows, whole.width, whole.height, at.x, at.y);
    for (int row = 0; row < around.rows; row++)
        archive(cereal::binary_data(around.ptr(row), around.cols * around.elemSize()));
}

template <typename Archive> void load(Archive &archive, Mat &image) {
    int type = 0;
    Size whole;
    Rect part;
    archive(type, part.width, part.height, whole.width, whole.height, part.x, part.y);
    Mat around(whole, type);
    for (int row = 0; row < around.rows; row++)
        archive(cereal::binary_data(around.ptr(row), around.cols * around.elemSize()));
    image = around(part);
}

} // namespace cv

namespace ar_hud {

template <typename Archive> void serialize(Archive &archive, Observation &seen) {
    archive(seen.landmark, seen.left, seen.right_u);
}

template <typename Archive> void serialize(Archive &archive, Keyframe &keyframe) {
    archive(keyframe.id, keyframe.frame, keyframe.world_from_left, keyframe.observations,
            keyframe.descriptors, keyframe.redundant, keyframe.left);
}

template <typename Archive> void serialize(Archive &archive, Landmark &landmark) {
    archive(landmark.anchor, landmark.in_anchor);
}

template <typename Archive> void serialize(Archive &archive, Patch &patch) {
    archive(patch.image, patch.corner, patch.world_from_left);
}

template <typename Archive> void serialize(Archive &archive, FrontEndJob &job) {
    archive(job.rig, job.map, job.frame, job.left);
    if constexpr (Archive::is_loading::value)
        job.front_end = FrontEnd(job.rig);
    archive(job.front_end);
}

template <typename Archive> void serialize(Archive &archive, MappingJob &job) {
    archive(job.rig, job.map, job.keyframe, job.images.left, job.images.right);
}

template <typename Archive> void serialize(Archive &archive, OptimisationJob &job) {
    archive(job.rig, job.map);
}

} // namespace ar_hud
