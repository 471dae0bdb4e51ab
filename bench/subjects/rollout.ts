import {kinds} from '#src/api/kinds/index.js';
import {startPlane} from '#src/plane/plane.js';
import {seconds} from '#bench/load/each.js';
import {type Row, row} from '#bench/run/row.js';

const replicas = 1000;
const nodes = 20;
const namespace = 'default';

const rest = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

/**
 * Time from the creation of a deployment on simulated nodes until all of its pods are available: controllers, scheduler
 * and nodes.
 */
export const rolloutRows = async (): Promise<Row[]> => {
  await using plane = await startPlane({listen: false, nodes});
  const deployments = plane.client().resource(kinds.deployments);
  const labels = {app: 'bench'};
  const time = await seconds(async () => {
    await deployments.create({
      metadata: {name: 'bench', namespace},
      spec: {
        replicas,
        selector: {matchLabels: labels},
        template: {metadata: {labels}, spec: {containers: [{name: 'main', image: 'bench'}]}},
      },
    });
    while (((await deployments.get('bench', {namespace})).status?.availableReplicas ?? 0) < replicas) await rest(100);
  });
  return [
    row('deployment ready', replicas / time, '/s', {
      note: `${replicas} replicas on ${nodes} simulated nodes were available ${time.toFixed(1)} s after the deployment was made; in memory, in process, without limits`,
    }),
  ];
};
