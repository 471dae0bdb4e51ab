import {setTimeout as wait} from 'node:timers/promises';
import {request, Agent} from 'undici';
import {naming} from '#src/api/naming.js';
import {each, seconds} from '#bench/load/each.js';
import {caller, scratch, startPlane, type Running} from '#bench/load/programs.js';
import {type Row, row} from '#bench/run/row.js';

const group = naming('kubernetes').group('apiextensions');
const definitions = `/apis/${group}/v1/customresourcedefinitions`;
const groups = 20;
const groupOf = (index: number): string => `g${index % groups}.example.com`;
/** The collection of the objects of a definition. */
export const collection = (index: number): string => `/apis/${groupOf(index)}/v1/namespaces/default/things${index}`;
const text = {type: 'string', description: 'What is said of the thing, in words as an explanation of its values.'};

/** A typical schema of an operator: some 60 fields with descriptions. */
const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        size: {type: 'integer', minimum: 1, description: 'How large it is.'},
        color: {...text, default: 'red', enum: ['red', 'blue']},
        ports: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: {type: 'object', required: ['name'], properties: {name: text, port: {type: 'integer'}, host: text}},
        },
        ...Object.fromEntries(Array.from({length: 50}, (_, n) => [`field${n}`, text])),
      },
      'x-kubernetes-validations': [{rule: 'self.size <= 1000', message: 'too large'}],
    },
    status: {
      type: 'object',
      properties: {
        phase: text,
        conditions: {
          type: 'array',
          items: {
            type: 'object',
            required: ['type', 'status'],
            properties: {type: text, status: text, reason: text, message: text, lastTransitionTime: {type: 'string', format: 'date-time'}},
          },
        },
      },
    },
  },
};
const definition = (index: number) => ({
  apiVersion: `${group}/v1`,
  kind: 'CustomResourceDefinition',
  metadata: {name: `things${index}.${groupOf(index)}`},
  spec: {
    group: groupOf(index),
    scope: 'Namespaced',
    names: {plural: `things${index}`, kind: `Thing${index}`},
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {status: {}},
        schema: {openAPIV3Schema: schema},
        additionalPrinterColumns: [{name: 'Size', type: 'integer', jsonPath: '.spec.size'}],
      },
    ],
  },
});
export const customObject = (index: number, name: string) => ({
  apiVersion: `${groupOf(index)}/v1`,
  kind: `Thing${index}`,
  metadata: {name},
  spec: {size: 2, ports: [{name: 'http', port: 80}], field1: 'x'.repeat(400)},
});

type Call = ReturnType<typeof caller>;

const made = async (call: Call, path: string, body: object): Promise<void> => {
  const {status, text: answer} = await call('POST', path, body);
  if (status !== 201) throw new Error(answer);
};

/** Returns the time in ms until a response is as expected. */
const until = async (holds: () => Promise<boolean>): Promise<number> => {
  const start = performance.now();
  while (!(await holds())) await wait(2);
  return performance.now() - start;
};

/** Creates definitions and waits until all are served. */
export const define = async (call: Call, from: number, to: number): Promise<void> => {
  await each(to - from, index => made(call, definitions, definition(from + index)));
  for (let index = from; index < to; index++) await until(async () => (await call('GET', `${collection(index)}?limit=1`)).status === 200);
};

/** Fetches what kubectl fetches before it uses a resource, including all OpenAPI documents. */
const readEverything = async (call: Call): Promise<void> => {
  await call('GET', '/openapi/v2');
  const {paths} = JSON.parse((await call('GET', '/openapi/v3')).text) as {paths: Record<string, {serverRelativeURL: string}>};
  for (const {serverRelativeURL} of Object.values(paths)) await call('GET', serverRelativeURL);
};

/** Returns the median latency from a write to its watch event in ms. */
const watchLatency = async (plane: Running, call: Call): Promise<number> => {
  const dispatcher = new Agent({connect: {ca: plane.pki.ca, cert: plane.pki.cert, key: plane.pki.key}, bodyTimeout: 0});
  const {metadata} = JSON.parse((await call('GET', `${collection(0)}?limit=1`)).text) as {metadata: {resourceVersion: string}};
  const {body} = await request(`${plane.url}${collection(0)}?watch=1&resourceVersion=${metadata.resourceVersion}`, {dispatcher});
  const events = body[Symbol.asyncIterator]();
  const times: number[] = [];
  for (let n = 0; n < 40; n++) {
    const start = performance.now();
    await Promise.all([
      made(call, collection(0), customObject(0, `watched-${n}`)),
      events.next().then(() => times.push(performance.now() - start)),
    ]);
  }
  await dispatcher.destroy();
  return times.sort((a, b) => a - b)[20]!;
};

