/** A longer text is not compared: that takes the product of the lengths. */
const longest = 100;

/** Returns the candidate with the smallest edit distance, for suggestions; undefined when none is close. */
export const closest = (typed: string, candidates: readonly string[]): string | undefined => {
  if (typed.length > longest) return undefined;
  const maxChanges = Math.max(1, Math.floor(typed.length / 3));
  let best: {readonly candidate: string; readonly changes: number} | undefined;
  for (const candidate of candidates) {
    const changes = typed.toLowerCase() === candidate.toLowerCase() ? 0 : distance(typed, candidate);
    if (changes <= maxChanges && (!best || changes < best.changes)) best = {candidate, changes};
  }
  return best?.candidate;
};

/** The Damerau-Levenshtein distance of two words. */
const distance = (one: string, other: string): number => {
  let before: number[] = [];
  let row = Array.from({length: other.length + 1}, (_, j) => j);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = row[j - 1]! + (one[i - 1] === other[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1] ? before[j - 2]! + 1 : Infinity;
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, replaced, swapped));
    }
    [before, row] = [row, next];
  }
  return row[other.length]!;
};
