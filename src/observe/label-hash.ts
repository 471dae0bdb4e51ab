import {createHash} from 'node:crypto';

/**
 * Returns the hash by which metrics and errors name an issuer, a server, a key or a configuration; empty for an empty
 * text.
 */
export const labelHash = (text: string | Buffer): string =>
  text.length === 0 ? '' : `sha256:${createHash('sha256').update(text).digest('hex')}`;
