// Who removes a finalizer, and what that party waits for.

import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject} from '#src/api/types.js';
import {controllerOf} from '#src/model/owners.js';
import type {Cluster} from '#src/why/facts/cluster.js';
import {reference, referenceTo, subjectText, type Reference} from '#src/why/facts/reference.js';
import {dependentOf} from './dependents.js';

/** Why a finalizer is still there, and what removes it. */
export interface Keeper {
  readonly rule?: string;
  readonly why: string;
  readonly ends: string;
  readonly next?: Reference | undefined;
}

type Keeping = (object: KubeObject, cluster: Cluster, self: Reference) => Keeper | Promise<Keeper>;

const collector = 'the garbage collector';

const foreground: Keeping = async (object, cluster, self) => {
  const dependent = await dependentOf(self, object, cluster);
  return dependent
    ? {
        rule: 'foreground-deletion',
        why: `it is deleted in the foreground, after its dependents, of which ${subjectText(dependent)} is still there`,
        ends: `The end of ${subjectText(dependent)}, which ${collector} deletes.`,
        next: dependent,
      }
    : {
        rule: 'foreground-deletion',
        why: `it is deleted in the foreground, and ${collector} has not confirmed yet that its dependents are gone`,
        ends: `The garbage-collector-controller of the controller manager, as soon as it works.`,
      };
};

const orphan: Keeping = () => ({
  rule: 'orphaning',
  why: `${collector} has to remove it from the owners of its dependents first`,
  ends: 'The garbage-collector-controller of the controller manager, as soon as it works.',
});

/** Returns the first pod, if any, that uses a claim. */
export const userOfClaim = async (cluster: Cluster, claim: string, namespace: string): Promise<Pod | undefined> =>
  (await cluster.list(kinds.pods, {namespace})).find(({spec, status}) => {
    const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
    return !isOver && spec?.volumes?.some(({persistentVolumeClaim}) => persistentVolumeClaim?.claimName === claim);
  });

const claimInUse: Keeping = async ({metadata: {name = '', namespace = ''} = {}}, cluster) => {
  const pod = await userOfClaim(cluster, name, namespace);
  return pod
    ? {
        rule: 'claim-in-use',
        why: `the pod ${pod.metadata?.name} still uses the claim`,
        ends: `The end of the pod ${pod.metadata?.name}, or of all pods that use the claim.`,
        next: pod.metadata?.deletionTimestamp ? referenceTo(kinds.pods, pod) : undefined,
      }
    : {
        rule: 'claim-in-use',
        why: 'no pod uses the claim any more, and its protection is not removed yet',
        ends: 'The persistentvolumeclaim-protection-controller of the controller manager, as soon as it works.',
      };
};

const volumeInUse: Keeping = async (object, cluster) => {
  const {spec} = object as {readonly spec?: {readonly claimRef?: {readonly name?: string; readonly namespace?: string}}};
  const {name = '', namespace = ''} = spec?.claimRef ?? {};
  const claim = name ? await cluster.get(kinds.persistentVolumeClaims, name, namespace) : undefined;
  return claim
    ? {
        rule: 'volume-in-use',
        why: `the claim ${namespace}/${name} is still bound to the volume`,
        ends: `The deletion of the claim ${namespace}/${name}.`,
        next: claim.metadata?.deletionTimestamp ? referenceTo(kinds.persistentVolumeClaims, claim) : undefined,
      }
    : {
        rule: 'volume-in-use',
        why: 'no claim is bound to the volume any more, and its protection is not removed yet',
        ends: 'The persistentvolume-protection-controller of the controller manager, as soon as it works.',
      };
};

const countedByJob: Keeping = object => {
  const job = controllerOf(object);
  return {
    rule: 'job-tracking',
    why: `its job${job ? ` ${job.name}` : ''} has not counted it yet`,
    ends: job
      ? 'The job-controller of the controller manager, as soon as it works.'
      : 'Nothing: it has no job any more. The job-controller removes the finalizer of such pods when it starts again.',
    next: job && reference(kinds.jobs, job.name, object.metadata?.namespace),
  };
};

