// The candidacy of a replica in a coordinated leader election (KEP-4355): a LeaseCandidate with its versions, which it
// renews every five minutes and whenever the electing server asks whether it is there. The server decides; the elector
// (leader-election/elector.ts) waits for the lease to name its replica.

import {InformerFactory} from '#informers/factory.js';
import type {Selection} from '#informers/selection.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {parseTime, wireMicroTime} from '#src/api/time.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import {build} from './build.js';
import {defineController, requeueAfter, sameKey, type KeyedController} from './controller.js';

type LeaseCandidate = ObjectOf<typeof kinds.leaseCandidates>;

export interface CandidateOptions {
  readonly client: Client;
  /** The lease that the replica wants to hold; candidates are in its namespace. */
  readonly lock: {readonly namespace: string; readonly name: string};
  /** The versions of the program, as semantic versions. */
  readonly binaryVersion: string;
  readonly emulationVersion: string;
}

export interface CandidateParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  /** The minimal duration of a watch. */
  readonly watchSeconds?: number;
}

const renewMs = 5 * 60_000;

const isAsked = ({spec}: {readonly spec?: Readonly<LeaseCandidate['spec']>}): boolean => {
  const pinged = parseTime(spec?.pingTime);
  return pinged !== undefined && pinged > (parseTime(spec?.renewTime) ?? 0);
};

const candidacy = ({client, lock, ...versions}: CandidateOptions, identity: string, source: Selection<LeaseCandidate>): KeyedController =>
  defineController({
    doc: 'Offers the replica as a candidate for its lease.',
    name: 'leasecandidate',
    watches: [sameKey(source, ({type, object}) => type === 'deleted' || isAsked(object))],
    workers: 1,
    create({lister, clock, enqueue}) {
      const {namespace, name: leaseName} = lock;
      const own = lister(source);
      const resource = client.resource(kinds.leaseCandidates);
      const key = {namespace, name: identity};
      enqueue(key);
      return async () => {
        const found = own.get(key);
        const {spec} = found ?? {};
        // No earlier than the question, in case the server's clock is ahead.
        const renewTime = wireMicroTime(Math.max(clock.now(), parseTime(spec?.pingTime) ?? 0));
        if (found) await resource.update({...found, spec: {...spec!, renewTime}} as LeaseCandidate);
        else
          await resource.create({
            metadata: {...key},
            spec: {...versions, leaseName, strategy: 'OldestEmulationVersion', renewTime} as never,
          });
        return requeueAfter(renewMs);
      };
    },
  });

/** A replica's candidacy. */
export class Candidate {
  readonly #options: CandidateOptions;
  readonly #parts: CandidateParts;
  #isSynced = (): boolean => false;

  constructor(options: CandidateOptions, parts: CandidateParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Throws while the candidates of the server are not known. */
  check(): void {
    if (!this.#isSynced()) throw new Error('1 informers not started yet: [*v1beta1.LeaseCandidate]');
  }

  /** Stands as a candidate under this identity until the signal aborts. */
  async run(identity: string, signal: AbortSignal): Promise<void> {
    const {client, lock} = this.#options;
    const {clock, random, log, meter, watchSeconds} = this.#parts;
    const shared = {clock, random, log, meter};
    const source: Selection<LeaseCandidate> = {
      kind: kinds.leaseCandidates,
      namespace: lock.namespace,
      fieldSelector: `metadata.name=${identity}`,
    };
    const informers = new InformerFactory({
      ...shared,
      client,
      component: 'leasecandidate',
      minResyncMs: 0,
      ...(watchSeconds === undefined ? {} : {watchSeconds}),
      signal,
    });
    const informer = informers.informer(source);
    this.#isSynced = () => informer.isSynced;
    informers.start();
    const context = {...shared, naming: client.naming, options: {}, gates: {enabled: () => true}, informers, clientFor: () => client};
    const built = await build(candidacy(this.#options, identity, source), context, {stopping: signal, calls: signal});
    await built.whenSynced(signal);
    await built.run(signal);
  }
}
