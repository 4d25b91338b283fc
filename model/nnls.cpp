// SPDX-License-Identifier: BSD-3-Clause
#include "model/nnls.h"

#include <algorithm>
#include <cmath>

namespace ringrt::model {

namespace {

using Vector = std::array<double, kUnknowns>;
using Passive = std::array<bool, kUnknowns>;  // the unknowns that are free to be positive

// The columns scaled to unit length, so that one tolerance fits all.
struct Scaled {
    NormalEquations eq;
    Vector length{};
};

Scaled scale(const NormalEquations &eq) {
    Scaled out;
    for (int i = 0; i < kUnknowns; ++i)
        out.length[i] = eq.ata[i][i] > 0 ? std::sqrt(eq.ata[i][i]) : 1;
    for (int i = 0; i < kUnknowns; ++i) {
        out.eq.atb[i] = eq.atb[i] / out.length[i];
        for (int j = 0; j < kUnknowns; ++j)
            out.eq.ata[i][j] = eq.ata[i][j] / (out.length[i] * out.length[j]);
    }
    return out;
}

// Unconstrained least squares over the passive unknowns, 0 elsewhere, by Gauss-Jordan elimination
// with pivoting on the diagonal. A column that depends on the others gets 0.
Vector solve_passive(const NormalEquations &eq, const Passive &passive) {
    auto a = eq.ata;
    auto b = eq.atb;
    Passive open = passive, solved{};
    for (int round = 0; round < kUnknowns; ++round) {
        int pivot = -1;
        for (int i = 0; i < kUnknowns; ++i)
            if (open[i] && (pivot < 0 || a[i][i] > a[pivot][pivot])) pivot = i;
        if (pivot < 0 || a[pivot][pivot] < 1e-12) break;
        open[pivot] = false;
        solved[pivot] = true;
        for (int i = 0; i < kUnknowns; ++i) {
            if (i == pivot || !passive[i]) continue;
            const double factor = a[i][pivot] / a[pivot][pivot];
            for (int j = 0; j < kUnknowns; ++j) a[i][j] -= factor * a[pivot][j];
            b[i] -= factor * b[pivot];
        }
    }
    Vector x{};
    for (int i = 0; i < kUnknowns; ++i)
        if (solved[i]) x[i] = b[i] / a[i][i];
    return x;
}

// The negative gradient of |Ax − b|²/2: positive where an unknown at 0 should grow.
Vector descent(const NormalEquations &eq, const Vector &x) {
    Vector w = eq.atb;
    for (int i = 0; i < kUnknowns; ++i)
        for (int j = 0; j < kUnknowns; ++j) w[i] -= eq.ata[i][j] * x[j];
    return w;
}

int most_wanted(const Vector &w, const Passive &passive, double tolerance) {
    int best = -1;
    for (int i = 0; i < kUnknowns; ++i)
        if (!passive[i] && w[i] > tolerance && (best < 0 || w[i] > w[best])) best = i;
    return best;
}

// Moves from x towards z until the first passive unknown reaches 0, and fixes it there.
void step_back(Vector &x, const Vector &z, Passive &passive) {
    double alpha = 1;
    int blocking = -1;
    for (int i = 0; i < kUnknowns; ++i) {
        if (!passive[i] || z[i] > 0) continue;
        const double reach = x[i] > z[i] ? x[i] / (x[i] - z[i]) : 0;
        if (blocking < 0 || reach < alpha) {
            alpha = reach;
            blocking = i;
        }
    }
    for (int i = 0; i < kUnknowns; ++i) {
        x[i] += alpha * (z[i] - x[i]);
        if (passive[i] && (i == blocking || (z[i] <= 0 && x[i] <= 0))) {
            x[i] = 0;
            passive[i] = false;
        }
    }
}

bool all_positive(const Vector &z, const Passive &passive) {
    for (int i = 0; i < kUnknowns; ++i)
        if (passive[i] && z[i] <= 0) return false;
    return true;
}

}  // namespace

std::array<double, kUnknowns> solve_nnls(const NormalEquations &equations) {
    const Scaled scaled = scale(equations);
    double largest = 0;
    for (const double b : scaled.eq.atb) largest = std::max(largest, std::abs(b));
    const double tolerance = 1e-11 * largest;

    Vector x{};
    Passive passive{};
    for (int outer = 0; outer < 3 * kUnknowns; ++outer) {
        const int entering = most_wanted(descent(scaled.eq, x), passive, tolerance);
        if (entering < 0) break;
        passive[entering] = true;
        Vector z = solve_passive(scaled.eq, passive);
        while (!all_positive(z, passive)) {  // at most four times: one free unknown less each time
            step_back(x, z, passive);
            z = solve_passive(scaled.eq, passive);
        }
        x = z;
    }
    for (int i = 0; i < kUnknowns; ++i) x[i] = std::max(0.0, x[i]) / scaled.length[i];
    return x;
}

}  // namespace ringrt::model
