// The trust anchors of ClusterTrustBundles, for projected volumes.

import type {InformerFactory} from '#informers/factory.js';
import type {SharedInformer} from '#informers/shared.js';
import type {Frozen} from '#src/api/key.js';
import {apiVersionOf, groupOfVersion, kinds, type Kind, type ObjectOf} from '#src/api/kinds/index.js';
import {labelSelectorOf, type LabelSelector, type LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import {isNotFound, notFound} from '#src/api/status.js';
import {CacheBound} from '#src/base/cache-bound.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {Lru} from '#src/base/lru.js';
import {messageOf} from '#src/base/message.js';
import type {Random} from '#src/base/random.js';
import {firstOf, onAbort} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import {trustAnchorsOf} from './trust-anchors.js';

export type TrustBundle = ObjectOf<typeof kinds.clusterTrustBundles>;

/** Reads trust anchors, in PEM and without duplicates. Rejects if there are none, unless they are optional. */
export interface TrustBundles {
  byName(name: string, isOptional: boolean): Promise<string>;
  bySigner(signerName: string, selector: Frozen<LabelSelectorObject> | undefined, isOptional: boolean): Promise<string>;
}

/** Refuses: without an API server that has trust bundles there are none. */
export const noTrustBundles = (agent: string): TrustBundles => {
  const refuse = (): Promise<never> => Promise.reject(new Error(`ClusterTrustBundle projection is not supported in static ${agent} mode`));
  return {byName: refuse, bySigner: refuse};
};

export interface TrustBundlesParts {
  readonly client: Client;
  readonly informers: Pick<InformerFactory, 'informer'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The name of the agent in messages. */
  readonly agent: string;
  /** How many results are kept. */
  readonly cacheSize: number;
  readonly signal: AbortSignal;
}

/** The versions of the API, the preferred one first. */
const versions: readonly Kind<TrustBundle>[] = [
  kinds.clusterTrustBundles,
  kinds.clusterTrustBundlesV1alpha1 as unknown as Kind<TrustBundle>,
];

const firstListMs = 10_000;
const longestSelector = 100 * 1024;

/** The trust bundles of a cluster. They are followed from the first read on, since most nodes need none. */
export class ClusterTrustBundles implements TrustBundles {
  readonly #parts: TrustBundlesParts;
  #opened: Promise<TrustBundles> | undefined;

  constructor(parts: TrustBundlesParts) {
    this.#parts = parts;
  }

  async byName(name: string, isOptional: boolean): Promise<string> {
    return (await this.#open()).byName(name, isOptional);
  }

  async bySigner(signerName: string, selector: Frozen<LabelSelectorObject> | undefined, isOptional: boolean): Promise<string> {
    return (await this.#open()).bySigner(signerName, selector, isOptional);
  }

  async #open(): Promise<TrustBundles> {
    this.#opened ??= this.#choose();
    try {
      return await this.#opened;
    } catch (error) {
      this.#opened = undefined;
      throw new Error(
        `failed to ensure informer manager for ClusterTrustBundles: failed to determine which informer manager to choose: ${messageOf(error)}`,
        {cause: error},
      );
    }
  }

  async #choose(): Promise<TrustBundles> {
    const {informers, log, agent} = this.#parts;
    for (const kind of versions) {
      if (!(await this.#isServed(kind))) continue;
      const informer = informers.informer<TrustBundle>({kind});
      await this.#firstList(informer);
      return new FollowedTrustBundles(informer, this.#parts);
    }
    log.info({}, 'the API server has no version of ClusterTrustBundle');
    return noTrustBundles(agent);
  }

  async #isServed(kind: Kind): Promise<boolean> {
    const {client} = this.#parts;
    try {
      const found = await client.request('GET', `/apis/${apiVersionOf(client.naming, kind)}`);
      const {resources = []} = found as {readonly resources?: readonly {readonly name: string}[]};
      return resources.some(({name}) => name === kind.plural);
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  /** Waits for the first list, but not for long: the volume is tried again. */
  async #firstList(informer: SharedInformer<TrustBundle>): Promise<void> {
    const {clock, signal} = this.#parts;
    const late = new AbortController();
    using ended = firstOf(signal, late.signal);
    using _ = clock.schedule(firstListMs, () => late.abort());
    await informer.whenSynced(ended.signal).catch(() => {});
  }
}

/** What a result was made from: a bundle, or those of a signer that a selector matches. */
interface CacheKey {
  readonly name?: string;
  readonly signer?: string;
  readonly selector?: string;
}

interface Cached extends CacheKey {
  readonly anchors: string;
  readonly until: number;
}

const cacheMs = 5 * 60_000;
const bound = new CacheBound('trust_anchors', 32 << 20);

const keyText = ({name, signer, selector}: CacheKey): string => JSON.stringify([name, signer, selector]);

class FollowedTrustBundles implements TrustBundles {
  readonly #informer: SharedInformer<TrustBundle>;
  readonly #parts: TrustBundlesParts;
  readonly #cache: Lru<string, Cached>;

  constructor(informer: SharedInformer<TrustBundle>, parts: TrustBundlesParts) {
    this.#informer = informer;
    this.#parts = parts;
    this.#cache = new Lru(bound, {bytesOf: ({anchors}) => anchors.length, maxEntries: parts.cacheSize});
    const listener = informer.listen(({object}) => this.#drop(object));
    onAbort(parts.signal, () => listener[Symbol.dispose]());
  }

  async byName(name: string, isOptional: boolean): Promise<string> {
    return this.#anchors({name}, () => {
      const bundle = this.#informer.lister.get(name);
      if (bundle) return [bundle];
      if (isOptional) return undefined;
      const group = groupOfVersion(apiVersionOf(this.#parts.client.naming, kinds.clusterTrustBundles));
      throw new Error(`while getting ClusterTrustBundle: ${messageOf(notFound({group, resource: 'clustertrustbundle'}, name))}`);
    });
  }

  async bySigner(signer: string, object: Frozen<LabelSelectorObject> | undefined, isOptional: boolean): Promise<string> {
    this.#checkSynced();
    const selector = selectorOf(object);
    // No selector has the text of one that matches everything.
    return this.#anchors({signer, ...(object ? {selector: selector.toString()} : {})}, () => {
      const all = this.#informer.lister.list();
      const bundles = all.filter(({spec, metadata}) => spec.signerName === signer && selector.matches(metadata?.labels));
      if (bundles.length > 0) return bundles;
      if (isOptional) return undefined;
      throw new Error('combination of signerName and labelSelector matched zero ClusterTrustBundles');
    });
  }

  #anchors(key: CacheKey, find: () => readonly Frozen<TrustBundle>[] | undefined): string {
    const {clock, random} = this.#parts;
    this.#checkSynced();
    const text = keyText(key);
    const cached = this.#cache.get(text);
    if (cached && clock.monotonic() < cached.until) return cached.anchors;
    this.#cache.delete(text);
    const bundles = find();
    if (!bundles) return '';
    const anchors = trustAnchorsOf(
      bundles.map(({spec}) => spec.trustBundle),
      random,
    );
    this.#cache.set(text, {...key, anchors, until: clock.monotonic() + cacheMs});
    return anchors;
  }

  #checkSynced(): void {
    if (!this.#informer.isSynced) throw new Error('ClusterTrustBundle informer has not yet synced');
  }

  /** A bundle of a signer that is read by its name stays until its time is over. */
  #drop({metadata, spec}: Frozen<TrustBundle>): void {
    const isOf = spec.signerName
      ? ({signer}: CacheKey) => signer === spec.signerName
      : ({name}: CacheKey) => name !== undefined && name === metadata?.name;
    for (const key of [...this.#cache.values()].filter(isOf)) this.#cache.delete(keyText(key));
  }
}

const selectorOf = (object: Frozen<LabelSelectorObject> | undefined): LabelSelector => {
  let selector: LabelSelector;
  try {
    selector = labelSelectorOf(object);
  } catch (error) {
    throw new Error(`while parsing label selector: ${messageOf(error)}`, {cause: error});
  }
  const {length} = selector.toString();
  if (length > longestSelector) throw new Error(`label selector length (${length}) is larger than ${longestSelector}`);
  return selector;
};
