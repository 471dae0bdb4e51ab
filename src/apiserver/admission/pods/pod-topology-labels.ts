import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Binding} from '#src/api/pod.js';
import type {Reader} from '#src/api/reader.js';
import type {KubeObject} from '#src/api/types.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {podIn} from '#src/apiserver/admission/request-kind.js';

export interface PodTopologyLabelsParts {
  readonly naming: Naming;
  readonly reader: Reader;
  gate(name: string): boolean;
}

/** Copies the zone and region labels of the node to a pod when it is bound (KEP-4742). */
export const podTopologyLabels = ({naming, reader, gate}: PodTopologyLabelsParts): AdmissionPlugin => {
  const keys = ['zone', 'region'].map(what => naming.subKey('topology', what));
  const copyFrom = async (nodeName: string, object: KubeObject): Promise<void> => {
    const labels = (await reader.get(kinds.nodes, '', nodeName))?.metadata?.labels ?? {};
    const found = keys.filter(key => labels[key] !== undefined);
    if (found.length === 0) return;
    const meta = (object.metadata ??= {});
    meta.labels = {...meta.labels, ...Object.fromEntries(found.map(key => [key, labels[key]!]))};
  };
  return {
    name: 'PodTopologyLabels',
    handles: {operations: ['CREATE'], targets: targetsOf(naming, kinds.pods, '', 'binding')},
    changes: ['metadata.labels'],
    async admit(attributes) {
      if (!gate('PodTopologyLabelsAdmission')) return;
      if (attributes.subresource !== 'binding') {
        const pod = podIn(attributes);
        if (pod?.spec.nodeName) await copyFrom(pod.spec.nodeName, pod);
        return;
      }
      const binding = attributes.object as Binding;
      if (binding.target?.kind === 'Node') await copyFrom(binding.target.name ?? '', binding);
    },
  };
};
