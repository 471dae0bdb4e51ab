/** Equal lines on both sides, at `a` on the left and `b` on the right. */
interface Block {
  readonly a: number;
  readonly b: number;
  readonly size: number;
}

/** A stretch of both sides, equal or not. */
interface Stretch {
  readonly same: boolean;
  readonly a0: number;
  readonly a1: number;
  readonly b0: number;
  readonly b1: number;
}

const around = 3;
/** In texts this long, frequent lines are ignored when matching. */
const longText = 200;

/** Returns the lines of the right side with their positions, without frequent ones. */
const placesOf = (right: readonly string[]): ReadonlyMap<string, readonly number[]> => {
  const places = new Map<string, number[]>();
  for (const [i, line] of right.entries()) {
    const found = places.get(line);
    if (found) found.push(i);
    else places.set(line, [i]);
  }
  if (right.length < longText) return places;
  const often = Math.trunc(right.length / 100) + 1;
  for (const [line, found] of places) if (found.length > often) places.delete(line);
  return places;
};

interface Sides {
  readonly left: readonly string[];
  readonly right: readonly string[];
  readonly places: ReadonlyMap<string, readonly number[]>;
}

/**
 * The limit of compared line pairs per text. The rest counts as different: finding the longest runs is quadratic in the
 * lines.
 */
const maxPairs = 200_000;

/** Counts compared pairs. */
interface Effort {
  pairs: number;
}

/** Returns the first longest run of equal lines in a stretch, extended to adjacent equal lines. */
const longest = ({left, right, places}: Sides, {a0, a1, b0, b1}: Stretch, effort: Effort): Block => {
  let [a, b, size] = [a0, b0, 0];
  let runs = new Map<number, number>();
  for (let i = a0; i < a1 && effort.pairs < maxPairs; i++) {
    const next = new Map<number, number>();
    effort.pairs += 1;
    for (const j of places.get(left[i]!) ?? []) {
      effort.pairs += 1;
      if (j < b0) continue;
      if (j >= b1) break;
      const run = (runs.get(j - 1) ?? 0) + 1;
      next.set(j, run);
      if (run > size) [a, b, size] = [i - run + 1, j - run + 1, run];
    }
    runs = next;
  }
  while (a > a0 && b > b0 && left[a - 1] === right[b - 1]) [a, b, size] = [a - 1, b - 1, size + 1];
  while (a + size < a1 && b + size < b1 && left[a + size] === right[b + size]) size++;
  return {a, b, size};
};

const joined = (blocks: readonly Block[]): Block[] => {
  const all: Block[] = [];
  for (const block of blocks) {
    const last = all.at(-1);
    if (last && last.a + last.size === block.a && last.b + last.size === block.b)
      all[all.length - 1] = {...last, size: last.size + block.size};
    else all.push(block);
  }
  return all;
};

/** Uses a stack instead of recursion: there may be as many blocks as lines. */
const blocksOf = (sides: Sides): Block[] => {
  const [a1, b1] = [sides.left.length, sides.right.length];
  const blocks: Block[] = [];
  const open: Stretch[] = [{same: false, a0: 0, a1, b0: 0, b1}];
  const effort = {pairs: 0};
  for (let stretch = open.pop(); stretch && effort.pairs < maxPairs; stretch = open.pop()) {
    const found = longest(sides, stretch, effort);
    if (found.size === 0) continue;
    blocks.push(found);
    const [aEnd, bEnd] = [found.a + found.size, found.b + found.size];
    if (stretch.a0 < found.a && stretch.b0 < found.b) open.push({...stretch, a1: found.a, b1: found.b});
    if (aEnd < stretch.a1 && bEnd < stretch.b1) open.push({...stretch, a0: aEnd, b0: bEnd});
  }
  return [...joined(blocks.sort((one, other) => one.a - other.a)), {a: a1, b: b1, size: 0}];
};

const stretchesOf = (sides: Sides): Stretch[] => {
  const stretches: Stretch[] = [];
  let [a, b] = [0, 0];
  for (const block of blocksOf(sides)) {
    if (a < block.a || b < block.b) stretches.push({same: false, a0: a, a1: block.a, b0: b, b1: block.b});
    [a, b] = [block.a + block.size, block.b + block.size];
    if (block.size > 0) stretches.push({same: true, a0: block.a, a1: a, b0: block.b, b1: b});
  }
  return stretches;
};

/** Groups changes whose contexts touch into hunks. */
const hunksOf = (stretches: readonly Stretch[]): Stretch[][] => {
  const hunks: Stretch[][] = [];
  let hunk: Stretch[] = [];
  for (const [i, stretch] of stretches.entries()) {
    const {same, a0, a1, b0, b1} = stretch;
    if (!same) hunk.push(stretch);
    else {
      const [first, last] = [i === 0, i === stretches.length - 1];
      const head = {same, a0, a1: Math.min(a1, a0 + around), b0, b1: Math.min(b1, b0 + around)};
      const tail = {same, a0: Math.max(a0, a1 - around), a1, b0: Math.max(b0, b1 - around), b1};
      if (first) hunk.push(tail);
      else if (last) hunk.push(head);
      else if (a1 - a0 > 2 * around) {
        hunks.push([...hunk, head]);
        hunk = [tail];
      } else hunk.push(stretch);
    }
  }
  if (hunk.some(({same}) => !same)) hunks.push(hunk);
  return hunks;
};

const rangeText = (from: number, to: number): string => {
  const length = to - from;
  if (length === 1) return String(from + 1);
  return `${length === 0 ? from : from + 1},${length}`;
};

/** Yields the lines of a hunk. */
function* hunkLines(hunk: readonly Stretch[], {left, right}: Sides): Iterable<string> {
  const [first, last] = [hunk[0]!, hunk.at(-1)!];
  yield `@@ -${rangeText(first.a0, last.a1)} +${rangeText(first.b0, last.b1)} @@`;
  for (const {same, a0, a1, b0, b1} of hunk) {
    for (let i = a0; i < a1; i++) yield `${same ? ' ' : '-'}${left[i]}`;
    if (same) continue;
    for (let i = b0; i < b1; i++) yield `+${right[i]}`;
  }
}

/** The limits of a shown diff, in lines and characters. */
const maxLines = 1000;
const maxText = 256 * 1024;

/**
 * Returns the unified diff of two texts with three lines of context and without file names; empty if they are equal. A
 * truncated diff is marked.
 */
export const unifiedDiff = (before: string, now: string): string => {
  const [left, right] = [before.split('\n'), now.split('\n')];
  const sides = {left, right, places: placesOf(right)};
  const lines: string[] = [];
  let text = 0;
  for (const hunk of hunksOf(stretchesOf(sides))) {
    for (const line of hunkLines(hunk, sides)) {
      if (lines.length >= maxLines || text >= maxText) return `${lines.join('\n')}\n... further differences are not shown\n`;
      lines.push(line);
      text += line.length;
    }
  }
  return lines.map(line => `${line}\n`).join('');
};
