import {readFileSync, writeFileSync} from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import {join} from 'node:path';
import {aDirectory, aServer, Program, type ServerProcess} from '#test/cli/programs.js';
import {aPair, anAuthority} from '#test/serving/credentials.js';
import {freePort} from '#test/fixtures/free-port.js';

/** An open port of a program that runs. */
export interface Target {
  readonly name: string;
  readonly program: Program;
  readonly port: number;
  readonly isPlain: boolean;
  /** The most connections that it holds. */
  readonly connections: number;
  /** The most bytes of answers that it keeps for its readers. */
  readonly waitingBytes: number;
  /** Credentials, for what is not answered to anybody. */
  readonly credentials?: {readonly cert: string; readonly key: string};
  /** A path whose answer is large. */
  readonly document?: string;
  /** A path that takes a body. */
  readonly bodies: string;
  /** What an ordinary client sends, and the status it gets. */
  readonly ordinary: {readonly method: string; readonly path: string; readonly body?: string; readonly status: number};
}

/** Limits of the API server, so that a few attacks reach them; those of the other ports are fixed. */
const [mostConnections, mostBytes] = [200, 16 << 20];

const healthy = {method: 'GET', path: '/healthz', status: 200};

const apiServer = (server: ServerProcess): Target => ({
  name: 'api-server',
  program: server.program,
  port: Number(new URL(server.url).port),
  isPlain: false,
  connections: mostConnections,
  waitingBytes: mostBytes,
  credentials: {cert: readFileSync(server.material.files.admin, 'utf8'), key: readFileSync(server.material.files.adminKey, 'utf8')},
  document: '/openapi/v2',
  bodies: '/api/v1/namespaces/default/configmaps',
  ordinary: healthy,
});

const manager = async (settings: string, port: number): Promise<Target> => {
  const flags = [`--secure-port=${port}`, '--bind-address=127.0.0.1', '--controllers=serviceaccount', '--leader-elect=false'];
  const program = new Program('plat-controller-manager', [`--platconfig=${settings}`, ...flags]);
  await program.waitFor(/ready: /);
  const limits = {connections: 256, waitingBytes: 64 << 20};
  return {name: 'controller-manager', program, port, isPlain: false, ...limits, bodies: '/healthz', ordinary: healthy};
};

const review = JSON.stringify({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {uid: 'u1', operation: 'CREATE', name: 'a', object: {metadata: {name: 'a'}, spec: {size: 1}}},
});

/** The ports of an operator: that of its webhook, and the one without TLS for probes. */
const operator = async (settings: string, webhooks: number, probes: number): Promise<Target[]> => {
  const certificates = aDirectory();
  const {cert, key} = await aPair(await anAuthority(), {commonName: 'webhooks'}, 'server auth');
  writeFileSync(join(certificates, 'tls.crt'), cert);
  writeFileSync(join(certificates, 'tls.key'), key);
  const program = new Program(
    join(process.cwd(), 'dist/test/fuzz/connections/operator.js'),
    [
      `--kubeconfig=${settings}`,
      `--webhook-cert-dir=${certificates}`,
      `--webhook-bind-address=127.0.0.1:${webhooks}`,
      `--health-probe-bind-address=127.0.0.1:${probes}`,
      '--metrics-bind-address=0',
    ],
    {KUBECONFIG: '', POD_NAMESPACE: ''},
  );
  await program.waitFor(/^ready: /m);
  const path = '/validate-example-com-v1-sample';
  return [
    {
      name: 'webhook',
      program,
      port: webhooks,
      isPlain: false,
      connections: 500,
      waitingBytes: 64 << 20,
      bodies: path,
      ordinary: {method: 'POST', path, body: review, status: 200},
    },
    {name: 'health', program, port: probes, isPlain: true, connections: 256, waitingBytes: 64 << 20, bodies: '/healthz', ordinary: healthy},
  ];
};

/** Starts the programs that are attacked. Disposing ends them. */
export const startTargets = async () => {
  const server = await aServer('kubernetes', [
    `--max-connections=${mostConnections}`,
    `--max-waiting-response-bytes=${mostBytes}`,
    '--anonymous-auth=true',
  ]);
  const [secure, webhooks, probes] = [await freePort(), await freePort(), await freePort()];
  const others = await Promise.all([manager(server.settings, secure), operator(server.settings, webhooks, probes)]);
  const targets: readonly Target[] = [apiServer(server), ...others.flat()];
  return {
    targets,
    async [Symbol.asyncDispose]() {
      for (const program of new Set(others.flat().map(({program}) => program))) await program.stop('SIGKILL');
      await server[Symbol.asyncDispose]();
    },
  };
};

/**
 * Sends a request as any client does, on a connection of its own, and returns the answer; undefined if none comes in
 * that time.
 */
export const ask = (
  {port, isPlain, credentials}: Target,
  {method, path, body, withinMs}: {readonly method: string; readonly path: string; readonly body?: string; readonly withinMs: number},
): Promise<{readonly status: number; readonly text: string} | undefined> =>
  new Promise(resolve => {
    const options = {host: '127.0.0.1', port, method, path, agent: false} as const;
    const sent = isPlain ? http.request(options) : https.request({...options, ...credentials, rejectUnauthorized: false});
    const timer = setTimeout(() => sent.destroy(), withinMs);
    sent.on('close', () => {
      clearTimeout(timer);
      resolve(undefined);
    });
    sent.on('error', () => {});
    sent.on('response', answer => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.on('error', () => {}).on('end', () => resolve({status: answer.statusCode!, text}));
    });
    sent.end(body);
  });
