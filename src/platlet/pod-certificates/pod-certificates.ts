// Requests certificates for the pods of a node, and renews them. Nothing is kept across restarts.

import type {SharedInformer} from '#informers/shared.js';
import {apiVersionOf, kinds} from '#src/api/kinds/index.js';
import type {PodCertificateRequest} from '#src/api/kinds/certificates.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {notFound} from '#src/api/status.js';
import {parseTime} from '#src/api/time.js';
import type {Node} from '#src/api/types.js';
import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {jittered, type Random} from '#src/base/random.js';
import {onAbort} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import {WorkQueue} from '#src/queue/work-queue.js';
import {work} from '#src/queue/workers.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import {decided, overdueOf, stateOf, usable, type Credentials, type PendingRequest, type Refusal} from './credentials.js';
import {newPodKey} from './keys.js';
import {projectionsOf, projectionText, type CertificateProjection, type CertificateSource} from './projections.js';

/** What pod certificates are requested with. */
export interface Requests {
  readonly client: Client;
  /** The requests of the node. */
  readonly informer: Pick<SharedInformer<PodCertificateRequest>, 'lister' | 'listen' | 'whenSynced'>;
  readonly nodeName: string;
  /** Returns the Node from the informer. */
  node(): Frozen<Node> | undefined;
}

export interface PodCertificatesParts {
  readonly requests: Requests;
  /** Returns the pods of the node. */
  pods(): Iterable<Frozen<Pod>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly events: EventRecorder;
  readonly signal: AbortSignal;
}

/** How long a request that is not seen is waited for, and the most that times are spread by. */
const abandonMs = 10 * 60_000;
const jitterMs = 5 * 60_000;
const passMs = 60_000;

const texts = {CertificateOverdueForRefresh: 'PodCertificate refresh overdue', CertificateExpired: 'PodCertificate expired'} as const;

/** The certificates of a node's pods. */
export class PodCertificates {
  readonly #parts: PodCertificatesParts;
  readonly #queue: WorkQueue;
  /** By the text of their projection. */
  readonly #credentials = new Map<string, Credentials>();

  constructor(parts: PodCertificatesParts) {
    this.#parts = parts;
    this.#queue = new WorkQueue({clock: parts.clock, name: 'pod-certificates'});
  }

