# SPDX-License-Identifier: BSD-3-Clause
"""The element types and the operations of the collectives, with the numbers of ringrt_comm.h."""
from __future__ import annotations

import enum


class Dtype(enum.IntEnum):
    """ringrt_dtype_t"""

    FLOAT32 = 0
    FLOAT64 = 1
    FLOAT16 = 2
    BFLOAT16 = 3
    INT32 = 4
    INT64 = 5
    UINT8 = 6
    INT8 = 7
    BOOL = 8
    FLOAT8_E4M3 = 9
    FLOAT8_E5M2 = 10
    UINT32 = 11
    UINT64 = 12


class Op(enum.IntEnum):
    """ringrt_op_t"""

    SUM = 0
    AVG = 1
    MIN = 2
    MAX = 3
    PROD = 4
