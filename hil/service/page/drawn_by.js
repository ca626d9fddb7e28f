// Whether three dimensions are drawn by a processor here: a computer without a graphics card, or without its driver.

const BY_PROCESSOR = /swiftshader|llvmpipe|softpipe|software|basic render/i;

export function drawnByProcessor() {
  const found = document.createElement("canvas").getContext("webgl2", { failIfMajorPerformanceCaveat: true });
  if (!found) return true;
  // Not every browser keeps to that wish.
  const named = found.getExtension("WEBGL_debug_renderer_info");
  const name = found.getParameter(named ? named.UNMASKED_RENDERER_WEBGL : found.RENDERER);
  found.getExtension("WEBGL_lose_context")?.loseContext();
  return BY_PROCESSOR.test(name);
}