  /** Starts once the requests of the node are known. */
  async start(): Promise<void> {
    const {requests, clock, random, log, signal} = this.#parts;
    await this.#untilSynced();
    const handle = async (key: string): Promise<void> => {
      try {
        await this.#handle(key);
        this.#queue.forget(key);
      } catch (error) {
        log.error({projection: key, err: error}, 'while handling podCertificate projected volume source');
        this.#queue.addRateLimited(key);
      }
    };
    const workers = work(this.#queue, 1, handle, error => clock.unhandled(error));
    const listener = requests.informer.listen(({object: {spec}}) => this.#redrive(({metadata}) => metadata?.uid === spec.podUID));
    onAbort(signal, () => {
      listener[Symbol.dispose]();
      this.#queue.shutDown();
      void workers.stop();
    });
    this.#redrive(() => true);
    const period = (): number => jittered(random, passMs, 1);
    runEvery(clock, period, signal, () => this.#redrive(() => true));
  }

  /** Called with a pod that is new on the node: its certificates are requested. */
  track(pod: Frozen<Pod>): void {
    for (const projection of projectionsOf(pod)) this.#queue.add(projectionText(projection));
  }

  /** Forgets the certificates of a pod. */
  forget(uid: string): void {
    for (const key of this.#credentials.keys()) if (key.split(' ')[2] === uid) this.#credentials.delete(key);
  }

  /** Returns the certificate of a pod with its key. Throws while there is none. */
  get(projection: CertificateProjection): {readonly key: string; readonly chain: string} {
    const key = projectionText(projection);
    const credentials = this.#credentials.get(key);
    if (!credentials) throw new Error(`no credentials yet for key=${key}`);
    return usable(credentials);
  }

  /** The number of certificates by signer and state. */
  *states(): Iterable<readonly [{readonly signer_name: string; readonly state: string}, number]> {
    const {pods, clock} = this.#parts;
    const counts = new Map<string, number>();
    for (const pod of pods())
      for (const projection of projectionsOf(pod)) {
        const credentials = this.#credentials.get(projectionText(projection));
        if (!credentials) continue;
        const labels = JSON.stringify([projection.source.signerName, stateOf(credentials, clock.now())]);
        counts.set(labels, (counts.get(labels) ?? 0) + 1);
      }
    for (const [labels, count] of counts) {
      const [signer, state] = JSON.parse(labels) as [string, string];
      yield [{signer_name: signer, state}, count];
    }
  }

  /** Waits for the first list, also of a server that refuses it at first. */
  async #untilSynced(): Promise<void> {
    const {requests, log, signal} = this.#parts;
    for (;;)
      try {
        return await requests.informer.whenSynced(signal);
      } catch (error) {
        if (signal.aborted) throw error;
        log.error({err: error}, 'could not list the requests for pod certificates');
      }
  }

  #redrive(isWanted: (pod: Frozen<Pod>) => boolean): void {
    for (const pod of this.#parts.pods()) if (isWanted(pod)) this.track(pod);
  }

  async #handle(key: string): Promise<void> {
    const projection = [...this.#parts.pods()].flatMap(projectionsOf).find(each => projectionText(each) === key);
    if (!projection) return void this.#credentials.delete(key);
    const {source} = projection;
    const credentials = this.#credentials.get(key) ?? {};
    this.#credentials.set(key, credentials);
    if (credentials.refusal) return;
    if (credentials.pending) this.#observe(projection, credentials, credentials.pending);
    else if (!credentials.issued || this.#parts.clock.now() >= credentials.issued.beginRefreshAt)
      await this.#request(projection, source, this.#tellOverdue(projection, credentials));
  }

  async #request(projection: CertificateProjection, source: CertificateSource, credentials: Credentials): Promise<void> {
    const pending = await this.#send(projection.pod, source);
    this.#set(projection, {...credentials, pending});
  }

  /** Looks at the pending request. */
  #observe(projection: CertificateProjection, credentials: Credentials, pending: PendingRequest): void {
    const {requests, clock} = this.#parts;
    const {pod} = projection;
    const text = `${pod.metadata?.namespace}/${pending.name}`;
    const request = requests.informer.lister.get(text);
    if (!request) {
      if (clock.now() <= pending.abandonAt) throw new Error(`while getting PodCertificateRequest ${JSON.stringify(text)}: not found`);
      const {pending: _, ...rest} = credentials;
      this.#set(projection, rest);
      throw new Error(`PodCertificateRequest ${JSON.stringify(text)} appears to have been deleted`);
    }
    const after = decided(request, pending, this.#jitter());
    if (after?.refusal) this.#tellRefusal(pod, text, after.refusal);
    if (after) this.#set(projection, after);
    else this.#tellOverdue(projection, credentials);
  }

  /** Does nothing for a pod that was forgotten meanwhile. */
  #set(projection: CertificateProjection, credentials: Credentials): void {
    const key = projectionText(projection);
    if (this.#credentials.has(key)) this.#credentials.set(key, credentials);
  }

  #tellRefusal(pod: Frozen<Pod>, request: string, {type, reason, message}: Refusal): void {
    const what = type === 'Denied' ? 'was denied' : 'failed';
    const text = `PodCertificateRequest ${request} ${what}, reason=${JSON.stringify(reason)}, message=${JSON.stringify(message)}`;
    // The original formats the text with the reason as the format.
    this.#parts.events.warning(pod, type, `${reason}%!(EXTRA string=${text})`);
  }

  /** Tells of a certificate that should have been renewed. */
  #tellOverdue(projection: CertificateProjection, credentials: Credentials): Credentials {
    const {clock, events} = this.#parts;
    const due = overdueOf(credentials, clock.now());
    if (due.length === 0) return credentials;
    for (const reason of due) events.warning(projection.pod, reason, texts[reason]);
    const told = {...credentials, told: [...(credentials.told ?? []), ...due]};
    this.#set(projection, told);
    return told;
  }

  async #send({metadata = {}, spec}: Frozen<Pod>, source: CertificateSource): Promise<PendingRequest> {
    const {requests, clock} = this.#parts;
    const {client, nodeName, node} = requests;
    const {namespace = '', name: podName = '', uid: podUID = ''} = metadata;
    const serviceAccountName = spec?.serviceAccountName ?? '';
    const account = await client.resource(kinds.serviceAccounts).get(serviceAccountName, {namespace});
    const nodeUID = node()?.metadata?.uid;
    if (!nodeUID) throw notFound({group: '', resource: 'node'}, nodeName);
    const {pem, ...proof} = await newPodKey(source.keyType, podUID);
    const {signerName, maxExpirationSeconds, userAnnotations} = source;
    const request = await client.resource(kinds.podCertificateRequests).create({
      apiVersion: apiVersionOf(client.naming, kinds.podCertificateRequests),
      kind: kinds.podCertificateRequests.kind,
      metadata: {
        namespace,
        generateName: 'req-',
        ownerReferences: [{apiVersion: 'core/v1', kind: 'Pod', name: podName, uid: podUID}],
      },
      spec: {
        signerName,
        podName,
        podUID,
        serviceAccountName,
        serviceAccountUID: account.metadata?.uid ?? '',
        nodeName,
        nodeUID,
        ...(maxExpirationSeconds === undefined ? {} : {maxExpirationSeconds}),
        ...proof,
        ...(userAnnotations ? {unverifiedUserAnnotations: {...userAnnotations}} : {}),
      },
    });
    const sentAt = parseTime(request.metadata?.creationTimestamp ?? '') ?? clock.now();
    return {key: pem, name: request.metadata?.name ?? '', abandonAt: sentAt + abandonMs + this.#jitter()};
  }

  #jitter(): number {
    return Math.floor(this.#parts.random.float() * jitterMs);
  }
}

/** Refuses: the node requests no certificates. */
export const noPodCertificates: Pick<PodCertificates, 'get' | 'track' | 'forget'> = {
  get() {
    throw new Error('unimplemented');
  },
  track() {},
  forget() {},
};
