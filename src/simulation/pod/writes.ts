import type {Frozen} from '#src/api/key.js';
import {sameJson} from '#src/api/equal.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {Agent} from '#src/simulation/node/agent.js';
import type {PodRecord} from './record.js';
import {differsByPatch, statusPatch} from '#src/platlet/pod/status-patch.js';
import {statusOf, type StatusInputs} from './status.js';

export const isNewer = (a: Frozen<Pod>, b: Frozen<Pod>): boolean =>
  Number(a.metadata?.resourceVersion) > Number(b.metadata?.resourceVersion);

/** Options of a status write. */
export interface StatusWrite extends StatusInputs {
  /** Applied annotations to remove. */
  readonly appliedAnnotations: readonly string[];
}

/** Whether a pod differs from an earlier version only by a patch of its status, as far as its node reads it. */
const differsByStatus = (before: Frozen<Pod>, now: Frozen<Pod>, patch: Record<string, unknown>): boolean =>
  before.metadata?.generation === now.metadata?.generation &&
  before.metadata?.deletionTimestamp === now.metadata?.deletionTimestamp &&
  sameJson(before.metadata?.labels, now.metadata?.labels) &&
  sameJson(before.metadata?.annotations, now.metadata?.annotations) &&
  differsByPatch(before.status, now.status, patch);

/**
 * Writes the status of the pod if it has changed, and removes applied annotations. Resolves to whether nothing else of
 * the pod has changed since it was read.
 */
export const writeStatus = async ({client}: Agent, record: PodRecord, {appliedAnnotations, ...inputs}: StatusWrite): Promise<boolean> => {
  const before = record.pod;
  const {metadata} = before;
  const status = statusPatch(before, statusOf(record, inputs));
  const done = appliedAnnotations.filter(key => metadata?.annotations?.[key] !== undefined);
  if (!status && done.length === 0) return true;
  const patch = {
    metadata: {uid: record.uid, ...(done.length > 0 ? {annotations: Object.fromEntries(done.map(key => [key, null]))} : {})},
    ...(status ? {status} : {}),
  };
  const written = await client
    .resource(kinds.pods)
    .patch(metadata?.name ?? '', 'strategic', patch, {subresource: 'status', namespace: metadata?.namespace ?? ''});
  delete record.writtenAnnotation;
  if (isNewer(written, record.pod)) record.pod = written;
  return record.pod === written && differsByStatus(before, written, status ?? {});
};

/** Deletes a pod without running containers. */
export const deletePod = async ({client}: Agent, record: PodRecord): Promise<void> => {
  const {name = '', namespace = ''} = record.pod.metadata ?? {};
  await client.resource(kinds.pods).delete(name, {namespace, gracePeriodSeconds: 0, preconditions: {uid: record.uid}});
  record.deleted = true;
};
