import {handleOf, type FoundResource} from '#controllers/shared/discovery.js';
import {kinds} from '#src/api/kinds/index.js';
import {StatusError, isNotFound} from '#src/api/status.js';
import {parseTime} from '#src/api/time.js';
import type {KubeList, KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import {mostOf} from '#src/base/extremes.js';
import type {Client, ResourceClient} from '#src/client/client.js';

/** What is left of a resource in a namespace after a deletion. */
export interface Leftover {
  readonly count: number;
  /** The number of objects with each finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** An estimate of the seconds until the rest is gone; 0 if nothing is to be waited for. */
  readonly estimateSeconds: number;
  /** The failure, if there was one. */
  readonly error?: unknown;
  /** Whether the error is only that terminating objects take too long: an immediate retry is useless. */
  readonly isOverdue?: boolean;
}

/** The wait for finalizers, and for objects that take too long to terminate. */
const finalizerSeconds = 15;

const noLeftover: Leftover = {count: 0, finalizers: new Map(), estimateSeconds: 0};

/** The server does not support the verb for this resource, despite discovery. */
const isUnsupported = (error: unknown): boolean => error instanceof StatusError && (error.code === 404 || error.code === 405);

export const isPods = ({group, resource}: FoundResource): boolean => group === '' && resource === 'pods';

/** Deletes the content of a namespace, one resource at a time. */
export class ContentDeleter {
  readonly #client: Client;
  readonly #clock: Clock;

  constructor(client: Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * Deletes all objects of a resource in a namespace and returns what is left. Never rejects: failures are in the
   * result.
   */
  async delete(resource: FoundResource, namespace: string, deletedAt: string): Promise<Leftover> {
    let estimateSeconds = 0;
    try {
      estimateSeconds = await this.#graceLeft(resource, namespace, deletedAt);
      if (!(await this.#deleteCollection(resource, namespace))) await this.#deleteEach(resource, namespace);
      const left = await this.#list(resource, namespace);
      return leftover(resource, namespace, left, {estimateSeconds, now: this.#clock.now()});
    } catch (error) {
      return {...noLeftover, estimateSeconds, error};
    }
  }

  /** Returns the longest grace period of running pods; 0 once it has passed since the namespace was deleted. */
  async #graceLeft(resource: FoundResource, namespace: string, deletedAt: string): Promise<number> {
    if (!isPods(resource)) return 0;
    const {items} = await this.#client.resource(kinds.pods).list({namespace});
    const running = items.filter(({status}) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed');
    const grace = Math.max(0, mostOf(running.map(({spec}) => spec?.terminationGracePeriodSeconds ?? 0)));
    const passedMs = this.#clock.now() - (parseTime(deletedAt) ?? 0);
    return passedMs >= grace * 1000 ? 0 : grace;
  }

  /** Deletes the resource as a collection. Returns whether that is supported. */
  async #deleteCollection(resource: FoundResource, namespace: string): Promise<boolean> {
    const done = await this.#ifSupported('deletecollection', resource, () =>
      this.#of(resource).deleteCollection({namespace, propagationPolicy}),
    );
    return done !== undefined;
  }

  async #deleteEach(resource: FoundResource, namespace: string): Promise<void> {
    for (const {metadata} of (await this.#list(resource, namespace)) ?? []) {
      try {
        await this.#of(resource).delete(metadata?.name ?? '', {namespace, propagationPolicy});
      } catch (error) {
        if (!isUnsupported(error) && !isNotFound(error)) throw error;
      }
    }
  }

  /** Lists the objects; undefined where the resource cannot be listed. */
  async #list(resource: FoundResource, namespace: string): Promise<readonly KubeObject[] | undefined> {
    const list = await this.#ifSupported('list', resource, () => this.#of(resource).list({namespace}));
    return (list as KubeList<KubeObject> | undefined)?.items;
  }

  #of(resource: FoundResource): ResourceClient<KubeObject> {
    return this.#client.metadata(handleOf(this.#client.naming, resource));
  }

  async #ifSupported(verb: string, {verbs}: FoundResource, call: () => Promise<unknown>): Promise<unknown> {
    if (!verbs.includes(verb)) return undefined;
    try {
      return (await call()) ?? {};
    } catch (error) {
      if (!isUnsupported(error)) throw error;
      // Not cached: a resource that is gone now may be served again.
      return undefined;
    }
  }
}

/** How much longer than their grace period pods may take before it is an error. */
const leewayMs = 10_000;

/** Dependents are left to the garbage collector. */
const propagationPolicy = 'Background';

/** Returns when the last object is due to be gone; undefined unless all are being deleted. */
const dueOf = (left: readonly KubeObject[]): number | undefined => {
  const times = left.map(({metadata}) => parseTime(metadata?.deletionTimestamp));
  return times.every(time => time !== undefined) ? times.reduce((latest, time) => Math.max(latest, time), 0) : undefined;
};

const leftover = (
  {group, version, resource}: FoundResource,
  namespace: string,
  left: readonly KubeObject[] | undefined,
  {estimateSeconds, now}: {readonly estimateSeconds: number; readonly now: number},
): Leftover => {
  if (!left) return {...noLeftover, estimateSeconds};
  if (left.length === 0) return noLeftover;
  const finalizers = new Map<string, number>();
  for (const {metadata} of left)
    for (const finalizer of metadata?.finalizers ?? []) finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
  const found = {count: left.length, finalizers};
  if (estimateSeconds > 0) return {...found, estimateSeconds};
  if (finalizers.size > 0) return {...found, estimateSeconds: finalizerSeconds};
  const due = dueOf(left);
  // The estimate counts from the deletion of the namespace, a pod's grace period from its own.
  if (due !== undefined && now < due + leewayMs) return {...found, estimateSeconds: Math.max(1, Math.ceil((due - now) / 1000))};
  const error = new Error(`unexpected items still remain in namespace: ${namespace} for gvr: ${group}/${version}, Resource=${resource}`);
  return due === undefined ? {...found, estimateSeconds, error} : {...found, estimateSeconds: finalizerSeconds, error, isOverdue: true};
};
