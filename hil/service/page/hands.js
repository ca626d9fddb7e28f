// Pointer, touch and the Enter key at a button that is held: pressed while it is down, let go of in every other case.

const ENDS = ["pointerup", "pointercancel", "lostpointercapture", "keyup"];

// press, release: called with the source, the button's id. changed: the hand has moved.
export function holdable(button, { press, release, changed, repeated = () => {} }) {
  const source = `button ${button.id}`;
  let pointer = null, key = null;
  const down = (held) => button.classList.toggle("down", held);
  const open = () => {
    if (pointer === null && key === null) return;
    pointer = key = null;
    for (const end of ENDS) removeEventListener(end, ended, true);
    down(false);
    release(source);
  };
  // Heard wherever it ends, also where the button is gone meanwhile.
  const ended = (event) => (event.type === "keyup" ? event.code === key : event.pointerId === pointer) && open();
  const begin = () => {
    for (const end of ENDS) addEventListener(end, ended, true);
    down(true);
    if (press(source) === false) open();
  };
  button.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || pointer !== null || button.disabled) return;
    event.preventDefault();
    button.focus({ preventScroll: true });
    // Captured, a finger that slides off still ends here, and a menu or a scroll cancels.
    try {
      button.setPointerCapture(event.pointerId);
    } catch {
      return; // a pointer that is gone already
    }
    pointer = event.pointerId;
    begin();
  });
  button.addEventListener("pointermove", (event) => event.pointerId === pointer && changed());
  button.addEventListener("keydown", (event) => {
    // While Cmd is down, a Mac says of no other key that it comes up.
    if (event.ctrlKey || event.altKey || event.metaKey) {
      if (key !== null) open();
      return;
    }
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (key !== null) repeated();
    else if (!event.repeat && pointer === null && !button.disabled) {
      key = event.code;
      begin();
    }
  });
  button.addEventListener("blur", open);
  // A long touch is a hold here, no menu; and no drag begins from it.
  button.addEventListener("contextmenu", (event) => event.preventDefault());
  button.addEventListener("dragstart", (event) => event.preventDefault());
  return { open };
}
