import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Agent} from '#src/simulation/node/agent.js';
import {killKey} from './kills.js';
import type {PodRecord} from './record.js';
import {statusOf, statusPatch} from './status.js';

export const isNewer = (a: Frozen<Pod>, b: Frozen<Pod>): boolean => Number(a.metadata?.resourceVersion) > Number(b.metadata?.resourceVersion);

/** Tells how a pod stands, if that is not known yet, and takes an instruction off that was carried out. */
export const tellStatus = async (naming: Naming, {client, machine}: Agent, record: PodRecord, now: number): Promise<void> => {
  const {metadata} = record.pod;
  const status = statusPatch(record.pod, statusOf(record, machine.addresses, now));
  const killed = metadata?.annotations?.[killKey(naming)] !== undefined;
  if (!status && !killed) return;
  const patch = {metadata: {uid: record.uid, ...(killed ? {annotations: {[killKey(naming)]: null}} : {})}, ...(status ? {status} : {})};
  const written = await client.resource(kinds.pods).patch(metadata?.name ?? '', 'strategic', patch, {subresource: 'status', namespace: metadata?.namespace ?? ''});
  if (isNewer(written, record.pod)) record.pod = written;
};

/** Lets a pod go of which nothing runs any more. */
export const remove = async ({client}: Agent, record: PodRecord): Promise<void> => {
  const {name = '', namespace = ''} = record.pod.metadata ?? {};
  await client.resource(kinds.pods).delete(name, {namespace, gracePeriodSeconds: 0, preconditions: {uid: record.uid}});
  record.deleted = true;
};
