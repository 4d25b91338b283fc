// SPDX-License-Identifier: BSD-3-Clause
// A directory that is removed when the test ends.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace ringrt::test {

struct TemporaryDirectory {
    std::string path;
    TemporaryDirectory() {
        char name[] = "/tmp/ringrt-test-XXXXXX";
        if (mkdtemp(name) == nullptr) abort();
        path = name;
    }
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    TemporaryDirectory(const TemporaryDirectory &) = delete;
    TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;
};

}  // namespace ringrt::test
