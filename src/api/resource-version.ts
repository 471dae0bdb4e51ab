/** Returns whether `a` is certainly an older resource version than `b`: numeric versions are ordered. */
export const isOlderVersion = (a: string, b: string): boolean =>
  /^\d+$/.test(a) && /^\d+$/.test(b) && (a.length === b.length ? a < b : a.length < b.length);
