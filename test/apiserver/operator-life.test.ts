import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setImmediate} from 'node:timers/promises';
import test from 'ava';
import {firstValueFrom} from 'rxjs';
import {kindOnWire, kinds, type Kind, type ObjectOf} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {startPlane, type Plane} from '#src/plane/plane.js';

const count = 8;
const objectsOfEach = 5;
const definition = (index: number) => ({
  metadata: {name: `parts${index}.example.com`},
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: {plural: `parts${index}`, kind: `Part${index}`},
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {status: {}},
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {type: 'object', properties: {size: {type: 'integer'}, color: {type: 'string', default: 'red'}}},
              status: {type: 'object', properties: {done: {type: 'boolean'}}},
            },
          },
        },
      },
    ],
  },
});
type Part = KubeObject & {spec?: {size?: number; color?: string}; status?: {done?: boolean}};
const kindOf = (plane: Plane, index: number) =>
  kindOnWire(plane.naming, {
    group: 'example.com',
    version: 'v1',
    kind: `Part${index}`,
    plural: `parts${index}`,
    namespaced: true,
  }) as Kind<Part>;
const parts = (plane: Plane, index: number) => plane.client().resource(kindOf(plane, index));
const all = Array.from({length: count}, (_, index) => index);
const place = {namespace: 'default'};

/** Resolves once something holds of the definitions. */
const until = async (
  plane: Plane,
  holds: (definitions: readonly ObjectOf<typeof kinds.customResourceDefinitions>[]) => boolean,
): Promise<void> => {
  while (!holds((await plane.client().resource(kinds.customResourceDefinitions).list()).items)) await setImmediate();
};

test("an operator's definition and objects survive a restart of the server, watches resume, and all objects go with the definition", async t => {
  const dataDir = mkdtempSync(join(tmpdir(), 'plat-operator-'));
  const start = () => startPlane({dataDir, listen: false, controllerManagerArgs: ['--controllers=']});
  const before = await start();
  await Promise.all(
    all.map(index =>
      before
        .client()
        .resource(kinds.customResourceDefinitions)
        .create(definition(index) as never),
    ),
  );
  await until(
    before,
    items =>
      items.filter(({status}) => status?.conditions?.some(({type, status: holds}) => type === 'Established' && holds === 'True')).length ===
      count,
  );
  await Promise.all(
    all.flatMap(index =>
      Array.from({length: objectsOfEach}, (_, n) =>
        parts(before, index).create({metadata: {name: `p${n}`, namespace: 'default'}, spec: {size: n}}),
      ),
    ),
  );
  const {metadata} = await parts(before, 3).list(place);
  await parts(before, 3).patch('p1', 'merge', {status: {done: true}}, {...place, subresource: 'status'});
  await before.stop();

  const after = await start();
  const counted = await Promise.all(all.map(async index => (await parts(after, index).list(place)).items.length));
  const received = await firstValueFrom(parts(after, 3).watch({...place, resourceVersion: metadata!.resourceVersion!}));
  const discovered = (await after.client().request('GET', '/apis/example.com/v1')) as {resources: readonly {name: string}[]};
  await Promise.all(all.map(index => after.client().resource(kinds.customResourceDefinitions).delete(`parts${index}.example.com`)));
  await until(after, items => items.length === 0);
  const left = await t.throwsAsync(parts(after, 3).list(place));
  await after.stop();
  rmSync(dataDir, {recursive: true, force: true});

  t.deepEqual(
    counted,
    all.map(() => objectsOfEach),
  );
  t.like(received, {type: 'MODIFIED', object: {spec: {size: 1, color: 'red'}, status: {done: true}}});
  t.is(discovered.resources.length, 2 * count);
  t.true(isNotFound(left));
});
