import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Plane} from '#src/plane/plane.js';
import {describePod} from '#test/platlet/agent.js';
import {FakeDriver} from '#test/platlet/csi/fake-driver.js';
import {startPlaneWithAgent} from './agent-program.js';
import {startContainerd} from './containerd.js';
import {recipes} from './images/index.js';
import {containersMissing} from './requirements.js';
import {run} from './run.js';
import {untilWithin} from './until.js';

const until = untilWithin(40);

if (containersMissing) console.log(`skipped: ${containersMissing}`);
const contained = containersMissing ? test.skip : test.serial;

const name = 'worker';
const driverName = 'folder.example.com';

/** Creates a driver object, a bound claim of it, and a pod that writes into it. */
const createPod = async (plane: Plane): Promise<void> => {
  const client = plane.client();
  const common = {accessModes: ['ReadWriteOnce'], storageClassName: ''};
  const claims = client.resource(kinds.persistentVolumeClaims);
  await client.resource(kinds.csiDrivers).create({metadata: {name: driverName}, spec: {attachRequired: false, fsGroupPolicy: 'File'}});
  const claim = await claims.create({
    metadata: {name: 'data', namespace: 'default'},
    spec: {...common, resources: {requests: {storage: '1Mi'}}, volumeName: 'disk'},
  });
  await client.resource(kinds.persistentVolumes).create({
    metadata: {name: 'disk'},
    spec: {
      ...common,
      capacity: {storage: '1Mi'},
      csi: {driver: driverName, volumeHandle: 'v'},
      claimRef: {apiVersion: 'v1', kind: 'PersistentVolumeClaim', name: 'data', namespace: 'default', uid: claim.metadata!.uid!},
    },
  });
  await claims.patch(
    'data',
    'merge',
    {status: {phase: 'Bound', capacity: {storage: '1Mi'}}},
    {namespace: 'default', subresource: 'status'},
  );
  await client.resource(kinds.pods).create({
    metadata: {name: 'writer', namespace: 'default'},
    spec: {
      nodeName: name,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      securityContext: {fsGroup: 4711},
      volumes: [{name: 'data', persistentVolumeClaim: {claimName: 'data'}}],
      containers: [
        {
          name: 'app',
          image: recipes.busybox.reference,
          command: ['sh', '-c', 'id -G > /data/groups; exec sleep 600'],
          volumeMounts: [{name: 'data', mountPath: '/data'}],
        },
      ],
    },
  });
};

contained('a pod writes into a volume of a driver, which is released when it is gone', async t => {
  await using node = await startContainerd();
  await using cluster = await startPlaneWithAgent(node, {name, port: 19_870});
  const {plane, agent, directory} = cluster;
  const disk = join(directory, 'disk');
  mkdirSync(disk);
  writeFileSync(join(disk, 'before'), '');
  const root = join(node.agentFolder, 'root');
  const mounts = {
    mount: async (path: string) => void (await run('mount', '--bind', disk, path)),
    unmount: async (path: string) => void (await run('umount', path)),
  };
  await using driver = new FakeDriver(
    driverName,
    {root: directory, folders: {root}, mounted: []},
    {mounts, socket: join(root, 'plugins_registry', 'driver.sock')},
  );
  const pods = plane.client().resource(kinds.pods);
  await agent.ready;
  await driver.start();
  await createPod(plane);
  await until(t, 'the pod runs', async () => describePod(await pods.get('writer', {namespace: 'default'})).startsWith('Running'));
  await until(t, 'the pod has written', async () => readFileSync(join(disk, 'groups'), 'utf8').split(/\s/).includes('4711'));
  await pods.delete('writer', {namespace: 'default'});
  await until(t, 'the volume is released', async () => driver.calls.some(call => call.startsWith('NodeUnstageVolume')));
  t.deepEqual(
    driver.calls.map(call => call.split(' ')[0]),
    ['NodeGetInfo', 'NodeStageVolume', 'NodePublishVolume', 'NodeUnpublishVolume', 'NodeUnstageVolume'],
  );
  await until(t, 'the mount is gone', async () => !readFileSync('/proc/self/mountinfo', 'utf8').includes(disk));
  t.is(readFileSync(join(disk, 'before'), 'utf8'), '');
});
