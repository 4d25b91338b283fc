// SPDX-License-Identifier: BSD-3-Clause
// Names on the command line -> what is simulated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/ringsim/engine.h"

namespace ringrt::sim {

struct ContenderRow {
    std::string_view name;
    Knowledge knowledge;  // unless the name says otherwise: NAME@oracle, @learned, @wrong
    std::string_view help;
};

// All names, for --help and the man page. "fixed:K" stands for any K.
[[nodiscard]] std::vector<ContenderRow> contender_rows();

struct NamedContender {
    Contender contender;
    Knowledge knowledge = Knowledge::learned;
};

// NAME or NAME@KNOWLEDGE. Throws InputError naming the known ones.
[[nodiscard]] NamedContender find_contender(std::string_view text);

}  // namespace ringrt::sim
