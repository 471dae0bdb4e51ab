import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound, StatusError} from '#src/api/status.js';
import type {Kind} from '#src/api/kind.js';
import type {KubeObject} from '#src/api/types.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Plane} from '#src/plane/inputs/embedded.js';
import {startPlane} from '#src/plane/plane.js';

const namespace = 'default';
const template = {metadata: {labels: {app: 'a'}}, spec: {containers: [{name: 'a', image: 'a'}]}};

/** What users do: a rollout, a schedule and a namespace that comes and goes. */
const use = async (plane: Plane): Promise<void> => {
  const client = plane.client();
  const clock = plane.clock as VirtualClock;
  await client
    .resource(kinds.deployments)
    .create({metadata: {name: 'a', namespace}, spec: {replicas: 3, selector: {matchLabels: {app: 'a'}}, template}});
  const job = {template: {spec: {restartPolicy: 'Never', containers: [{name: 'a', image: 'a'}]}}};
  await client
    .resource(kinds.cronJobs)
    .create({metadata: {name: 'tick', namespace}, spec: {schedule: '* * * * *', jobTemplate: {spec: job}}});
  await client.resource(kinds.namespaces).create({metadata: {name: 'brief'}});
  await clock.advance(30_000);
  await client.resource(kinds.namespaces).delete('brief');
  await client.resource(kinds.deployments).patch('a', 'merge', {spec: {template: {metadata: {annotations: {version: '2'}}}}}, {namespace});
  await clock.advance(60_000);
};

/** Every kind that is served can be listed, but not reviews and the like. */
const isNotListed = (error: unknown): boolean =>
  isNotFound(error) || (error instanceof StatusError && error.status.reason === 'MethodNotAllowed');

/** Certificates and keys do not come from the seed. */
const material = /-----BEGIN [^"]*|"caBundle":"[^"]*"/g;

/** Returns all objects of all kinds and all events since the first version, a line each. */
const historyOf = async (plane: Plane): Promise<readonly string[]> => {
  const lines: string[] = [];
  const add = (what: string, {plural}: Kind, object: unknown) =>
    lines.push(`${what} ${plural} ${JSON.stringify(object).replaceAll(material, 'MATERIAL')}`);
  for (const kind of Object.values(kinds) as unknown as Kind[]) {
    const resource = plane.client().resource(kind as Kind<KubeObject>);
    try {
      for (const item of (await resource.list()).items) add('LIST', kind, item);
    } catch (error) {
      if (isNotListed(error)) continue;
      throw error;
    }
    const watch = resource.watch({resourceVersion: '1'}).subscribe({
      next: ({type, object}) => add(type, kind, object),
      error() {}, // What is made up when it is read is not watched.
    });
    await (plane.clock as VirtualClock).drain();
    watch.unsubscribe();
  }
  return lines;
};

test('two planes with the same seed have the same history byte for byte, except for keys and certificates', async t => {
  t.timeout(120_000);
  const history = async (seed: number) => {
    // The first plane of a process loads modules on the way, the second finds them.
    await using plane = await startPlane({listen: false, clock: new VirtualClock(), random: seededRandom(seed), nodes: 2});
    await use(plane);
    return await historyOf(plane);
  };
  const [first, second] = [await history(3), await history(3)];

  const differing = first.findIndex((line, at) => line !== second[at]);
  t.is(first[differing], second[differing]);
  t.is(first.length, second.length);
  t.true(first.filter(line => !line.startsWith('LIST')).length > 300);
});
