import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {podIn} from '#src/apiserver/admission/request-kind.js';
import {refuse} from '#src/apiserver/admission/refuse.js';

/** Refuses required anti-affinity by any topology other than the host name. */
export const limitPodHardAntiAffinityTopology = (naming: Naming): AdmissionPlugin => ({
  name: 'LimitPodHardAntiAffinityTopology',
  handles: {operations: ['CREATE', 'UPDATE'], targets: targetsOf(naming, kinds.pods)},
  validate(attributes) {
    const pod = podIn(attributes);
    for (const {topologyKey} of pod?.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
      if (topologyKey === naming.labels.hostname) continue;
      throw refuse(
        attributes,
        `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${topologyKey} but only key ${naming.labels.hostname} is allowed`,
      );
    }
  },
});
