"""Bodies made from the DH table: closed, turned outwards, where the arm is, for every robot."""

from __future__ import annotations

import numpy as np
import pytest

from hil.model.files import list_names
from hil.model.link_shapes import LinkMesh, capsule_meshes, link_meshes, placed
from hil.model.reader import load_robot
from hil.model.rig import Capsule
from hil.model.stl import is_watertight
from hil.model.transforms import frames, random_q

ROBOTS = list_names("robots")


def volume(vertices: np.ndarray, faces: np.ndarray) -> float:
    corners = vertices[faces]
    return float(np.sum(np.einsum("fi,fi->f", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))) / 6)


def bodies(mesh: LinkMesh) -> list[np.ndarray]:
    """The faces of each connected part."""
    label = np.arange(len(mesh.vertices))
    while True:
        low = label[mesh.faces].min(axis=1)
        after = label.copy()
        for column in mesh.faces.T:
            np.minimum.at(after, column, low)
        if np.array_equal(after, label):
            break
        label = after
    return [mesh.faces[label[mesh.faces[:, 0]] == each] for each in np.unique(label[mesh.faces[:, 0]])]


@pytest.mark.parametrize("name", ROBOTS)
def test_every_body_of_every_robot_is_closed_and_turned_outwards(name: str) -> None:
    model = load_robot(name)
    meshes = link_meshes(model)
    assert [mesh.link for mesh in meshes] == list(range(model.dof + 1))
    for mesh in meshes:
        assert np.isfinite(mesh.vertices).all()
        for faces in bodies(mesh):
            assert is_watertight(faces)
            assert volume(mesh.vertices, faces) > 0


@pytest.mark.parametrize("name", ROBOTS)
def test_the_links_hang_together_from_base_to_tool(name: str) -> None:
    """Each DH origin lies inside the box of the link that ends there, and the tool in that of the last link."""
    model = load_robot(name)
    for mesh in link_meshes(model)[1:]:
        assert np.all(mesh.vertices.min(axis=0) < 1e-9) and np.all(mesh.vertices.max(axis=0) > -1e-9)
    tip = np.array(model.tool)[:3, 3]
    last = link_meshes(model)[-1].vertices
    assert np.all(last.min(axis=0) - 1e-9 <= tip) and np.all(tip <= last.max(axis=0) + 1e-9)


def test_a_turning_link_reaches_back_to_the_joint_that_carries_it() -> None:
    model = load_robot("puma560")
    at = frames(model, random_q(model, np.random.default_rng(0)))
    for mesh in link_meshes(model)[1:]:
        before = np.linalg.inv(at[mesh.link]) @ at[mesh.link - 1][:, 3]
        low, high = mesh.vertices.min(axis=0) - 1e-9, mesh.vertices.max(axis=0) + 1e-9
        assert np.all(low <= before[:3]) and np.all(before[:3] <= high)


def test_a_slide_is_long_enough_for_its_whole_stroke() -> None:
    model = load_robot("stanford")
    boom = link_meshes(model)[3].vertices
    assert boom[:, 2].min() == pytest.approx(-1.27, abs=0.2)


def test_a_whole_arm_is_its_links_moved_to_their_frames() -> None:
    model = load_robot("lynx6")
    meshes = link_meshes(model)
    vertices, faces = placed(meshes, frames(model, model.home or ()))
    assert len(vertices) == sum(len(mesh.vertices) for mesh in meshes)
    assert is_watertight(faces)
    assert vertices[:, 2].max() == pytest.approx(0.5006, abs=0.02)


@pytest.mark.parametrize("end", [(0.0, 0.0, 0.3), (0.1, -0.2, 0.05), (0.0, 0.0, 0.0)])
def test_a_capsule_is_a_rod_between_two_half_balls(end: tuple[float, float, float]) -> None:
    shape = Capsule(name="rod", link=2, start_m=(0.0, 0.0, 0.0), end_m=end, radius_m=0.05)
    mesh = capsule_meshes([shape])[0]
    assert mesh.link == 2
    assert is_watertight(mesh.faces)
    exact = np.pi * 0.05**2 * (np.linalg.norm(end) + 4 / 3 * 0.05)
    assert 0.95 * exact < volume(mesh.vertices, mesh.faces) < exact
    along = np.clip(mesh.vertices @ np.array(end) / max(np.dot(end, end), 1e-30), 0.0, 1.0)
    away = np.linalg.norm(mesh.vertices - along[:, None] * np.array(end), axis=1)
    assert np.allclose(away, 0.05, atol=1e-12)
