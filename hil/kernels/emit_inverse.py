"""Numba source that turns the routine of a closed form into answers: certified, wrapped, distinct, in branch order.

It states the same policy as `hil.kinematics.certified` does for floats: where some branch meets the pose to
`EXACT_ERROR`, worse ones are no solutions; of two equal answers the more exact one stays.
"""

from __future__ import annotations

from hil.kernels.closed_form import ClosedForm
from hil.kernels.emit_numba import OK, numba_source
from hil.kernels.inverse import inverse_kinematics

NOT_RIGID = -3
"""Instead of a count: the pose needs the careful look of the slow path (not finite, not orthonormal, rounded)."""

RIGID_TOLERANCE = 1e-12


def inverse_source(form: ClosedForm, *, exact: float, accepted: float, same: float) -> str:
    """A module with ``solutions(pose, rest, out) -> count`` and ``solutions_many(poses, rest, q, valid) -> status``.

    ``pose`` is (4, 4), ``rest`` (n,), ``out`` (branches, n), whose first `count` rows are the solutions. ``poses`` is
    (N, 4, 4), ``q`` (N, branches, n) and ``valid`` (N, branches) as in `hil.kinematics.certified.AllSolutions`. A pose
    that is not exactly rigid gives `NOT_RIGID`.

    Args:
        form: the arm.
        exact: error up to which a branch is exact, metres and radians.
        accepted: error up to which a branch is a solution where none is exact.
        same: largest difference per coordinate of two answers that count as one.
    """
    routine = inverse_kinematics(form)
    revolute = ", ".join(str(row.revolute) for row in form.chain.rows)
    return numba_source(routine, many=False) + _TEXT.format(
        branches=len(form.branches),
        joints=len(form.chain.rows),
        revolute=f"({revolute},)",
        exact=exact,
        accepted=accepted,
        same=same,
        rigid=RIGID_TOLERANCE,
        not_rigid=NOT_RIGID,
        ok=OK,
    )


_TEXT = '''

REVOLUTE = np.array({revolute})


@njit(cache=True, nogil=True, error_model="numpy")
def rigid(pose):
    for i in range(3):
        for k in range(i, 3):
            product = pose[0, i] * pose[0, k] + pose[1, i] * pose[1, k] + pose[2, i] * pose[2, k]
            if not abs(product - (1.0 if i == k else 0.0)) <= {rigid!r}:
                return False
    determinant = (
        pose[0, 0] * (pose[1, 1] * pose[2, 2] - pose[1, 2] * pose[2, 1])
        + pose[0, 1] * (pose[1, 2] * pose[2, 0] - pose[1, 0] * pose[2, 2])
        + pose[0, 2] * (pose[1, 0] * pose[2, 1] - pose[1, 1] * pose[2, 0])
    )
    last = pose[3, 0] == 0.0 and pose[3, 1] == 0.0 and pose[3, 2] == 0.0 and pose[3, 3] == 1.0
    return last and determinant > 0.0


@njit(inline="always")
def wrapped(angle):
    if angle > np.pi or angle <= -np.pi:
        angle -= 2.0 * np.pi * np.ceil((angle - np.pi) / (2.0 * np.pi))
    return angle


@njit(cache=True, nogil=True, error_model="numpy")
def judge(q, exists, error, valid):
    """Wrap all branches, and tell which are solutions: exact enough, and not the same as a better one."""
    best = np.inf
    for b in range({branches}):
        if exists[b] >= 0.0:
            best = min(best, error[b])
    limit = {exact!r} if best <= {exact!r} else {accepted!r}
    for b in range({branches}):
        for j in range({joints}):
            if REVOLUTE[j]:
                q[b, j] = wrapped(q[b, j])
        valid[b] = exists[b] >= 0.0 and error[b] <= limit
        for k in range(b):
            if not (valid[k] and valid[b]):
                continue
            same = True
            for j in range({joints}):
                way = q[b, j] - q[k, j]
                if not abs(wrapped(way) if REVOLUTE[j] else way) < {same!r}:
                    same = False
                    break
            if same:
                valid[b if error[b] >= error[k] else k] = False


@njit("int64(float64[:, ::1], float64[::1], float64[:, ::1])", cache=True, nogil=True, error_model="numpy")
def solutions(pose, rest, out):
    if pose.shape != (4, 4) or out.shape != ({branches}, {joints}) or not rigid(pose):
        return {not_rigid}
    error, exists, free = np.empty({branches}), np.empty({branches}), np.empty({branches})
    valid = np.empty({branches}, np.bool_)
    if one(pose.reshape(16), rest, out, exists, free, error) != {ok}:
        return {not_rigid}
    judge(out, exists, error, valid)
    count = 0
    for b in range({branches}):
        if valid[b]:
            if count < b:
                out[count] = out[b]
            count += 1
    return count


@njit("int64(float64[:, :, ::1], float64[::1], float64[:, :, ::1], boolean[:, ::1])",
      cache=True, nogil=True, error_model="numpy")
def solutions_many(poses, rest, q, valid):
    error, exists, free = np.empty({branches}), np.empty({branches}), np.empty({branches})
    for i in range(len(poses)):
        if not rigid(poses[i]):
            return {not_rigid}
        if one(poses[i].reshape(16), rest, q[i], exists, free, error) != {ok}:
            return {not_rigid}
        judge(q[i], exists, error, valid[i])
    return {ok}
'''
