// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/fence.h"

#include <charconv>
#include <tuple>

#include "libringrt/base/status.h"

namespace ringrt::checkpoint {
namespace {

constexpr std::string_view kPrefix = "fence-";

using u64 = unsigned long long;

// Parses a number up to the next '-' or the end, and removes both from `rest`.
template <typename Number>
bool take(std::string_view &rest, Number &out, int base = 10) {
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), out, base);
    if (error != std::errc()) return false;
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    if (rest.empty()) return true;
    if (rest.front() != '-') return false;
    rest.remove_prefix(1);
    return true;
}

}  // namespace

std::string claim_name(const Claim &claim) {
    return format_text("fence-%llu-%llu-%u-%016llx", static_cast<u64>(claim.number),
                       static_cast<u64>(claim.fence.job), claim.fence.restart,
                       static_cast<u64>(claim.fence.nonce));
}

std::optional<Claim> parse_claim_name(std::string_view name) {
    if (!name.starts_with(kPrefix)) return std::nullopt;
    Claim claim;
    std::string_view rest = name.substr(kPrefix.size());
    bool good = take(rest, claim.number) && take(rest, claim.fence.job) &&
                take(rest, claim.fence.restart) && take(rest, claim.fence.nonce, 16);
    return good && claim.number < UINT64_MAX && name == claim_name(claim) ? std::optional(claim)
                                                                          : std::nullopt;
}

std::vector<Claim> claims_in(const std::vector<std::string> &names) {
    std::vector<Claim> out;
    for (const std::string &name : names)
        if (std::optional<Claim> claim = parse_claim_name(name)) out.push_back(*claim);
    return out;
}

bool supersedes(const Claim &one, const Claim &other) {
    const Fence &a = one.fence, &b = other.fence;
    if (a.job == b.job && a.restart != b.restart) return a.restart > b.restart;
    return std::tie(one.number, a.nonce) > std::tie(other.number, b.nonce);
}

}  // namespace ringrt::checkpoint
