/**
 * The headers in which front proxies state the user: the names, and the beginnings of the names of extra attributes; in
 * any case.
 */
export interface IdentityHeaders {
  readonly names: readonly string[];
  readonly prefixes: readonly string[];
}

/** The headers in which this server states the user to the servers behind it. */
const standardNames = ['x-remote-user', 'x-remote-uid', 'x-remote-group'];
const standardPrefix = 'x-remote-extra-';

/**
 * Returns whether a header, by its name in lower case, stays with this server: the client's credentials, what this
 * server has handled, and each header that states a user to those who trust this server, be it the standard one or one
 * of `identity`.
 */
export const heldBack = (identity: IdentityHeaders = {names: [], prefixes: []}): ((name: string) => boolean) => {
  const names = new Set(['authorization', 'expect', ...standardNames, ...identity.names.map(name => name.toLowerCase())]);
  const prefixes = ['impersonate-', standardPrefix, ...identity.prefixes.map(prefix => prefix.toLowerCase())];
  return name => names.has(name) || prefixes.some(prefix => name.startsWith(prefix));
};
