// Small help with the document.

export const at = (id) => document.getElementById(id);

// A new element: its properties, then what is in it.
export function made(name, properties = {}, ...children) {
  const part = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") part.className = value;
    else if (key === "data") Object.assign(part.dataset, value);
    else if (key.startsWith("aria-") || key === "role") part.setAttribute(key, value);
    else part[key] = value;
  }
  part.append(...children);
  return part;
}

// Written only where it differs: what is read aloud is not read anew, and nothing is laid out for nothing.
export function write(part, words) {
  if (part.textContent !== words) part.textContent = words;
}

// Never under a hand, whose end would not be heard; and a part that keeps the focus would swallow the keys, STOP among them.
export function enable(part, may) {
  if (part.disabled !== may || (!may && part.classList.contains("down"))) return;
  if (!may && document.activeElement === part) part.blur();
  part.disabled = !may;
}

// A browser may forbid that anything is kept.
export function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch { /* it holds for this tab */ }
}

// A file for the person at the browser, made here.
export function download(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  made("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
