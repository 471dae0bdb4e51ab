import type {Subject} from './subject.js';

/** A subject that is to run, and which of its rows. */
export interface Selected {
  readonly subject: Subject;
  wants(key: string): boolean;
}

/**
 * Returns the subjects that the names of subjects or rows select, in the order of the list; for no name all of them but
 * those on request. Throws for an unknown name.
 */
export const select = (subjects: readonly Subject[], names: readonly string[]): Selected[] => {
  const known = subjects.flatMap(({name, rows = []}) => [name, ...rows]);
  const unknown = names.find(name => !known.includes(name));
  if (unknown !== undefined) throw new Error(`there is nothing to measure named ${unknown}: choose of ${known.join(', ')}`);
  const chosen = new Set(names);
  return subjects
    .filter(
      ({name, rows = [], isOnRequest}) => (chosen.size === 0 && !isOnRequest) || chosen.has(name) || rows.some(key => chosen.has(key)),
    )
    .map(subject => ({subject, wants: key => chosen.size === 0 || chosen.has(subject.name) || chosen.has(key)}));
};
