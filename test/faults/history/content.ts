/**
 * What an object of a history holds. Each field is written by other verbs, and each value is written once in a history,
 * so that a value tells which operation wrote it and a lost or doubled write shows.
 */
export interface Content {
  /** The object's uid; absent where nobody has seen it. */
  readonly uid?: string | undefined;
  /** Written by creations and updates, with the colour. */
  readonly v?: string | undefined;
  /** Written by patches. */
  readonly p?: string | undefined;
  /** Written by applies. */
  readonly a?: string | undefined;
  /** A label that selectors choose by. */
  readonly color?: string | undefined;
}

/** Whether two contents are the same, as far as both uids are known. */
export const isSame = (one: Content, other: Content): boolean =>
  one.v === other.v &&
  one.p === other.p &&
  one.a === other.a &&
  one.color === other.color &&
  (one.uid === undefined || other.uid === undefined || one.uid === other.uid);

/** Returns the values of a content that operations wrote. */
export const valuesOf = ({v, p, a}: Content): string[] => [v, p, a].filter(value => value !== undefined);

export const shown = ({uid, v, p, a, color}: Content): string =>
  `{v: ${v ?? '-'}, p: ${p ?? '-'}, a: ${a ?? '-'}, ${color ?? 'no colour'}, uid ${uid?.slice(0, 8) ?? '?'}}`;
