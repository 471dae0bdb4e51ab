import type {Naming} from '#src/api/naming.js';
import type {AdmissionPlugin} from './admission.js';
import {podWritten} from './request-kind.js';
import {refuse} from './refuse.js';

/** What a pod must not be near to, it must not be near to on a node alone: nobody bars others from a whole zone. */
export const limitPodHardAntiAffinityTopology = (naming: Naming): AdmissionPlugin => ({
  name: 'LimitPodHardAntiAffinityTopology',
  validate(attributes) {
    const pod = podWritten(attributes, naming, ['CREATE', 'UPDATE']);
    for (const {topologyKey} of pod?.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
      if (topologyKey === naming.labels.hostname) continue;
      throw refuse(attributes, `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${topologyKey} but only key ${naming.labels.hostname} is allowed`);
    }
  },
});
