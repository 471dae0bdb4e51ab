// The grace periods and the order in which the containers of a pod are stopped.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Container, Pod, PodSpec} from '#src/api/pod.js';
import {specContainers} from '#src/model/pod/spec-containers.js';

/** Why a running container is killed while its pod keeps running. */
export type KillReason = 'liveness' | 'startup' | 'changed' | 'unknown';

/** The minimum time between the stop signal and the kill of a container. */
export const minStopSeconds = 2;

const defaultGraceSeconds = 30;

/** Returns the grace period of a pod: of its deletion, or of its spec. */
export const podGraceSeconds = ({metadata, spec}: Frozen<Pod>): number =>
  metadata?.deletionGracePeriodSeconds ?? spec?.terminationGracePeriodSeconds ?? defaultGraceSeconds;

const probeGrace = (container: Frozen<AnyContainer> | undefined, reason: KillReason | undefined): number | undefined => {
  const {livenessProbe, startupProbe} = (container ?? {}) as Partial<Frozen<Container>>;
  if (reason === 'liveness') return livenessProbe?.terminationGracePeriodSeconds;
  return reason === 'startup' ? startupProbe?.terminationGracePeriodSeconds : undefined;
};

/** Returns the grace period of a container, which its probe may override. */
export const containerGraceSeconds = (pod: Frozen<Pod>, container: Frozen<AnyContainer> | undefined, reason?: KillReason): number =>
  probeGrace(container, reason) ?? podGraceSeconds(pod);

/**
 * Returns the effective grace period of a pod termination: the shortest requested one, and at least a second. `given`:
 * by an eviction, for example. Later requests can only shorten it.
 */
export const terminationGraceSeconds = (pod: Frozen<Pod>, given?: number, before?: number): number => {
  const asked = Math.min(pod.metadata?.deletionGracePeriodSeconds ?? given ?? podGraceSeconds(pod), given ?? Infinity);
  return Math.max(1, Math.min(asked, before ?? Infinity));
};

/** Returns the time after which a pod kill counts as too slow, in ms. */
export const killLimitMs = (graceSeconds: number): number => Math.max(10, 1.5 * graceSeconds) * 1000;

/** Returns the rest of a grace period for the stop signal, in seconds. */
export const stopSeconds = (graceSeconds: number, spentMs: number): number =>
  Math.max(minStopSeconds, Math.ceil(graceSeconds - spentMs / 1000));

/**
 * Returns the containers that must exit before this one is stopped: a sidecar outlives all others except earlier
 * sidecars.
 */
export const stopsAfter = (spec: Frozen<PodSpec>, name: string): readonly string[] => {
  const all = [...specContainers(spec)];
  const index = all.findIndex(({container}) => container.name === name);
  if (all[index]?.role !== 'sidecar') return [];
  return all.filter(({role}, at) => role === 'regular' || (role === 'sidecar' && at > index)).map(({container}) => container.name);
};

export const exceededGrace = {
  reason: 'ExceededGracePeriod',
  message: 'Container runtime did not kill the pod within specified grace period.',
} as const;
