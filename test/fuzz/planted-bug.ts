/** Reads a text, and has a bug behind five branches, for the test of the fuzzer. */
export function readPlanted(text: string): number {
  let depth = 0;
  if (text[0] === "b") {
    depth++;
    if (text[1] === "r") {
      depth++;
      if (text[2] === "a") {
        depth++;
        if (text[3] === "n") {
          depth++;
          if (text[4] === "c") throw new Error("planted");
        }
      }
    }
  }
  return depth;
}
