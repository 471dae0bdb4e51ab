import {type Naming, type NamingName, naming} from '#src/api/naming.js';
import type {Caller} from './caller.js';
import {refusal} from './errors.js';

/** The server speaks another vocabulary than the one asked for. The message says what to type. */
export class NamingMismatch extends Error {
  override readonly name = 'NamingMismatch';

  constructor(asked: Naming, spoken: Naming) {
    super(`--naming=${asked.name}: the server speaks ${spoken.name}: give --naming=${spoken.name}, or leave the flag out`);
  }
}

const all = (['plat', 'kubernetes'] satisfies NamingName[]).map(naming);

/** The vocabulary a server speaks, by the groups it serves. */
export const detectNaming = async (caller: Caller, signal?: AbortSignal): Promise<Naming> => {
  const [spoken] = await spokenNamings(caller, signal);
  if (!spoken) throw new Error('the server serves no group of either vocabulary: is it an API server? (--naming says which one to use)');
  return spoken;
};

/** Throws `NamingMismatch` when the server's groups are those of another vocabulary. Does nothing when the server cannot be asked. */
export const checkNaming = async (caller: Caller, asked: Naming, signal?: AbortSignal): Promise<void> => {
  const spoken = await spokenNamings(caller, signal).catch((): readonly Naming[] => []);
  const [other] = spoken;
  if (other && !spoken.includes(asked)) throw new NamingMismatch(asked, other);
};

const spokenNamings = async (caller: Caller, signal?: AbortSignal): Promise<readonly Naming[]> => {
  const call = {method: 'GET', path: '/apis', signal};
  const reply = await caller.call(call);
  if (reply.status >= 400) throw refusal(reply, call);
  const groups = new Set(((reply.body as {groups?: {name: string}[]} | undefined)?.groups ?? []).map(({name}) => name));
  return all.filter(({group}) => groups.has(group('authentication')) || groups.has(group('coordination')));
};
