/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Runs a target on each file of a folder, without libFuzzer. */
#include "input.hpp"

#include <iterator>
#include <vector>

int main(int argc, char **argv) {
    if (argc != 2)
        return 1;
    int inputs = 0;
    for (const auto &entry : std::filesystem::directory_iterator(argv[1])) {
        std::ifstream stream(entry.path(), std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(stream), {}};
        std::printf("%s\n", entry.path().c_str());
        std::fflush(stdout);
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t *>(text.data()), text.size());
        inputs++;
    }
    return inputs == 0;
}
