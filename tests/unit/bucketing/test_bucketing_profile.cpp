// SPDX-License-Identifier: BSD-3-Clause
#include <random>

#include "libringrt/bucketing/profile.h"
#include "tests/support/check.h"
#include "tests/unit/bucketing/bucketing_profiles.h"

using namespace ringrt::bucketing;

static const std::string kHeader = "idx,name,grad_bytes,fwd_us,bwd_us,ready_us\n";

static std::string fault(const std::string &text) {
    std::string error;
    return parse_profile(text, error) ? "read" : error;
}

TEST(a_profile_is_read) {
    std::string error = "unchanged";
    const auto profile = parse_profile(
        kHeader + "1,\"conv, 3x3\",400,2.5,4,6\r\n0,stem,100,1,2,8\n\n2,relu,0,1e1,2,2", error);
    ck_assert(profile.has_value());
    EXPECT_TEXT(error, "unchanged");
    ck_assert_uint_eq(profile->gradients.size(), 3);
    EXPECT_TEXT(profile->gradients[1].name, "conv, 3x3");
    ck_assert_uint_eq(total_bytes(*profile), 500);
    ck_assert_double_eq(forward_us(*profile), 13.5);
    ck_assert_double_eq(backward_us(*profile), 8);
    const std::vector<uint32_t> order = ready_order(*profile);
    ck_assert_uint_eq(order.size(), 2);
    ck_assert_uint_eq(order[0], 1);
}

TEST(ready_times_come_from_backward_times_where_they_are_missing) {
    std::string error;
    const auto profile = parse_profile("grad_bytes,fwd_us,bwd_us\n4,1,10\n4,1,5\n4,1,1\n", error);
    ck_assert_msg(profile.has_value(), "%s", error.c_str());
    ck_assert_double_eq(profile->gradients[2].ready_us, 1);
    ck_assert_double_eq(profile->gradients[1].ready_us, 6);
    ck_assert_double_eq(profile->gradients[0].ready_us, 16);
}

TEST(data_loading_time_is_removed) {
    std::string error;
    const auto profile =
        parse_profile(kHeader + "0,Input,0,473625,0,9\n1,conv,4,20,5,9\n2,fc,4,7,4,4\n", error);
    ck_assert_double_eq(profile->gradients[0].forward_us, 20);
    const auto real = parse_profile(kHeader + "0,wte,8,473625,1,9\n1,fc,4,20,4,4\n", error);
    ck_assert_double_eq(real->gradients[0].forward_us, 473625);
}

TEST(bad_input_gets_one_line_with_its_number) {
    EXPECT_TEXT(fault(""), "expected a header such as idx,name,grad_bytes,fwd_us,bwd_us,ready_us");
    EXPECT_TEXT(fault(kHeader), "line 1: there are no gradients below the header");
    EXPECT_TEXT(fault("idx,fwd_us,ready_us\n"), "line 1: no column grad_bytes in the header");
    EXPECT_TEXT(fault("grad_bytes,fwd_us\n1,1\n"),
                "line 1: neither ready_us nor bwd_us in the header");
    EXPECT_TEXT(fault("grad_bytes,fwd_us,fwd_us,ready_us\n"), "line 1: column fwd_us twice");
    EXPECT_TEXT(fault(kHeader + "0,a,12x,1,1,1\n"),
                "line 2: grad_bytes: got \"12x\", expected a whole number up to 1125899906842624");
    EXPECT_TEXT(fault(kHeader + "0,a,-1,1,1,1\n"),
                "line 2: grad_bytes: got \"-1\", expected a whole number up to 1125899906842624");
    EXPECT_TEXT(fault(kHeader + "0,a,1,1,1,1\n1,b,99999999999999999999,1,1,1\n"),
                "line 3: grad_bytes: got \"99999999999999999999\", expected a whole number up to "
                "1125899906842624");
    for (const char *bad : {"nan", "inf", "-1", "1e13", "", " 1", "1e999", "0x1"}) {
        EXPECT_TEXT(fault(kHeader + "0,a,1," + bad + ",1,1\n"),
                    std::string("line 2: fwd_us: got \"") + bad +
                        "\", expected microseconds from 0 to 1e12");
    }
    EXPECT_TEXT(fault(kHeader + "0,a,1,1,1\n"), "line 2: got 5 fields, the header has 6");
    EXPECT_TEXT(fault(kHeader + "0,\"a,1,1,1,1\n"), "line 2: a quote is not closed");
    EXPECT_TEXT(fault(kHeader + "0,a,1,1,1,1\n0,b,1,1,1,1\n"), "line 3: idx 0 twice");
    EXPECT_TEXT(fault(kHeader + "0,a,1,1,1,1\n2,b,1,1,1,1\n"), "line 3: idx 2: idx 1 is missing");
    EXPECT_TEXT(fault(kHeader + "4000000000,a,1,1,1,1\n"),
                "line 2: idx: got \"4000000000\", expected a whole number up to 99999");
}

TEST(more_gradients_than_the_limit_are_refused) {
    std::string text = "grad_bytes,fwd_us,ready_us\n";
    for (size_t i = 0; i <= kMaxGradients; ++i) text += "1,1,1\n";
    EXPECT_TEXT(fault(text), "line 100002: more than 100000 gradients");
}

// Any bytes give an answer, and an accepted profile is within the limits.
TEST(random_bytes_and_damaged_files_do_no_harm) {
    std::mt19937 random(1);
    const std::string good = kHeader + "0,a,100,1,2,8\n1,\"b,c\",400,2.5,4,6\n2,relu,0,1e1,2,2\n";
    int read = 0;
    for (int round = 0; round < 20000; ++round) {
        std::string text = good.substr(0, round % 2 ? good.size() : random() % good.size());
        for (size_t hits = random() % 4; hits-- > 0 && !text.empty();) {
            text[random() % text.size()] =
                round % 3 ? static_cast<char>(random() % 256) : ",\"\n\r09e-.+"[random() % 10];
        }
        std::string error;
        const auto profile = parse_profile(text, error);
        ck_assert(profile.has_value() == error.empty());
        ck_assert(error.find('\n') == std::string::npos);
        if (!profile) continue;
        ++read;
        for (const Gradient &gradient : profile->gradients) {
            ck_assert(gradient.bytes <= kMaxGradientBytes);
            ck_assert(gradient.ready_us >= 0 && gradient.ready_us <= kMaxTimeUs * kMaxGradients);
            ck_assert(gradient.forward_us >= 0 && gradient.forward_us <= kMaxTimeUs);
        }
    }
    ck_assert_int_gt(read, 1000);
}

TEST(a_written_profile_is_read_back) {
    std::mt19937 random(2);
    for (int round = 0; round < 50; ++round) {
        const Profile profile = ringrt::test::anything(random);
        std::string error;
        const auto back = parse_profile(format_profile(profile), error);
        ck_assert_msg(back.has_value(), "%s", error.c_str());
        ck_assert_uint_eq(back->gradients.size(), profile.gradients.size());
        for (size_t i = 0; i < profile.gradients.size(); ++i) {
            ck_assert_uint_eq(back->gradients[i].bytes, profile.gradients[i].bytes);
            ck_assert_double_eq(back->gradients[i].ready_us, profile.gradients[i].ready_us);
            ck_assert_double_eq(back->gradients[i].forward_us, profile.gradients[i].forward_us);
        }
    }
}

int main() { return ringrt::test::run_all("grouping profile"); }
