import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import test from 'ava';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {answerScaling, parseScaleRequest, scaleFiles, scaleSignal} from '#src/cli/up/scaling.js';
import {eventually} from '#test/cli/eventually.js';
import {aDirectory} from '#test/cli/programs.js';

test('what is no request for a number of nodes is none', t => {
  for (const text of [
    undefined,
    '',
    'null',
    '{}',
    '{"id":1,"nodes":1}',
    '{"id":"a","nodes":-1}',
    '{"id":"a","nodes":1.5}',
    '{"id":"a","nodes":"1"}',
  ])
    t.is(parseScaleRequest(text), undefined);
  t.deepEqual(parseScaleRequest('{"id":"a","nodes":2}'), {id: 'a', nodes: 2});
});

test('requests are answered, and refused beyond the pod addresses, and without nodes', async t => {
  using _alive = systemClock.keepAlive();
  const directory = aDirectory();
  const files = scaleFiles(directory);
  const scaled: number[] = [];
  const asked = async (nodes: number, scale: ((nodes: number) => Promise<void>) | undefined) => {
    using _answering = answerScaling({dataDir: directory, started: 1, scale, scaled: async count => void scaled.push(count), log: noLog});
    writeFileSync(files.request, JSON.stringify({id: `${nodes}`, nodes}), {mode: 0o600});
    process.kill(process.pid, scaleSignal);
    return await eventually(() => {
      const answer = JSON.parse(existsSync(files.answer) ? readFileSync(files.answer, 'utf8') : '{}') as {id?: string; error?: string};
      return answer.id === `${nodes}` ? answer : undefined;
    });
  };

  t.deepEqual(await asked(3, async () => {}), {id: '3'});
  t.deepEqual(await asked(257, async () => {}), {id: '257', error: 'the plane has pod addresses for 256 nodes: start it with --nodes=257'});
  t.deepEqual(await asked(4, undefined), {id: '4', error: 'the plane simulates no nodes: start it with --nodes'});
  t.deepEqual(await asked(5, () => Promise.reject(new Error('no'))), {id: '5', error: 'no'});
  t.deepEqual(scaled, [3]);
});
