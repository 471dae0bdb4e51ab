// Selects tests by their names on the command line of the suite.

/** Linux passes arguments of at most 128 KiB. */
const argumentBytes = 120_000;

const escaped = (name: string): string => name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/** Returns expressions that match the tests with these names and no others, each short enough to be an argument. */
export const focuses = (names: readonly string[], limit = argumentBytes): readonly string[] => {
  const patterns: string[] = [];
  for (const name of names) {
    const pattern = escaped(name);
    const last = patterns.at(-1);
    if (last !== undefined && Buffer.byteLength(last) + Buffer.byteLength(pattern) < limit)
      patterns[patterns.length - 1] = `${last}|${pattern}`;
    else patterns.push(pattern);
  }
  return patterns;
};

/** Whether no other test may run meanwhile. */
const isSerial = (name: string): boolean => /\[(?:Serial|Disruptive)\]/.test(name);

/** Divides tests into those of each of several processes at a time and those that run alone afterwards. */
export const divided = (
  names: readonly string[],
  processes: number,
): {readonly together: readonly (readonly string[])[]; readonly alone: readonly string[]} => {
  const free = names.filter(name => !isSerial(name));
  return {
    together: Array.from({length: Math.min(processes, free.length)}, (_, part) =>
      free.filter((_name, index) => index % processes === part),
    ),
    alone: names.filter(isSerial),
  };
};
