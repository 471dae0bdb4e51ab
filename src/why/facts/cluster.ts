// What the search reads of a cluster: GETs and LISTs of what a rule names, each at most once, within a bound. What the
// user may not read, or what is over the bound, is noted, and the search goes on without it.

import type {Kind} from '#src/api/kinds/index.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {isForbidden, isNotFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client, ListOptions} from '#src/client/client.js';
import type {Discovery} from './discovery.js';
import {reference, subjectText, type Reference} from './reference.js';

/** The most requests of one search, without those of discovery. */
export const maxRequests = 100;

/** The most objects of a list that are looked at. */
export const maxListed = 500;

/** An object that was asked for: found, absent, or neither, as it could not be read. */
export interface Looked<T> {
  readonly found?: T;
  readonly isAbsent: boolean;
}

/** Where objects are listed, and which. */
export type Where = Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector'>;

export class Cluster {
  readonly client: Client;
  readonly naming: Naming;
  readonly discovery: Discovery;
  readonly now: number;
  readonly #answers = new Map<string, Promise<unknown>>(); // At most `maxRequests` of them.
  readonly #notes = new Set<string>();
  #requests = 0;

  constructor(client: Client, discovery: Discovery, now: number) {
    this.client = client;
    this.naming = client.naming;
    this.discovery = discovery;
    this.now = now;
  }

  /** What could not be read, in words. */
  get notes(): readonly string[] {
    return [...this.#notes];
  }

  get requests(): number {
    return this.#requests;
  }

  async look<T extends KubeObject>(kind: Kind<T>, name: string, namespace?: string): Promise<Looked<T>> {
    const of = reference(kind, name, namespace);
    const read = async (): Promise<Looked<T>> => {
      try {
        return {found: await this.client.resource(kind).get(name, of.namespace ? {namespace: of.namespace} : {}), isAbsent: false};
      } catch (error) {
        if (isNotFound(error)) return {isAbsent: true};
        this.#forgive(error, `get ${subjectText(of)}`);
        return {isAbsent: false};
      }
    };
    return this.#once(`${kind.group}/${subjectText(of)}`, read, {isAbsent: false});
  }

  /** The object; undefined if it is absent or cannot be read. */
  async get<T extends KubeObject>(kind: Kind<T>, name: string, namespace?: string): Promise<T | undefined> {
    return (await this.look(kind, name, namespace)).found;
  }

  async isAbsent({kind, name, namespace}: Reference): Promise<boolean> {
    return (await this.look(kind, name, namespace)).isAbsent;
  }

  /** The first objects of a list; empty if it cannot be read. */
  list<T extends KubeObject>(kind: Kind<T>, where: Where = {}): Promise<readonly T[]> {
    return this.#list('list', kind, where, () => this.client.resource(kind).list({...where, limit: maxListed}));
  }

  /** The same with metadata only. */
  listMetadata(kind: Kind, where: Where = {}): Promise<readonly KubeObject[]> {
    return this.#list('metadata', kind, where, () => this.client.metadata(kind).list({...where, limit: maxListed}));
  }

  #list<T extends KubeObject>(
    how: string,
    kind: Kind,
    where: Where,
    request: () => Promise<{readonly items: readonly T[]; readonly metadata?: {readonly continue?: string}}>,
  ): Promise<readonly T[]> {
    const text = `${kind.plural}${where.namespace ? ` in the namespace ${where.namespace}` : ''}`;
    const read = async (): Promise<readonly T[]> => {
      try {
        const {items, metadata} = await request();
        if (metadata?.continue) this.#notes.add(`there are more than ${maxListed} ${text}: only the first ones were looked at`);
        return items;
      } catch (error) {
        if (!isNotFound(error)) this.#forgive(error, `list ${text}`);
        return [];
      }
    };
    return this.#once(`${how} ${kind.group}/${text} ${where.labelSelector ?? ''} ${where.fieldSelector ?? ''}`, read, []);
  }

  /** Notes that something may not be read; throws any other error. */
  #forgive(error: unknown, what: string): void {
    if (!isForbidden(error)) throw error;
    this.#notes.add(`you may not ${what}: what depends on it is not explained`);
  }

  #once<T>(key: string, read: () => Promise<T>, otherwise: T): Promise<T> {
    const known = this.#answers.get(key);
    if (known) return known as Promise<T>;
    if (this.#requests >= maxRequests) {
      this.#notes.add(`the search ended after ${maxRequests} requests`);
      return Promise.resolve(otherwise);
    }
    this.#requests++;
    const answer = read();
    this.#answers.set(key, answer);
    return answer;
  }

  /** The events about an object, newest first. */
  async events(kind: Kind, {metadata}: KubeObject): Promise<readonly EventFact[]> {
    const name = metadata?.name ?? '';
    const namespace = metadata?.namespace ?? 'default';
    const events = await this.list(kinds.coreEvents, {
      namespace,
      fieldSelector: `involvedObject.kind=${kind.kind},involvedObject.name=${name}`,
    });
    return events
      .filter(({involvedObject: {uid}}) => kind.kind === 'Node' || !uid || uid === metadata?.uid)
      .map(({reason = '', message = '', firstTimestamp, lastTimestamp, eventTime, series, metadata: own}) => ({
        reason,
        message,
        first: firstTimestamp ?? eventTime ?? own?.creationTimestamp ?? '',
        last: series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? own?.creationTimestamp ?? '',
      }))
      .sort((a, b) => Date.parse(b.last) - Date.parse(a.last));
  }
}

/** An event about an object, with the times of its first and its last occurrence. */
export interface EventFact {
  readonly reason: string;
  readonly message: string;
  readonly first: string;
  readonly last: string;
}

/** Returns the newest event with one of the reasons. */
export const newest = (events: readonly EventFact[], ...reasons: readonly string[]): EventFact | undefined =>
  events.find(({reason}) => reasons.includes(reason));
