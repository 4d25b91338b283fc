// SPDX-License-Identifier: BSD-3-Clause
// A folder that is removed when the test ends.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace ringrt::test {

struct TemporaryFolder {
    std::string path;
    TemporaryFolder() {
        char name[] = "/tmp/ringrt-test-XXXXXX";
        if (mkdtemp(name) == nullptr) abort();
        path = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    TemporaryFolder(const TemporaryFolder &) = delete;
    TemporaryFolder &operator=(const TemporaryFolder &) = delete;
};

}  // namespace ringrt::test
