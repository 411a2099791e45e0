/**
 * Cuts a line to the columns of a terminal, as one that wraps would be counted as one and take two. What may be wide counts as
 * wide: a line that is cut too early does no harm.
 */
export function fitTo(columns: number, line: string): string {
  let width = 0;
  let fitting = "";
  for (const character of line) {
    width += (character.codePointAt(0) ?? 0) < 0x1100 ? 1 : 2;
    if (width > columns) return `${fitting}…`;
    // Two are kept for the mark of a cut.
    if (width <= columns - 2) fitting += character;
  }
  return line;
}
