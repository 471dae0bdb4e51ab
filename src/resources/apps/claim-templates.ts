import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {roundResourceLists} from '#src/model/resource-list-defaults.js';

type ClaimTemplate = NonNullable<NonNullable<ObjectOf<typeof kinds.statefulSets>['spec']>['volumeClaimTemplates']>[number];

/** Sets apiVersion and kind of a claim template, which protobuf omits. */
export const nameKind = (claim: ClaimTemplate): void => {
  claim.apiVersion = 'v1';
  claim.kind = 'PersistentVolumeClaim';
};

/** Applies the defaults of a claim template. It has an apiVersion and kind, unlike any other part of an object. */
export const pvcDefaults = (claim: ClaimTemplate): void => {
  nameKind(claim);
  const spec = (claim.spec ??= {});
  spec.volumeMode ??= 'Filesystem';
  roundResourceLists(spec.resources?.limits, spec.resources?.requests);
  claim.status = {...claim.status, phase: claim.status?.phase || 'Pending'};
};
