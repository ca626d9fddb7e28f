"""Clouds in OpenGL: a part at once, more of it pass by pass while nothing else is to be drawn.

Dots of one colour by the plainest program there is: where no graphics card draws but the processor, that takes a third
of the time that round ones take.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from OpenGL import GL
from pyqtgraph.opengl.GLGraphicsItem import GLGraphicsItem
from pyqtgraph.opengl.shaders import FragmentShader, ShaderProgram, VertexShader
from PySide6.QtOpenGL import QOpenGLBuffer

SOFTWARE = ("llvmpipe", "softpipe", "swrast", "swiftshader", "software", "gdi generic", "basic render")
"""What drivers call themselves that draw by the processor."""

SOFTWARE_PASS, CARD_PASS = 30_000, 600_000
"""Points of all clouds together that are drawn in one pass."""

VERTEX = """
uniform mat4 u_mvp;
attribute vec4 a_position;
void main() {
    gl_Position = u_mvp * a_position;
}
"""
FRAGMENT = """
#ifdef GL_ES
precision mediump float;
#endif
uniform vec4 u_color;
void main() {
    gl_FragColor = u_color;
}
"""


def points_of_a_pass(renderer: str) -> int:
    """How many points a driver of this name draws without being noticed."""
    return SOFTWARE_PASS if any(name in renderer.lower() for name in SOFTWARE) else CARD_PASS


class CloudItem(GLGraphicsItem):  # type: ignore[misc]  # pyqtgraph has no types
    """Dots of one colour, of which every beginning is spread over all.

    Attributes:
        first, end: those that the next pass draws.
    """

    def __init__(self, places: npt.NDArray[np.float32], colour: tuple[float, ...], size_px: float) -> None:
        super().__init__()
        self.setGLOptions("opaque")
        self.places = np.ascontiguousarray(places, np.float32)
        self.first = self.end = 0
        self._colour, self._size_px = colour, size_px
        self._buffer = QOpenGLBuffer(QOpenGLBuffer.Type.VertexBuffer)
        self._shader = ShaderProgram(None, [VertexShader(VERTEX), FragmentShader(FRAGMENT)])

    @property
    def left(self) -> int:
        """Points that no pass has drawn yet."""
        return len(self.places) - self.end

    def begin(self, count: int) -> None:
        """The next pass draws the first ones."""
        self.first, self.end = 0, min(count, len(self.places))

    def go_on(self, count: int) -> None:
        """The next pass draws some more."""
        self.first, self.end = self.end, min(self.end + count, len(self.places))

    def paint(self) -> None:
        """One pass."""
        if self.end <= self.first:
            return
        self.setupGLState()
        created = self._buffer.isCreated() or self._buffer.create()
        self._buffer.bind()
        if created and self._buffer.size() != self.places.nbytes:
            buffer: Any = self._buffer  # its types want bytes, which would copy millions of points
            buffer.allocate(self.places, self.places.nbytes)
        GL.glVertexAttribPointer(0, 3, GL.GL_FLOAT, False, 0, None)
        self._buffer.release()
        GL.glEnableVertexAttribArray(0)
        GL.glPointSize(self._size_px)
        program: Any = self._shader.program()
        seen = np.array(self.mvpMatrix().data(), np.float32)
        with self._shader:
            GL.glUniformMatrix4fv(GL.glGetUniformLocation(program, "u_mvp"), 1, False, seen)
            GL.glUniform4f(GL.glGetUniformLocation(program, "u_color"), *self._colour)
            GL.glDrawArrays(GL.GL_POINTS, self.first, self.end - self.first)
        GL.glDisableVertexAttribArray(0)
