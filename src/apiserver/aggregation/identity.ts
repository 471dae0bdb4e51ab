import type {UserInfo} from '#src/api/user.js';

/** The bytes of a text as Latin-1, as header values are encoded. */
const headerText = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

const isHeaderLetter = (byte: number): boolean => /[!#$&'*+\-.^_`|~0-9A-Za-z]/.test(String.fromCharCode(byte));

/** A key of extra attributes, escaped for use in a header's name. */
const escapedKey = (key: string): string =>
  [...Buffer.from(key, 'utf8')]
    .map(byte => (isHeaderLetter(byte) ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`))
    .join('');

/** The headers that pass the user to an aggregated server, which trusts them from a client with this server's certificate. */
export const identityHeaders = ({name, uid, groups, extra}: UserInfo, withUid: boolean): Record<string, string | readonly string[]> => ({
  'x-remote-user': headerText(name),
  ...(withUid && uid ? {'x-remote-uid': headerText(uid)} : {}),
  ...(groups.length > 0 ? {'x-remote-group': groups.map(headerText)} : {}),
  ...Object.fromEntries(Object.entries(extra ?? {}).map(([key, values]) => [`x-remote-extra-${escapedKey(key)}`, values.map(headerText)])),
});
