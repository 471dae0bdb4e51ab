import type {Random} from '#src/base/random.js';
import {schemaOf} from '#src/apiserver/request/body.js';
import {bodyWith, fillings, type Filling} from './bodies.js';
import {collectionsOf, pathText, type Collection} from './fields.js';
import {watchingTheLoop} from './holds.js';
import {Target, type Call} from './requests.js';
import type {SweepServer} from './server.js';

/** A case: a collection of a kind, filled in one way. */
export interface Case {
  readonly target: Target;
  readonly collection: Collection;
  readonly filling: Filling;
}

/** The effect of one request on the event loop. */
export interface Finding {
  readonly label: string;
  readonly verb: string;
  readonly filling: Filling;
  readonly status: number;
  readonly longestMs: number;
  readonly ms: number;
  readonly bytes: number;
}

/** Kinds whose invalid objects would disturb the sweep itself. */
const left = new Set(['Namespace']);

/**
 * Returns all lists and maps of all served kinds in every filling. A collection of a struct shared by several kinds is
 * tested once per kind.
 */
export function* casesOf(server: SweepServer): Generator<Case> {
  for (const served of server.registry.served) {
    if (left.has(served.kind.kind) || served.resource.definition.virtual) continue;
    const target = new Target(server, served);
    const node = schemaOf(served.resource.settings.schemas, served.kind);
    for (const collection of collectionsOf(node)) for (const filling of fillings) yield {target, collection, filling};
  }
}

/** Selects cases at random. */
export const drawn = (cases: Iterable<Case>, count: number, random: Random): Case[] => {
  const all = [...cases].map(value => ({value, at: random.float()}));
  return all
    .sort((a, b) => a.at - b.at)
    .slice(0, count)
    .map(({value}) => value);
};

/** Selects as many cases of each kind at random, in random order. */
export const drawnOfEach = (cases: Iterable<Case>, count: number, random: Random): Case[] => {
  const seen = new Map<Target, number>();
  return drawn(cases, Infinity, random).filter(({target}) => {
    const number = (seen.get(target) ?? 0) + 1;
    seen.set(target, number);
    return number <= count;
  });
};

/** Runs a case: a create with the filled body, and all other writes of it. */
export async function* sweep(server: SweepServer, {target, collection, filling}: Case, bytes: number): AsyncGenerator<Finding> {
  const node = schemaOf(target.served.resource.settings.schemas, target.served.kind);
  const body = bodyWith(target.sample, node, collection, filling, bytes);
  if (!body) return;
  const ask = async ({verb, method, url, body: sent, headers = {}}: Call): Promise<Finding> => {
    const {answer, longestMs, ms} = await watchingTheLoop(() => server.send(method, url, {...(sent ? {body: sent} : {}), headers}));
    return {
      label: `${target.label} ${pathText(collection.path)}`,
      verb,
      filling,
      status: answer.status,
      longestMs,
      ms,
      bytes: sent?.length ?? 0,
    };
  };
  const created = await ask(target.create(body));
  yield created;
  if (target.isStored && created.status >= 300) await server.post(target.collection, target.sample);
  for (const call of await target.rest(body, collection)) yield await ask(call);
  if (target.isStored) await clear(server, target);
}

const clear = async (server: SweepServer, {item}: Target): Promise<void> => {
  await server.remove(`${item}?gracePeriodSeconds=0`);
  await server.patch(item, {metadata: {finalizers: null}});
};
