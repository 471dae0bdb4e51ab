import {execFile, spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {freePort} from '#test/fixtures/free-port.js';

/** The recording of the original's responses, and the tool that replays it (`make alike` runs all of it). */
const folder = process.env['PLAT_ORACLE'] ? join(process.env['PLAT_ORACLE'], 'alike') : '';

/** How many requests are drawn, of which kinds, and how many in a hundred of them are answered as the original does. */
const drawn = {
  requests: 3000,
  areas: 'discovery,verbs,create,update,wire',
  kinds: '^(v1/services|apps/v1/deployments|batch/v1/jobs)$',
  rate: 99.3, // A cluster IP of 10.96.55.0/24 or 10.96.77.0/24, which may be drawn, counts as a difference in four of them.
};

const missing =
  folder === '' || !existsSync(join(folder, 'run.sh'))
    ? 'PLAT_ORACLE with a recording of the original'
    : ['bash', 'openssl', 'curl'].find(tool => spawnSync(tool, ['--version']).error !== undefined);
if (missing) console.log(`skipped: comparing answers with the original's needs ${missing}`);

const output = (args: readonly string[], port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    // It ends with 1 where anything differs.
    execFile(
      'bash',
      [join(folder, 'run.sh'), '.', ...args],
      {maxBuffer: 1 << 26, env: {...process.env, PORT: String(port)}},
      (error, text, errors) => (error && error.code !== 1 ? reject(new Error(`${error.message}\n${errors}`)) : resolve(text)),
    );
  });

(missing ? test.skip : test)('a sample of requests to the original gets the same responses', async t => {
  t.timeout(180_000);
  const text = await output(['--quiet', '--limit', String(drawn.requests), '--only', drawn.areas, '--kind', drawn.kinds], await freePort());
  const [, alike, requested] = /^(\d+) of (\d+) requests answered alike/m.exec(text) ?? [];

  t.log(`${alike} of ${requested} requests`);
  t.true(Number(requested) >= drawn.requests, text);
  t.true((100 * Number(alike)) / Number(requested) >= drawn.rate, text);
});
