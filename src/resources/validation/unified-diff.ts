/** Lines that are the same on both sides: so many from `a` on the left and from `b` on the right. */
interface Block {
  readonly a: number;
  readonly b: number;
  readonly size: number;
}

/** A stretch of both sides, the same or not. */
interface Stretch {
  readonly same: boolean;
  readonly a0: number;
  readonly a1: number;
  readonly b0: number;
  readonly b1: number;
}

const around = 3;
/** In long texts lines that come often say nothing of what belongs together. */
const longText = 200;

/** Where each line of the right side stands, without those that come too often. */
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

/** The longest run of same lines within a stretch, the first of them; then what of the same stands right before and after it. */
const longest = ({left, right, places}: Sides, a0: number, a1: number, b0: number, b1: number): Block => {
  let [a, b, size] = [a0, b0, 0];
  let runs = new Map<number, number>();
  for (let i = a0; i < a1; i++) {
    const next = new Map<number, number>();
    for (const j of places.get(left[i]!) ?? []) {
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

const blocksOf = (sides: Sides): Block[] => {
  const blocks: Block[] = [];
  const within = (a0: number, a1: number, b0: number, b1: number): void => {
    const found = longest(sides, a0, a1, b0, b1);
    if (found.size === 0) return;
    if (a0 < found.a && b0 < found.b) within(a0, found.a, b0, found.b);
    const last = blocks.at(-1);
    if (last && last.a + last.size === found.a && last.b + last.size === found.b) blocks[blocks.length - 1] = {...last, size: last.size + found.size};
    else blocks.push(found);
    if (found.a + found.size < a1 && found.b + found.size < b1) within(found.a + found.size, a1, found.b + found.size, b1);
  };
  within(0, sides.left.length, 0, sides.right.length);
  return [...blocks, {a: sides.left.length, b: sides.right.length, size: 0}];
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

/** Stretches that are told together: none of what is the same between them is longer than what is shown around both. */
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

/** How two texts differ, in the unified format with three lines around and without the names of files; empty where they do not. */
export const unifiedDiff = (before: string, now: string): string => {
  const [left, right] = [before.split('\n'), now.split('\n')];
  const lines: string[] = [];
  for (const hunk of hunksOf(stretchesOf({left, right, places: placesOf(right)}))) {
    const [first, last] = [hunk[0]!, hunk.at(-1)!];
    lines.push(`@@ -${rangeText(first.a0, last.a1)} +${rangeText(first.b0, last.b1)} @@`);
    for (const {same, a0, a1, b0, b1} of hunk) {
      if (same) lines.push(...left.slice(a0, a1).map(line => ` ${line}`));
      else lines.push(...left.slice(a0, a1).map(line => `-${line}`), ...right.slice(b0, b1).map(line => `+${line}`));
    }
  }
  return lines.map(line => `${line}\n`).join('');
};
