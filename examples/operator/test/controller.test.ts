import assert from 'node:assert/strict';
import test, {after} from 'node:test';
import {createManager, isConditionTrue, isNotFound} from '@platio/plat/operator';
import {ConfigMap} from '@platio/plat/operator/kinds';
import {restricted, until} from '@platio/plat/testing';
import {controller} from '../src/controller.js';
import {Sample} from '../src/sample.js';
import {started} from './plane.js';

// One plane for the tests of this file.
const plane = await started({after});
const [objects, configMaps] = [plane.client().resource(Sample), plane.client().resource(ConfigMap)];

const a = {name: 'a', namespace: 'default'};

test('an object has a config map, which follows it and goes with it', async () => {
  const textIs = (text: string) => async () => (await configMaps.get('a', a)).data?.text === text;

  await objects.create({metadata: a, spec: {text: 'ho', repeat: 3}});
  await until(plane, textIs('hohoho'), {within: '1m'});
  await until(plane, async () => isConditionTrue(await objects.get('a', a), 'Ready'), {within: '1m'});

  await objects.update({...(await objects.get('a', a)), spec: {text: 'hi'}});
  await until(plane, textIs('hi'), {within: '1m'});

  await objects.delete('a', a);
  await until(plane, () => configMaps.get('a', a).then(() => false, isNotFound), {within: '1m'});
});

test('an object whose text is too long when repeated is refused', async () => {
  await assert.rejects(objects.create({metadata: a, spec: {text: 'x'.repeat(1000), repeat: 11}}), /at most 10000 characters/);
});

// Not while they are recorded: `npm run generate` writes them anew.
const skip = process.env['npm_lifecycle_event'] === 'generate';

test('the controller needs no more rights than those of its manifests', {skip}, async t => {
  const fork = await plane.fork(); // Where no other controller is at work. It costs a tenth of another plane.
  const {client, missing} = await restricted(fork, 'manifests/rights.yaml');
  const stop = new AbortController();
  const run = createManager({controllers: [controller], client, clock: fork.clock, reconcileTimeout: '30s'}).run(stop.signal);
  t.after(async () => {
    stop.abort();
    await run;
    await fork.stop();
  });
  const objects = fork.client().resource(Sample);

  await objects.create({metadata: a, spec: {text: 'ho'}});
  await until(fork, async () => missing() !== '' || isConditionTrue(await objects.get('a', a), 'Ready'), {within: '1m'});
  assert.equal(missing(), '');
});
