import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {wireTime} from '#src/api/time.js';
import type {Lease} from '#src/api/types.js';

type StorageVersion = ObjectOf<typeof kinds.storageVersions>;
type Status = NonNullable<StorageVersion['status']>;
/** The versions in which one API server reads and writes a resource. */
export type ServerVersions = NonNullable<Status['storageVersions']>[number];
type Condition = NonNullable<Status['conditions']>[number];

/** The label of identity leases, which API servers hold while they run (KEP-1965). */
export const identityLabel = (naming: Naming): string => naming.subKey('apiserver', 'identity');

/** Whether a lease is an API server's identity lease. */
export const isServerLease = (
  lease: {readonly metadata?: {readonly labels?: Readonly<Record<string, string>> | undefined} | undefined} | Lease | undefined,
  naming: Naming,
): boolean => lease?.metadata?.labels?.[identityLabel(naming)] === naming.component('apiserver');

const condition = (common: string | undefined, observedGeneration: number | undefined, now: number): Condition => ({
  type: 'AllEncodingVersionsEqual',
  status: common === undefined ? 'False' : 'True',
  ...(observedGeneration ? {observedGeneration} : {}),
  lastTransitionTime: wireTime(now),
  reason: common === undefined ? 'CommonEncodingVersionUnset' : 'CommonEncodingVersionSet',
  message: common === undefined ? 'Common encoding version unset' : 'Common encoding version set',
});

/**
 * Returns a status for these servers, with the condition whether all encode the same version. The transition time
 * changes only with the condition or the common version (KEP-2339).
 */
export const statusOf = (
  servers: readonly ServerVersions[],
  {
    metadata,
    status = {},
  }: {readonly metadata?: {readonly generation?: number | undefined} | undefined; readonly status?: Status | undefined},
  now: number,
): Status => {
  const [first, ...others] = servers.map(({encodingVersion = ''}) => encodingVersion);
  const common = others.every(version => version === first) ? first : undefined;
  const {commonEncodingVersion: before, conditions = []} = status;
  const next = condition(common, metadata?.generation, now);
  const old = conditions.find(({type}) => type === next.type);
  const keepsTime = old?.status === next.status && !(before !== undefined && common !== undefined && before !== common);
  const updated = old && keepsTime ? {...next, lastTransitionTime: old.lastTransitionTime} : next;
  return {
    storageVersions: [...servers],
    ...(common === undefined ? {} : {commonEncodingVersion: common}),
    conditions: old ? conditions.map(one => (one === old ? updated : one)) : [...conditions, updated],
  } as Status;
};
