// What a body gave as empty and decoding leaves out. Few rules distinguish empty from absent: they find the notes at
// the objects that lack the fields.

/** The key of the notes at an object. */
export const emptied = Symbol('given as empty');

/** The values by field: an empty list or map, or undefined for a value that was ignored. */
export type EmptiedFields = ReadonlyMap<string, unknown>;

type Noted = Partial<Record<typeof emptied, Map<string, unknown>>>;

/**
 * Notes that a field was given as an empty list or map, or as a value that is ignored, and that it is left out. The
 * note is shared by copies, also those made by spreading, and is no part of the object on the wire.
 */
export const noteEmpty = (object: object, field: string, value: unknown): void => {
  ((object as Noted)[emptied] ??= new Map()).set(field, value);
};

/** Returns whether a field of an object was noted. */
export const hasEmptied = (object: object): boolean => (object as Noted)[emptied] !== undefined;

/** Passes on what was noted of an object to its copy. */
export const keepNotes = (object: object, copy: object): void => {
  const noted = (object as Noted)[emptied];
  if (noted) (copy as Noted)[emptied] = noted;
};

/** Passes on what was noted of a field of an object. */
export const keepNote = (object: object, copy: object, field: string): void => {
  const noted = (object as Noted)[emptied];
  if (noted?.has(field)) noteEmpty(copy, field, noted.get(field));
};

const none: EmptiedFields = new Map();

/** Returns the fields of an object that were given as empty, although they are left out. */
export const emptiedFields = (object: object | undefined): EmptiedFields => (object as Noted | undefined)?.[emptied] ?? none;

/** Returns the empty list or map that a field was given as, although it was left out. */
export const givenEmpty = (object: object | undefined, field: string): unknown => emptiedFields(object).get(field);

/** Yields the emptied fields of each object at and below a value. */
export function* emptiedWithin(value: unknown): Generator<EmptiedFields> {
  if (typeof value !== 'object' || value === null) return;
  const fields = emptiedFields(value);
  if (fields.size > 0) yield fields;
  for (const part of Object.values(value)) yield* emptiedWithin(part);
}
