import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import type {AdmissionPlugin} from './admission.js';
import {targetsOf} from './handles.js';

/** Taints new nodes, which receive no pods until they are found ready. */
export const taintNodesByCondition = (naming: Naming): AdmissionPlugin => ({
  name: 'TaintNodesByCondition',
  handles: {operations: ['CREATE'], targets: targetsOf(naming, kinds.nodes)},
  changes: ['spec.taints'],
  admit(attributes) {
    const spec = ((attributes.object as Node).spec ??= {});
    const taint = {key: naming.subKey('node', 'not-ready'), effect: 'NoSchedule'};
    if (spec.taints?.some(({key, effect}) => key === taint.key && effect === taint.effect)) return;
    spec.taints = [...(spec.taints ?? []), taint];
  },
});
