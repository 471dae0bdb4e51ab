import type {Pod} from '#src/api/pod.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {DeviceClaim} from '#src/model/devices/pod-claims.js';
import {namespace} from './workloads.js';

type ClaimTemplate = ObjectOf<typeof kinds.resourceClaimTemplates>;

export const podClaimKey = 'resource.plat.io/pod-claim-name';
export const finalizer = 'resource.plat.io/delete-protection';

const spec = {devices: {requests: [{name: 'r', exactly: {deviceClassName: 'c'}}]}};

/** A template of claims for one device. */
export const aClaimTemplate = (name = 'template', of: object = spec): ClaimTemplate => ({
  metadata: {name, namespace},
  spec: {metadata: {labels: {from: name}, annotations: {made: 'here'}}, spec: of},
});

/** A pod with a claim of that name, or from a template of that name. */
export const aPodWithClaims = (
  name: string,
  entries: Readonly<Record<string, {claim: string} | {template: string}>> = {devices: {template: 'template'}},
  more: Partial<NonNullable<Pod['spec']>> = {},
): Pod => ({
  metadata: {name, namespace},
  spec: {
    schedulerName: 'by-hand',
    containers: [{name: 'c', image: 'i'}],
    resourceClaims: Object.entries(entries).map(([entry, of]) => ({
      name: entry,
      ...('claim' in of ? {resourceClaimName: of.claim} : {resourceClaimTemplateName: of.template}),
    })),
    ...more,
  },
});

export const aClaim = (name: string, metadata: DeviceClaim['metadata'] = {}): DeviceClaim => ({
  metadata: {name, namespace, ...metadata},
  spec,
});

/** The allocation of one device, on any node. */
export const allocation = {devices: {results: [{request: 'r', driver: 'driver.example.com', pool: 'p', device: 'd'}]}};

/** The reference of a claim to a pod that uses it. */
export const consumer = ({metadata}: Pod) => ({resource: 'pods', name: metadata!.name!, uid: metadata!.uid!});
