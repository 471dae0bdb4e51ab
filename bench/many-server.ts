import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {encodeRecord} from '#src/apiserver/registry/record.js';
import {startPlane} from '#src/plane/index.js';
import {openEmbeddedStore} from '#src/storage/embedded/index.js';
import {threadTime} from '#test/sweep/holds.js';
import {type Hold, Holds} from './holds.js';

/** The settings of the server process, as JSON in its only argument. */
export interface ManyServer {
  readonly directory: string;
  /** The number of config maps in namespace `many`, 1 kB each, created before the server starts. */
  readonly count: number;
}

/** Measurements of the server process since the last query. */
export interface ServerStatistics {
  /** The longest block of its event loop. */
  readonly hold: Hold;
  /** The CPU time of its main thread, and its run-queue wait. */
  readonly workedMs: number;
  readonly waitedMs: number;
  /** Memory without mapped files: at the beginning, and the maximum since. */
  readonly beganMb: number;
  readonly maxMb: number;
}

const at = '2026-01-01T00:00:00Z';
const owners = [
  {
    manager: 'kubectl-create',
    operation: 'Update',
    apiVersion: 'v1',
    time: at,
    fieldsType: 'FieldsV1',
    fieldsV1: {'f:data': {'.': {}, 'f:filler': {}}, 'f:metadata': {'f:labels': {'.': {}, 'f:app': {}}}},
  },
];

const configMap = (index: number) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: `item-${index}`,
    namespace: 'many',
    uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    creationTimestamp: at,
    labels: {app: `app-${index % 100}`},
    managedFields: owners,
  },
  data: {filler: 'x'.repeat(600)},
});

const seed = async ({directory, count}: ManyServer): Promise<void> => {
  const store = await openEmbeddedStore({directory: join(directory, 'store'), naming: 'kubernetes'});
  for (let from = 0; from < count; from += 5000) {
    await Promise.all(
      Array.from({length: Math.min(5000, count - from)}, (_, n) =>
        store.create(`/registry/configmaps/many/item-${from + n}`, encodeRecord(configMap(from + n))),
      ),
    );
  }
  await store.close();
};

const ownMb = (): number => Number(/RssAnon:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024;

const run = async (what: ManyServer): Promise<void> => {
  const startedAt = performance.now();
  await seed(what);
  const plane = await startPlane({
    dataDir: what.directory,
    apiserverArgs: ['--feature-gates=CBORServingAndStorage=true'],
    controllerManagerArgs: ['--controllers=-*'],
  });
  let holds = new Holds();
  await holds.start();
  let used = threadTime();
  let beganMb = ownMb();
  let mostMb = beganMb;
  setInterval(() => {
    mostMb = Math.max(mostMb, ownMb());
  }, 50);
  const answer = async (): Promise<void> => {
    const {worked, waited} = threadTime();
    const statistics: ServerStatistics = {
      hold: await holds.stop(),
      workedMs: worked - used.worked,
      waitedMs: waited - used.waited,
      beganMb,
      maxMb: Math.max(mostMb, ownMb()),
    };
    globalThis.gc?.();
    holds = new Holds();
    await holds.start();
    beganMb = mostMb = ownMb();
    used = threadTime();
    process.send!(statistics);
  };
  process.on('message', () => void answer());
  process.once('disconnect', () => void plane.stop().then(() => process.exit(0)));
  process.send!({url: plane.url, seconds: (performance.now() - startedAt) / 1000});
};

const [, , argument] = process.argv;
if (argument) await run(JSON.parse(argument) as ManyServer);
