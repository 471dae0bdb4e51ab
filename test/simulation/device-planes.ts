import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import {createUnlessPresent} from '#src/simulation/volumes/objects.js';
import {aPlane} from '#test/controllers/plane.js';
import {actionsOn} from '#test/controllers/workloads.js';
import {describePod} from './environment.js';

const driver = 'gpu.example.com';

interface DevicePlaneOptions {
  readonly nodes: number;
  /** Feature gates that are on in all programs. */
  readonly gates?: readonly string[];
  /** Further controllers. */
  readonly controllers?: readonly string[];
  /** The directory and the clock of a plane that is started again. */
  readonly lasting?: {readonly dataDir: string; readonly clock: VirtualClock};
}

/**
 * A plane with simulated nodes that have devices by rules, and the template `one` of a claim to one device of the
 * driver `gpu.example.com`.
 */
export const startDevices = async (
  t: ExecutionContext,
  rules: string,
  {nodes, gates = [], controllers = [], lasting}: DevicePlaneOptions,
) => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-devices-'));
  t.teardown(() => rmSync(folder, {recursive: true, force: true}));
  writeFileSync(join(folder, 'rules.yaml'), rules);
  const args = gates.length > 0 ? [`--feature-gates=${gates.map(gate => `${gate}=true`).join(',')}`] : [];
  const plane = await aPlane({
    nodes,
    controllers: [
      'serviceaccount-controller',
      'resourceclaim-controller',
      'node-lifecycle-controller',
      'garbage-collector-controller',
      ...controllers,
    ],
    simulationFile: join(folder, 'rules.yaml'),
    apiserverArgs: args,
    controllerManagerArgs: args,
    schedulerArgs: args,
    ...lasting,
  });
  const at = actionsOn(plane);
  await at.clock.advance(1_000);
  await createUnlessPresent(at.client, kinds.resourceClaimTemplates, {
    metadata: {name: 'one', namespace: 'default'},
    spec: {spec: {devices: {requests: [{name: 'r', exactly: {deviceClassName: driver}}]}}},
  });
  return {
    ...at,
    [Symbol.asyncDispose]: () => plane.stop(),
    slices: async () => (await at.client.resource(kinds.resourceSlices).list()).items,
    shown: async (name: string) => describePod(await at.get(kinds.pods, name)),
    claimOf: async (name: string) => (await at.get(kinds.pods, name)).status!.resourceClaimStatuses![0]!.resourceClaimName!,
  };
};
