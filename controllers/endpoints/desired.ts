import {isHeadless, type Service} from '#controllers/shared/endpoints/services.js';
import {withTriggerTime} from '#controllers/shared/endpoints/trigger-times.js';
import {sameContent} from '#src/api/equal.js';
import {keyOf, type Frozen} from '#src/api/key.js';
import {apiVersionOf, kinds} from '#src/api/kinds/index.js';
import type {Steps} from '#src/base/steps.js';
import type {Naming} from '#src/api/naming.js';
import {sameSubsets, type Endpoints, type Subset} from './subsets.js';

/** The labels and annotations of Endpoints. */
export const endpointsNames = (naming: Naming) => ({
  managedBy: naming.subKey('endpoints', 'managed-by'),
  headless: naming.subKey('service', 'headless'),
  triggerTime: naming.subKey('endpoints', 'last-change-trigger-time'),
  overCapacity: naming.subKey('endpoints', 'over-capacity'),
  leader: naming.subKey('control-plane.alpha', 'leader'),
});

/** The subsets of a service, and whether they are truncated to the capacity of the object. */
export interface FoundSubsets {
  readonly subsets: readonly Subset[];
  readonly isTruncated: boolean;
}

/** What the Endpoints of a service should be. */
export const desiredEndpoints = (naming: Naming, names: ReturnType<typeof endpointsNames>) => {
  const labelsFor = (service: Frozen<Service>): Record<string, string> => {
    const {[names.headless]: _, ...labels} = service.metadata?.labels ?? {};
    return {...labels, [names.managedBy]: 'endpoint-controller', ...(isHeadless(service) ? {[names.headless]: ''} : {})};
  };

  /** Returns the labels that come from the service. */
  const ownLabels = (labels: Readonly<Record<string, string>> = {}): Record<string, string> => {
    const {[names.headless]: _, [names.managedBy]: __, ...rest} = labels;
    return rest;
  };

  return {
    *isUpToDate(current: Frozen<Endpoints>, service: Frozen<Service>, {subsets, isTruncated}: FoundSubsets): Steps<boolean> {
      return (
        (yield* sameSubsets(current.subsets, subsets)) &&
        sameContent(ownLabels(current.metadata?.labels), ownLabels(service.metadata?.labels)) &&
        (current.metadata?.annotations?.[names.overCapacity] !== undefined) === isTruncated
      );
    },

    /** Returns the object to write over `current`, with the time of the change that caused it. */
    desiredOf(
      service: Frozen<Service>,
      current: Frozen<Endpoints> | undefined,
      {subsets, isTruncated}: FoundSubsets,
      time: string | undefined,
    ): Endpoints {
      const {[names.overCapacity]: _, ...annotations} = withTriggerTime(current?.metadata?.annotations, names.triggerTime, time);
      const {namespace, name} = keyOf(service);
      return {
        apiVersion: apiVersionOf(naming, kinds.endpoints),
        kind: kinds.endpoints.kind,
        metadata: {
          ...(current?.metadata as Endpoints['metadata']),
          namespace,
          name,
          labels: labelsFor(service),
          annotations: {...annotations, ...(isTruncated ? {[names.overCapacity]: 'truncated'} : {})},
        },
        subsets: [...subsets],
      };
    },
  };
};
