import type {kinds, ObjectOf} from '#src/api/kinds.js';
import {roundResourceLists} from '#src/model/resource-list-defaults.js';

type ClaimTemplate = NonNullable<NonNullable<ObjectOf<typeof kinds.statefulSets>['spec']>['volumeClaimTemplates']>[number];

/** Says what a claim template is, which the binary form leaves out. */
export const nameKind = (claim: ClaimTemplate): void => {
  claim.apiVersion = 'v1';
  claim.kind = 'PersistentVolumeClaim';
};

/** Fills in what a claim template leaves out. It says what it is, as no other part of an object does. */
export const pvcDefaults = (claim: ClaimTemplate): void => {
  nameKind(claim);
  const spec = (claim.spec ??= {});
  spec.volumeMode ??= 'Filesystem';
  roundResourceLists(spec.resources?.limits, spec.resources?.requests);
  claim.status = {...claim.status, phase: claim.status?.phase || 'Pending'};
};
