import test from 'ava';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import {aPlane} from './plane.js';

type Volume = ObjectOf<typeof kinds.persistentVolumes>;

const aVolume = (name: string, finalizers: readonly string[] = []): Volume => ({
  metadata: {name, finalizers: [...finalizers]},
  spec: {capacity: {storage: '1Gi'}, accessModes: ['ReadWriteOnce'], hostPath: {path: '/x'}},
});

test('a bound volume is removed after its claim, another one at once', async t => {
  await using plane = await aPlane({controllers: ['persistentvolume-protection-controller']});
  const {clock, naming} = plane;
  const volumes = plane.client().resource(kinds.persistentVolumes);
  const found = async (name: string) =>
    volumes.get(name).then(
      ({metadata}) => metadata?.finalizers ?? [],
      (error: unknown) => (isNotFound(error) ? 'gone' : Promise.reject(error as Error)),
    );
  await volumes.create(aVolume('bound'));
  await volumes.create(aVolume('free', ['example.com/own']));
  await clock.drain();
  const finalizer = naming.key('pv-protection');
  t.true((await found('bound')).includes(finalizer));
  await volumes.patch('bound', 'merge', {status: {phase: 'Bound'}}, {subresource: 'status'});
  for (const name of ['bound', 'free']) await volumes.delete(name);
  await clock.drain();
  t.deepEqual([await found('bound'), await found('free')], [[finalizer], ['example.com/own']]);

  await volumes.patch('bound', 'merge', {status: {phase: 'Released'}}, {subresource: 'status'});
  await clock.drain();
  t.is(await found('bound'), 'gone');
});

test('a volume without protection, such as one from before, gets it', async t => {
  await using plane = await aPlane({
    controllers: ['persistentvolume-protection-controller'],
    apiserverArgs: ['--disable-admission-plugins=StorageObjectInUseProtection'],
  });
  const volumes = plane.client().resource(kinds.persistentVolumes);
  await volumes.create(aVolume('old'));
  await plane.clock.drain();

  t.deepEqual((await volumes.get('old')).metadata?.finalizers, [plane.naming.key('pv-protection')]);
});
