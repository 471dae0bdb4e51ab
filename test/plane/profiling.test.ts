import {request} from 'node:http';
import {mkdtempSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {startPlane} from '#src/plane/plane.js';

const overSocket = (socketPath: string, path: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request({socketPath, path}, response => {
      response.resume();
      resolve(response.statusCode);
    })
      .once('error', reject)
      .end();
  });

test('profiles are served to administrators, and on a debug socket to users with access to it', async t => {
  const socket = join(mkdtempSync(join(tmpdir(), 'plat-socket-')), 'debug.sock');
  await using plane = await startPlane({controllers: 'none', apiserverArgs: [`--debug-socket-path=${socket}`]});

  t.regex(String(await plane.client().request('GET', '/debug/pprof/cmdline')), /node/);
  await t.throwsAsync(plane.client({name: 'jane', groups: ['system:authenticated']}).request('GET', '/debug/pprof/cmdline'), {
    message: /cannot get path/,
  });
  t.is(await overSocket(socket, '/debug/pprof/cmdline'), 200);
  t.is(await overSocket(socket, '/api/v1/namespaces'), 404);
});

test('a server without profiling has no profiles', async t => {
  await using plane = await startPlane({listen: false, controllers: 'none', apiserverArgs: ['--profiling=false']});

  await t.throwsAsync(plane.client().request('GET', '/debug/pprof/cmdline'), {message: /page not found|could not find/});
});
