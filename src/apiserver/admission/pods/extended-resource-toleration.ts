import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {isExtendedResource} from '#src/model/resource-names.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {podIn} from '#src/apiserver/admission/request-kind.js';

/**
 * Adds tolerations to pods for the extended resources they request, since nodes with such resources are tainted by
 * their names.
 */
export const extendedResourceToleration = (naming: Naming): AdmissionPlugin => ({
  name: 'ExtendedResourceToleration',
  handles: {operations: ['CREATE', 'UPDATE'], targets: targetsOf(naming, kinds.pods)},
  changes: ['spec.tolerations'],
  admit(attributes) {
    const pod = podIn(attributes);
    if (!pod) return;
    const requested = [...(pod.spec.containers ?? []), ...(pod.spec.initContainers ?? [])].flatMap(({resources}) =>
      Object.keys(resources?.requests ?? {}),
    );
    const extended = [...new Set(requested)].filter(name => isExtendedResource(name, naming)).sort();
    if (extended.length === 0) return;
    const own = [...(pod.spec.tolerations ?? [])];
    const at = new Map<string, number>();
    for (const [index, {key = '', operator, effect, value}] of own.entries())
      if (operator === 'Exists' && effect === 'NoSchedule' && !value && !at.has(key)) at.set(key, index);
    for (const key of extended) {
      const desired = {key, operator: 'Exists', effect: 'NoSchedule'};
      own[at.get(key) ?? own.length] = desired;
    }
    pod.spec.tolerations = own;
  },
});