const balancer: Keeping = async (object, cluster) => {
  const failed = (await cluster.events(kinds.services, object)).find(({reason}) => reason.endsWith('LoadBalancerFailed'));
  return {
    rule: 'load-balancer-cleanup',
    why: `its load balancer is not deleted yet${failed ? ` (${failed.message})` : ''}`,
    ends: 'The service controller of the cloud provider, once it has deleted the load balancer.',
  };
};

const instances: Keeping = async (object, cluster) => {
  const {spec} = object as {
    readonly spec?: {readonly group: string; readonly names: {readonly plural: string}};
  };
  const kind = spec && cluster.discovery.kindOfResource(spec.names.plural, spec.group);
  const [left] = kind ? await cluster.listMetadata(kind) : [];
  return {
    rule: 'instances-remain',
    why: left ? `its objects are deleted first, and ${left.metadata?.name} is still there` : 'its objects are deleted first',
    ends: 'The deletion of all its objects.',
    next: left && kind && referenceTo(kind, left),
  };
};

const reserved: Keeping = object => {
  const {status} = object as {readonly status?: {readonly reservedFor?: readonly {readonly name: string}[]}};
  const [user] = status?.reservedFor ?? [];
  return {
    rule: 'claim-in-use',
    why: user ? `it is reserved for ${user.name}` : 'it is still allocated',
    ends: user ? `The end of the pod ${user.name}.` : 'The resourceclaim-controller of the controller manager, as soon as it works.',
    next: user && reference(kinds.pods, user.name, object.metadata?.namespace),
  };
};

/** The finalizers of Kubernetes itself, by the part of their name after the domain. */
const known: Readonly<Record<string, Keeping>> = {
  foregroundDeletion: foreground,
  orphan,
  'pvc-protection': claimInUse,
  'pv-protection': volumeInUse,
  'job-tracking': countedByJob,
  'load-balancer-cleanup': balancer,
  [`customresourcecleanup.apiextensions`]: instances,
  'delete-protection': reserved,
};

/** Returns who wrote a finalizer, as the owners of fields tell. */
const managerOf = ({metadata}: KubeObject, finalizer: string): string | undefined =>
  metadata?.managedFields?.find(({fieldsV1}) => {
    const fields = fieldsV1 as {readonly 'f:metadata'?: {readonly 'f:finalizers'?: object}} | undefined;
    return Object.hasOwn(fields?.['f:metadata']?.['f:finalizers'] ?? {}, `v:"${finalizer}"`);
  })?.manager;

/** Returns why a finalizer is still there. */
export const keeperOf = async (finalizer: string, object: KubeObject, cluster: Cluster, self: Reference): Promise<Keeper> => {
  const part = finalizer.startsWith('customresourcecleanup.') ? 'customresourcecleanup.apiextensions' : finalizer.split('/').at(-1)!;
  const keeping = Object.hasOwn(known, part) && isOwn(finalizer, cluster) ? known[part] : undefined;
  if (keeping) return keeping(object, cluster, self);
  const manager = managerOf(object, finalizer);
  return {
    why: `whoever set it${manager ? ` (the field manager ${manager})` : ''} has to remove it`,
    ends: `Its controller removes the finalizer once it has cleaned up: see that it runs. Without it nothing is cleaned up: kubectl patch ${self.kind.plural} ${self.name}${self.namespace ? ` -n ${self.namespace}` : ''} --type=merge -p '{"metadata":{"finalizers":null}}'.`,
  };
};

/** Whether a finalizer is one of Kubernetes, not one of others with the same last part. */
const isOwn = (finalizer: string, {naming}: Cluster): boolean =>
  !finalizer.includes('/') || finalizer.startsWith('customresourcecleanup.') || finalizer.split('/')[0]!.endsWith(naming.domain);
