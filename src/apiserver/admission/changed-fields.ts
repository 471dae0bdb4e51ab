// Which fields of an object a plugin has changed, for the flight recorder. What is compared is what fields hold before
// and after, by identity: nothing is copied or encoded unless they differ.

/** A field that a plugin may change, such as `spec.tolerations` or `spec.containers[].resources`. */
export interface FieldPath {
  readonly text: string;
  readonly steps: readonly {readonly name: string; readonly isEach: boolean}[];
}

export const fieldPath = (text: string): FieldPath => ({
  text,
  steps: text.split('.').map(step => (step.endsWith('[]') ? {name: step.slice(0, -2), isEach: true} : {name: step, isEach: false})),
});

/** What the fields hold in a moment: the values themselves, and those in lists and maps. */
export type Held = readonly (readonly unknown[])[];

const collect = (value: unknown, steps: FieldPath['steps'], at: number, held: unknown[]): void => {
  const step = steps[at];
  if (value === null || typeof value !== 'object') held.push(value);
  else if (!step) {
    if (Array.isArray(value)) for (const each of value as unknown[]) held.push(each);
    else for (const [name, each] of Object.entries(value)) held.push(name, each);
  } else {
    const below = (value as Readonly<Record<string, unknown>>)[step.name];
    if (step.isEach && Array.isArray(below)) for (const each of below) collect(each, steps, at + 1, held);
    else collect(below, steps, at + 1, held);
  }
};

/** Returns what fields of an object hold. */
export const heldBy = (object: unknown, paths: readonly FieldPath[]): Held =>
  paths.map(path => {
    const held: unknown[] = [];
    collect(object, path.steps, 0, held);
    return held;
  });

const isSame = (before: readonly unknown[], after: readonly unknown[]): boolean =>
  before.length === after.length &&
  (before.every((value, index) => Object.is(value, after[index])) || JSON.stringify(before) === JSON.stringify(after));

/** Returns the fields that no longer hold what they did. */
export const changedFields = (object: unknown, paths: readonly FieldPath[], before: Held): string[] => {
  const after = heldBy(object, paths);
  return paths.filter((_, index) => !isSame(before[index]!, after[index]!)).map(({text}) => text);
};
