// What a change of an object means to somebody who waits for the time to pass.

import {kinds, type Kind, type ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {compareQuantities, parseQuantity} from '#src/api/quantity.js';
import type {KubeObject} from '#src/api/types.js';
import {tokenSecretType} from '#src/model/bootstrap-token.js';
import {controllerOf} from '#src/model/owners.js';
import {renewalLabel} from './renewal-label.js';

/** One thing that happens. */
export interface Happening {
  readonly at: number;
  /** `CronJob shop/report`. */
  readonly object: string;
  /** `runs`: what it does, or what is done to it. */
  readonly what: string;
  readonly because: string;
}

/** A change of an object: created without `before`, deleted without `now`. */
export interface ObjectChange<T extends KubeObject = KubeObject> {
  readonly before?: T | undefined;
  readonly now?: T | undefined;
}

type Told = Omit<Happening, 'at'>;
/** What is known of other objects. */
export interface TellingContext {
  readonly naming: Naming;
  cronJob(namespace: string, name: string): CronJob | undefined;
  /** The name of an object in a text; that of objects with generated names is that of what made them, with a star. */
  named(kind: string, namespace: string, name: string): string;
}

type Telling<T extends KubeObject> = (change: ObjectChange<T>, context: TellingContext) => Iterable<Told>;
type Job = ObjectOf<typeof kinds.jobs>;
type CronJob = ObjectOf<typeof kinds.cronJobs>;
type Quota = ObjectOf<typeof kinds.resourceQuotas>;
type Secret = ObjectOf<typeof kinds.secrets>;
type Request = ObjectOf<typeof kinds.certificateSigningRequests>;

const textOf = (kind: string, {metadata}: KubeObject): string =>
  `${kind} ${metadata?.namespace ? `${metadata.namespace}/` : ''}${metadata?.name}`;

const ownerOf = (object: KubeObject, kind: string): string | undefined => {
  const owner = controllerOf(object);
  return owner?.kind === kind ? owner.name : undefined;
};

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}
interface Conditioned {
  readonly status?: {readonly conditions?: readonly Condition[] | undefined} | undefined;
}

/** The condition of a type that has become true, or what is given. */
const became = (type: string, before: Conditioned | undefined, now: Conditioned | undefined, status = 'True'): Condition | undefined => {
  const has = (of: Conditioned | undefined) =>
    of?.status?.conditions?.find(condition => condition.type === type && condition.status === status);
  return has(before) ? undefined : has(now);
};

const reasonText = ({reason, message}: {readonly reason?: string | undefined; readonly message?: string | undefined}): string =>
  [reason, message].filter(Boolean).join(': ');

/** A job of a cron job counts as the cron job's. */
const jobs: Telling<Job> = function* ({before, now}, {cronJob}) {
  const job = (now ?? before)!;
  const namespace = job.metadata?.namespace ?? '';
  const owner = ownerOf(job as KubeObject, 'CronJob');
  const object = owner ? `CronJob ${namespace}/${owner}` : textOf('Job', job as KubeObject);
  if (!before && owner) {
    const {schedule, timeZone} = cronJob(namespace, owner)?.spec ?? {};
    yield {object, what: 'runs', because: schedule ? `schedule ${schedule}${timeZone ? ` in the zone ${timeZone}` : ''}` : 'its schedule'};
  } else if (!before) yield {object, what: 'is created', because: ''};
  if (!now) {
    const ttl = job.spec?.ttlSecondsAfterFinished;
    const why = ttl !== undefined ? `ttlSecondsAfterFinished ${ttl} is over` : owner ? 'the limits of its history' : 'it was deleted';
    if (ttl !== undefined || !owner) yield {object, what: owner ? 'loses a finished job' : 'is deleted', because: why};
    return;
  }
  const failed = became('Failed', before, now);
  if (failed) yield {object, what: owner ? 'has a job that fails' : 'fails', because: reasonText(failed)};
  if (became('Complete', before, now) && !owner) yield {object, what: 'completes', because: 'its pods have succeeded'};
};

const pods: Telling<Pod> = function* ({before, now}, {named}) {
  if (!now) return;
  const object = named('Pod', now.metadata?.namespace ?? '', now.metadata?.name ?? '');
  if (now.status?.reason === 'Evicted' && before?.status?.reason !== 'Evicted')
    yield {object, what: 'is evicted', because: now.status.message ?? ''};
  const disrupted = became('DisruptionTarget', before, now);
  if (disrupted) yield {object, what: 'is disrupted', because: reasonText(disrupted)};
  const waiting = became('PodScheduled', before, now, 'False');
  if (waiting) yield {object, what: 'finds no node', because: reasonText(waiting)};
};

