// The arm in space: solid where the parts of three.js are there, else as lines. Both have one interface.
import { makeWireScene } from "./wire_scene.js";

// host: an element to draw in. model: {skeleton, axes, words}; words(key) gives a text in the page's language.
// show({commanded, simulated, reported, known, stale, planned, errors, used, rest}): per axis, null for what is not
// known. At rest nothing is drawn: only what differs from what was shown.
export function makeScene(host, model) {
  let inner = null, state = null, over = false;
  import("./solid_scene.js").then(
    (part) => part.makeSolidScene(host, model),
    () => null,
  ).catch(() => null).then((scene) => {
    if (over) {
      if (scene) scene.close();
      return;
    }
    inner = scene || makeWireScene(host, model);
    if (state) inner.show(state);
  });
  return {
    show(next) {
      state = next;
      if (inner) inner.show(next);
    },
    resize() {
      if (inner) inner.resize();
    },
    close() {
      over = true;
      if (inner) inner.close();
    },
  };
}
