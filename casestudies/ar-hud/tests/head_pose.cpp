/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "head_pose/estimator.hpp"
#include "head_pose/layers.hpp"
#include "input_error.hpp"
#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

using namespace ar_hud;

TEST_CASE("the angle is that of the class that is certain, and the mean where none is") {
    cv::Mat1f scores(1, 66, 0.0F);
    CHECK(angle_deg(scores) == Approx(-1.5));
    for (int certain : {0, 33, 65}) {
        cv::Mat1f one(1, 66, -1000.0F);
        one(0, certain) = 1000;
        CHECK(angle_deg(one) == Approx(3 * certain - 99));
    }
    scores(0, 10) = scores(0, 20) = 50;
    CHECK(angle_deg(scores) == Approx(3 * 15 - 99));
}

TEST_CASE("a file that is no network is refused by name") {
    const TemporaryFolder temporary;
    write_text(temporary.path / "x.onnx", "no network");
    CHECK_THROWS_WITH(HeadPoseEstimator(temporary.path / "x.onnx"),
                      Catch::Contains("x.onnx: is no network for head poses"));
    CHECK_THROWS_AS(HeadPoseEstimator(temporary.path / "none.onnx"), InputError);
}

TEST_CASE("a table of layers that is none is refused by file and line") {
    const TemporaryFolder temporary;
    CHECK_THROWS_WITH(read_layers(temporary.path), Catch::Contains("layers.csv: cannot be read"));
    write_text(temporary.path / "layers.csv", "#layer\n");
    CHECK_THROWS_WITH(read_layers(temporary.path), Catch::Contains("has no layers"));
    write_text(temporary.path / "layers.csv", "#layer\nx,mean,1,1\n");
    CHECK_THROWS_WITH(read_layers(temporary.path), Catch::Contains("layers.csv:2:"));
    for (const char *wrong :
         {"1x", "x1", "1x0", "1x-2", "1;2", "1x65536x65536x65536x65536", "1x1x1x1x1x1x1x1x1"}) {
        write_text(temporary.path / "layers.csv",
                   "#layer\nx,mean,1,1,0,0,1x2 " + std::string(wrong) + "\n");
        CHECK_THROWS_WITH(read_layers(temporary.path),
                          Catch::Contains("layers.csv:2:16: ") && Catch::Contains(wrong));
    }
    write_text(temporary.path / "layers.csv", "#layer\n../x,mean,1,1,0,0,1x2\n");
    CHECK_THROWS_WITH(read_layers(temporary.path), Catch::Contains("layers.csv:2:1: "));
    write_text(temporary.path / "layers.csv", "#layer\nx,mean,1,1,0,0,1x2\n");
    write_text(temporary.path / "x.onnx", "no layer");
    CHECK_THROWS_WITH(read_layers(temporary.path), Catch::Contains("x.onnx: is no layer in ONNX"));
}
