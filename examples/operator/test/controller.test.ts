import assert from 'node:assert/strict';
import test, {type TestContext} from 'node:test';
import {startPlane, VirtualClock} from '@platio/plat';
import {createManager, isConditionTrue, isNotFound} from '@platio/plat/operator';
import {ConfigMap} from '@platio/plat/operator/kinds';
import {restricted, until} from '@platio/plat/testing';
import {controller} from '../src/controller.js';
import {Sample} from '../src/sample.js';
import {started} from './plane.js';

const clients = async (t: TestContext) => {
  const plane = await started(t);
  return {plane, objects: plane.client().resource(Sample), configMaps: plane.client().resource(ConfigMap)};
};

const a = {name: 'a', namespace: 'default'};

test('an object has a config map, which follows it and goes with it', async t => {
  const {plane, objects, configMaps} = await clients(t);
  const textIs = (text: string) => async () => (await configMaps.get('a', a)).data?.text === text;

  await objects.create({metadata: a, spec: {text: 'ho', repeat: 3}});
  await until(plane, textIs('hohoho'), {within: '1m'});
  await until(plane, async () => isConditionTrue(await objects.get('a', a), 'Ready'), {within: '1m'});

  await objects.update({...(await objects.get('a', a)), spec: {text: 'hi'}});
  await until(plane, textIs('hi'), {within: '1m'});

  await objects.delete('a', a);
  await until(plane, () => configMaps.get('a', a).then(() => false, isNotFound), {within: '1m'});
});

test('an object whose text is too long when repeated is refused', async t => {
  const {objects} = await clients(t);

  await assert.rejects(objects.create({metadata: a, spec: {text: 'x'.repeat(1000), repeat: 11}}), /at most 10000 characters/);
});

test('the controller needs no more rights than those of its manifests', async t => {
  const clock = new VirtualClock();
  const controllerManagerArgs = ['--controllers=namespace-controller'];
  const plane = await startPlane({listen: false, clock, controllerManagerArgs, manifests: ['manifests/crds']});
  const {client, missing} = await restricted(plane, 'manifests/rights.yaml', {namespace: 'my-operator'});
  const stop = new AbortController();
  const run = createManager({controllers: [controller], client, clock}).run(stop.signal);
  t.after(async () => {
    stop.abort();
    await run;
    await plane.stop();
  });
  const objects = plane.client().resource(Sample);

  await objects.create({metadata: a, spec: {text: 'ho'}});
  await until(plane, async () => missing() !== '' || isConditionTrue(await objects.get('a', a), 'Ready'), {within: '1m'});
  assert.equal(missing(), '');
});
