// SPDX-License-Identifier: BSD-3-Clause
// The example program: options, exit status and output. The training is in digits_training.cpp.
#include <cstdio>

#include "digits_training.h"

namespace digits {
namespace {

enum Exit { kDone = 0, kSamplesWrong = 1, kUsage = 2, kNoData = 3, kFailed = 4, kDamaged = 5 };

void print(const Summary &s) {
    std::printf(
        "digits: %llu steps, loss %.4f, test accuracy %.2f %%, images lost %llu, seen twice %llu, "
        "restarts %d\n",
        static_cast<unsigned long long>(s.steps), s.loss, 100 * s.accuracy,
        static_cast<unsigned long long>(s.samples_lost),
        static_cast<unsigned long long>(s.samples_duplicated), s.restarts);
}

Exit train(const Options &options, const Split &data) {
    Training training(options, data);
    training.start();
    if (!training.run()) {
        if (training.first_rank()) std::printf("digits: saved, leaves for a resize\n");
        return kDone;
    }
    const Summary summary = training.finish();
    if (training.first_rank()) {
        print(summary);
        write_json(options.json, summary);
    }
    return summary.samples_lost + summary.samples_duplicated == 0 ? kDone : kSamplesWrong;
}

Exit guarded_train(const Options &options, const Split &data) {
    try {
        return train(options, data);
    } catch (const RingrtError &error) {
        std::fprintf(stderr, "digits: %s\n", error.what());
        return error.status == RINGRT_CORRUPT ? kDamaged : kFailed;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "digits: %s\n", error.what());
        return kFailed;
    }
}

}  // namespace
}  // namespace digits

int main(int argc, char **argv) {
    using namespace digits;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // so that a job's log is current
    Options options;
    if (const Parsed parsed = parse_options(argc, argv, options); parsed != Parsed::run)
        return parsed == Parsed::help ? kDone : kUsage;
    try {
        const Split data = split(load_csv(options.data), kTrainImages);
        return guarded_train(options, data);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "digits: %s\n", error.what());
        return kNoData;
    }
}
