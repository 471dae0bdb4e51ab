const emptied = Symbol('given as empty');

type Noted = Partial<Record<typeof emptied, Map<string, unknown>>>;

/**
 * Notes that a field was given as an empty list or map, which reading leaves out. The note is shared by copies, also those made by spreading, and is no
 * part of the object on the wire.
 */
export const noteEmpty = (object: object, field: string, value: unknown): void => {
  ((object as Noted)[emptied] ??= new Map()).set(field, value);
};

/** Passes on what was noted of an object to its copy. */
export const keepNotes = (object: object, copy: object): void => {
  const noted = (object as Noted)[emptied];
  if (noted) (copy as Noted)[emptied] = noted;
};

/** Returns the empty list or map that a field was given as, although it was left out. */
export const givenEmpty = (object: object | undefined, field: string): unknown => (object as Noted | undefined)?.[emptied]?.get(field);
