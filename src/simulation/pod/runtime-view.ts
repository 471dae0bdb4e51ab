// A simulated pod as a runtime would report it: the input of the decisions of a node agent.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, PodSpec} from '#src/api/pod.js';
import {specContainers, type SpecContainer} from '#src/model/pod/spec-containers.js';
import type {ProbeResults} from '#src/platlet/pod/probe-results.js';
import type {ContainerInstance, PodIdentity, RuntimePod, Sandbox} from '#src/platlet/runtime/state.js';
import {fullName, imageId} from '#src/simulation/rules/images.js';
import type {ContainerRecord, PodRecord, Termination} from './record.js';

const identityOf = ({uid, pod: {metadata}}: PodRecord): PodIdentity => ({
  uid,
  namespace: metadata?.namespace ?? '',
  name: metadata?.name ?? '',
});

/** The id of the only sandbox of a pod. */
const sandboxId = 'sandbox';

const sandboxesOf = (record: PodRecord, pod: PodIdentity): readonly Sandbox[] =>
  record.sandbox === 'pending'
    ? []
    : [
        {
          id: sandboxId,
          pod,
          attempt: 0,
          isReady: record.sandbox === 'up',
          createdAt: record.sandboxAt,
          // A pod without a free address is run nevertheless.
          addresses: record.addresses.length > 0 ? record.addresses : [''],
          usesHostNetwork: record.pod.spec?.hostNetwork ?? false,
          handler: '',
          annotations: {},
        },
      ];

const root: NonNullable<ContainerInstance['user']> = {uid: 0, gid: 0, supplementalGroups: [0]};

const userOf = (
  {securityContext: own}: Frozen<AnyContainer>,
  {securityContext: pods}: Frozen<PodSpec>,
): NonNullable<ContainerInstance['user']> => {
  if (own?.runAsUser === undefined && own?.runAsGroup === undefined && (!pods || Object.keys(pods).length === 0)) return root;
  const gid = own?.runAsGroup ?? pods?.runAsGroup ?? 0;
  const groups = new Set([gid, ...(pods?.fsGroup === undefined ? [] : [pods.fsGroup]), ...(pods?.supplementalGroups ?? [])]);
  return {uid: own?.runAsUser ?? pods?.runAsUser ?? 0, gid, supplementalGroups: [...groups]};
};

/** Converts a time of the timeline to the wall clock. */
type WallOf = (at: number) => number;

const endOf = ({exitCode, reason, message, startedAt, finishedAt}: Termination, wallOf: WallOf) => ({
  state: 'exited' as const,
  exitCode,
  reason,
  ...(message ? {message} : {}),
  ...(startedAt === undefined ? {} : {startedAt: wallOf(startedAt)}),
  ...(finishedAt === undefined ? {} : {finishedAt: wallOf(finishedAt)}),
});

/** Returns the current or last run of a container, and the previous one. */
const runsOf = (
  record: PodRecord,
  pod: PodIdentity,
  {container}: SpecContainer,
  own: ContainerRecord,
  wallOf: WallOf,
): ContainerInstance[] => {
  const {state, last, restarts, id = ''} = own;
  const {image = ''} = container;
  const base = {
    sandbox: sandboxId,
    pod,
    name: own.name,
    createdAt: 0,
    image: {image: fullName(image), userSpecified: image},
    imageRef: imageId(image),
    annotations: {},
    user: userOf(container, record.pod.spec!),
  };
  const ended = (termination: Termination, attempt: number): ContainerInstance => ({
    ...base,
    id: termination.id ?? '',
    attempt,
    ...endOf(termination, wallOf),
  });
  switch (state.is) {
    case 'waiting':
      return last ? [ended(last, restarts)] : [];
    case 'ended':
      return [ended(state, restarts), ...(last ? [ended(last, restarts - 1)] : [])];
    case 'running':
      return [
        {...base, id, attempt: restarts, state: 'running', startedAt: wallOf(state.startedAt)},
        ...(last ? [ended(last, restarts - 1)] : []),
      ];
  }
};

/** Returns the runtime state of a pod, with times converted by `wallOf`. */
export const runtimeOf = (record: PodRecord, wallOf: WallOf = at => at): RuntimePod => {
  const pod = identityOf(record);
  const known = new Map(record.containers.map(container => [container.name, container]));
  const containers: ContainerInstance[] = [];
  for (const of of specContainers(record.pod.spec!)) {
    const own = known.get(of.container.name);
    if (own) containers.push(...runsOf(record, pod, of, own, wallOf));
  }
  return {pod, sandboxes: sandboxesOf(record, pod), containers};
};

export const isStarted = ({state}: ContainerRecord, now: number): boolean => state.is === 'running' && state.startedBy <= now;

export const isReady = ({state}: ContainerRecord, now: number): boolean => state.is === 'running' && state.readyBy <= now;

/** Returns the results of startup probes: a simulated one never fails. */
export const probesOf = (record: PodRecord, now: number): ProbeResults => ({
  resultOf(kind, id) {
    if (kind !== 'startup') return undefined;
    const own = record.containers.find(container => container.id === id && container.state.is === 'running');
    return own && (isStarted(own, now) ? 'success' : 'unknown');
  },
});
