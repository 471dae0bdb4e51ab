import {randomUUID} from 'node:crypto';
import {setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';
import {kinds} from '#src/api/kinds/index.js';
import {systemClock} from '#src/base/clock.js';
import {startPlane, type Plane} from '#src/plane/index.js';
import {Recorder} from '#src/recorder/recorder.js';
import {median} from '#bench/load/each.js';
import {type Row, row} from '#bench/run/row.js';
import type {Run, Subject} from '#bench/run/subject.js';

const pairs = 20;
const createsPerTurn = 2000;
const clients = 16;
const filler = 'x'.repeat(400);

/** Returns the processor time of a create in µs. */
const createTime = async (plane: Plane, turn: string): Promise<number> => {
  const client = plane.client();
  const before = process.cpuUsage();
  for (let from = 0; from < createsPerTurn; from += clients) {
    const names = Array.from({length: clients}, (_, index) => `${turn}-${from + index}`);
    await Promise.all(names.map(name => client.create(kinds.configMaps, {metadata: {namespace: 'default', name}, data: {filler}})));
  }
  const {user, system} = process.cpuUsage(before);
  return (user + system) / createsPerTurn;
};

/** Creates in two planes of this process, of which one records, in turns. */
const createRow = async (): Promise<Row> => {
  await using plain = await startPlane({controllers: 'none', record: false});
  await using recording = await startPlane({controllers: 'none'});
  const times = {without: [] as number[], with: [] as number[]};
  // The first turns are not counted: the code is compiled while they run.
  for (let turn = -2; turn < pairs; turn++) {
    const order = [['without', plain] as const, ['with', recording] as const];
    for (const [which, plane] of turn % 2 === 0 ? order : order.toReversed()) {
      const time = await createTime(plane, `turn-${turn + 2}`);
      if (turn >= 0) times[which].push(time);
    }
  }
  const differences = times.with.map((time, turn) => time - times.without[turn]!).sort((one, other) => one - other);
  const [quarter, threeQuarters] = [differences[pairs >> 2]!, differences[(3 * pairs) >> 2]!];
  return row('create, recorded', median(times.with), 'µs', {
    key: 'recorder-create',
    baseline: median(times.without),
    note:
      `processor time, in process, store in memory, beside creates without a recorder, ${pairs} turns each; ` +
      `half of the differences are from ${quarter.toFixed(1)} to ${threeQuarters.toFixed(1)} µs`,
  });
};

/** What a recorder takes that has recorded more than its bound. */
const memoryRow = (): Row => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const used = (): number => {
    collect();
    const {heapUsed, arrayBuffers} = process.memoryUsage();
    return (heapUsed + arrayBuffers) / 1024 ** 2;
  };
  const before = used();
  const recorder = new Recorder({clock: systemClock, maxBytes: 64 * 1024 ** 2});
  const state = Buffer.from(JSON.stringify({metadata: {namespace: 'default'}, data: {filler}}));
  for (let revision = 1; revision <= 200_000; revision++) {
    const object = {group: '', resource: 'configmaps', namespace: 'default', name: `object-${revision}`, uid: randomUUID()};
    const report = {kind: 'change', type: 'created', object, verb: 'create', revision, user: 'bench', request: randomUUID()} as const;
    recorder.change(report, {after: state, jsonFrom: 0});
  }
  const took = used() - before;
  const {first, last, maxBytes, bytes} = recorder.info();
  return row('memory of a full recorder', took, 'MB', {
    key: 'recorder-memory',
    baseline: maxBytes / 1024 ** 2,
    note: `beside its bound; it counts ${(bytes / 1024 ** 2).toFixed(1)} MB and keeps ${last!.seq - first!.seq + 1} of ${last!.seq} records`,
  });
};

const measured: Readonly<Record<string, () => Row | Promise<Row>>> = {'recorder-memory': memoryRow, 'recorder-create': createRow};

/** What the flight recorder costs. */
export const recorder: Subject = {
  name: 'recorder',
  rows: Object.keys(measured),
  async *measure(run: Run) {
    for (const [key, measure] of Object.entries(measured)) if (run.wants(key)) yield await measure();
  },
};
