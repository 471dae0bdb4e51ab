import type {Naming} from '#src/api/naming.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {podWritten} from '#src/apiserver/admission/request-kind.js';
import {refuse} from '#src/apiserver/admission/refuse.js';

/** Refuses required anti-affinity by any topology other than the host name. */
export const limitPodHardAntiAffinityTopology = (naming: Naming): AdmissionPlugin => ({
  name: 'LimitPodHardAntiAffinityTopology',
  validate(attributes) {
    const pod = podWritten(attributes, naming, ['CREATE', 'UPDATE']);
    for (const {topologyKey} of pod?.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
      if (topologyKey === naming.labels.hostname) continue;
      throw refuse(
        attributes,
        `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${topologyKey} but only key ${naming.labels.hostname} is allowed`,
      );
    }
  },
});
