import {signsHostPorts} from '#src/scheduler/signatures/plugin-signatures.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {hostPortsOf} from '#src/scheduler/cache/pod-info.js';
import {NodeInfo} from '#src/scheduler/cache/node-info.js';
import {unschedulable, type Filter} from '#src/scheduler/framework/plugin.js';

/** Rejects nodes on which a host port of the pod is taken. */
export const nodePorts: Filter = {
  plugin: 'NodePorts',
  sign: signsHostPorts,
  prepare({ports}) {
    if (ports.length === 0) return undefined;
    return {
      signature: JSON.stringify(ports),
      filter: node =>
        ports.some(port => node.isTaken(port)) ? unschedulable("node(s) didn't have free ports for the requested pod ports") : undefined,
    };
  },
  hints: [
    {
      on: ['AssignedPodDelete'],
      shouldQueue: ({ports}, old: Frozen<Pod> | undefined) => old !== undefined && NodeInfo.portsConflict(ports, hostPortsOf(old)),
    },
    {on: ['NodeAdd']},
  ],
};
