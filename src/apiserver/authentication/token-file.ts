import {createHash} from 'node:crypto';
import type {UserInfo} from '#src/api/user.js';
import type {Authenticator} from '#src/api/authentication.js';
import {bearerToken} from '#src/serving/authenticators/bearer.js';

/** One line of a CSV file: fields separated by commas, quoted if they contain commas. */
const fieldsOf = (line: string): string[] => {
  const fields: string[] = [];
  const pattern = /\s*(?:"((?:[^"]|"")*)"|([^,]*))(,|$)/gy;
  for (let match = pattern.exec(line); match; match = pattern.exec(line)) {
    fields.push(match[1] === undefined ? (match[2] ?? '').trim() : match[1].replaceAll('""', '"'));
    if (match[3] === '') break;
  }
  return fields;
};

const fingerprint = (token: string): string => createHash('sha256').update(token).digest('base64');

/**
 * Parses `token,user,uid[,"group1,group2"]` lines. Throws an error with the line number. The last line of a repeated
 * token counts.
 */
export const parseTokenFile = (text: string): ReadonlyMap<string, UserInfo> => {
  const users = new Map<string, UserInfo>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const fields = fieldsOf(line);
    const [token = '', name = '', uid = '', groups] = fields;
    if (fields.length < 3) throw new Error(`line ${index + 1} must have at least 3 columns (token, user name, user uid)`);
    if (!token) continue;
    users.set(fingerprint(token), {name, ...(uid ? {uid} : {}), groups: groups?.split(',') ?? []});
  }
  return users;
};

/** Authenticates the bearer tokens of a file. Tokens are compared by their hashes. */
export const tokenFileAuthenticator = (users: ReadonlyMap<string, UserInfo>): Authenticator => ({
  name: 'token-file',
  takesTokens: true,
  authenticate(request) {
    const token = bearerToken(request);
    if (!token) return undefined;
    const user = users.get(fingerprint(token));
    return user ? {user} : {rejected: 'invalid bearer token'};
  },
});
