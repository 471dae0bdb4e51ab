// Semantic versions, as candidates of leader elections state them (semver.org, version 2.0.0).

const form =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;

/** The parts of a version that are compared. */
interface SemanticVersion {
  readonly numbers: readonly number[];
  /** The identifiers of a version that is not released yet; empty for a release. */
  readonly before: readonly string[];
}

const parsed = (text: string): SemanticVersion | undefined => {
  const [, major, minor, patch, before] = form.exec(text) ?? [];
  return major === undefined ? undefined : {numbers: [major, minor, patch].map(Number), before: before?.split('.') ?? []};
};

const zero: SemanticVersion = {numbers: [0, 0, 0], before: []};

export const isSemanticVersion = (text: string): boolean => form.test(text);

/** Whether a text is not a version, or version zero. */
export const isNoVersion = (text: string): boolean => {
  const {numbers, before} = parsed(text) ?? zero;
  return before.length === 0 && numbers.every(number => number === 0);
};

const compareWords = (a: string, b: string): number => {
  const [left, right] = [a, b].map(word => (/^\d+$/.test(word) ? Number(word) : undefined));
  if (left !== undefined && right !== undefined) return left - right;
  if (left !== undefined || right !== undefined) return left !== undefined ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
};

/** Orders two versions by precedence (semver.org, 11). A text that is not a version counts as zero. */
export const compareVersions = (a: string, b: string): number => {
  const [left, right] = [parsed(a) ?? zero, parsed(b) ?? zero];
  for (let i = 0; i < 3; i++) if (left.numbers[i] !== right.numbers[i]) return left.numbers[i]! - right.numbers[i]!;
  if (left.before.length === 0 || right.before.length === 0) return right.before.length - left.before.length;
  for (const [i, word] of left.before.entries()) {
    const other = right.before[i];
    if (other === undefined) return 1;
    const order = compareWords(word, other);
    if (order !== 0) return order;
  }
  return left.before.length - right.before.length;
};
