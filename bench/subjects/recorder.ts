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

const pairs = 200;
const createsPerTurn = 400;
const clients = 16;
const filler = 'x'.repeat(400);

/** Creates config maps. Returns the processor time of each in µs. */
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

/** The part of the values at a quarter, half and three quarters of their order. */
const quarters = (values: readonly number[]): readonly [number, number, number] => {
  const sorted = [...values].sort((one, other) => one - other);
  return [1, 2, 3].map(part => sorted[(part * sorted.length) >> 2]!) as [number, number, number];
};

/**
 * Creates in turns with and without the recorder of one plane: two planes, also equal ones, differ by more than what is
 * measured. Of a create without it, the report is made and not kept.
 */
const createRow = async (): Promise<Row> => {
  await using plane = await startPlane({controllers: 'none'});
  const recorder = plane.recorder!;
  const change = recorder.change.bind(recorder);
  let isRecording = true;
  recorder.change = (report, states) => {
    if (isRecording) change(report, states);
  };
  const times = {without: [] as number[], with: [] as number[]};
  // The first turns are not counted: the code is compiled while they run.
  for (let turn = -10; turn < pairs; turn++) {
    for (const which of turn % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const)) {
      isRecording = which === 'with';
      const time = await createTime(plane, `${which}-${turn + 10}`);
      if (turn >= 0) times[which].push(time);
    }
  }
  const differences = times.with.map((time, turn) => time - times.without[turn]!);
  const [least, middle, most] = quarters(differences);
  return row('create, recorded', middle, 'µs', {
    key: 'recorder-create',
    note:
      `processor time more than without a record, of ${median(times.without).toFixed(1)} µs in process, store in memory, ${pairs} turns each; ` +
      `half of the differences are from ${least.toFixed(1)} to ${most.toFixed(1)} µs`,
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
