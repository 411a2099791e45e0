/** Controls, which steer terminals; formats, which reorder or hide text; line ends that are none of ours; halves of a character. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const MAX_LENGTH = 200;

/** Makes a name or an id from a model, a provider or a server safe to show: one line in which every character is seen. */
export function toPlainText(text: string): string {
  const kept = text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 1)}…` : text;
  return kept.replaceAll(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** Gives a duration as people say it. */
export function toDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 59_995) return `${(ms / 1_000).toFixed(2)} s`;
  const seconds = Math.round(ms / 1_000);
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600)];
  if (hours === 0) return `${minutes} min ${seconds % 60} s`;
  const days = Math.floor(hours / 24);
  return days === 0 ? `${hours} h ${minutes % 60} min` : `${days} d ${hours % 24} h`;
}

/** Gives a count with its word: `1 call`, `2 calls`. */
export function toCount(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
