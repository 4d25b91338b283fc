// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ringstat/published.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace ringrt::ringstat {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kBytesMax = 64U << 20;

template <typename Value>
bool take(const Json &json, const char *key, Value &out) {
    const auto found = json.find(key);
    if (found == json.end()) return false;
    if constexpr (std::is_same_v<Value, std::string>) {
        if (!found->is_string()) return false;
    } else if constexpr (std::is_floating_point_v<Value>) {
        if (!found->is_number()) return false;
    } else {
        if (!found->is_number_integer() || found->template get<int64_t>() < 0 ||
            found->template get<int64_t>() > INT32_MAX)
            return false;
    }
    out = found->template get<Value>();
    return true;
}

bool take_one(const Json &json, controller::Explanation &out) {
    return json.is_object() && take(json, "job", out.job_id) && take(json, "gpus", out.gpus) &&
           take(json, "wanted", out.wanted) && take(json, "reason", out.reason) &&
           take(json, "text", out.text);
}

}  // namespace

Published parse_published(std::string_view json) {
    Published out;
    const Json parsed = Json::parse(json, nullptr, false);
    if (!parsed.is_object() || !parsed.contains("jobs") || !parsed["jobs"].is_array()) return {};
    if (!take(parsed, "time", out.time_s) || !take(parsed, "mode", out.mode)) return {};
    for (const Json &job : parsed["jobs"])
        if (!take_one(job, out.explanations.emplace_back())) return {};
    return out;
}

Published read_published(const std::string &path, double now_s) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error) || error) return {};
    if (std::filesystem::file_size(path, error) > kBytesMax || error) return {};
    std::ifstream file(path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    Published out = parse_published(content);
    const double age_s = now_s - out.time_s;
    if (age_s > kPublishedStale_s || age_s < -kPublishedStale_s) return {};
    return out;
}

}  // namespace ringrt::ringstat
