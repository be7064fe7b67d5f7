/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* data.csv of a camera. */
#include "../input.hpp"
#include "euroc/sequence.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    return fuzz([&] {
        const auto file = write_input("data.csv", data, size);
        std::int64_t before_ns = -1;
        for (const ar_hud::ImageFile &image : ar_hud::read_images(file.parent_path())) {
            expect(image.timestamp_ns > before_ns);
            before_ns = image.timestamp_ns;
            expect(image.file.parent_path() == file.parent_path() / "data");
        }
    });
}
