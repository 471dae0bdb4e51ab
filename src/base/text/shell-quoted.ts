/** Returns a word as a shell reads it: in quotes where it would otherwise be split or expanded. */
export const shellQuoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`);
