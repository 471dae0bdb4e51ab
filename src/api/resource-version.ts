/** Whether `a` is surely an older version of an object than `b`: versions are numbers of growing size wherever both look like one. */
export const isOlderVersion = (a: string, b: string): boolean => /^\d+$/.test(a) && /^\d+$/.test(b) && (a.length === b.length ? a < b : a.length < b.length);
