import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {passingFiles, systemFiles} from '#src/base/files/files.js';
import {Undo} from '#src/base/undo.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {readInputs} from '#src/plane/inputs/inputs.js';
import {startPlane} from '#src/plane/plane.js';

const folder = mkdtempSync(join(tmpdir(), 'plat-second-start-'));
test.after.always(() => rmSync(folder, {recursive: true}));

/** The requests of a plane until it is ready, except watches: verb and resource, and the code of those that fail. */
const requestsOfStart = async (): Promise<string[]> => {
  await using plane = await startPlane({dataDir: join(folder, 'plane'), listen: false, clock: new VirtualClock(), nodes: 0});
  const {body} = await plane.api.metrics.exposition();
  return [...String(body).matchAll(/^apiserver_request_total\{(.*)\} (\d+)$/gm)].flatMap(([, labels = '', count]) => {
    const label = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
    if (label('verb') === 'WATCH' || label('resource') === '') return [];
    const failed = label('code').startsWith('2') ? '' : ` ${label('code')}`;
    return Array<string>(Number(count)).fill(`${label('verb')} ${label('resource')}${failed}`);
  });
};

test('a second start writes only that the server lives, and asks for little else than lists of what controllers follow', async t => {
  await requestsOfStart();
  const requests = await requestsOfStart();

  const writes = requests.filter(request => !/^(GET|LIST) /.test(request)).sort();
  t.deepEqual(writes, ['PUT leases']);
  const reads = requests.filter(request => request.startsWith('GET '));
  t.true(reads.length <= 16, reads.join(', '));
  const lists = requests.filter(request => request.startsWith('LIST '));
  t.true(lists.length <= 95, lists.join(', '));
});

test('what a plane writes to its own folder is flushed to the disk, unless the folder is a temporary one', async t => {
  for (const [dataDir, expected] of [
    [join(folder, 'kept'), systemFiles],
    [undefined, passingFiles],
  ] as const) {
    const undo = new Undo();
    const {disk} = await readInputs(dataDir ? {dataDir} : {}, undo);
    t.is(disk, expected);
    await undo[Symbol.asyncDispose]();
  }
});
