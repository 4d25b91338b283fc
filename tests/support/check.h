// SPDX-License-Identifier: BSD-3-Clause
// Check for C++: a test's body may throw, and the report shows what() instead of "signal 6".
#pragma once

#include <check.h>
#undef fail  // the standard library has functions of this name
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

// TEST(name) { … } defines a test. run_all() in main() runs the file's tests in definition order.
#define TEST(name)                                         \
    static void name##_body();                             \
    START_TEST(name) {                                     \
        try {                                              \
            name##_body();                                 \
        } catch (const std::exception &e) {                \
            ck_abort_msg("%s threw: %s", #name, e.what()); \
        }                                                  \
    }                                                      \
    END_TEST                                               \
    static const ringrt::test::Known name##_known(name);   \
    static void name##_body()

// Like ck_assert_str_eq, which would keep pointers into strings that no longer exist when it
// reports.
#define EXPECT_TEXT(got, expected)                                                             \
    do {                                                                                       \
        const std::string got_text = (got), expected_text = (expected);                        \
        ck_assert_msg(got_text == expected_text, "got      %s\nexpected %s", got_text.c_str(), \
                      expected_text.c_str());                                                  \
    } while (0)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// A test that asks for more memory than the machine has gets an allocation failure and continues.
#define SANITIZER_SYMBOL extern "C" inline __attribute__((used, visibility("default")))
SANITIZER_SYMBOL const char *__asan_default_options() { return "allocator_may_return_null=1"; }
SANITIZER_SYMBOL const char *__tsan_default_options() { return "allocator_may_return_null=1"; }
#endif

namespace ringrt::test {

// Factor for time limits: a sanitizer's processes need seconds to start on a busy machine.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr double kTimeoutScale = 6;
#else
inline constexpr double kTimeoutScale = 1;
#endif

// The program's tests in definition order.
inline std::vector<const TTest *> &known_tests() {
    static std::vector<const TTest *> tests;
    return tests;
}
struct Known {
    explicit Known(const TTest *test) { known_tests().push_back(test); }
};

// Runs each test in its own process and returns the exit status for main(). Each test is a Check
// case, so CK_RUN_CASE=name runs one of them.
inline int run_all(const char *suite_name, double timeout_s = 120) {
    Suite *suite = suite_create(suite_name);
    for (const TTest *test : known_tests()) {
        TCase *tcase = tcase_create(test->name);
        tcase_set_timeout(tcase, timeout_s * kTimeoutScale);
        tcase_add_test(tcase, test);
        suite_add_tcase(suite, tcase);
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace ringrt::test
