import {type Naming, type NamingName, naming} from '#src/api/naming.js';
import type {Caller} from './caller.js';
import {replyError} from './errors.js';

/** The server uses another vocabulary than requested. The message names the flag to give. */
export class NamingMismatch extends Error {
  override readonly name = 'NamingMismatch';

  constructor(requested: Naming, served: Naming) {
    super(`--naming=${requested.name}: the server speaks ${served.name}: give --naming=${served.name}, or leave the flag out`);
  }
}

const all = (['plat', 'kubernetes'] satisfies NamingName[]).map(naming);

/** Detects the vocabulary of a server by the groups it serves. */
export const detectNaming = async (caller: Caller, signal?: AbortSignal): Promise<Naming> => {
  const [served] = await servedNamings(caller, signal);
  if (!served) throw new Error('the server serves no group of either vocabulary: is it an API server? (--naming says which one to use)');
  return served;
};

/**
 * Throws `NamingMismatch` when the server's groups are those of another vocabulary. Does nothing when the server cannot
 * be reached.
 */
export const checkNaming = async (caller: Caller, requested: Naming, signal?: AbortSignal): Promise<void> => {
  const served = await servedNamings(caller, signal).catch((): readonly Naming[] => []);
  const [other] = served;
  if (other && !served.includes(requested)) throw new NamingMismatch(requested, other);
};

const servedNamings = async (caller: Caller, signal?: AbortSignal): Promise<readonly Naming[]> => {
  const call = {method: 'GET', path: '/apis', signal};
  const reply = await caller.call(call);
  if (reply.status >= 400) throw replyError(reply, call);
  const groups = new Set(((reply.body as {groups?: {name: string}[]} | undefined)?.groups ?? []).map(({name}) => name));
  return all.filter(({group}) => groups.has(group('authentication')) || groups.has(group('coordination')));
};