const quiet = ['--controller-manager-arg=--controllers='];

/** The memory of a plane after one object of each kind was written and all documents were fetched. */
const inUse = async (directory: string, count: number): Promise<number> => {
  const plane = await startPlane(directory, quiet);
  const call = caller(plane);
  await each(count, index => made(call, collection(index), customObject(index, `used-${count}`)));
  await readEverything(call);
  await wait(5000);
  const memory = plane.residentMb();
  await plane.stop();
  return memory;
};

/** Restarts a plane on its directory and waits until it is idle. */
const rested = async (directory: string): Promise<{readyMs: number; cpu: number; memory: number}> => {
  const plane = await startPlane(directory, quiet);
  const cpu = plane.cpuMs();
  await wait(5000);
  const memory = plane.residentMb();
  await plane.stop();
  return {readyMs: plane.readyMs, cpu, memory};
};

const news = async (call: Call, index: number): Promise<Row[]> => {
  const start = performance.now();
  await made(call, definitions, definition(index));
  const served = until(async () => (await call('GET', collection(index))).status === 200).then(() => performance.now() - start);
  const discovered = until(async () => (await call('GET', `/apis/${groupOf(index)}/v1`)).text.includes(`"things${index}"`)).then(
    () => performance.now() - start,
  );
  const described = until(async () => (await call('GET', `/openapi/v3/apis/${groupOf(index)}/v1`)).text.includes(`/things${index}"`)).then(
    () => performance.now() - start,
  );
  const rows = [
    row(`definition number ${index + 1} is served after`, await served, 'ms'),
    row('  in discovery after', await discovered, 'ms'),
    row('  in OpenAPI v3 after', await described, 'ms'),
  ];
  await until(async () => (await call('GET', '/openapi/v2')).text.includes(`/things${index}"`));
  return [...rows, row('  in OpenAPI v2 after', performance.now() - start, 'ms', {note: 'everything in one document'})];
};

/** The cost of many custom resource definitions: the definitions, their objects, and the next start. */
export const definitionRows = async (): Promise<Row[]> => {
  const rows: Row[] = [];
  const directory = await scratch();
  const first = await startPlane(directory, quiet);
  await first.stop();
  const none = await rested(directory);
  rows.push(row('started again without definitions', none.readyMs, 'ms', {note: `${none.cpu} ms of CPU, ${Math.round(none.memory)} MB`}));
  const noneUsed = await inUse(directory, 0);
  let count = 0;
  for (const wanted of [200, 1000]) {
    const plane = await startPlane(directory, quiet);
    const call = caller(plane);
    rows.push(row(`${wanted - count} definitions are served after`, await seconds(() => define(call, count, wanted)), 's'));
    count = wanted;
    if (wanted === 200) {
      rows.push(...(await news(call, count)));
      count++;
      rows.push(
        row(
          '10,000 objects of 200 kinds are made',
          10_000 /
            (await seconds(() => each(10_000, index => made(call, collection(index % 200), customObject(index % 200, `o${index}`))))),
          '/s',
          {note: 'durable, 64 clients'},
        ),
      );
      rows.push(row('latency of watch events', await watchLatency(plane, call), 'ms', {note: 'median of 40'}));
      rows.push(row('aggregated discovery', 1000 * (await seconds(() => call('GET', '/apis'))), 'ms'));
    }
    await plane.stop();
    const again = await rested(directory);
    rows.push(
      row(`started again with ${count} definitions`, again.readyMs, 'ms', {
        baseline: none.readyMs,
        note: `${again.cpu} ms of CPU, ${none.cpu} without definitions`,
      }),
    );
    rows.push(
      row('  memory of each', (again.memory - none.memory) / count, 'MB', {
        note: `${Math.round(again.memory)} MB in all; must stay below 0.5`,
      }),
    );
    const used = await inUse(directory, count);
    rows.push(
      row('  memory of each, in use', (used - noneUsed) / count, 'MB', {
        note: `${Math.round(used)} MB, ${Math.round(noneUsed)} without definitions; an object of each written, all documents read`,
      }),
    );
  }
  return rows;
};
