// The versions of CSI drivers. Drivers of version 1 are supported.

type Version = readonly number[];

/** Parses two or more numbers with dots between, whatever follows; undefined for anything else. */
const parse = (text: string): Version | undefined => {
  const [, numbers] = /^v?((?:0|[1-9]\d*)(?:\.\d+)+)/.exec(text.trim()) ?? [];
  return numbers?.split('.').map(Number);
};

const compare = (a: Version, b: Version): number => {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
};

/** A supported version of a driver. */
export interface DriverVersion {
  readonly text: string;
  isBelow(other: DriverVersion): boolean;
  readonly numbers: Version;
}

const versionOf = (numbers: Version): DriverVersion => ({
  text: numbers.join('.'),
  numbers,
  isBelow: other => compare(numbers, other.numbers) < 0,
});

/** Returns the highest of a driver's versions that is supported. Throws if none is. */
export const highestVersion = (versions: readonly string[]): DriverVersion => {
  const known = versions.flatMap(text => {
    const numbers = parse(text);
    return numbers && numbers[0]! <= 1 ? [numbers] : [];
  });
  const highest = known.toSorted(compare).at(-1);
  if (!highest) {
    const broken = versions.find(text => !parse(text));
    const cause = broken === undefined ? '<nil>' : `could not parse ${JSON.stringify(broken)} as version`;
    throw new Error(`could not find a highest supported version from versions ([${versions.join(' ')}]) reported: ${cause}`);
  }
  if (highest[0] !== 1) throw new Error(`highest supported version reported is ${highest.join('.')}, must be v1.x`);
  return versionOf(highest);
};
