import {Session} from 'node:inspector/promises';
import type {HeapProfiler} from 'node:inspector';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {inProcessClient} from '#src/client/in-process.js';
import {admin, startWire, words} from './wire.js';

/** How many requests are counted together, after as many that are not. */
const count = 400;

/** Returns the bytes that were allocated, sampled: also those of garbage that was collected meanwhile. */
const allocatedBy = async (act: () => Promise<void>): Promise<number> => {
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.startSampling', {
      samplingInterval: 4096,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    await act();
    const {profile} = await session.post('HeapProfiler.stopSampling');
    const sizeOf = ({selfSize, children}: HeapProfiler.SamplingHeapProfileNode): number =>
      children.reduce((sum, child) => sum + sizeOf(child), selfSize);
    return sizeOf(profile.head);
  } finally {
    session.disconnect();
  }
};

test('a pod that is created by a client in the process allocates less than 119 KB', async t => {
  const {server} = await startWire();
  const pods = inProcessClient(server.handler, {naming: words, user: admin, userAgent: 'test'}).resource(kinds.pods);
  const create = async (prefix: string): Promise<void> => {
    for (let index = 0; index < count; index++)
      await pods.create({
        metadata: {name: `${prefix}-${index}`, namespace: 'default', labels: {app: 'a'}},
        spec: {containers: [{name: 'main', image: 'a'}]},
      } as Pod);
  };
  await create('warm');
  const each = (await allocatedBy(() => create('counted'))) / count / 1024;

  t.log(`${each.toFixed(1)} KB`);
  t.true(each < 119, `${each.toFixed(1)} KB`);
});
