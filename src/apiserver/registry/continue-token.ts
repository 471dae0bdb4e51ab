import type {Naming} from '#src/api/naming.js';
import {badRequest} from '#src/api/status.js';
import {jsonSyntaxProblem} from '#src/schema/decode/json-syntax.js';

/** Where a list goes on. A revision of -1 means: at the newest. */
export interface Continuation {
  readonly revision: number;
  /** The first key of the next page. */
  readonly start: string;
}

/** The first key behind another. */
export const behind = (key: string): string => `${key}\u0000`;

/** A continue token: opaque to clients, base64url of its version, its revision and where below the prefix the next page begins. */
export const encodeContinue = (naming: Naming, prefix: string, {revision, start}: Continuation): string =>
  Buffer.from(JSON.stringify({v: naming.apiVersion('meta', 'v1'), rv: revision, start: start.slice(prefix.length)})).toString('base64url');

const refuse = (why: string, cause?: unknown) => badRequest(`invalid continue token: continue key is not valid: ${why}`, cause);

/** Reads a token that belongs to the list of `prefix`. Throws 400 for what was not made here. */
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
  if (typeof parsed !== 'object' || parsed === null) throw refuse(`json: cannot unmarshal ${parsed === null ? 'null' : typeof parsed} into Go value of type storage.continueToken`);
  const {v, rv, start} = parsed;
  if (v !== naming.apiVersion('meta', 'v1')) throw refuse(`server does not recognize this encoded version ${String(v)}`);
  if (typeof rv !== 'number' || !Number.isSafeInteger(rv) || rv === 0) throw refuse(`incorrect encoded start resourceVersion (version ${v})`);
  if (typeof start !== 'string' || start === '') throw refuse(`encoded start key empty (version ${v})`);
  if (!isClean(start)) throw refuse(start);
  return {revision: rv, start: prefix + start};
};

/** No way to mean a key elsewhere, nor the same key twice. */
const isClean = (start: string): boolean => !start.endsWith('/') && start.split('/').every(part => part !== '' && part !== '.' && part !== '..');
