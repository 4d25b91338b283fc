// SPDX-License-Identifier: BSD-3-Clause
#include "digits_options.h"

#include <getopt.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace digits {
namespace {

constexpr const char *kHelp =
    R"(usage: digits [OPTION]...
Trains a multi-layer perceptron on the UCI handwritten digits over ringrt, one rank per GPU:
  sbatch --malleable=1:8 --gpus=1 train.sh      (in it: srun digits --data=digits.csv)
Run by hand, it is a single rank.

  --data=FILE               the digits (see get-digits)                  [digits.csv]
  --epochs=N                passes over the training images              [30]
  --batch=N                 images per step over all GPUs                [64]
  --batch-per-gpu=N         keep this batch per GPU instead, and scale the learning rate
                            with the number of GPUs
  --hidden=N[,N...]         widths of the hidden layers                  [64]
  --learning-rate=X         at --batch images per step                   [0.2]
  --momentum=X              momentum of the descent                      [0.9]
  --seed=N                  seed of the weights and the shuffle          [1]
  --save-interval=SECONDS   between periodic checkpoints      [ringrt's: 600]
  --device-ms-per-sample=X  without a GPU: make each step last as long as on a device
                            that takes X ms per image (the gradients stay real)
  --one-allreduce           sum all gradients at once after the backward pass, not layer by layer
                            while it runs: the same bits, slower
  --live-resize             ranks of other jobs may join and leave during training, without a restart.
                            With the controller, submit with RINGRT_LIVE_RESIZE=1 in the
                            environment as well
  --loss-csv=FILE           append one line per step: step,epoch,loss,gpus,restart,time_s
  --json=FILE               write a summary at the end
  --help                    show this help

exit status: 0 trained, or requeued for a resize; 1 a sample was lost or seen twice; 2 usage;
3 the data cannot be read; 4 the training failed, e.g. a peer was lost (start it again: it
continues from the last checkpoint); 5 every checkpoint is damaged
)";

enum Id {
    kData = 1,
    kEpochs,
    kBatch,
    kBatchPerGpu,
    kHidden,
    kRate,
    kMomentum,
    kSeed,
    kSave,
    kDevice,
    kOneAllreduce,
    kLiveResize,
    kLossCsv,
    kJson,
    kHelpId
};

constexpr option kLong[] = {
    {"data", required_argument, nullptr, kData},
    {"epochs", required_argument, nullptr, kEpochs},
    {"batch", required_argument, nullptr, kBatch},
    {"batch-per-gpu", required_argument, nullptr, kBatchPerGpu},
    {"hidden", required_argument, nullptr, kHidden},
    {"learning-rate", required_argument, nullptr, kRate},
    {"momentum", required_argument, nullptr, kMomentum},
    {"seed", required_argument, nullptr, kSeed},
    {"save-interval", required_argument, nullptr, kSave},
    {"device-ms-per-sample", required_argument, nullptr, kDevice},
    {"one-allreduce", no_argument, nullptr, kOneAllreduce},
    {"live-resize", no_argument, nullptr, kLiveResize},
    {"loss-csv", required_argument, nullptr, kLossCsv},
    {"json", required_argument, nullptr, kJson},
    {"help", no_argument, nullptr, kHelpId},
    {nullptr, 0, nullptr, 0},
};

template <typename Number>
bool number(std::string_view text, Number low, Number high, Number &out) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return false;
    if (!(value >= low && value <= high)) return false;  // also rejects NaN
    out = value;
    return true;
}

bool widths(std::string_view text, std::vector<std::size_t> &out) {
    std::vector<std::size_t> result;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        std::size_t width = 0;
        if (!number<std::size_t>(text.substr(at, comma - at), 1, 4096, width)) return false;
        result.push_back(width);
        at = comma + 1;
    }
    if (result.size() > 8) return false;
    out = result;
    return true;
}

// nullptr, or a description of the expected value.
const char *apply(int id, const char *value, Options &o) {
    const auto whole = [&](unsigned &out) {
        return number(std::string_view(value), 1U, 1000000U, out);
    };
    switch (id) {
        case kData:
            o.data = value;
            return nullptr;
        case kOneAllreduce:
            o.one_allreduce = true;
            return nullptr;
        case kLiveResize:
            o.live_resize = true;
            return nullptr;
        case kLossCsv:
            o.loss_csv = value;
            return nullptr;
        case kJson:
            o.json = value;
            return nullptr;
        case kEpochs:
            return whole(o.epochs) ? nullptr : "a number from 1 to 1000000";
        case kBatch:
            return whole(o.batch) ? nullptr : "a number from 1 to 1000000";
        case kBatchPerGpu:
            return whole(o.batch_per_gpu) ? nullptr : "a number from 1 to 1000000";
        case kSave:
            return whole(o.save_interval_s) ? nullptr : "seconds from 1 to 1000000";
        case kHidden:
            return widths(value, o.hidden) ? nullptr : "1 to 8 widths from 1 to 4096, e.g. 64,32";
        case kRate:
            return number(std::string_view(value), 1e-9, 1e3, o.learning_rate)
                       ? nullptr
                       : "a number from 1e-9 to 1000";
        case kMomentum:
            return number(std::string_view(value), 0.0, 0.9999, o.momentum)
                       ? nullptr
                       : "a number from 0 to 0.9999";
        case kDevice:
            return number(std::string_view(value), 0.0, 1e5, o.device_ms_per_sample)
                       ? nullptr
                       : "milliseconds from 0 to 100000";
        default:
            return number(std::string_view(value), uint64_t{0}, UINT64_MAX, o.seed)
                       ? nullptr
                       : "a number from 0 to 2^64-1";
    }
}

const char *name_of(int id) {
    for (const option &entry : kLong)
        if (entry.val == id) return entry.name;
    return "?";
}

}  // namespace

Parsed parse_options(int argc, char **argv, Options &out) {
    for (int id; (id = getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
        if (id == kHelpId) {
            std::fputs(kHelp, stdout);
            return Parsed::help;
        }
        if (id == '?') return Parsed::wrong;  // getopt has printed why
        if (const char *expected = apply(id, optarg, out)) {
            std::fprintf(stderr, "digits: --%s: expected %s, got \"%.64s\"\n", name_of(id),
                         expected, optarg);
            return Parsed::wrong;
        }
    }
    if (optind < argc) {
        std::fprintf(stderr, "digits: unexpected argument \"%.64s\" (see --help)\n", argv[optind]);
        return Parsed::wrong;
    }
    return Parsed::run;
}

}  // namespace digits
