interface Rank {
  readonly stage: number;
  readonly major: number;
  readonly minor: number;
}

const rankOf = (version: string): Rank | undefined => {
  const [match, major, stage, minor = '0'] = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/.exec(version) ?? [];
  return match === undefined
    ? undefined
    : {stage: stage === undefined ? 2 : stage === 'beta' ? 1 : 0, major: Number(major), minor: Number(minor)};
};

/**
 * The order of API versions in discovery: GA before beta before alpha, newest first, then names that are none of these,
 * by the alphabet.
 */
export const compareVersions = (a: string, b: string): number => {
  const left = rankOf(a);
  const right = rankOf(b);
  if (left && right) return right.stage - left.stage || right.major - left.major || right.minor - left.minor;
  if (left || right) return left ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
};
