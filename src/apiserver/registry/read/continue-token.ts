import type {Naming} from '#src/api/naming.js';
import {badRequest} from '#src/api/status.js';
import {jsonSyntaxProblem} from '#src/schema/decode/json-syntax.js';

/** Where a list continues. A revision of -1 stands for the newest. */
export interface Continuation {
  readonly revision: number;
  /** The first key of the next page. */
  readonly start: string;
}

/** Returns the key that directly follows another in the order of the store. */
export const keyAfter = (key: string): string => `${key}\u0000`;

/**
 * Returns a continue token: opaque to clients, base64url of its version, the revision and the start of the next page
 * below the prefix.
 */
export const encodeContinue = (naming: Naming, prefix: string, {revision, start}: Continuation): string =>
  Buffer.from(JSON.stringify({v: naming.apiVersion('meta', 'v1'), rv: revision, start: start.slice(prefix.length)})).toString('base64url');

const refuse = (reason: string, cause?: unknown) => badRequest(`invalid continue token: continue key is not valid: ${reason}`, cause);

/** Returns the continuation of a token for the list of `prefix`. Throws 400 for an invalid token. */
export const decodeContinue = (naming: Naming, prefix: string, token: string): Continuation => {
  let parsed: {v?: unknown; rv?: unknown; start?: unknown};
  const odd = token.search(/[^\w-]/);
  // A last character alone is less than a byte.
  const illegal = odd < 0 && token.length % 4 === 1 ? token.length - 1 : odd;
  if (illegal >= 0) throw refuse(`illegal base64 data at input byte ${illegal}`);
  const bytes = Buffer.from(token, 'base64url');
  try {
    parsed = JSON.parse(bytes.toString()) as typeof parsed;
  } catch (cause) {
    throw refuse(jsonSyntaxProblem(bytes), cause);
  }
  if (typeof parsed !== 'object' || parsed === null)
    throw refuse(`json: cannot unmarshal ${parsed === null ? 'null' : typeof parsed} into Go value of type storage.continueToken`);
  const {v, rv, start} = parsed;
  if (v !== naming.apiVersion('meta', 'v1')) throw refuse(`server does not recognize this encoded version ${String(v)}`);
  if (typeof rv !== 'number' || !Number.isSafeInteger(rv) || rv === 0)
    throw refuse(`incorrect encoded start resourceVersion (version ${v})`);
  if (typeof start !== 'string' || start === '') throw refuse(`encoded start key empty (version ${v})`);
  if (!isCleanPath(start)) throw refuse(start);
  return {revision: rv, start: prefix + start};
};

/** Whether a start is a normalized path: it cannot leave the prefix, and no two of them name the same key. */
const isCleanPath = (start: string): boolean =>
  !start.endsWith('/') && start.split('/').every(part => part !== '' && part !== '.' && part !== '..');
