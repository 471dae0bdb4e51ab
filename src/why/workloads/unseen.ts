import {kinds} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import type {Rule} from '#src/why/facts/finding.js';
import {reference} from '#src/why/facts/reference.js';

/** The controller has not acted on the newest generation of an object. */
export const unseen =
  (controller: string): Rule =>
  async (object, cluster) => {
    const {metadata, status} = object as KubeObject & {readonly status?: {readonly observedGeneration?: number}};
    const {generation = 0} = metadata ?? {};
    const observed = status?.observedGeneration ?? 0;
    if (observed >= generation) return undefined;
    const {naming} = cluster;
    const lease = reference(kinds.leases, naming.component('controller-manager'), naming.systemNamespace);
    return {
      rule: 'generation-unseen',
      sentence:
        observed === 0
          ? `the ${controller} has not looked at it`
          : `the ${controller} has not looked at its generation ${generation}, and reports on generation ${observed}`,
      since: observed === 0 ? metadata?.creationTimestamp : undefined,
      ends: `The ${controller} of the controller manager, as soon as it works.`,
      next: (await cluster.get(kinds.leases, lease.name, lease.namespace)) && lease,
    };
  };
