import {kinds} from '#src/api/kinds/index.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {each, seconds} from '#bench/load/each.js';
import {type Row, row} from '#bench/run/row.js';

const nodes = 1000;
const pods = 10_000;
const restMs = 10_000;

const bare = {listen: false, controllerManagerArgs: ['--controllers=serviceaccount-controller']} as const;
const rest = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

/** The baseline: creating the Node objects one after the other. */
const plainNodes = async (): Promise<number> => {
  await using plane = await startPlane(bare);
  const client = plane.client().resource(kinds.nodes);
  return nodes / (await seconds(() => each(nodes, index => client.create({metadata: {name: `plain-${index}`}}))));
};

/** Returns the CPU share of a plane in which only heartbeats happen. */
const idleShare = async (): Promise<number> => {
  const before = process.cpuUsage();
  await rest(restMs);
  const {user, system} = process.cpuUsage(before);
  return (user + system) / 10 / restMs;
};

/** Returns the time from the creation of the last pod until all run. */
const running = async (plane: Plane): Promise<number> => {
  const client = plane.client().resource(kinds.pods);
  const pod = (index: number) => ({
    metadata: {name: `pod-${index}`, namespace: 'default'},
    spec: {nodeName: `plat-node-${index % nodes}`, containers: [{name: 'main', image: 'bench'}]},
  });
  await each(pods, index => client.create(pod(index)));
  return seconds(async () => {
    while (((await plane.simulation?.usage.pods('default'))?.length ?? 0) < pods) await rest(500);
  });
};

/** A thousand simulated nodes with ten pods each. */
export const simulationRows = async (): Promise<Row[]> => {
  const limit = await plainNodes();
  const without = await seconds(async () => (await startPlane(bare)).stop());
  let plane: Plane | undefined;
  const registered = await seconds(async () => {
    plane = await startPlane({...bare, nodes});
  });
  await rest(restMs); // Waits until pending work is done.
  const share = await idleShare();
  const time = await running(plane!);
  await plane!.stop();
  return [
    row('nodes registered', nodes / (registered - without), '/s', {
      baseline: limit,
      note: `${nodes} nodes, each with its lease, status and events; in memory, in process; the limit makes bare nodes`,
    }),
    row('a core for their heartbeats', share, '%', {note: `${nodes / 10} leases renewed a second`}),
    row('pods running', pods / time, '/s', {
      note: `${pods} pods run ${time.toFixed(1)} s after the last was made; two statuses and four events each`,
    }),
  ];
};
