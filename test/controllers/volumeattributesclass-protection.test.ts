import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import {aPlane} from './plane.js';

const controllers = ['volumeattributesclass-protection-controller'];
const driverName = 'driver.example.com';

test('a class is removed after the volumes and claims that refer to it, another one at once', async t => {
  await using plane = await aPlane({controllers});
  const {clock, naming} = plane;
  const finalizer = naming.key('vac-protection');
  const client = plane.client();
  const [classes, volumes, claims] = [
    client.resource(kinds.volumeAttributesClasses),
    client.resource(kinds.persistentVolumes),
    client.resource(kinds.persistentVolumeClaims),
  ];
  const found = async (name: string) =>
    classes.get(name).then(
      ({metadata}) => metadata?.finalizers ?? [],
      (error: unknown) => (isNotFound(error) ? 'gone' : Promise.reject(error as Error)),
    );
  const names = ['volume', 'wanted', 'had', 'target', 'free'];
  const at = {namespace: 'a'};
  await client.resource(kinds.namespaces).create({metadata: {name: 'a'}});
  for (const name of names) await classes.create({metadata: {name}, driverName, parameters: {tier: '1'}});
  await volumes.create({
    metadata: {name: 'v'},
    spec: {
      capacity: {storage: '1Gi'},
      accessModes: ['ReadWriteOnce'],
      csi: {driver: driverName, volumeHandle: 'v'},
      volumeAttributesClassName: 'volume',
    },
  });
  for (const name of ['wanted', 'moving']) {
    await claims.create(
      {
        metadata: {name, ...at},
        spec: {
          accessModes: ['ReadWriteOnce'],
          resources: {requests: {storage: '1Gi'}},
          ...(name === 'wanted' ? {volumeAttributesClassName: name} : {}),
        },
      },
      at,
    );
  }
  const status = {
    currentVolumeAttributesClassName: 'had',
    modifyVolumeStatus: {status: 'InProgress', targetVolumeAttributesClassName: 'target'},
  };
  await claims.patch('moving', 'merge', {status}, {subresource: 'status', ...at});
  await clock.drain();

  for (const name of names) await classes.delete(name);
  await clock.drain();
  t.deepEqual(await Promise.all(names.map(found)), [[finalizer], [finalizer], [finalizer], [finalizer], 'gone']);

  await claims.patch(
    'moving',
    'merge',
    {status: {currentVolumeAttributesClassName: 'target', modifyVolumeStatus: null}},
    {subresource: 'status', ...at},
  );
  await clock.drain();
  t.deepEqual(await Promise.all(names.map(found)), [[finalizer], [finalizer], 'gone', [finalizer], 'gone']);

  await volumes.patch('v', 'merge', {metadata: {finalizers: null}});
  await volumes.delete('v');
  for (const name of ['wanted', 'moving']) {
    await claims.patch(name, 'merge', {metadata: {finalizers: null}}, at);
    await claims.delete(name, at);
  }
  await clock.drain();
  t.deepEqual(
    await Promise.all(names.map(found)),
    names.map(() => 'gone'),
  );
});

test('a class without protection, such as one from before, gets it', async t => {
  await using plane = await aPlane({controllers, apiserverArgs: ['--disable-admission-plugins=StorageObjectInUseProtection']});
  const classes = plane.client().resource(kinds.volumeAttributesClasses);
  await classes.create({metadata: {name: 'old'}, driverName, parameters: {tier: '1'}});
  await plane.clock.drain();

  t.deepEqual((await classes.get('old')).metadata?.finalizers, [plane.naming.key('vac-protection')]);
});
