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

const aPod = (name: string): Pod =>
  ({
    metadata: {name, namespace: 'default', labels: {app: 'a'}},
    spec: {nodeName: 'a', containers: [{name: 'main', image: 'a'}]},
  }) as Pod;

test('a pod that a client in the process creates and deletes allocates no more than 119 and 40 KB', async t => {
  const {server} = await startWire();
  const pods = inProcessClient(server.handler, {naming: words, user: admin, userAgent: 'test'}).resource(kinds.pods);
  const each = async (act: (name: string) => Promise<unknown>): Promise<number> => {
    for (let index = 0; index < count; index++) await act(`warm-${index}`);
    const bytes = await allocatedBy(async () => {
      for (let index = 0; index < count; index++) await act(`counted-${index}`);
    });
    return bytes / count / 1024;
  };
  const created = await each(name => pods.create(aPod(name)));
  const deleted = await each(name => pods.delete(name, {namespace: 'default'}));

  t.log(`${created.toFixed(1)} KB to create a pod, ${deleted.toFixed(1)} KB to delete it`);
  t.true(created < 119, `${created.toFixed(1)} KB`);
  t.true(deleted < 40, `${deleted.toFixed(1)} KB`);
});