const quotas: Telling<Quota> = function* ({before, now}) {
  for (const [name, hard] of Object.entries(now?.status?.hard ?? {})) {
    const isFull = (quota: Quota | undefined): boolean => {
      const used = quota?.status?.used?.[name];
      return used !== undefined && compareQuantities(parseQuantity(used), parseQuantity(hard)) >= 0;
    };
    if (parseQuantity(hard).unscaled > 0n && isFull(now) && !isFull(before))
      yield {
        object: textOf('ResourceQuota', now as KubeObject),
        what: 'is used up',
        because: `${name}: ${now?.status?.used?.[name]} of ${hard}`,
      };
  }
};

const secrets: Telling<Secret> = function* ({before, now}, {naming}) {
  if (now || before?.type !== tokenSecretType(naming)) return;
  yield {object: textOf('Secret', before as KubeObject), what: 'expires', because: 'the bootstrap token has an expiration'};
};

const requests: Telling<Request> = function* ({before, now}) {
  if ((now ?? before)?.metadata?.labels?.[renewalLabel] !== undefined) return;
  if (now?.status?.certificate && !before?.status?.certificate)
    yield {object: textOf('CertificateSigningRequest', now as KubeObject), what: 'is issued', because: `its signer ${now.spec.signerName}`};
  if (!now && before)
    yield {object: textOf('CertificateSigningRequest', before as KubeObject), what: 'is deleted', because: 'nobody will look at it again'};
};

/** Workloads whose number of replicas changes. */
const scaled = (kind: string): Telling<KubeObject & {readonly spec?: {readonly replicas?: number}}> =>
  function* ({before, now}) {
    const [from, to] = [before?.spec?.replicas, now?.spec?.replicas];
    if (from === undefined || to === undefined || from === to) return;
    yield {object: textOf(kind, now!), what: `is scaled from ${from} to ${to}`, because: ''};
  };

const namespaces: Telling<KubeObject> = function* ({before, now}) {
  if (before && !now) yield {object: textOf('Namespace', before), what: 'is deleted', because: ''};
};

/** Reasons of events that are no warnings and matter. */
const reasons: ReadonlySet<string> = new Set(['JobAlreadyActive', 'SuccessfulRescale', 'TaintManagerEviction', 'Preempted']);
/** Reasons that the copy itself is the cause of, or that other changes tell. */
const ownReasons: ReadonlySet<string> = new Set([
  'FailedScheduling',
  'ClusterIPOutOfRange',
  'ClusterIPNotAllocated',
  'InvalidDiskCapacity',
]);

interface EventObject extends KubeObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly note?: string;
  readonly involvedObject?: {readonly kind?: string; readonly namespace?: string; readonly name?: string};
  readonly regarding?: EventObject['involvedObject'];
  readonly count?: number;
  readonly series?: {readonly count?: number};
}

const timesOf = ({count = 1, series}: EventObject): number => series?.count ?? count;

const events: Telling<EventObject> = function* ({before, now}, {named}) {
  if (!now || (before && timesOf(before) === timesOf(now))) return;
  const {type, reason = '', message, note, involvedObject, regarding} = now;
  const {kind = '', namespace = '', name = ''} = involvedObject ?? regarding ?? {};
  if (ownReasons.has(reason) || (type !== 'Warning' && !reasons.has(reason))) return;
  yield {object: named(kind, namespace, name), what: reason, because: message ?? note ?? ''};
};

/** The kinds whose changes matter, by how they are told. */
export const tellings: readonly (readonly [kind: Kind, telling: Telling<never>])[] = [
  [kinds.jobs, jobs],
  [kinds.pods, pods],
  [kinds.resourceQuotas, quotas],
  [kinds.secrets, secrets],
  [kinds.certificateSigningRequests, requests],
  [kinds.deployments, scaled('Deployment')],
  [kinds.statefulSets, scaled('StatefulSet')],
  [kinds.namespaces, namespaces],
  [kinds.coreEvents, events],
] as readonly (readonly [Kind, Telling<never>])[];
