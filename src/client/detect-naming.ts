import {type Naming, type NamingName, naming} from '#src/api/naming.js';
import type {Caller} from './caller.js';
import {refusal} from './errors.js';

/** The vocabulary a server speaks, by the groups it serves. */
export const detectNaming = async (caller: Caller, signal?: AbortSignal): Promise<Naming> => {
  const call = {method: 'GET', path: '/apis', signal};
  const reply = await caller.call(call);
  if (reply.status >= 400) throw refusal(reply, call);
  const groups = new Set(((reply.body as {groups?: {name: string}[]} | undefined)?.groups ?? []).map(({name}) => name));
  const spoken = (['plat', 'kubernetes'] satisfies NamingName[]).map(naming).find(({group}) => groups.has(group('authentication')) || groups.has(group('coordination')));
  if (!spoken) throw new Error('the server serves no group of either vocabulary: is it an API server? (--naming says which one to use)');
  return spoken;
};
