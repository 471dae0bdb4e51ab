import type {Frozen} from '#src/api/key.js';
import {wireTime} from '#src/api/time.js';
import type {Claim} from '#src/model/volumes.js';

type ClaimStatus = NonNullable<Claim['status']>;
type ClaimCondition = NonNullable<ClaimStatus['conditions']>[number];

/** The states of an expansion. */
export type ResizeState = 'ControllerResizeInProgress' | 'ControllerResizeInfeasible' | 'NodeResizePending';

const resizeConditions: ReadonlySet<string> = new Set(['Resizing', 'FileSystemResizePending']);

/** Returns the storage that a claim has. */
export const statusStorage = ({status}: Frozen<Claim>): string | undefined => status?.capacity?.['storage'];

const otherConditions = ({status}: Frozen<Claim>): ClaimCondition[] =>
  (structuredClone(status?.conditions ?? []) as ClaimCondition[]).filter(({type}) => !resizeConditions.has(type));

/** Returns the patch of a claim's status for an expansion under way. */
export const expanding = (claim: Frozen<Claim>, size: string, state: ResizeState, now: number) => {
  const type = state === 'NodeResizePending' ? 'FileSystemResizePending' : 'Resizing';
  const known = claim.status?.conditions?.find(condition => condition.type === type);
  const message =
    state === 'NodeResizePending' ? 'Waiting for user to (re-)start a pod to finish file system resize of volume on node.' : undefined;
  const condition = known ?? {type, status: 'True', lastTransitionTime: wireTime(now), ...(message ? {message} : {})};
  return {
    allocatedResources: {storage: size},
    allocatedResourceStatuses: {storage: state},
    conditions: [...otherConditions(claim), condition],
  };
};

/** Returns the patch of a claim's status for an expansion that is done. */
export const expanded = (claim: Frozen<Claim>, size: string) => {
  const conditions = otherConditions(claim);
  return {
    capacity: {storage: size},
    allocatedResources: {storage: size},
    allocatedResourceStatuses: null,
    conditions: conditions.length > 0 ? conditions : null,
  };
};
