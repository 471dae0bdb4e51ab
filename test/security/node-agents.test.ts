import {once} from 'node:events';
import https from 'node:https';
import tls from 'node:tls';
import test, {type ExecutionContext} from 'ava';
import {WebSocket} from 'ws';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {systemRandom} from '#src/base/random.js';
import {authorityPem} from '#src/pki/authority.js';
import {openNodeAgents} from '#src/plane/nodes/node-agents.js';
import {agentHandler} from '#src/serving/agent/handler.js';
import {OutputBudget} from '#src/serving/agent/output-budget.js';
import {aPair, anAuthority} from '#test/serving/credentials.js';
import {after, agentOf, behavior} from '#test/simulation/containers.js';
import {aPlaneWithNodes} from '#test/simulation/environment.js';

const command = (name: string, query = '') => `/exec/default/pod/app?command=${name}&input=1&output=1${query}`;

/** The HTTPS port of a simulated node's agent with one pod, for a user with all permissions. */
const anAgent = async (t: ExecutionContext, maxConnections = 100) => {
  const plane = await aPlaneWithNodes();
  t.teardown(() => plane.stop());
  await after(plane, {behavior}, 5_000);
  const authority = await anAuthority();
  const {cert, key} = await aPair(authority, {commonName: 'node'}, 'server auth');
  const agents = await openNodeAgents({
    names: ['plat-node-0'],
    bindAddress: '127.0.0.1',
    firstPort: 0,
    tls: {cert, key},
    maxConnections,
    authenticators: [{name: 'all', authenticate: () => ({user: {name: 'admin', groups: []}})}],
    authorizer: {authorize: () => ({decision: 'allow', reason: ''})},
    naming: plane.naming,
    clock: systemClock,
    random: systemRandom,
    log: noLog,
    agentOf: () => agentOf(plane),
  });
  t.teardown(() => agents[Symbol.asyncDispose]());
  const [port] = agents.ports;
  const ca = authorityPem(authority).certificate;
  const statusOf = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const request = https.request({host: '127.0.0.1', port, ca, path, headers, method, agent: false}, response => {
        resolve(response.statusCode);
        response.resume();
      });
      request.on('error', reject).flushHeaders();
      if (method === 'GET') request.end();
    });
  return {plane, port: port!, ca, statusOf};
};

test('an agent refuses long headers, and at its limit closes connections without a request', async t => {
  const {port, ca, statusOf} = await anAgent(t, 2);

  // The connection is closed, which the client may notice before it has read the answer.
  t.is(await statusOf('/healthz', {'x-long': 'x'.repeat(132_000)}).catch(() => 431), 431);
  const connections = Array.from({length: 2}, () => tls.connect({host: '127.0.0.1', port, ca}).on('error', () => {}));
  await Promise.all(connections.map(connection => once(connection, 'secureConnect')));
  const gone = Promise.race(connections.map(connection => once(connection, 'close')));
  t.is(await statusOf('/healthz'), 200);
  await gone;
  t.is(connections.filter(({destroyed}) => destroyed).length, 1);
  for (const connection of connections) connection.destroy();
});

test('an agent answers requests whose bodies never come, and they do not become requests of their own', async t => {
  const {port, ca, statusOf} = await anAgent(t);

  t.is(await statusOf('/run/default/pod/app?cmd=status', {'content-length': '1000000000'}, 'POST'), 500);
  const connection = tls.connect({host: '127.0.0.1', port, ca});
  const answers: Buffer[] = [];
  connection.on('data', (chunk: Buffer) => answers.push(chunk)).on('error', () => {});
  const hidden = 'GET /pods HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
  connection.write(
    `POST /exec/default/pod/app?command=tee&output=1 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, close\r\nUpgrade: none\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
  );
  await once(connection, 'close');

  const text = Buffer.concat(answers).toString();
  t.is(text.match(/HTTP\/1\.1 \d{3}/g)?.length, 1);
  t.regex(text, /^HTTP\/1\.1 400/);
});

test('an agent takes no more input of a command than its client reads output, and answers others meanwhile', async t => {
  const {port, ca, statusOf} = await anAgent(t);
  const clients = Array.from({length: 2}, () => new WebSocket(`wss://127.0.0.1:${port}${command('tee')}`, ['v4.channel.k8s.io'], {ca}));
  await Promise.all(clients.map(client => once(client, 'open')));
  const message = Buffer.concat([Buffer.of(0), Buffer.alloc(1 << 20, 'x')]);

  for (const client of clients) {
    client.pause();
    for (let count = 0; count < 32; count++) client.send(message);
  }
  for (let count = 0; count < 10; count++) t.is(await statusOf('/healthz'), 200);

  for (const client of clients) {
    t.true(client.bufferedAmount > 16 << 20, `${client.bufferedAmount} bytes are left`);
    client.terminate();
  }
});

test('the outputs of all commands that are run over HTTP have a limit, and those that have ended do not count', async t => {
  const {plane} = await anAgent(t);
  const outputs = new OutputBudget(4);
  const run = (budget: OutputBudget) =>
    agentHandler({
      agent: agentOf(plane),
      naming: plane.naming,
      clock: plane.clock,
      outputs: budget,
      failed: error => t.fail(String(error)),
    })({
      method: 'POST',
      url: '/run/default/pod/app?cmd=echo+abc',
      headers: {},
      caller: {user: {name: 'u', groups: []}},
      remoteAddress: '',
      signal: new AbortController().signal,
    });

  t.is((await run(outputs)).status, 200);
  t.is((await run(outputs)).status, 200);
  using other = outputs.hold();
  other.add(1);
  t.is((await run(outputs)).status, 503);
});
