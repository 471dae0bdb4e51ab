// Follows the health of the devices of simulated nodes.

import {sameJson} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import type {Node} from '#src/api/types.js';
import {recordsOfNode} from './node-stats.js';
import type {Agent} from './node/agent.js';
import type {SimulationContext} from './node/context.js';
import type {PodRecords} from './streams/target.js';
import {failuresOf, nextHealthChange} from './node-devices/health.js';

/**
 * Looks at the health of devices, and syncs the pods of a node where it has changed. Returns the delay in ms until the
 * next look; Infinity for none.
 */
export const healthLook = (context: SimulationContext, {recordOf}: Pick<PodRecords, 'recordOf'>) => {
  const {naming, clock} = context;
  return ({devices, startedAt, machine: {name}}: Agent, node: Frozen<Node>): number => {
    const age = clock.monotonic() - startedAt;
    const failures = failuresOf(naming, node, devices.all, age);
    if (!sameJson([...failures], [...devices.failures])) {
      devices.failures = failures;
      for (const record of recordsOfNode(context, recordOf, name)) if (!record.isFinished) context.enqueuePod(record.key);
    }
    return nextHealthChange(devices.all, age);
  };
};
