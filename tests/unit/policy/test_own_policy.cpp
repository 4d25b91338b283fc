// SPDX-License-Identifier: BSD-3-Clause
// The worked example of doc/policies.md: a user's own policy, equal_share.cpp, and one line in the
// list. The policy is found, its parameter is a key of malleable.yaml, and the controller runs it.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/options.h"
#include "tests/support/check.h"
#include "tests/support/jobs.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

std::string text_of(const std::string &path) {
    const char *srcdir = std::getenv("srcdir");
    std::ifstream file(std::string(srcdir != nullptr ? srcdir : ".") + "/" + path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST(an_own_policy_is_found_beside_the_others) {
    const policy::Policy *own = policy::find_policy("equal-share");
    ck_assert_ptr_nonnull(own);
    ck_assert_ptr_nonnull(policy::find_policy("doubling"));
    const controller::Parameter *choice = controller::find_parameter("policy");
    ck_assert(choice->choices.find("|equal-share") != std::string_view::npos);
    std::mt19937_64 random(1);
    const auto out = own->decide(random_jobs(random, 4, 16), nodes(2, 8), {.own = {1}});
    ck_assert_int_le(sum(out), 16);
    ck_assert(std::ranges::all_of(out, [](const auto &a) { return a.gpus >= 1 && a.gpus <= 4; }));
}

TEST(its_parameter_is_a_key_of_malleable_yaml) {
    controller::Options options;
    EXPECT_TEXT(controller::get_parameter(options, "equal_share_least"), "1");
    ck_assert(!controller::set_parameter(options, "policy", "equal-share"));
    ck_assert_double_eq(controller::policy_options(options).own[0], 1);
    ck_assert(!controller::set_parameter(options, "equal_share_least", "6"));
    EXPECT_TEXT(controller::get_parameter(options, "equal_share_least"), "6");
    ck_assert_double_eq(controller::policy_options(options).own[0], 6);
    EXPECT_TEXT(*controller::set_parameter(options, "equal_share_least", "0"),
                "equal_share_least: expected a number from 1 to 65536, got \"0\"");
    const auto out = policy::find_policy("equal-share")
                         ->decide(std::vector<policy::Job>{{.id = 1, .gpus_max = 8}}, nodes(1, 4),
                                  controller::policy_options(options));
    ck_assert_int_eq(out[0].gpus, 0);  // four for each, and six are requested
}

// A parameter's key begins with its policy's name, and its range contains its initial value.
TEST(keys_are_distinct) {
    for (const policy::Policy &policy : policy::policies())
        for (const policy::Param &param : policy.params) {
            ck_assert_uint_le(policy.params.size(), policy::kParamsMax);
            ck_assert(param.low <= param.initial && param.initial <= param.high);
            const std::string_view first = param.name.substr(0, param.name.find('_'));
            ck_assert_msg(policy.name.starts_with(first), "%s", std::string(param.name).c_str());
        }
}

TEST(the_document_shows_the_file) {
    const std::string page = text_of("doc/policies.md"),
                      own = text_of("tests/unit/policy/equal_share.cpp");
    ck_assert(!own.empty());
    ck_assert_msg(page.find("```cpp\n" + own + "```") != std::string::npos,
                  "doc/policies.md shows another text than tests/unit/policy/equal_share.cpp");
}

int main() { return ringrt::test::run_all("own_policy"); }
