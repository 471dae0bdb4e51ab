import {kinds} from '#src/api/kinds/index.js';
import {sameJson} from '#src/api/equal.js';
import type {Naming} from '#src/api/naming.js';
import {isExtendedResource} from '#src/model/resource-names.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {podIn} from '#src/apiserver/admission/request-kind.js';

/** Adds tolerations to pods for the extended resources they request, since nodes with such resources are tainted by their names. */
export const extendedResourceToleration = (naming: Naming): AdmissionPlugin => ({
  name: 'ExtendedResourceToleration',
  handles: {operations: ['CREATE', 'UPDATE'], targets: targetsOf(naming, kinds.pods)},
  admit(attributes) {
    const pod = podIn(attributes);
    if (!pod) return;
    const requested = [...(pod.spec.containers ?? []), ...(pod.spec.initContainers ?? [])].flatMap(({resources}) =>
      Object.keys(resources?.requests ?? {}),
    );
    for (const key of [...new Set(requested)].filter(name => isExtendedResource(name, naming)).sort()) {
      const desired = {key, operator: 'Exists', effect: 'NoSchedule'};
      const own = pod.spec.tolerations ?? [];
      const at = own.findIndex(one => one.key === key && one.operator === 'Exists' && one.effect === 'NoSchedule' && !one.value);
      if (at >= 0 && sameJson(own[at], desired)) continue;
      pod.spec.tolerations = at >= 0 ? own.with(at, desired) : [...own, desired];
    }
  },
});
