import {signsNodeName} from '#src/scheduler/signatures/plugin-signatures.js';
import {unresolvable, type Filter} from '#src/scheduler/framework/plugin.js';

/** Restricts a pod to the node that it names. */
export const nodeName: Filter = {
  plugin: 'NodeName',
  sign: signsNodeName,
  prepare({pod}) {
    const wanted = pod.spec?.nodeName;
    return wanted
      ? {
          signature: wanted,
          filter: ({name}) => (name === wanted ? undefined : unresolvable("node(s) didn't match the requested node name")),
        }
      : undefined;
  },
  hints: [{on: ['NodeAdd']}],
};
