import {unresolvable, type Filter} from '#src/scheduler/plugin.js';

/** Keeps a pod that asks for a node by name to it. */
export const nodeName: Filter = {
  plugin: 'NodeName',
  prepare({pod}) {
    const wanted = pod.spec?.nodeName;
    return wanted ? {filter: ({name}) => (name === wanted ? undefined : unresolvable("node(s) didn't match the requested node name"))} : undefined;
  },
  hints: [{on: ['NodeAdd']}],
};
